"""The session for the OpenAI Agents SDK, where it is installed; `make adapters` runs the SDK's own tests too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("agents.memory", reason="openai-agents is installed by make adapters alone")

from ltst.openai_agents import LtstSession

ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Porto?"},
    {"role": "user", "content": [{"type": "input_text", "text": "Look."}, {"type": "input_image", "file_id": "x"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "…"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Porto"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "21 degrees \0 and \ud800 more"},
    {"type": "message", "role": "assistant", "id": "m1", "status": "completed",
     "content": [{"type": "output_text", "text": "It is 21 degrees.", "annotations": []}]},
    {"role": "developer", "content": " "},
]  # fmt: skip


async def test_items_come_back_as_they_were(memory: AsyncMemory) -> None:
    session = LtstSession(memory.user("ana"), "monday")
    await session.add_items(ITEMS)
    assert await session.get_items() == ITEMS
    assert await session.get_items(2) == ITEMS[-2:]
    assert [await session.pop_item() for _ in ITEMS] == ITEMS[::-1]
    assert await session.pop_item() is None


async def test_items_are_messages_that_are_read_and_found(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await LtstSession(user, "monday").add_items(ITEMS)
    window = await user.chat("monday").window()
    assert [message.role for message in window] == ["human", "human", "ai", "ai", "tool", "ai", "system"]
    assert window[3].content == 'weather({"city": "Porto"})'
    assert (await user.search("weather Porto"))[0].content == "What is the weather in Porto?"


async def test_messages_of_others_are_items(memory: AsyncMemory) -> None:
    chat = memory.user("ana").chat("monday")
    added = await chat.add("user", "Hello")
    session = LtstSession(memory.user("ana"), "monday")
    await session.add_items([{"role": "user", "content": [{"type": "input_text", "text": "My PIN is 1234."}]}])
    second = (await chat.window())[-1]
    await chat.replace(second.message_id, "My PIN is a secret.")
    assert await session.get_items() == [
        {"role": "user", "content": added.content},
        {"role": "user", "content": "My PIN is a secret."},
    ]


async def test_one_user_never_sees_another(memory: AsyncMemory) -> None:
    await LtstSession(memory.user("ana"), "monday").add_items(ITEMS)
    other = LtstSession(memory.user("ben"), "monday")
    assert await other.get_items() == []
    await other.clear_session()
    assert await LtstSession(memory.user("ana"), "monday").get_items() == ITEMS


async def test_two_who_pop_get_two_items(memory: AsyncMemory) -> None:
    session = LtstSession(memory.user("ana"), "monday")
    await session.add_items([{"role": "user", "content": str(number)} for number in range(20)])
    popped = await asyncio.gather(*(session.pop_item() for _ in range(20)))
    assert sorted(int(item["content"]) for item in popped if item) == list(range(20))


def test_it_works_from_any_loop(sync_memory: Memory) -> None:
    session = LtstSession(sync_memory.user("ana"), "monday")
    asyncio.run(session.add_items(ITEMS))
    assert asyncio.run(session.get_items()) == ITEMS


async def test_what_is_no_item_is_refused_and_nothing_stored(memory: AsyncMemory) -> None:
    session = LtstSession(memory.user("ana"), "monday")
    with pytest.raises(Invalid, match="an item is a dict of the Responses API, not str"):
        await session.add_items([{"role": "user", "content": "Hello"}, "Hello"])
    with pytest.raises(Invalid, match=r"user must be memory.user\(...\), not str"):
        LtstSession("ana", "monday")  # type: ignore[arg-type]
    assert await session.get_items() == []
