"""The store for Pydantic AI, where it is installed: the contract that it documents, which its own store keeps too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("pydantic_ai.conversation_store", reason="pydantic-ai-slim is installed by make adapters alone")

from pydantic_ai import Agent, BinaryContent, DeferredToolRequests
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RunUsage

from ltst.pydantic_ai import LtstConversationStore

SAID = "I moved to Lisbon in March."
MESSAGES: list[Any] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart(SAID)]),
    ModelResponse(parts=[ThinkingPart("hm"), ToolCallPart("weather", {"city": "Porto"}, tool_call_id="c1")]),
    ModelRequest(parts=[ToolReturnPart("weather", {"sky": "clear \0"}, tool_call_id="c1")]),
    ModelResponse(parts=[TextPart("It is clear.")]),
    ModelRequest(parts=[UserPromptPart(["Look.", BinaryContent(b"%PDF \xff", media_type="application/pdf")])]),
]


@pytest.fixture(params=["theirs", "ltst", "ltst without await"])
def store(request: pytest.FixtureRequest) -> Any:
    if request.param == "theirs":
        return InMemoryConversationStore()
    opened = request.getfixturevalue("memory" if request.param == "ltst" else "sync_memory")
    return LtstConversationStore(opened.user("ana"))


async def begun(store: Any, *messages: Any, conversation_id: str = "monday", **more: Any) -> Any:
    conversation = Conversation(messages=[*messages], conversation_id=conversation_id, **more)
    await store.save(conversation)
    return conversation


async def read(store: Any, conversation_id: str = "monday", **more: Any) -> list[Any]:
    return (await store.load(conversation_id, **more)).messages


async def test_a_conversation_comes_back_as_it_was(store: Any) -> None:
    assert await store.load("monday") is None and await store.load_entries("monday") is None
    usage = RunUsage(requests=2, input_tokens=7)
    waiting = DeferredToolRequests(approvals=[ToolCallPart("pay", {"euros": 5}, tool_call_id="c2")])
    saved = await begun(store, *MESSAGES, usage=usage, deferred_tool_requests=waiting)
    found = await store.load("monday")
    assert (found.messages, found.usage, found.deferred_tool_requests) == (MESSAGES, usage, waiting)
    assert found.revision == saved.revision
    assert await read(store, limit=2) == MESSAGES[-2:] and await read(store, limit=0) == []
    with pytest.raises(UserError, match="must not be negative"):
        await store.load("monday", limit=-1)


async def test_each_message_is_stored_once(store: Any) -> None:
    conversation = await begun(store, *MESSAGES[:2])
    assert await store.save(conversation) == []
    conversation.messages = [*conversation.messages, *MESSAGES[2:]]
    new = await store.save(conversation)
    assert [entry.message for entry in new] == MESSAGES[2:]
    entries = await store.load_entries("monday")
    assert [entry.message for entry in entries] == MESSAGES
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    assert (await store.read_entry(entries[3].id)).message == MESSAGES[3]
    with pytest.raises(LookupError):
        await store.read_entry("nowhere")


async def test_two_who_save_do_not_overwrite_each_other(store: Any) -> None:
    await begun(store, MESSAGES[0])
    first, second = await store.load("monday"), await store.load("monday")
    first.messages, second.messages = [*first.messages, MESSAGES[1]], [*second.messages, MESSAGES[3]]
    await store.save(first)
    with pytest.raises(ConversationConflict):
        await store.save(second)
    assert await read(store) == MESSAGES[:2]
    with pytest.raises(ConversationConflict):
        await begun(store, MESSAGES[0])
    await store.delete("monday")
    with pytest.raises(ConversationConflict):
        await store.save(first)
    assert await store.load("monday") is None


async def test_a_history_that_was_rewritten_is_a_branch(store: Any) -> None:
    conversation = await begun(store, *MESSAGES[:4])
    before = await store.load_entries("monday")
    rewritten = Conversation(messages=[MESSAGES[0], MESSAGES[3]], conversation_id="monday")
    rewritten.revision = conversation.revision
    await store.save(rewritten)
    assert await read(store) == [MESSAGES[0], MESSAGES[3]]
    back = await store.branch("monday", from_entry=before[-1].id, expected_revision=rewritten.revision)
    assert back.messages == MESSAGES[:4]
    earlier = await store.branch("monday", at=1, expected_revision=back.revision)
    assert earlier.messages == await read(store) == MESSAGES[:1]
    with pytest.raises(ConversationConflict):
        await store.branch("monday", at=0, expected_revision=back.revision)
    with pytest.raises(UserError, match="`at` must be between"):
        await store.branch("monday", at=9, expected_revision=earlier.revision)


async def test_a_fork_shares_what_was_said_before_and_outlives_it(store: Any) -> None:
    conversation = await begun(store, *MESSAGES[:3])
    fork = await store.fork("monday", at=2, new_conversation_id="tuesday")
    assert fork.messages == MESSAGES[:2]
    fork.messages = [*fork.messages, MESSAGES[4]]
    await store.save(fork)
    await store.fork("tuesday", new_conversation_id="wednesday")
    conversation.messages = [*conversation.messages, MESSAGES[3]]
    await store.save(conversation)
    with pytest.raises(ConversationConflict):
        await store.fork("monday", new_conversation_id="tuesday")
    await store.delete("monday")
    assert await store.load("monday") is None
    assert await read(store, "tuesday") == await read(store, "wednesday") == [*MESSAGES[:2], MESSAGES[4]]
    await store.delete("tuesday")
    assert await read(store, "wednesday") == [*MESSAGES[:2], MESSAGES[4]]
    with pytest.raises(UserError, match="not in the store"):
        await store.fork("monday")


async def test_a_scope_keeps_a_conversation_to_its_owner(store: Any) -> None:
    for number, scope in enumerate(("ana", "ben", "ana")):
        conversation = Conversation(messages=[MESSAGES[0]], conversation_id=str(number))
        await store.save(conversation, scope=scope)
    assert [each.conversation_id for each in await store.list_conversations()] == ["2", "1", "0"]
    assert [each.conversation_id for each in await store.list_conversations(scope="ana")] == ["2", "0"]
    assert [each.conversation_id for each in await store.list_conversations(scope="ana", limit=1)] == ["2"]
    assert await store.load("0", scope="ben") is None
    await store.delete("0", scope="ben")
    assert await read(store, "0", scope="ana") == MESSAGES[:1]
    await store.delete("nowhere")


async def test_an_agent_goes_on_with_its_conversation(store: Any) -> None:
    shown: list[list[Any]] = []

    def scripted(messages: list[Any], info: Any) -> Any:
        shown.append(messages)
        return ModelResponse(parts=[TextPart("I see.")])

    agent = Agent(FunctionModel(scripted))
    for said in (SAID, "Where do I live?"):
        conversation = await store.load("monday") or Conversation(conversation_id="monday")
        await store.save(await agent.run(said, conversation=conversation))
    assert [part.content for message in shown[1] for part in message.parts] == [SAID, "I see.", "Where do I live?"]


async def test_messages_are_read_and_found(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await begun(LtstConversationStore(user), *MESSAGES)
    window = await user.chat("monday").window()
    assert [each.role for each in window] == ["human", "ai", "tool", "ai", "human"]
    assert window[1].content == 'weather({"city":"Porto"})'
    assert (await user.search("where did I move?"))[0].content == f"Be brief.\n{SAID}"
    assert await LtstConversationStore(memory.user("ben")).load("monday") is None


async def test_what_was_removed_or_changed_in_ltst_is_so_in_the_history(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    store = LtstConversationStore(user)
    await begun(store, *MESSAGES[:4])
    window = await user.chat("monday").window()
    await user.chat("monday").remove(window[1].message_id)
    await user.chat("monday").replace(window[3].message_id, "Clear skies.")
    first, second, third = await read(store)
    assert [first, second] == [MESSAGES[0], MESSAGES[2]]
    assert third.parts[0].content == "Clear skies."


async def test_deleting_leaves_nothing_behind(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    store = LtstConversationStore(user)
    await begun(store, *MESSAGES)
    await store.fork("monday", new_conversation_id="tuesday")
    for conversation_id in ("monday", "tuesday"):
        await store.delete(conversation_id)
    assert await user.sessions.list() == [] and await user.items.list() == []


async def test_of_many_who_save_at_once_one_is_kept(memory: AsyncMemory) -> None:
    store = LtstConversationStore(memory.user("ana"))
    tries = await asyncio.gather(*(begun(store, MESSAGES[0]) for _ in range(8)), return_exceptions=True)
    assert [type(each) for each in tries if isinstance(each, Exception)] == [ConversationConflict] * 7
    assert len(await memory.user("ana").chat("monday").window()) == 1


def test_it_is_made_from_a_user() -> None:
    with pytest.raises(Invalid, match=r"user must be memory.user\(...\), not str"):
        LtstConversationStore("ana")  # type: ignore[arg-type]


def test_it_works_from_any_loop(sync_memory: Memory) -> None:
    store = LtstConversationStore(sync_memory.user("ana"))
    asyncio.run(begun(store, *MESSAGES))
    assert asyncio.run(read(store)) == MESSAGES
