"""Derived work: found and not queued, done once however many are at it, and never stuck whatever goes wrong."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import kills
from helpers import slow_rules
from helpers.embedders import hashed, opened
from helpers.language_server import Hang, Status, language_server
from helpers.probes import UNINDEXED, Connection, cloned, superuser, tables, value
from helpers.waiting import PATIENCE, soon
from helpers.workers import POISON, Noted, forked, settle_and_note, settle_or_die
from ltst import AsyncMemory, AsyncUser, ModelUnavailable, Settings
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import SingleCall
from ltst.handles.learning import rules
from ltst.indexing.index import index_words
from ltst.learn.listen import listen
from ltst.providers.vectors import TextRefused
from ltst.retelling.consolidate import consolidate
from ltst.retelling.episodes import tell
from ltst.rooms import work
from ltst.rooms.work import Lease, LeaseLost

LONG_AGO = datetime(2024, 3, 1, 9, tzinfo=UTC)
CITIES = ("Lisbon", "Porto", "Utrecht", "Bergen", "Kyoto", "Quito")
WORK = "SELECT task, subject, attempts, set_aside_at IS NOT NULL FROM derived_work ORDER BY task, subject"
LACKING = f"""
SELECT content FROM conversation_messages
WHERE message_id IN (SELECT row_id FROM ({UNINDEXED}) AS lacking)
"""
WORDLESS = """
SELECT count(*) FROM search_sources AS source
WHERE NOT EXISTS (SELECT FROM search_units WHERE user_id = source.user_id AND row_id = source.row_id)
"""
REST = "SELECT extract(epoch FROM not_before - now())::float FROM derived_work"


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ltst.worker.QUIET_SECONDS", 0.02)
    monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.1)
    monkeypatch.setattr("ltst.worker.REST_SECONDS", 0.1)
    # What failed rests until a test says that it has rested.
    monkeypatch.setattr("ltst.rooms.work.FIRST_DELAY", timedelta(hours=1))
    monkeypatch.setattr("ltst.rooms.work.LONGEST_DELAY", timedelta(days=1000))


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A lease that nobody can wait for: what is not given back is stuck."""
    return replace(settings, lease=3600.0)


async def talk(user: AsyncUser, session_id: str = "monday", *texts: str, at: datetime = LONG_AGO) -> None:
    """A conversation that is over, in which the user tells where they live."""
    said = texts or (
        f"I live in {CITIES[len(session_id) % len(CITIES)]} and {session_id} was a long day for {user.user_id}.",
        f"After {session_id} I walked along the river with my friends until the lights of the town went on.",
    )
    turns = [{"role": "user", "content": text, "at": at + timedelta(minutes=n)} for n, text in enumerate(said)]
    await user.chat(session_id).add_many(turns)


def calls(memory: AsyncMemory, user_id: str = "ana") -> SingleCall:
    return memory._core.database.user(user_id)


async def claim(memory: AsyncMemory, task: str, subject: str = "", user_id: str = "ana") -> Lease | None:
    found = await work.claim(calls(memory, user_id), rules(memory._core), user_id, task, subject)
    return found[0] if found else None


def expire(database: Connection) -> None:
    """Whoever was at some work has ended, and that was long ago."""
    database.execute(
        "UPDATE derived_work SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL"
    )


def rested(database: Connection) -> None:
    """What failed has rested long enough."""
    database.execute("UPDATE derived_work SET not_before = now() - interval '1 second'")


def left(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute(WORK).fetchall()


def lacking(database: Connection) -> list[str]:
    return sorted(content for (content,) in database.execute(LACKING))


def count(database: Connection, table: str) -> int:
    return int(value(database, f"SELECT count(*) FROM {table}"))


async def aside(memory: AsyncMemory) -> str:
    """What health says about derived work."""
    (check,) = [each for each in (await memory.health()).checks if each.name == "derived work"]
    assert check.status in ("ok", "warning")
    return check.detail if check.status == "warning" else ""


async def settled(memory: AsyncMemory, user_id: str | None = None) -> None:
    async with asyncio.timeout(PATIENCE):
        await memory.settle(user_id)


class Gate:
    """An embedder that waits until it is let go on."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Any:
        self.begun.set()
        self.open.wait(PATIENCE)
        return hashed(texts)


def unless(word: str, problem: Exception, seen: list[str] | None = None) -> Callable[[Sequence[str]], Any]:
    """An embedder that fails where a word stands in one of the texts."""

    def embed(texts: Sequence[str]) -> Any:
        if seen is not None:
            seen.extend(texts)
        if any(word in text for text in texts):
            raise problem
        return hashed(texts)

    return embed


class TestLeases:
    async def test_what_somebody_is_at_is_not_taken_up(self, settings: Settings) -> None:
        async with opened(settings) as one, opened(settings) as two:
            assert await claim(one, "learn", "monday")
            assert await claim(two, "learn", "monday") is None
            assert await claim(two, "learn", "tuesday") and await claim(two, "episode", "monday")
            assert await claim(two, "learn", "monday", "bob")

    async def test_what_its_worker_left_is_taken_up_when_the_lease_has_ended(
        self, settings: Settings, database: Connection
    ) -> None:
        async with opened(settings) as one, opened(settings) as two:
            first = await claim(one, "learn", "monday")
            expire(database)
            second = await claim(two, "learn", "monday")
            assert first and second and (first.attempts, second.attempts) == (1, 2)
            with pytest.raises(LeaseLost):
                await work.finish(calls(one), first)
            await work.put_off(calls(one), first, "too late")
            await work.give_back(calls(one), [first])
            assert left(database) == [("learn", "monday", 2, False)]
            await work.finish(calls(two), second)

    async def test_slow_work_keeps_its_lease(self, settings: Settings, database: Connection) -> None:
        gate = Gate()
        until = "SELECT leased_until FROM derived_work"
        async with opened(replace(settings, lease=9.0), gate.embed) as slow, opened(settings) as other:
            await talk(slow.user("ana"))
            task = asyncio.create_task(settled(slow))
            await soon(gate.begun.is_set)
            first = value(database, until)
            await soon(lambda: value(database, until) > first + timedelta(seconds=1.5))
            assert await claim(other, "index") is None
            gate.open.set()
            await task
            assert left(database) == lacking(database) == []

    @pytest.mark.parametrize("task", ["learn", "episode", "consolidate"])
    async def test_who_lost_the_lease_writes_nothing(
        self, settings: Settings, database: Connection, task: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stolen = "UPDATE derived_work SET holder = gen_random_uuid()"
        async with opened(replace(settings, learn={"episodes"} if task == "consolidate" else set())) as memory:
            for session in ("monday", "tuesday"):
                await talk(memory.user("ana"), session)
            await settled(memory)
            lease = await claim(memory, task, "" if task == "consolidate" else "monday")
            assert lease
            database.execute(stolen)
            before = count(database, "event_ledger")
            core = memory._core
            with pytest.raises(LeaseLost):
                if task == "learn":
                    await listen(core.database, lease, limits=rules(core).limits)
                elif task == "episode":
                    await tell(core.database, lease, rules(core))
                else:
                    await consolidate(core.database, lease, limits=rules(core).limits, relate=True)
        assert count(database, "event_ledger") == before
        assert count(database, "claims") == count(database, "user_facts") == count(database, "session_relationships")
        assert count(database, "memory_entries") == (2 if task == "consolidate" else 0)
        assert value(database, "SELECT max(learned_index) FROM conversation_sessions") == 0
        assert value(database, "SELECT count(*) FROM memory_entries WHERE consolidated") == 0

    async def test_a_session_that_is_to_be_learnt_anew_meanwhile_is_not_stuck(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The lease is still held, but what was read is not what is to be read now."""
        from ltst.rooms import messages

        original, times = messages.after, Counter[str]()

        async def after(*given: Any) -> Any:
            found = await original(*given)
            times.update(["read"])
            if times["read"] == 1:
                database.execute("UPDATE conversation_sessions SET learned_index = 1")
            return found

        monkeypatch.setattr("ltst.learn.listen.messages.after", after)
        async with opened(settings) as memory:
            await talk(memory.user("ana"))
            await settled(memory)
        assert value(database, "SELECT learned_index FROM conversation_sessions") == 2
        assert left(database) == []


class TestGivingBack:
    async def test_whoever_closes_leaves_nothing_held(self, settings: Settings, database: Connection) -> None:
        gate = Gate()
        async with opened(replace(settings, worker=True), gate.embed) as memory:
            await talk(memory.user("ana"))
            await soon(gate.begun.is_set)
            assert left(database)
            asyncio.get_running_loop().call_later(0.3, gate.open.set)
        assert left(database) == []
        async with opened(settings) as next_one:
            await settled(next_one)
        assert lacking(database) == left(database) == []

    async def test_nor_does_who_stops_waiting(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun = asyncio.Event()

        async def forever(*_: object, **__: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        async with opened(settings) as memory:
            for session in ("one", "two", "three"):
                await talk(memory.user("ana"), session)
            with monkeypatch.context() as patch:
                patch.setattr("ltst.learn.listen.listen", forever)
                task = asyncio.create_task(memory.settle())
                await begun.wait()
                assert [row[0] for row in left(database)] == ["learn"] * 3
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            assert left(database) == []
            await settled(memory)
        assert value(database, "SELECT min(learned_index) FROM conversation_sessions") == 2

    @pytest.mark.parametrize("name", ["claim", "claim_sessions"])
    async def test_nor_who_is_stopped_while_taking_it_up(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        original, taken = getattr(work, name), asyncio.Event()

        async def slowly(*given: Any) -> Any:
            found = await original(*given)
            taken.set()
            await asyncio.sleep(0.2)
            return found

        async with opened(settings) as memory:
            await talk(memory.user("ana"))
            monkeypatch.setattr(work, name, slowly)
            task = asyncio.create_task(memory.settle())
            await taken.wait()
            assert left(database)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert left(database) == []

    async def test_nor_who_goes_row_by_row(self, settings: Settings, database: Connection) -> None:
        gate = Gate()
        async with opened(settings, gate.embed) as memory:
            await talk(memory.user("ana"))
            assert await claim(memory, "index")
            expire(database)
            task = asyncio.create_task(memory.settle())
            await soon(gate.begun.is_set)
            assert [row[0] for row in left(database)] == ["embed", "index"]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            gate.open.set()
            assert value(database, "SELECT count(*) FROM derived_work WHERE leased_until IS NOT NULL") == 0
            await settled(memory)
        assert lacking(database) == left(database) == []


class TestFailures:
    async def test_rests_grow_until_it_is_set_aside_and_it_can_be_tried_again(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise RuntimeError("no way")

        async with opened(settings) as memory:
            await talk(memory.user("ana"))
            rests = []
            with monkeypatch.context() as patch:
                patch.setattr("ltst.learn.listen.listen", fail)
                for attempt in range(1, 6):
                    assert await aside(memory) == ""
                    await settled(memory)
                    await settled(memory)
                    assert left(database) == [("learn", "monday", attempt, attempt == 5)], "it rests"
                    rests.append(value(database, REST))
                    rested(database)
                assert all(3 * one < other for one, other in pairwise(rests)), rests
                assert "learn" in await aside(memory) and "no way" in await aside(memory)
                await settled(memory)
                assert left(database) == [("learn", "monday", 5, True)]
                assert await memory._worker.due() == []
            assert lacking(database) == [] and count(database, "memory_entries") == 1, "all else is done"
            assert await memory.retry() == 1
            await settled(memory)
            assert count(database, "user_facts") == 1
            assert left(database) == [] and await aside(memory) == ""

    @pytest.mark.parametrize(("task", "subject"), [("learn", "monday"), ("episode", "monday"), ("index", "")])
    async def test_crashes_count(self, settings: Settings, database: Connection, task: str, subject: str) -> None:
        async with opened(settings) as memory:
            for session in ("monday", "tuesday"):
                await talk(memory.user("ana"), session)
            for attempt in range(1, 6):
                lease = await claim(memory, task, subject)
                assert lease and lease.attempts == attempt
                expire(database)
            await settled(memory)
            assert left(database) == [(task, subject, 5, True)]
            assert task in await aside(memory)
            done = {
                "learn": value(database, "SELECT count(*) FROM conversation_sessions WHERE learned_index = 2"),
                "episode": count(database, "memory_entries"),
                "index": 2 - len(lacking(database)) // 2,
            }
            assert done == {"learn": 2, "episode": 2, "index": 2} | {task: 0 if task == "index" else 1}
            await memory.retry()
            await settled(memory)
            assert left(database) == lacking(database) == []

    async def test_a_crash_does_not_count_against_those_taken_up_with_it_more_than_once(
        self, settings: Settings, database: Connection
    ) -> None:
        """After it each is taken up alone, so that the one that ends its worker is found out; new ones go first."""
        async with opened(settings) as memory:
            given = (calls(memory), rules(memory._core), "ana", "learn", 16)
            for number in range(5):
                await talk(memory.user("ana"), f"session {number}", at=LONG_AGO + timedelta(days=number))
            assert len(await work.claim_sessions(*given)) == 5
            expire(database)
            await talk(memory.user("ana"), "new")
            assert [lease.subject for lease in await work.claim_sessions(*given)] == ["new"]
            for number in range(5):
                (alone,) = await work.claim_sessions(*given)
                assert (alone.subject, alone.attempts) == (f"session {number}", 2)

    async def test_one_session_that_cannot_be_read_leaves_the_others_learnt(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.learn.listen.read_message", slow_rules.read_message)
        async with opened(settings) as memory:
            for number in range(20):
                await talk(memory.user("ana"), f"session {number}", at=LONG_AGO - timedelta(days=number))
            await talk(
                memory.user("ana"), "bad", f"{slow_rules.POISON} I live in Oslo.", at=LONG_AGO - timedelta(days=99)
            )
            await talk(memory.user("bob"), "good")
            await settled(memory)
        learned = "SELECT count(*) FROM conversation_sessions WHERE learned_index = last_index"
        assert value(database, learned) == 21
        assert left(database) == [("learn", "bad", 1, False)]

    async def test_whoever_was_tried_in_vain_stands_behind_the_others(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.worker.USERS_AT_ONCE", 1)
        async with opened(settings) as memory:
            await talk(memory.user("ana"))
            await settled(memory)
            for user in ("ana", "bob"):
                await memory.user(user).facts.set("city", "Lisbon")
                await index_words(memory._core.database, user)  # which come first, and wait for no model
            lease = await claim(memory, "index")
            assert lease
            await work.put_off(calls(memory), lease, "no model", counted=False)
            rested(database)
            assert await memory._worker.due() == ["bob"]
            await settled(memory, "bob")
            assert await memory._worker.due() == ["ana"]

    async def test_users_do_not_meet(self, settings: Settings, database: Connection) -> None:
        async with opened(settings, unless("ana", KeyError("ana"))) as memory:
            for user in ("ana", "bob"):
                await talk(memory.user(user))
                assert await claim(memory, "refine", "monday", user)
            database.execute("DELETE FROM derived_work")
            await settled(memory)
            assert {user for (user,) in database.execute("SELECT DISTINCT user_id FROM derived_work")} == {"ana"}
            for user in ("ana", "bob"):
                assert value(database, "SELECT count(*) FROM claims WHERE user_id = %s", user) > 0
            async with memory._core.database.transaction(calls(memory, "bob").scope) as tx:
                seen = await (await tx._connection.execute("SELECT count(*) FROM derived_work")).fetchone()
            assert seen == (0,), "what ana's work is, is nothing to bob"
            assert all("ana" in text for text in lacking(database))


class TestPoison:
    @pytest.mark.parametrize("problem", [KeyError("token"), ModelUnavailable("413"), ValueError("too long")])
    async def test_a_text_that_the_model_fails_at_is_found_out_and_set_aside(
        self, settings: Settings, database: Connection, problem: Exception
    ) -> None:
        async with opened(replace(settings, learn="off"), unless(POISON, problem)) as memory:
            user = memory.user("ana")
            await talk(user, "monday", *(f"Message {n} about the harbour." for n in range(6)), f"{POISON} and a zebra")
            for attempt in range(1, 6):
                await settled(memory)
                assert lacking(database) == [f"{POISON} and a zebra"]
                ((task, _, attempts, is_aside),) = left(database)
                assert (task, attempts, is_aside) == ("embed", attempt, attempt == 5)
                rested(database)
            assert await memory._worker.due() == []
            assert "embed" in await aside(memory)
            assert (await user.search("zebra"))[0].content == f"{POISON} and a zebra", "by its words"
            assert await user.search("harbour")
        async with opened(settings) as memory:
            await memory.retry()
            await settled(memory)
            assert lacking(database) == left(database) == []

    async def test_while_it_rests_searches_go_with_vectors(
        self, settings: Settings, database: Connection, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with opened(settings, unless(POISON, KeyError("token"))) as memory:
            await talk(memory.user("ana"), "monday", "The harbour is closed.", POISON)
            await settled(memory)
            caplog.clear()
            assert await memory.user("ana").search("harbour")
            assert "search goes without vectors" not in caplog.messages

    async def test_a_model_that_is_away_counts_against_no_text(self, settings: Settings, database: Connection) -> None:
        away = True

        def embed(texts: Sequence[str]) -> Any:
            if away:
                raise OSError("no network")
            return hashed(texts)

        async with opened(settings, embed) as memory:
            await talk(memory.user("ana"))
            for _ in range(7):
                with pytest.raises(ModelUnavailable):
                    await settled(memory)
                rested(database)
            assert await aside(memory) == ""
            away = False
            await settled(memory)
        assert lacking(database) == left(database) == []

    @pytest.mark.parametrize("refuse", [lambda texts: np.zeros((len(texts), 384)), unless("", TextRefused("none"))])
    async def test_nor_does_one_that_refuses_everything(
        self, settings: Settings, database: Connection, refuse: Callable[[Sequence[str]], Any]
    ) -> None:
        async with opened(settings, refuse) as memory:
            await talk(memory.user("ana"))
            for _ in range(7):
                with pytest.raises(ModelUnavailable):
                    await settled(memory)
                await memory.user("ana").search("river")
                rested(database)
            assert await aside(memory) == ""
        async with opened(settings) as memory:
            await settled(memory)
        assert lacking(database) == left(database) == []

    async def test_a_refused_text_is_set_aside_whatever_it_is(self, settings: Settings, database: Connection) -> None:
        seen: list[str] = []
        async with opened(settings, unless(POISON, TextRefused("no"), seen)) as memory:
            user = memory.user("ana")
            await talk(user, "monday", f"{POISON} in a message", "Hello there.")
            await user.facts.set("motto", POISON)
            await user.entries.add(f"{POISON} in an entry")
            await user.documents.add(f"{POISON} in a document")
            for _ in range(6):
                await settled(memory)
            assert [row[0::3] for row in left(database)] == [("embed", True)] * 4
            assert await memory._worker.due() == []
            assert {hit.kind for hit in await user.search(POISON)} == {"message", "fact", "entry", "document"}
        # Each try reads it with its label and without.
        assert sum(f"{POISON} in a message" in text for text in seen) <= 2 * 2 * 5

    def test_a_text_that_kills_is_found_out_and_set_aside(
        self, settings: Settings, database: Connection, sync_memory: Any
    ) -> None:
        for number in range(5):
            sync_memory.user("ana").chat("monday").add("user", f"Message {number} about the harbour.")
        sync_memory.user("ana").chat("monday").add("user", f"{POISON} and a zebra")
        sync_memory.user("ana").chat("monday").add("user", "I live in Lisbon.")
        sync_memory.user("bob").chat("monday").add("user", "I live in Porto.")
        endings = []
        while 0 not in endings:
            process = forked(settle_or_die, settings)
            process.join(PATIENCE)
            endings.append(process.exitcode)
            expire(database)
            assert len(endings) <= 10, (endings, left(database))
        assert len(endings) == 7, "once with the others, five times alone, then never again"
        assert lacking(database) == [f"{POISON} and a zebra"]
        ((task, _, attempts, is_aside),) = left(database)
        assert (task, attempts, is_aside) == ("embed", 5, True)
        assert value(database, WORDLESS) == 0
        assert count(database, "user_facts") == 2
        assert [each.status for each in sync_memory.health().checks if each.name == "derived work"] == ["warning"]


class TestGone:
    @pytest.mark.parametrize("problem", [None, TextRefused("no"), KeyError("token")])
    async def test_whoever_is_erased_while_somebody_is_at_their_work_leaves_none_of_it(
        self, settings: Settings, database: Connection, problem: Exception | None
    ) -> None:
        gate = Gate()

        def embed(texts: Sequence[str]) -> Any:
            if "Hello." not in texts:
                gate.embed(texts)
                if problem is not None:
                    raise problem
            return hashed(texts)

        async with opened(settings, embed) as memory:
            await talk(memory.user("ana"), "monday", *(f"Message {n} about the harbour." for n in range(3)))
            task = asyncio.create_task(settled(memory, "ana"))
            await soon(gate.begun.is_set)
            await memory.user("ana").erase()
            gate.open.set()
            await task
        index = [name for name in tables(database) if name.startswith("search_")]
        for table in ("conversation_messages", "derived_work", "claims", "user_facts", *index):
            assert count(database, table) == 0

    @pytest.mark.parametrize("task", ["listen", "episodes"])
    async def test_a_session_that_is_deleted_meanwhile_leaves_nothing_to_be_done(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch, task: str
    ) -> None:
        from ltst.rooms import messages

        original = messages.after
        async with opened(settings) as memory:

            async def after(tx: Any, session_id: str, *given: Any) -> Any:
                found = await original(tx, session_id, *given)
                if session_id == "tuesday":
                    await memory.user("ana").sessions.delete("tuesday")
                return found

            for session in ("monday", "tuesday"):
                await talk(memory.user("ana"), session)
            if task == "episodes":
                await memory.user("ana").learning.set(extraction=False)
            monkeypatch.setattr(messages, "after", after)
            await settled(memory)
            assert {fact.fact_value for fact in await memory.user("ana").facts.list()} <= {"Lisbon"}
        assert value(database, "SELECT count(*) FROM conversation_sessions") == 1
        assert count(database, "memory_entries") == 1
        assert left(database) == []

    async def test_maintenance_forgets_the_failures_of_what_is_gone(
        self, settings: Settings, database: Connection
    ) -> None:
        async with opened(settings) as memory:
            await talk(memory.user("ana"))
            for subject in ("monday", "gone"):
                assert await claim(memory, "learn", subject)
            assert await claim(memory, "embed", "0" * 32)
            assert (await memory.maintain())["failures_forgotten"] == 2
        assert [row[1] for row in left(database)] == ["monday"]

    async def test_what_is_deleted_while_others_are_learnt_is_unlearnt(
        self, settings: Settings, database: Connection
    ) -> None:
        """Deleting and learning touch the same facts at the same time, and neither stands in the other's way."""
        async with opened(settings) as one, opened(settings) as two:
            user = one.user("ana")

            async def live(start: int) -> None:
                for number in range(start, start + 12):
                    city = CITIES[number % len(CITIES)]
                    at = LONG_AGO + timedelta(days=number)
                    await talk(user, f"session {number}", f"I live in {city}.", f"I love {city} cakes.", at=at)
                    await asyncio.sleep(0)
                    if number % 3:
                        await user.sessions.delete(f"session {number}")

            lives = asyncio.gather(live(100), live(200), live(300))
            while not lives.done():
                await asyncio.gather(settled(one), settled(two))
            await lives
            await settled(one)
            found = {(fact.fact_key, fact.fact_value) for fact in await user.facts.history("home")}
            assert found == {("home", CITIES[n % 6]) for s in (100, 200, 300) for n in range(s, s + 12) if not n % 3}
        orphans = """SELECT count(*) FROM user_facts AS fact WHERE learned AND NOT EXISTS (
            SELECT FROM claims AS claim WHERE claim.user_id = fact.user_id AND claim.row_id = fact.fact_id)"""
        assert value(database, orphans) == 0
        assert count(database, "unsettled_claims") == 0
        assert left(database) == []


class TestSettling:
    async def test_it_waits_for_what_another_is_at(self, settings: Settings, database: Connection) -> None:
        async with opened(settings) as memory, opened(settings) as other:
            await talk(memory.user("ana"))
            lease = await claim(other, "learn", "monday")
            assert lease
            task = asyncio.create_task(settled(memory))
            await soon(lambda: lacking(database) == [] and count(database, "memory_entries") == 1)
            await asyncio.sleep(0.2)
            assert not task.done()
            await listen(other._core.database, lease, limits=rules(other._core).limits)
            await task
            assert left(database) == [] and count(database, "user_facts") == 1

    async def test_and_does_what_that_one_leaves(self, settings: Settings, database: Connection) -> None:
        async with opened(settings) as memory, opened(settings) as other:
            await talk(memory.user("ana"))
            assert await claim(other, "learn", "monday")
            task = asyncio.create_task(settled(memory))
            await soon(lambda: lacking(database) == [])
            expire(database)
            await task
            assert left(database) == [] and count(database, "user_facts") == 1

    async def test_it_waits_for_no_other_user(self, settings: Settings) -> None:
        async with opened(settings) as memory:
            for user in ("ana", "bob"):
                await talk(memory.user(user))
            assert await claim(memory, "learn", "monday", "bob")
            await settled(memory, "ana")

    async def test_nothing_is_told_while_another_is_still_indexing_it(
        self, settings: Settings, database: Connection
    ) -> None:
        """An episode that is told by the vectors of its messages is another than one that is told without."""
        async with opened(settings) as memory:
            await talk(memory.user("ana"))
            lease = await claim(memory, "index")
            assert lease
            task = asyncio.create_task(settled(memory))
            await soon(lambda: count(database, "user_facts") == 1)
            await asyncio.sleep(0.2)
            assert count(database, "memory_entries") == 0
            await work.give_back(calls(memory), [lease])
            await task
        assert count(database, "memory_entries") == 1

    async def test_entries_meet_in_whatever_order_they_get_their_vectors(
        self, settings: Settings, database: Connection
    ) -> None:
        async with opened(replace(settings, learn={"episodes"})) as memory:
            for session in ("monday", "tuesday"):
                await talk(memory.user("ana"), session)
            await settled(memory)
        first = value(database, "SELECT entry_id FROM memory_entries ORDER BY created_at, entry_id LIMIT 1")
        vector = value(database, "SELECT embedding::text FROM memory_entries WHERE entry_id = %s", first)
        database.execute("UPDATE memory_entries SET embedding = NULL WHERE entry_id = %s", (first,))
        database.execute("SELECT ltst_index_again('ana', 'entry', ARRAY[%s::uuid])", (first,))
        async with opened(settings) as memory:
            lease = await claim(memory, "consolidate")
            assert (
                lease
                and await consolidate(memory._core.database, lease, limits=rules(memory._core).limits, relate=True) == 1
            )
            assert count(database, "session_relationships") == 0
            await settled(memory)
        assert value(database, "SELECT embedding::text FROM memory_entries WHERE entry_id = %s", first) == vector
        assert count(database, "session_relationships") == 1


def whole(database: Connection) -> Counter[str]:
    """What must have been done, each thing once."""
    sessions = database.execute("SELECT user_id, session_id FROM conversation_sessions").fetchall()
    return Counter(f"{task} {user} {session}" for task in ("learn", "tell") for user, session in sessions)


def done_once(database: Connection, times: Counter[str]) -> None:
    """That all was done, and nothing twice."""
    embedded = Counter({what: n for what, n in times.items() if what.startswith("embed")})
    assert times - embedded == whole(database)
    assert set(embedded.values()) == {1}
    rows = sum(count(database, table) for table in ("conversation_messages", "user_facts", "memory_entries"))
    spoken = value(database, "SELECT count(*) FROM conversation_messages WHERE role = 'human'")
    assert len(embedded) == rows + spoken, "what a person said is read with its label and without"
    learnt = "SELECT count(*), count(DISTINCT row_id) FROM event_ledger WHERE action = 'learn' AND noun = %s"
    for noun, table in (("entry", "memory_entries"), ("relationship", "session_relationships")):
        assert database.execute(learnt, (noun,)).fetchone() == (count(database, table), count(database, table))
    assert left(database) == lacking(database) == []


async def crowd(memory: AsyncMemory) -> None:
    """Users with conversations in which no two sentences are the same."""
    for user in range(4):
        for number in range(5):
            at = LONG_AGO + timedelta(days=number, hours=user)
            said = (
                f"I love {user}{number}berries and so does the whole family of user {user}, all the year round.",
                f"My plan {number} for the garden of user {user} is to grow them along the southern wall.",
            )
            await talk(memory.user(f"user {user}"), f"session {number}", *said, at=at)


class TestTwoWorkers:
    async def test_several_in_one_process_do_nothing_twice(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noted = Noted()
        for module, name, kind in (("learn.listen", "listen", "learn"), ("retelling.episodes", "tell", "tell")):
            original = getattr(__import__(f"ltst.{module}", fromlist=[name]), name)
            monkeypatch.setattr(f"ltst.{module}.{name}", noted.around(kind, original))
        busy = replace(settings, worker=True)
        async with (
            opened(busy, noted.embed) as one,
            opened(busy, noted.embed),
            opened(settings, noted.embed) as three,
            opened(settings, noted.embed) as four,
        ):
            await crowd(one)
            await asyncio.gather(settled(three), settled(four))
            await settled(one)
        done_once(database, noted.times)

    async def test_nor_do_several_processes(self, settings: Settings, database: Connection, tmp_path: Path) -> None:
        async with opened(settings) as memory:
            await crowd(memory)
        journals = [tmp_path / f"{number}" for number in range(3)]
        processes = [forked(settle_and_note, settings, journal) for journal in journals]
        for process in processes:
            await asyncio.to_thread(process.join, PATIENCE)
        assert [process.exitcode for process in processes] == [0, 0, 0]
        done_once(database, Counter(line for journal in journals for line in journal.read_text().splitlines()))


@pytest.mark.long
def test_workers_may_be_killed_at_any_moment(server: EmbeddedServer, template: str) -> None:
    with cloned(server, template) as killed, cloned(server, template) as undisturbed:
        outcome = kills.run(25, 20, killed, undisturbed)
        with superuser(killed) as one, superuser(undisturbed) as other:
            one.execute("DELETE FROM memory_entries WHERE entry_id = (SELECT entry_id FROM memory_entries LIMIT 1)")
            assert len(kills.check(one, other)[1]) == 2, "a loss is seen: an episode is missing, its event is not"
    assert outcome.problems == []
    assert outcome.kills == 25
    assert outcome.counts["facts"] and outcome.counts["episodes"] and outcome.counts["relationships"]
    assert sum(outcome.in_the_middle.values()), "some of them were in the middle of something"


class TestWithoutAModel:
    async def test_without_the_embedder_all_else_is_done(self, settings: Settings, database: Connection) -> None:
        def away(texts: Sequence[str]) -> Any:
            raise ConnectionRefusedError("no network")

        async with opened(settings, away) as memory:
            user = memory.user("ana")
            await talk(user)
            with pytest.raises(ModelUnavailable):
                await settled(memory)
            assert [fact.fact_value for fact in await user.facts.list()] == ["Lisbon"]
            assert count(database, "memory_entries") == 1
            assert value(database, WORDLESS) == 0
            assert {hit.kind for hit in await user.search("river")} == {"message", "entry"}
            assert "Lisbon" in (await user.chat("monday").context("Where do I live?")).text
        rested(database)
        async with opened(settings) as memory:
            await settled(memory)
        assert lacking(database) == left(database) == []
        assert count(database, "memory_entries") == count(database, "user_facts") == 1

    async def test_with_a_dead_endpoint_all_is_as_without_one(
        self, settings: Settings, server: EmbeddedServer, template: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.handles.learning.PAUSE", timedelta(0))
        monkeypatch.setattr("ltst.worker.REST_SECONDS", 3600.0)  # who does not answer is not asked for the episodes too
        found = []
        for address in (None, "http://127.0.0.1:9/v1"):
            with cloned(server, template) as url:
                given = replace(settings, database_url=url, llm_model=address and "small", llm_base_url=address)
                async with opened(given) as memory:
                    found.append(await everything(memory))
        assert found[0] == found[1]

    async def test_when_the_endpoint_comes_back_the_model_reads_what_it_missed(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.handles.learning.PAUSE", timedelta(0))
        with language_server() as endpoint:
            endpoint.otherwise = Status(401)
            given = replace(settings, llm_model="small", llm_base_url=endpoint.url)
            async with opened(given) as memory:
                for session in ("monday", "tuesday"):
                    await talk(memory.user("ana"), session)
                for _ in range(6):
                    with pytest.raises(ModelUnavailable):
                        await settled(memory)
                    rested(database)
                assert await aside(memory) == ""
                assert count(database, "memory_entries") == 2 and count(database, "user_facts") > 0
                assert value(database, "SELECT max(refined_index) FROM conversation_sessions") == 0
                endpoint.otherwise = '{"claims": []}'
                await settled(memory)
        assert value(database, "SELECT min(refined_index) FROM conversation_sessions") == 2
        assert count(database, "memory_entries") == 2
        assert left(database) == []

    async def test_what_the_model_cannot_take_keeps_no_other_session_from_it(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.handles.learning.PAUSE", timedelta(0))
        with language_server() as endpoint:
            refuse: Any = lambda asked: Status(400) if POISON in str(asked.body) else '{"claims": []}'  # noqa: E731
            endpoint.otherwise = refuse
            given = replace(settings, llm_model="small", llm_base_url=endpoint.url, learn={"extraction"})
            async with opened(given) as memory:
                await talk(memory.user("ana"), "bad", f"I live in {POISON}.", at=LONG_AGO - timedelta(days=9))
                await talk(memory.user("ana"), "good")
                for _ in range(5):
                    await settled(memory)
                    rested(database)
                assert left(database) == [("refine", "bad", 5, True)]
        assert value(database, "SELECT refined_index FROM conversation_sessions WHERE session_id = 'good'") == 2

    async def test_one_that_hangs_holds_nobody_up(
        self, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.handles.learning.PAUSE", timedelta(0))
        with language_server() as endpoint:
            endpoint.otherwise = Hang()
            given = replace(settings, llm_model="small", llm_base_url=endpoint.url, llm_timeout=PATIENCE, worker=True)
            async with opened(given) as memory:
                user = memory.user("ana")
                await talk(user)
                await soon(lambda: endpoint.asked)
                async with asyncio.timeout(PATIENCE / 2):
                    await talk(user, "tuesday")
                    assert await user.search("river")
                    assert (await user.chat("tuesday").context("Where do I live?")).text
                assert count(database, "conversation_messages") == 4
                endpoint.stopped.set()


async def everything(memory: AsyncMemory) -> list[Any]:
    """What comes of writing, reading and learning, by its content."""
    user = memory.user("ana")
    for session in ("monday", "tuesday"):
        await talk(user, session)
    with suppress(ModelUnavailable):
        await settled(memory)
    await memory.user("ana").chat("tuesday").add("user", "The river was high.", at=LONG_AGO + timedelta(days=3))
    now = LONG_AGO + timedelta(days=4)
    context = await user.chat("tuesday").context("Where do I live?")
    return [
        [(hit.kind, hit.content, round(hit.score, 2)) for hit in await user.search("river", now=now)],
        re.sub(r' id="[^"]*"', "", context.text),
        [(fact.fact_key, fact.fact_value, fact.confidence) for fact in await user.facts.list()],
        [entry.content for entry in await user.entries.list()],
        [(link.source_session_id, link.target_session_id) for link in await user.sessions.related("monday")],
    ]
