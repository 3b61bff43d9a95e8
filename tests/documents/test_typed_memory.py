"""The document of typed memory: entries, their types, the manager over a config, and its integration points."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from datetime import datetime

import pytest

from ltst import Settings
from ltst.manager import ConversationContext, MemoryConfig, MemoryEntry, MemoryManager, MemoryTypes, Message


@dataclass
class Said:
    role: str
    content: str


class Agent:
    """An agent as the document has one: it recalls before it answers."""

    async def _process_message_internal(
        self, message: Message, context: ConversationContext
    ) -> AsyncIterator[MemoryEntry]:
        memories = await context.memory.search_memory(
            query=message.content,
            memory_type=MemoryTypes.SHORT_TERM,
        )
        for each in memories:
            yield each


@pytest.fixture
def config(settings: Settings) -> MemoryConfig:
    return MemoryConfig(settings=settings, user_id="ana")


def test_the_types_and_the_entry_have_their_names() -> None:
    assert (MemoryTypes.SHORT_TERM, MemoryTypes.WORKING) == ("short_term", "working")
    assert (MemoryTypes.LONG_TERM, MemoryTypes.EPISODIC) == ("long_term", "episodic")
    names = ["content", "embedding", "metadata", "timestamp", "source", "importance_score"]
    assert [each.name for each in fields(MemoryEntry)][:6] == names
    entry = MemoryEntry(
        content="text", embedding=[0.5], metadata={}, timestamp=datetime.now(), source="unknown", importance_score=0.5
    )
    entry.importance_score = 0.75
    assert entry.importance_score == 0.75


def test_the_verbs_have_their_arguments() -> None:
    added = inspect.signature(MemoryManager.add_memory).parameters
    assert [*added] == ["self", "content", "memory_type", "metadata"] and added["metadata"].default is None
    searched = inspect.signature(MemoryManager.search_memory).parameters
    assert [*searched][:4] == ["self", "query", "memory_type", "limit"] and searched["limit"].default == 5


@pytest.mark.parametrize("type", [MemoryTypes.SHORT_TERM, MemoryTypes.LONG_TERM])
async def test_a_memory_is_added_and_found_with_all_its_attributes(config: MemoryConfig, type: MemoryTypes) -> None:
    async with MemoryManager(config) as manager:
        await manager.add_memory("The password policy is critical!", type, {"source": "document_7"})
        await manager.add_memory("ok", type)
        (found, *_) = await manager.search_memory("password policy", type)
        assert (found.content, found.source) == ("The password policy is critical!", "document_7")
        assert found.embedding is not None and len(found.embedding) == 384
        assert found.timestamp is not None and 0 < found.importance_score <= 1
        (dull, *_) = [each for each in await manager.search_memory("ok", type) if each.content == "ok"]
        assert dull.importance_score < found.importance_score


async def test_the_manager_has_its_parts(config: MemoryConfig) -> None:
    async with MemoryManager(config) as manager:
        assert len(manager.short_term_buffer) == 0 and dict(manager.working_memory) == {}
        await manager.add_memory("hello", MemoryTypes.SHORT_TERM)
        assert [each.content for each in manager.short_term_buffer] == ["hello"]
        await manager.add_memory("Bees sleep in winter.", MemoryTypes.LONG_TERM)
        (found,) = await manager.vector_store.search("bees in winter")
        assert found.content == "Bees sleep in winter."


async def test_a_conversation_adds_messages_and_an_agent_recalls_them(config: MemoryConfig) -> None:
    async with ConversationContext("conversation_1", config) as context:
        await context.add_message(Said("user", "The spare key is under the blue pot."))
        await context.add_message(Said("assistant", "Noted."))
        asked = Said("user", "Where is the spare key?")
        recalled = [each async for each in Agent()._process_message_internal(asked, context)]
    assert recalled[0].content == "The spare key is under the blue pot."
    assert (recalled[0].source, recalled[0].metadata["role"]) == ("conversation_1", "user")


async def test_memories_can_be_filtered_by_metadata(config: MemoryConfig) -> None:
    async with MemoryManager(config) as manager:
        for topic in ("bees", "boats"):
            await manager.add_memory(f"Something about {topic}", MemoryTypes.LONG_TERM, {"topic": topic})
        (found,) = await manager.search_memory("something", MemoryTypes.LONG_TERM, filters={"topic": "boats"})
        assert found.content == "Something about boats"
