"""The chat store and the block for LlamaIndex, where it is installed: the contract that its own store keeps too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("llama_index.core", reason="llama-index-core is installed by make adapters alone")

from llama_index.core.base.llms.types import ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import Memory as Remembering
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from ltst.llamaindex import LtstChatStore, LtstMemoryBlock

SAID = "I moved to Lisbon in March."
ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED
MESSAGES = [
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content=SAID, additional_kwargs={"colour": "red"}),
    ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={})]),
    ChatMessage(role="tool", content="clear \0", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(role="user", blocks=[TextBlock(text="Look."), ImageBlock(image=b"aGk=", image_mimetype="image/png")]),
]


@pytest.fixture(params=["theirs", "ltst", "ltst without await"])
def store(request: pytest.FixtureRequest) -> Any:
    if request.param == "theirs":
        return SQLAlchemyChatStore(table_name="messages")
    opened = request.getfixturevalue("memory" if request.param == "ltst" else "sync_memory")
    return LtstChatStore(opened.user("ana"))


async def test_messages_come_back_as_they_were(store: Any) -> None:
    assert (await store.get_messages("monday"), await store.count_messages("monday")) == ([], 0)
    await store.add_message("monday", MESSAGES[0])
    await store.add_messages("monday", MESSAGES[1:])
    assert await store.get_messages("monday") == MESSAGES
    assert await store.get_messages("monday", limit=2, offset=1) == MESSAGES[1:3]
    assert await store.get_messages("monday", limit=2) == MESSAGES[:2]
    assert await store.count_messages("monday") == 5
    await store.add_message("tuesday", MESSAGES[0])
    assert sorted(await store.get_keys()) == ["monday", "tuesday"]
    assert await store.get_messages("wednesday") == []


async def test_the_oldest_are_archived_and_stay(store: Any) -> None:
    await store.add_messages("monday", MESSAGES)
    assert await store.archive_oldest_messages("monday", 2) == MESSAGES[:2]
    assert await store.get_messages("monday") == MESSAGES[2:]
    assert await store.get_messages("monday", status=ARCHIVED) == MESSAGES[:2]
    assert await store.get_messages("monday", status=None) == MESSAGES
    assert [await store.count_messages("monday", status=each) for each in (ACTIVE, ARCHIVED, None)] == [3, 2, 5]
    assert await store.archive_oldest_messages("monday", 1) == MESSAGES[2:3]
    await store.add_message("monday", MESSAGES[0], status=ARCHIVED)
    assert await store.get_messages("monday", status=ARCHIVED) == [*MESSAGES[:3], MESSAGES[0]]
    assert await store.archive_oldest_messages("nowhere", 2) == []


async def test_messages_are_deleted(store: Any) -> None:
    await store.add_messages("monday", MESSAGES)
    await store.archive_oldest_messages("monday", 1)
    assert await store.delete_oldest_messages("monday", 2) == MESSAGES[1:3]
    assert await store.get_messages("monday", status=None) == [MESSAGES[0], *MESSAGES[3:]]
    await store.delete_messages("monday", status=ARCHIVED)
    assert await store.get_messages("monday", status=None) == MESSAGES[3:]
    assert await store.delete_message("monday", 999) is None
    assert await store.delete_message("monday", 4) == MESSAGES[3]
    await store.delete_messages("monday")
    assert (await store.get_messages("monday", status=None), await store.get_keys()) == ([], [])


async def test_all_messages_are_set_at_once(store: Any) -> None:
    await store.add_messages("monday", MESSAGES[:3])
    for wanted in (MESSAGES, MESSAGES[:2], [MESSAGES[3], MESSAGES[0]], [MESSAGES[3], MESSAGES[3]], []):
        await store.set_messages("monday", wanted)
        assert await store.get_messages("monday", status=None) == wanted
    await store.add_messages("monday", MESSAGES[:3])
    await store.archive_oldest_messages("monday", 2)
    await store.set_messages("monday", MESSAGES[:3])
    assert await store.get_messages("monday") == await store.get_messages("monday", status=None) == MESSAGES[:3]
    await store.set_messages("monday", MESSAGES[:1], status=ARCHIVED)
    assert await store.get_messages("monday", status=ARCHIVED) == MESSAGES[:1]


async def test_a_memory_keeps_its_history_and_archives_what_is_too_long(store: Any) -> None:
    kept = {"chat_store": store, "session_id": "monday", "token_limit": 20, "token_flush_size": 5}
    first = Remembering.from_defaults(**kept)
    roles = ("user", "assistant") * 4
    said = [ChatMessage(role=role, content=f"This is number {place}.") for place, role in enumerate(roles)]
    for message in said:
        await first.aput(message)
    again = Remembering.from_defaults(**kept)
    assert await again.aget_all(status=None) == said
    active = await again.aget_all(status=ACTIVE)
    assert 0 < len(active) < len(said) and active == said[-len(active) :]
    await again.areset()
    assert await store.count_messages("monday") == 0


async def test_an_engine_goes_on_with_its_conversation(store: Any) -> None:
    for said in (SAID, "Where do I live?"):
        history = Remembering.from_defaults(chat_store=store, session_id="monday")
        engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=history)
        await engine.achat(said)
    assert [each.content for each in await store.get_messages("monday")][::2] == [SAID, "Where do I live?"]


async def test_what_stays_keeps_its_place_in_ltst(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    store = LtstChatStore(user)
    await store.add_messages("monday", MESSAGES[:3])
    before = await user.chat("monday").window()
    await store.set_messages("monday", [*MESSAGES[:2], MESSAGES[4]])
    after = await user.chat("monday").window()
    assert [each.message_id for each in after[:2]] == [each.message_id for each in before[:2]]
    assert [each.role for each in after] == ["system", "human", "human"]
    assert await LtstChatStore(memory.user("ben")).get_messages("monday") == []
    await store.delete_messages("monday")
    assert await user.items.list() == []


async def test_a_block_recalls_other_conversations_of_its_user_alone(memory: AsyncMemory) -> None:
    asked = [ChatMessage(role="user", content="Where do I live?")]
    block = LtstMemoryBlock(memory.user("ana"))
    assert await block.aget(asked, session_id="tuesday") == "" == await block.aget([])
    await block.aput([ChatMessage(role="user", content=SAID)], from_short_term_memory=True, session_id="monday")
    assert SAID in await block.aget(asked, session_id="tuesday")
    assert [each.content for each in await memory.user("ana").chat("monday").window()] == [SAID]
    assert await LtstMemoryBlock(memory.user("ben")).aget(asked) == ""
    silent = LtstMemoryBlock(memory.user("ben"), accept_short_term_memory=False, name="other", max_tokens=500)
    await silent.aput([ChatMessage(role="user", content=SAID)], from_short_term_memory=True, session_id="monday")
    assert await memory.user("ben").sessions.list() == []


async def test_a_memory_with_store_and_block_shows_what_was_said_elsewhere(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    store = LtstChatStore(user)
    for session_id, said in (("monday", SAID), ("tuesday", "Where do I live?")):
        blocks: list[Any] = [LtstMemoryBlock(user, accept_short_term_memory=False)]
        history = Remembering.from_defaults(chat_store=store, session_id=session_id, memory_blocks=blocks)
        await history.aput(ChatMessage(role="user", content=said))
        shown = await history.aget()
    assert SAID in str(shown[0].content) and shown[-1].content == "Where do I live?"


def test_it_works_from_any_loop_and_refuses_what_is_no_message(sync_memory: Memory) -> None:
    store = LtstChatStore(sync_memory.user("ana"))
    asyncio.run(store.add_messages("monday", MESSAGES))
    assert asyncio.run(store.get_messages("monday")) == MESSAGES
    with pytest.raises(Invalid, match="messages are those of llama_index, not str"):
        asyncio.run(store.add_messages("monday", [MESSAGES[0], "Hello"]))
    assert asyncio.run(store.count_messages("monday")) == 5
    with pytest.raises(Invalid, match=r"user must be memory.user\(...\), not str"):
        LtstChatStore("ana")  # type: ignore[arg-type]
