"""Many writers at once, some of them rolled back, killed or cancelled, and servers that go away under a program."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from helpers.citus import by_hand
from ltst import (
    AsyncMemory,
    ConversationMessage,
    DatabaseUnavailable,
    ImportedConversation,
    ImportedMessage,
    Memory,
    Settings,
)
from ltst.db import watcher
from ltst.memory import AsyncChat
from ltst.support.ids import new_id
from ltst.support.text import sha256

WRITERS, MESSAGES = 64, 100
DOOMED_EVERY = 10
RAW_CONNECTIONS = 8
SHOT_EVERY = 0.1
ROUNDS = 200

Connection = psycopg.AsyncConnection[tuple[object, ...]]
Doom = Callable[[str], Awaitable[None]]

ADD = b"""
SELECT outcome FROM ltst_add_message(
    acting_user => %(user)s, session => %(session)s, new_id => %(id)s::uuid, new_role => 'human',
    new_content => %(content)s, hash => %(hash)s, scoped_hash => %(hash)s, tokens => 1, happened => now(),
    extra => '{}', parent => NULL, key => NULL, agent => NULL, name => NULL, acting => 'test', retried => false)
"""
HAND_WRITTEN = b"""
INSERT INTO conversation_messages (user_id, session_id, role, content)
SELECT 'ada', session_id, 'human', %(content)s FROM unnest(%(sessions)s::text[]) AS session_id
"""
NUMBERED = b"""
INSERT INTO conversation_messages (user_id, session_id, role, content, message_index)
SELECT 'ada', session_id, 'human', %(content)s, %(after)s::integer + place
FROM unnest(%(sessions)s::text[]) WITH ORDINALITY AS given (session_id, place)
"""
DELETE = b"DELETE FROM conversation_messages WHERE user_id = 'ada' AND content_hash = ltst_sha256(%(content)s)"
STORED = b"""
SELECT content, message_id::text, message_index FROM conversation_messages
WHERE user_id = 'ada' AND session_id = %s ORDER BY message_index
"""
COUNTERS = b"SELECT session_length, last_index FROM conversation_sessions WHERE user_id = 'ada' AND session_id = %s"
OTHERS = b"FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
KILL_ONE = b"""
SELECT pg_terminate_backend(pid) FROM (
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
    ORDER BY random() LIMIT 1) AS chosen
"""


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    connection = await psycopg.AsyncConnection.connect(by_hand(url), autocommit=True)
    try:
        yield connection
    finally:
        await connection.close()


async def stored_in(url: str, session_id: str) -> list[tuple[object, ...]]:
    """The messages of a session, once its indexes and counters are known to be whole."""
    async with connected(url) as connection:
        messages = await (await connection.execute(STORED, (session_id,))).fetchall()
        counters = await (await connection.execute(COUNTERS, (session_id,))).fetchone()
    assert [index for _, _, index in messages] == [*range(1, len(messages) + 1)]
    assert counters == (len(messages), len(messages))
    return messages


class Dooms:
    """The ways in which a write comes to nothing, or to something that nobody is told of."""

    def __init__(self, url: str, chat: AsyncChat, chance: random.Random) -> None:
        self._url = url
        self._chat = chat
        self._chance = chance
        self._room = asyncio.Semaphore(RAW_CONNECTIONS)

    def any(self) -> Doom:
        return self._chance.choice((self.roll_back, self.kill, self.cancel))

    async def roll_back(self, content: str) -> None:
        async with self._room, connected(self._url) as connection:
            with suppress(psycopg.OperationalError):  # it may be shot, which comes to the same
                async with connection.transaction(force_rollback=True):
                    await self._add(connection, content)

    async def kill(self, content: str) -> None:
        async with self._room, connected(self._url) as connection:
            with pytest.raises(psycopg.OperationalError):
                async with connection.transaction():
                    await self._add(connection, content)
                    await connection.execute("RESET ROLE")
                    await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    async def cancel(self, content: str) -> None:
        """Stop waiting somewhere between the first step and the answer: it may be there afterwards, once."""
        writing = asyncio.create_task(self._chat.add("user", content))
        await asyncio.sleep(self._chance.uniform(0, 0.03))
        writing.cancel()
        with suppress(asyncio.CancelledError, DatabaseUnavailable):
            await writing

    async def _add(self, connection: Connection, content: str) -> None:
        values = {"user": "ada", "session": self._chat.session_id, "id": new_id(), "content": content}
        await connection.execute(ADD, values | {"hash": sha256(content)})


async def write(chat: AsyncChat, writer: int, dooms: Dooms) -> list[ConversationMessage]:
    acknowledged = []
    for number in range(MESSAGES):
        content = f"writer {writer} says {number}"
        if number % DOOMED_EVERY == writer % DOOMED_EVERY:
            await dooms.any()(content)
            continue
        with suppress(DatabaseUnavailable):
            acknowledged.append(await chat.add("user", content))
    return acknowledged


async def shoot(url: str, over: asyncio.Event) -> int:
    """Kill backends at work, one after the other; how many."""
    shot = 0
    async with connected(url) as connection:
        while not over.is_set():
            await asyncio.sleep(SHOT_EVERY)
            shot += (await connection.execute(KILL_ONE)).rowcount
    return shot


async def test_a_crowd_on_one_session_leaves_no_gap_and_no_duplicate(memory: AsyncMemory, database_url: str) -> None:
    chat = memory.user("ada").chat("crowd")
    dooms = Dooms(database_url, chat, random.Random(7))
    over = asyncio.Event()
    shooting = asyncio.create_task(shoot(database_url, over))
    written = await asyncio.gather(*(write(chat, writer, dooms) for writer in range(WRITERS)))
    over.set()
    assert await shooting > 0

    acknowledged = [message for each in written for message in each]
    messages = await stored_in(database_url, "crowd")
    assert len(acknowledged) > WRITERS * MESSAGES * 0.8
    assert max(Counter(content for content, _, _ in messages).values()) == 1
    assert {(each.content, each.message_id, each.message_index) for each in acknowledged} <= {*messages}


async def test_the_same_key_at_once_is_one_message(memory: AsyncMemory, settings: Settings, database_url: str) -> None:
    async with AsyncMemory(settings=settings) as other:  # as another process would, with connections of its own
        chats = [each.user("ada").chat("keyed") for each in (memory, other)]
        for number in range(10):
            adds = (chats[each % 2].add("user", f"once {number}", key=f"key {number}") for each in range(32))
            answers = await asyncio.gather(*adds)
            assert {(each.message_id, each.message_index) for each in answers} == {(answers[0].message_id, number + 1)}

    stored = await stored_in(database_url, "keyed")
    assert [content for content, _, _ in stored] == [f"once {number}" for number in range(10)]


@pytest.mark.parametrize("statement", [HAND_WRITTEN, NUMBERED], ids=["index left out", "index given"])
async def test_statements_over_the_same_sessions_in_opposite_order_do_not_deadlock(
    memory: AsyncMemory, database_url: str, statement: bytes
) -> None:
    for session_id in ("A", "B"):
        await memory.user("ada").chat(session_id).add("user", "first")
    forth, back = ["A"] * 20 + ["B"] * 20, ["B"] * 20 + ["A"] * 20

    async def insert(connection: Connection, sessions: list[str], first: int) -> None:
        for number in range(ROUNDS):
            given = {"sessions": sessions, "after": first + 100 * number, "content": "by hand"}
            await connection.execute(statement, given)

    async with connected(database_url) as one, connected(database_url) as other:
        await asyncio.gather(insert(one, forth, 1), insert(other, back, 51))

    for session_id in ("A", "B"):
        session = await memory.user("ada").sessions.get(session_id)
        assert session is not None and session.session_length == 1 + 2 * 20 * ROUNDS


async def test_adding_to_and_deleting_from_the_same_sessions_do_not_deadlock(
    memory: AsyncMemory, database_url: str
) -> None:
    sessions = [f"session {number}" for number in range(30)]
    for session_id in sessions:
        await memory.user("ada").chat(session_id).add("user", "first")

    async def insert(connection: Connection, word: str, first: int) -> None:
        for number in range(ROUNDS):
            given = {"sessions": sessions, "after": first + 100 * number, "content": f"{word} {number}"}
            await connection.execute(NUMBERED, given)

    async def delete(connection: Connection, word: str) -> None:
        for number in range(ROUNDS):
            await connection.execute(DELETE, {"content": f"{word} {number}"})

    async with connected(database_url) as one, connected(database_url) as other:
        await insert(one, "old", 1)
        await asyncio.gather(insert(one, "new", 100 * ROUNDS + 1), delete(other, "old"))

    for session_id in sessions:
        session = await memory.user("ada").sessions.get(session_id)
        assert session is not None and session.session_length == 1 + ROUNDS


def kill_postmaster(home: Path) -> None:
    pid = watcher.postmaster((home / "postgres" / "data").resolve())
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def end_server(home: Path) -> None:
    """Kill it, and wait until its other processes have followed."""
    kill_postmaster(home)
    assert watcher.wait_until(lambda: not watcher.is_held(home / "postgres" / "locks" / "server"), 20)


async def test_a_program_goes_on_when_its_embedded_server_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "own"
    async with AsyncMemory(settings=Settings(worker=False, home=home)) as memory:
        user = memory.user("ada")
        chat = user.chat("long")
        await chat.add("user", "before")

        await asyncio.to_thread(end_server, home)
        assert (await chat.add("user", "after")).message_index == 2
        await asyncio.to_thread(end_server, home)
        assert [each.content for each in await chat.window()] == ["before", "after"]
        await asyncio.to_thread(end_server, home)
        assert (await user.facts.set("city", "Lisbon")).fact_value == "Lisbon"


def test_a_call_in_the_moment_of_the_kill_works_too(tmp_path: Path) -> None:
    home = tmp_path / "own"
    with Memory(settings=Settings(worker=False, home=home)) as memory:
        chat = memory.user("ada").chat("long")
        chat.add("user", "before")
        kill_postmaster(home)
        assert chat.add("user", "after").message_index == 2
        assert [each.content for each in chat.window()] == ["before", "after"]


async def terminate_all(url: str) -> None:
    """End all connections to a database, and wait until they are gone."""
    async with connected(url) as connection:
        await connection.execute(b"SELECT pg_terminate_backend(pid, 10000) " + OTHERS)


async def test_calls_work_at_once_after_all_connections_were_ended(memory: AsyncMemory, database_url: str) -> None:
    user = memory.user("ada")
    chat = user.chat("long")
    await asyncio.gather(*(chat.add("user", "warm") for _ in range(16)))

    await terminate_all(database_url)
    assert (await chat.add("user", "without a key")).message_index == 17
    await terminate_all(database_url)
    assert (await user.facts.set("city", "Lisbon")).fact_value == "Lisbon"
    await terminate_all(database_url)
    assert (await chat.window())[-1].content == "without a key"
    assert len(await stored_in(database_url, "long")) == 17


async def test_imports_of_the_same_conversations_at_once_store_them_once(memory: AsyncMemory) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    given = [
        ImportedConversation(
            f"c{number}",
            [
                ImportedMessage("a", "user", "a", moment),
                ImportedMessage("b", "assistant", "b", moment, "a"),
                ImportedMessage("c", "assistant", "c", moment, "a"),
            ],
        )
        for number in range(20)
    ]
    user = memory.user("ana")

    async def write(number: int) -> None:
        for each in range(10):
            await user.chat(f"c{each * 2 % 20}").add("user", f"by hand {number} {each}")

    orders = [given, given[::-1], given[5:], given[:15]]
    added = await asyncio.gather(*(user.sessions.add_many(order) for order in orders), *map(write, range(4)))
    assert sum(each.messages for each in added[:4] if each is not None) == 20 * 4
    for number in range(20):
        messages = await user.chat(f"c{number}").history()
        assert [each.message_index for each in messages] == [*range(1, len(messages) + 1)]
        assert [each.message_key for each in messages if each.message_key] == ["a", "c"]
        assert [each.message_key for each in await user.chat(f"c{number}~b").history()] == ["a", "b"]
