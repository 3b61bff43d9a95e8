"""LangChain's own history class, on a connection of its own, over the view chat_message_history."""

from __future__ import annotations

import importlib.metadata
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_postgres import PostgresChatMessageHistory

import ltst
from helpers.langchain_messages import WITH_IMAGE, asked_of_a_tool
from helpers.probes import superuser, value
from ltst import Memory

VIEW = "chat_message_history"
MESSAGES: list[BaseMessage] = [
    *asked_of_a_tool(written=7, status="success"),
    AIMessage("It is 21 degrees."),
    WITH_IMAGE,
    AIMessage(["plain", {"type": "text", "text": "and block"}]),
]

ROLES = ["superuser", "ltst_user"]


@pytest.fixture
def user_id() -> str:
    return f"user-{uuid.uuid4().hex}"


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


@contextmanager
def history(url: str, role: str, user_id: str | None, session: str) -> Iterator[PostgresChatMessageHistory]:
    """The history of a session on a connection on which the application set the user."""
    with psycopg.connect(url) as connection:
        if role != "superuser":
            connection.execute(f"SET ROLE {role}".encode())
        if user_id is not None:
            connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user_id,))
        connection.commit()
        yield PostgresChatMessageHistory(VIEW, session, sync_connection=connection)


@asynccontextmanager
async def async_history(url: str, role: str, user_id: str, session: str) -> AsyncIterator[PostgresChatMessageHistory]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        if role != "superuser":
            await connection.execute(f"SET ROLE {role}".encode())
        await connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user_id,))
        await connection.commit()
        yield PostgresChatMessageHistory(VIEW, session, async_connection=connection)


@pytest.mark.parametrize("role", ROLES)
def test_messages_come_back_equal_and_in_order(url: str, role: str, user_id: str, session: str) -> None:
    with history(url, role, user_id, session) as chat:
        assert chat.get_messages() == []
        chat.add_messages(MESSAGES[:3])
        chat.add_messages(MESSAGES[3:])
        assert chat.get_messages() == MESSAGES
    with history(url, role, user_id, session) as again:
        assert again.messages == MESSAGES


@pytest.mark.parametrize("role", ROLES)
async def test_messages_come_back_equal_and_in_order_asynchronously(
    url: str, role: str, user_id: str, session: str
) -> None:
    async with async_history(url, role, user_id, session) as chat:
        await chat.aadd_messages(MESSAGES)
        assert await chat.aget_messages() == MESSAGES
        await chat.aclear()
        assert await chat.aget_messages() == []


@pytest.mark.parametrize("role", ROLES)
def test_what_langchain_writes_is_in_the_window(
    url: str, shared: Memory, role: str, user_id: str, session: str
) -> None:
    with history(url, role, user_id, session) as chat:
        chat.add_messages(MESSAGES)
    window = shared.user(user_id).chat(session).window()
    assert [message.role for message in window] == ["system", "human", "ai", "tool", "ai", "human", "ai"]
    assert [message.message_index for message in window] == [*range(1, 8)]
    assert [message.content for message in window[:5]] == [message.content for message in MESSAGES[:5]]
    assert json.loads(window[5].content) == MESSAGES[5].content
    assert all(message.content_hash and message.user_id == user_id for message in window)
    assert shared.user(user_id).sessions.get(session).session_length == 7  # type: ignore[union-attr]
    assert [each.actor for each in shared.user(user_id).events.list()] == [VIEW] * 8


@pytest.mark.parametrize("role", ROLES)
def test_what_ltst_adds_is_in_langchains_history(
    url: str, shared: Memory, role: str, user_id: str, session: str
) -> None:
    chat = shared.user(user_id).chat(session)
    chat.add("system", "Be brief.")
    with history(url, role, user_id, session) as langchain:
        langchain.add_messages([HumanMessage("Hello!")])
        chat.add("assistant", "Hi.", metadata={"langchain-like": True})
        langchain.add_messages([HumanMessage("Bye.")])
        assert langchain.get_messages() == [
            SystemMessage("Be brief."),
            HumanMessage("Hello!"),
            AIMessage("Hi."),
            HumanMessage("Bye."),
        ]
    assert [message.message_index for message in chat.window()] == [1, 2, 3, 4]


def test_a_tool_message_of_ltst_does_not_make_the_history_unreadable(
    url: str, shared: Memory, user_id: str, session: str
) -> None:
    chat = shared.user(user_id).chat(session)
    chat.add("user", "What is the weather?")
    chat.add("tool", "21 degrees")
    with history(url, "ltst_user", user_id, session) as langchain:
        question, result = langchain.get_messages()
    assert question == HumanMessage("What is the weather?")
    assert isinstance(result, ToolMessage)
    assert result.content == "21 degrees"


@pytest.mark.parametrize("metadata", [{"langchain": "yes"}, {"langchain": None}, {"langchain": [1]}, {"langchain": 5}])
def test_metadata_of_ltst_does_not_make_the_history_unreadable(
    url: str, shared: Memory, user_id: str, session: str, metadata: dict[str, Any]
) -> None:
    shared.user(user_id).chat(session).add("user", "hello", metadata=metadata)
    with history(url, "ltst_user", user_id, session) as langchain:
        assert langchain.get_messages() == [HumanMessage("hello")]


@pytest.mark.parametrize(("type", "message"), [("user", HumanMessage("hello")), ("assistant", AIMessage("hello"))])
def test_a_row_by_hand_in_the_words_of_models_is_readable(
    url: str, shared: Memory, user_id: str, session: str, type: str, message: BaseMessage
) -> None:
    with superuser(url) as connection:
        connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user_id,))
        connection.execute(
            f"INSERT INTO {VIEW} (session_id, message) VALUES (%s, %s)".encode(),
            (session, json.dumps({"type": type, "data": {"content": "hello"}})),
        )
    with history(url, "ltst_user", user_id, session) as langchain:
        assert langchain.get_messages() == [message]
    assert shared.user(user_id).chat(session).snapshot()["messages"] == [{"role": type, "content": "hello"}]


def test_a_function_message_comes_back_equal(url: str, user_id: str, session: str) -> None:
    written = FunctionMessage("21 degrees", name="weather")
    with history(url, "ltst_user", user_id, session) as chat:
        chat.add_messages([written])
        assert chat.get_messages() == [written]


@pytest.mark.parametrize("role", ROLES)
def test_clearing_a_history_removes_its_messages_and_no_others(
    url: str, shared: Memory, role: str, user_id: str, session: str
) -> None:
    other = str(uuid.uuid4())
    for name in (session, other):
        with history(url, role, user_id, name) as chat:
            chat.add_messages(MESSAGES[:2])
    with history(url, role, user_id, session) as chat:
        chat.clear()
        assert chat.get_messages() == []
        chat.add_messages([HumanMessage("anew")])
        assert chat.get_messages() == [HumanMessage("anew")]
    with history(url, role, user_id, other) as chat:
        assert chat.get_messages() == MESSAGES[:2]
    user = shared.user(user_id)
    assert [message.content for message in user.chat(session).window()] == ["anew"]
    assert user.sessions.get(session).session_length == 1  # type: ignore[union-attr]
    assert [event.action for event in user.events.list()].count("delete") == 2


def test_a_session_goes_on_in_ltst_after_langchain_cleared_it(
    url: str, shared: Memory, user_id: str, session: str
) -> None:
    chat = shared.user(user_id).chat(session)
    chat.add_interaction("one", "two")
    with history(url, "ltst_user", user_id, session) as langchain:
        langchain.clear()
    last = chat.add("user", "three")
    branch = chat.fork(last.message_index)
    assert [message.content for message in branch.window()] == ["three"]
    assert chat.summary().message_count == 1


@pytest.mark.parametrize("role", ROLES)
def test_another_user_sees_nothing_and_clears_nothing(url: str, role: str, user_id: str, session: str) -> None:
    with history(url, role, user_id, session) as chat:
        chat.add_messages(MESSAGES)
    with history(url, role, f"other-{user_id}", session) as stranger:
        assert stranger.get_messages() == []
        stranger.clear()
        stranger.add_messages([HumanMessage("mine")])
        assert stranger.get_messages() == [HumanMessage("mine")]
    with history(url, role, user_id, session) as chat:
        assert chat.get_messages() == MESSAGES


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("nobody", [None, ""])
def test_without_a_user_nothing_is_read_and_a_write_says_what_to_run(
    url: str, role: str, nobody: str | None, user_id: str, session: str
) -> None:
    with history(url, role, user_id, session) as chat:
        chat.add_messages(MESSAGES)
    with history(url, role, nobody, session) as chat:
        assert chat.get_messages() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="no user is set") as refusal:
            chat.add_messages([HumanMessage("whose?")])
        assert refusal.value.diag.message_hint is not None
        assert "set_config('ltst.user_id'" in refusal.value.diag.message_hint
    with history(url, role, nobody, session) as chat:
        chat.clear()
    with history(url, role, user_id, session) as chat:
        assert chat.get_messages() == MESSAGES


def test_what_langchain_wrote_goes_through_an_export(url: str, shared: Memory, user_id: str, session: str) -> None:
    with history(url, "ltst_user", user_id, session) as chat:
        chat.add_messages(MESSAGES)
    shared.user(f"copy-of-{user_id}").restore(shared.user(user_id).export())
    with history(url, "ltst_user", f"copy-of-{user_id}", session) as copy:
        assert copy.get_messages() == MESSAGES


def test_what_langchain_wrote_can_be_forked(url: str, shared: Memory, user_id: str, session: str) -> None:
    with history(url, "ltst_user", user_id, session) as chat:
        chat.add_messages(MESSAGES)
    branch = shared.user(user_id).chat(session).fork(3, session_id=str(uuid.uuid4()))
    with history(url, "ltst_user", user_id, branch.session_id) as forked:
        assert forked.get_messages() == MESSAGES[:3]


def test_all_messages_of_one_call_are_written_or_none(url: str, shared: Memory, user_id: str, session: str) -> None:
    class Unknown(HumanMessage):
        type: str = "unknown"  # type: ignore[assignment]

    with history(url, "ltst_user", user_id, session) as chat, pytest.raises(psycopg.Error):
        chat.add_messages([HumanMessage("good"), Unknown("bad")])
    assert shared.user(user_id).chat(session).window() == []


def test_a_session_with_the_longest_id_can_be_cleared(url: str, shared: Memory, user_id: str) -> None:
    session = "x" * 255
    shared.user(user_id).chat(session).add("user", "hello")
    with superuser(url) as connection:
        connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user_id,))
        connection.execute(f"DELETE FROM {VIEW} WHERE session_id = %s".encode(), (session,))
        assert value(connection, f"SELECT count(*) FROM {VIEW} WHERE session_id = %s", session) == 0
    assert shared.user(user_id).chat(session).window() == []


@pytest.mark.parametrize(
    "write",
    [
        lambda chat: chat.add_messages([HumanMessage("hello")]),
        lambda chat: chat.clear(),
    ],
)
def test_the_ledger_does_not_hold_what_was_said(
    url: str, shared: Memory, user_id: str, session: str, write: Callable[[Any], None]
) -> None:
    shared.user(user_id).chat(session).add("user", "hello")
    with history(url, "ltst_user", user_id, session) as chat:
        write(chat)
    told = [(event.row_id, dict(event.details)) for event in shared.user(user_id).events.list()]
    assert len(told) == 3
    assert "hello" not in str(told)


def test_ltst_needs_no_python_package_for_vectors() -> None:
    required = importlib.metadata.requires("ltst") or []
    always = {re.split(r"[^\w-]", each)[0].lower() for each in required if "extra ==" not in each}
    assert "psycopg" in always
    assert always.isdisjoint({"pgvector", "sqlalchemy", "asyncpg", "psycopg-pool"})
    assert not any(each.lower().startswith("pgvector") for each in required)
    assert ltst.__version__ == importlib.metadata.version("ltst")
