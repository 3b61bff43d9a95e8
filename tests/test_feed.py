"""The order of changes: a user's are seen one after the other, everyone's are followed without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from helpers.citus import by_hand
from helpers.probes import Connection
from ltst import AsyncMemory
from ltst.records import Event

WRITE = "INSERT INTO event_ledger (user_id, actor, action, noun, row_id) VALUES (%s, 'hand', 'add', 'fact', %s)"
ACT = "SELECT set_config('role', 'ltst_user', true), set_config('ltst.user_id', %s, true)"


@contextmanager
def writing(url: str, user_id: str, row_id: str = "slow") -> Iterator[Connection]:
    """A change of a user that has its event and is not over."""
    with psycopg.connect(by_hand(url)) as slow:
        slow.execute(ACT, (user_id,))
        slow.execute(WRITE, (user_id, row_id))
        yield slow


async def followed(memory: AsyncMemory, after: str | int = 0) -> list[Event]:
    """What everyone did after a place, in pages of three."""
    found: list[Event] = []
    while page := await memory.feed(after=after, limit=3):
        found += page
        after = page[-1].cursor
    return found


def rows(found: list[Event]) -> list[str]:
    return [each.row_id for each in found if each.actor == "hand"]


async def test_a_change_that_another_began_hides_nothing_of_mine(memory: AsyncMemory, database_url: str) -> None:
    with writing(database_url, "ben"):
        fact = await memory.user("ana").facts.set("home", "Lisbon")
        assert [each.row_id for each in await memory.user("ana").events.feed()] == [fact.fact_id]


async def test_a_transaction_in_another_database_hides_nothing(memory: AsyncMemory, database_url: str) -> None:
    with psycopg.connect(database_url, dbname="postgres") as elsewhere:
        elsewhere.execute("SELECT pg_current_xact_id()")
        fact = await memory.user("ana").facts.set("home", "Lisbon")
        assert fact.fact_id in [each.row_id for each in await memory.feed()]


async def test_a_change_with_an_earlier_place_is_waited_for(memory: AsyncMemory, database_url: str) -> None:
    await memory.user("ana").facts.set("home", "Porto")
    seen = (await followed(memory))[-1].cursor
    with writing(database_url, "ben") as slow:
        await memory.user("ana").facts.set("home", "Lisbon")
        assert await followed(memory, seen) == [], "what ben does stands before it"
        assert (await memory.changed(seen)).user_ids == frozenset()
        assert len(await memory.user("ana").events.feed(after=seen)) == 1, "but not before ana's own"
        slow.commit()
        assert [each.user_id for each in await followed(memory, seen)] == ["ben", "ana"]
        assert (await memory.changed(seen)).user_ids == {"ana", "ben"}


async def test_a_change_that_is_given_up_leaves_no_gap_to_wait_at(memory: AsyncMemory, database_url: str) -> None:
    with writing(database_url, "ben") as slow:
        await memory.user("ana").facts.set("home", "Lisbon")
        slow.rollback()
        assert {each.user_id for each in await followed(memory)} == {"ana"}


async def test_what_has_an_earlier_place_comes_first(memory: AsyncMemory, database_url: str) -> None:
    events = memory.user("ana").events
    with writing(database_url, "ana", "first") as slow, writing(database_url, "ana", "second") as quick:
        quick.commit()
        assert rows(await events.list()) == ["second"], "at once"
        assert rows(await events.feed()) == []
        slow.commit()
    assert rows(await events.feed()) == rows(await followed(memory)) == ["first", "second"]


async def test_a_change_of_the_keeper_is_waited_for_by_everyone(memory: AsyncMemory, database_url: str) -> None:
    with psycopg.connect(by_hand(database_url)) as keeper:
        keeper.execute("SET LOCAL ROLE ltst_keeper")
        for user_id in ("ana", "ben", "ana"):
            keeper.execute(WRITE, (user_id, "expired"))
        await memory.user("ana").facts.set("home", "Lisbon")
        assert await memory.user("ana").events.feed() == []
        keeper.commit()
    assert len(await memory.user("ana").events.feed()) == 3


async def test_a_change_of_many_events_takes_one_lock(database_url: str) -> None:
    locks = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'"
    with writing(database_url, "ana") as slow, slow.transaction():
        for number in range(100):
            slow.execute(WRITE, ("ana", f"{number}"))
        assert slow.execute(locks).fetchone() == (1,)


async def test_what_is_taken_back_to_a_savepoint_is_locked_again(memory: AsyncMemory, database_url: str) -> None:
    """Its lock went with it, so that the change needs another."""
    with psycopg.connect(by_hand(database_url)) as slow:
        slow.execute(ACT, ("ana",))
        with slow.transaction(force_rollback=True):
            slow.execute(WRITE, ("ana", "taken back"))
        slow.execute(WRITE, ("ana", "first"))
        await memory.user("ana").facts.set("home", "Lisbon")
        assert await memory.user("ana").events.feed() == []


async def test_numbers_beyond_those_of_a_lock(memory: AsyncMemory, database: Connection, database_url: str) -> None:
    """A lock holds the last 32 bits of a number; the rest is told by the numbers drawn."""
    database.execute("SELECT setval('ledger_positions', (1::bigint << 40) - 3)")
    await memory.user("ben").facts.set("home", "Porto")
    seen = (await followed(memory))[-1].cursor
    with writing(database_url, "ana", "slow") as slow:
        await memory.user("ana").facts.set("home", "Lisbon")
        assert await memory.user("ana").events.feed() == await followed(memory, seen) == []
        slow.commit()
    assert len(await memory.user("ana").events.feed()) == len(await followed(memory, seen)) == 2


async def test_a_crowd_is_followed_without_a_gap(memory: AsyncMemory) -> None:
    """Writers of some users in several sessions each, one follower of everyone and one of each user."""
    users, sessions, each = 4, 4, 10
    done = asyncio.Event()

    async def write(user: int, session: int) -> None:
        for number in range(each):
            await memory.user(f"user-{user}").chat(f"chat-{session}").add("user", f"{number}")

    async def follow(read: Any) -> list[int]:
        found: list[Event] = []
        while True:
            last = done.is_set()
            page = await read(after=found[-1].cursor if found else 0, limit=7)
            found += page
            if last and not page:
                return [event.event_id for event in found if event.noun == "message"]
            await asyncio.sleep(0)

    names = [f"user-{user}" for user in range(users)]
    reads = [memory.feed, *(memory.user(name).events.feed for name in names)]
    followers = [asyncio.create_task(follow(read)) for read in reads]
    await asyncio.gather(*(write(user, session) for user in range(users) for session in range(sessions)))
    done.set()
    everyone, *own = await asyncio.gather(*followers)
    assert len(everyone) == len({*everyone}) == users * sessions * each
    assert [len(found) for found in own] == [sessions * each] * users
    assert {*everyone} == {number for found in own for number in found}
