"""The store of Claude's transcripts, where its SDK is installed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is installed by make adapters alone")

from claude_agent_sdk import get_session_messages_from_store, list_sessions_from_store, project_key_for_directory
from claude_agent_sdk.testing import run_session_store_conformance

from ltst.claude import LtstSessionStore

KEY = {"project_key": "-home-ana-notes", "session_id": "5f0c0b86-3a0f-4d9e-9a55-0d9c1c1f2b11"}
SAID: list[Any] = [
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "I moved to Lisbon in March."}},
    {"type": "assistant", "uuid": "u2", "message": {"role": "assistant", "content": [
        {"type": "text", "text": "Let me look."}, {"type": "tool_use", "name": "Read", "input": {"path": "a"}}]}},
    {"type": "user", "uuid": "u3", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": "A file \0 with \ud800."}]}},
    {"type": "user", "uuid": "u4", "isMeta": True, "message": {"role": "user", "content": "Caveat: made by the CLI."}},
    {"type": "mode", "mode": "plan"},
]  # fmt: skip


async def test_it_keeps_all_contracts_of_the_sdk(memory: AsyncMemory) -> None:
    """Fourteen of them, each with a store of its own."""
    made = []

    def store() -> LtstSessionStore:
        made.append(LtstSessionStore(memory.user(str(uuid4()))))
        return made[-1]

    await run_session_store_conformance(store)
    assert len(made) == 15  # one is asked what it can do


async def test_a_memory_that_is_not_awaited_keeps_them_too(sync_memory: Memory) -> None:
    await run_session_store_conformance(lambda: LtstSessionStore(sync_memory.user(str(uuid4()))))


async def test_entries_are_messages_with_the_right_speaker(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    store = LtstSessionStore(user)
    await store.append(KEY, SAID)
    assert await store.load(KEY) == SAID
    (session,) = await user.sessions.list()
    window = await user.chat(session.session_id).window()
    assert [message.role for message in window] == ["human", "ai", "tool", "system", "system"]
    assert [hit.content for hit in await user.search("where did I move?", limit=1)] == ["I moved to Lisbon in March."]


async def test_what_an_agent_tells_a_subagent_is_not_the_users_word(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await LtstSessionStore(user).append({**KEY, "subpath": "subagents/agent-1"}, SAID[:1])
    (session,) = await user.sessions.list()
    assert [message.role for message in await user.chat(session.session_id).window()] == ["ai"]


async def test_what_is_appended_again_is_stored_once(memory: AsyncMemory) -> None:
    store = LtstSessionStore(memory.user("ana"))
    await store.append(KEY, SAID[:2])
    changed = {**SAID[1], "message": {"role": "assistant", "content": "Something else."}}
    await store.append(KEY, [SAID[0], changed, SAID[2]])
    assert await store.load(KEY) == SAID[:3]


async def test_the_sdk_reads_its_sessions_from_it(memory: AsyncMemory, tmp_path: Any) -> None:
    store = LtstSessionStore(memory.user("ana"))
    key = {**KEY, "project_key": project_key_for_directory(str(tmp_path))}
    spoken = [
        {**entry, "uuid": str(uuid4()), "sessionId": KEY["session_id"], "timestamp": "2026-03-01T10:00:00.000Z"}
        for entry in SAID[:2]
    ]
    spoken[1]["parentUuid"] = spoken[0]["uuid"]
    await store.append(key, spoken)
    (listed,) = await list_sessions_from_store(store, str(tmp_path))
    assert (listed.session_id, listed.first_prompt) == (KEY["session_id"], "I moved to Lisbon in March.")
    messages = await get_session_messages_from_store(store, KEY["session_id"], str(tmp_path))
    assert [message.type for message in messages] == ["user", "assistant"]


async def test_one_user_never_sees_another(memory: AsyncMemory) -> None:
    await LtstSessionStore(memory.user("ana")).append(KEY, SAID)
    other = LtstSessionStore(memory.user("ben"))
    assert await other.load(KEY) is None
    await other.delete(KEY)
    assert await other.list_sessions(KEY["project_key"]) == []
    assert await LtstSessionStore(memory.user("ana")).load(KEY) == SAID


async def test_a_key_without_its_parts_is_refused(memory: AsyncMemory) -> None:
    store = LtstSessionStore(memory.user("ana"))
    for key in ({"project_key": "p"}, {**KEY, "subpath": ""}):
        with pytest.raises(Invalid, match="a key has a project_key, a session_id"):
            await store.append(key, SAID)
