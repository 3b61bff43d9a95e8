"""Contexts and working memory: typed keys and values of a session, some of which expire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helpers.probes import Connection, pass_time

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAST = datetime(2020, 1, 1, tzinfo=UTC)
FUTURE = datetime(2200, 1, 1, tzinfo=UTC)
TYPES = ["conversation", "preference", "project", "user_info", "working"]


@pytest.mark.parametrize("type", TYPES)
async def test_a_context_comes_back_with_all_that_was_set(any_user: Any, type: str) -> None:
    chat = any_user.chat()
    await chat.contexts.set(type, "goal", "win", relevance=0.75, expires_at=FUTURE, metadata={"a": [1, None]})
    (found,) = await chat.contexts.list(type)
    assert (found.session_id, found.user_id) == (chat.session_id, any_user.user_id)
    assert (found.context_type, found.context_key, found.context_value) == (type, "goal", "win")
    assert (found.relevance_score, found.expires_at, found.metadata) == (0.75, FUTURE, {"a": [1, None]})


async def test_a_context_takes_the_place_of_the_one_before(any_user: Any) -> None:
    chat = any_user.chat()
    await chat.contexts.set("project", "goal", "win", metadata={"a": 1})
    await chat.contexts.set("project", "goal", "not to lose", relevance=1)
    (found,) = await chat.contexts.list()
    assert (found.context_value, found.relevance_score, found.metadata) == ("not to lose", 1.0, {})


async def test_types_sessions_and_keys_are_kept_apart(any_user: Any) -> None:
    chat, other = any_user.chat(), any_user.chat()
    await chat.contexts.set("project", "goal", "one")
    await chat.contexts.set("project", "gap", "two")
    await chat.contexts.set("user_info", "goal", "three")
    await other.contexts.set("project", "goal", "four")
    assert {(each.context_type, each.context_key, each.context_value) for each in await chat.contexts.list()} == {
        ("project", "goal", "one"),
        ("project", "gap", "two"),
        ("user_info", "goal", "three"),
    }
    assert [each.context_value for each in await other.contexts.list("project")] == ["four"]


async def test_an_expired_context_is_not_there(any_user: Any) -> None:
    chat = any_user.chat()
    await chat.contexts.set("project", "goal", "win", expires_at=PAST)
    assert await chat.contexts.list() == []


async def test_an_expired_context_can_be_set_again(any_user: Any) -> None:
    chat = any_user.chat()
    await chat.contexts.set("project", "goal", "win", expires_at=PAST)
    await chat.contexts.set("project", "goal", "win")
    assert [each.expires_at for each in await chat.contexts.list()] == [None]


async def test_a_context_creates_its_session(user: Any) -> None:
    await user.chat("fresh", agent="coach").contexts.set("project", "goal", "win")
    found = await user.sessions.get("fresh")
    assert (found.session_length, found.agent_name) == (0, "coach")


async def test_one_context_is_read_by_type_and_key(user: Any) -> None:
    chat = user.chat()
    stored = await chat.contexts.set("project", "goal", "win")
    assert await chat.contexts.get("project", "goal") == stored
    assert await chat.contexts.get("project", "gap") is None
    assert await chat.contexts.get("working", "goal") is None
    await chat.contexts.set("project", "goal", "win", expires_at=PAST)
    assert await chat.contexts.get("project", "goal") is None


async def test_contexts_are_listed_by_type_and_key(user: Any) -> None:
    chat = user.chat()
    for type, key in [("user_info", "a"), ("project", "b"), ("project", "a")]:
        await chat.contexts.set(type, key, "value")
    listed = [(each.context_type, each.context_key) for each in await chat.contexts.list()]
    assert listed == [("project", "a"), ("project", "b"), ("user_info", "a")]


async def test_the_same_context_set_again_is_the_same_row_and_no_change(user: Any) -> None:
    chat = user.chat()
    first = await chat.contexts.set("project", "goal", "win")
    events = await user.events.list()
    assert await chat.contexts.set("project", "goal", "win") == first
    assert await user.events.list() == events


async def test_contexts_are_forgotten_one_by_one_or_by_type(user: Any) -> None:
    chat = user.chat()
    for key in ("a", "b", "c"):
        await chat.contexts.set("project", key, "value")
    await chat.contexts.set("user_info", "a", "value")
    assert await chat.contexts.forget("project", "a") == 1
    assert await chat.contexts.forget("project", "a") == 0
    assert await chat.contexts.forget("project") == 2
    assert [each.context_type for each in await chat.contexts.list()] == ["user_info"]


@pytest.mark.parametrize(
    "value", ["text", "", 0, -1.5, 1e23, True, None, [], {}, [1, {"a": [None]}], {"nested": {"key": "naïve ☕"}}]
)
async def test_working_memory_keeps_any_json(user: Any, value: Any) -> None:
    chat = user.chat()
    await chat.working.set("key", value)
    assert await chat.working.get("key") == value
    assert await chat.working.all() == {"key": value}


async def test_working_memory_is_the_context_type_working(user: Any) -> None:
    chat = user.chat()
    await chat.working.set("draft", {"a": 1})
    await chat.contexts.set("project", "goal", "win")
    assert [each.context_key for each in await chat.contexts.list("working")] == ["draft"]
    assert await chat.working.all() == {"draft": {"a": 1}}


@pytest.mark.parametrize("ttl", [3600, timedelta(hours=1)])
async def test_a_working_value_lives_for_its_time(user: Any, database: Connection, ttl: float | timedelta) -> None:
    chat = user.chat()
    await chat.working.set("short", 1, ttl=ttl)
    await chat.working.set("long", 2, ttl=7200)
    assert await chat.working.get("short") == 1
    pass_time(database, "conversation_context", user.user_id, timedelta(minutes=30))
    assert await chat.working.all() == {"short": 1, "long": 2}
    pass_time(database, "conversation_context", user.user_id, timedelta(minutes=30))
    assert await chat.working.get("short") is None
    assert await chat.working.all() == {"long": 2}


async def test_a_working_value_set_again_without_a_time_stays(user: Any, database: Connection) -> None:
    chat = user.chat()
    await chat.working.set("draft", 1, ttl=3600)
    await chat.working.set("draft", 1)
    pass_time(database, "conversation_context", user.user_id, timedelta(hours=2))
    assert await chat.working.get("draft") == 1


async def test_one_value_of_working_memory_can_be_forgotten(user: Any) -> None:
    chat = user.chat()
    await chat.working.set("a", 1)
    await chat.working.set("b", 2)
    assert await chat.working.forget("a") is True
    assert await chat.working.forget("a") is False
    assert await chat.working.all() == {"b": 2}


async def test_clearing_working_memory_leaves_other_contexts(user: Any) -> None:
    chat = user.chat()
    await chat.working.set("a", 1)
    await chat.working.set("b", 2)
    await chat.contexts.set("project", "goal", "win")
    assert await chat.working.clear() == 2
    assert await chat.working.all() == {}
    assert await chat.working.clear() == 0
    assert [each.context_key for each in await chat.contexts.list()] == ["goal"]


async def test_a_working_value_that_was_never_set_is_none(user: Any) -> None:
    assert await user.chat("nowhere").working.get("key") is None
    assert await user.sessions.get("nowhere") is None
