"""The worker: gives what was written its vectors without being asked, loses nothing, and survives what goes wrong."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.embedders import Bare, hashed, opened
from helpers.probes import UNINDEXED, Connection, tables, value
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, Memory, ModelUnavailable, Settings
from ltst.indexing.index import BATCH
from ltst.providers.vectors import TextRefused
from ltst.worker import USERS_AT_ONCE

Vectors = NDArray[np.float64]
TABLES = ("conversation_messages", "user_facts", "memory_entries", "document_chunks")
PATIENCE = 120.0


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ltst.worker.QUIET_SECONDS", 0.02)
    monkeypatch.setattr("ltst.worker.REST_SECONDS", 0.1)


@pytest.fixture
def busy(settings: Settings) -> Settings:
    """Settings with the worker on."""
    return replace(settings, worker=True)


def lacking(database: Connection) -> set[str]:
    """The users who have something without its words or its vectors."""
    return {user for user, *_ in database.execute(UNINDEXED)}


async def eventually(condition: Callable[[], object], patience: float = PATIENCE) -> bool:
    """Whether it comes true, sooner or later."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


async def talk(user: AsyncUser, count: int = 3) -> None:
    given = [{"role": "user", "content": f"{user.user_id} says {number}"} for number in range(count)]
    await user.chat("monday").add_many(given)


class TestBackground:
    async def test_messages_get_their_vectors_without_a_search(self, busy: Settings, database: Connection) -> None:
        async with opened(busy) as memory:
            chat = memory.user("ana").chat("monday")
            for number in range(20):
                await chat.add("user", f"message {number}")
            assert await eventually(lambda: not lacking(database))
        assert value(database, "SELECT count(*) FROM search_vectors") == 20

    async def test_so_does_everything_else(self, busy: Settings, database: Connection) -> None:
        async with opened(busy) as memory:
            user = memory.user("ana")
            await talk(user)
            await user.chat("monday").add_interaction("a question", "an answer")
            await user.facts.set("city", "Lisbon")
            await user.entries.add("The oven runs hot.")
            await user.documents.add("How to build a ship. " * 300)
            await user.chat("monday").fork()
            assert await eventually(lambda: not lacking(database))

    async def test_a_user_who_came_back_from_an_export_too(self, busy: Settings, database: Connection) -> None:
        async with opened(busy) as memory:
            await talk(memory.user("ana"))
            document = await memory.user("ana").export()
            await memory.user("bob").restore(document)
            assert await eventually(lambda: not lacking(database))
        assert value(database, "SELECT count(*) FROM conversation_messages WHERE user_id = 'bob'") == 3

    async def test_for_many_users(self, busy: Settings, database: Connection) -> None:
        async with opened(busy) as memory:
            for number in range(12):
                await talk(memory.user(f"user {number}"))
            assert await eventually(lambda: not lacking(database))

    async def test_the_sync_memory_has_one(self, busy: Settings, database: Connection) -> None:
        with Memory(settings=busy, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
            memory.user("ana").chat("monday").add("user", "hello")
            assert await eventually(lambda: not lacking(database))

    async def test_what_was_written_before_it_began(
        self, settings: Settings, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with opened(settings) as memory:
            await talk(memory.user("ana"))
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.1)
        async with opened(busy):
            assert await eventually(lambda: not lacking(database))

    async def test_what_others_write_who_have_none(
        self, settings: Settings, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.1)
        async with opened(busy), opened(settings) as quiet:
            await talk(quiet.user("ana"))
            assert await eventually(lambda: not lacking(database))

    async def test_more_than_it_does_at_a_time(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody has to write again for it to go on, nor to wait until it looks by itself."""
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 600.0)
        async with opened(busy) as memory:
            await talk(memory.user("ana"), 3 * BATCH + 100)
            assert await eventually(lambda: not lacking(database), 20)

    async def test_a_user_who_keeps_writing_does_not_hold_up_another(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("QUIET_SECONDS", "PATIENCE_SECONDS", "IDLE_SECONDS"):
            monkeypatch.setattr(f"ltst.worker.{name}", 600.0 if name != "QUIET_SECONDS" else 0.5)
        async with opened(busy) as memory:
            await talk(memory.user("ana"))

            def done() -> bool:
                memory._core.ring("bea")  # as each write does
                return "ana" not in lacking(database)

            assert await eventually(done)

    async def test_large_memories_go_into_their_index(self, busy: Settings, database: Connection) -> None:
        async with opened(replace(busy, large_memory=10)) as memory:
            await talk(memory.user("ana"), 30)
            ready = "SELECT count(*) FROM search_users WHERE ready"
            assert await eventually(lambda: value(database, ready) == 1)
        assert value(database, "SELECT count(*) FROM search_vectors WHERE ann") == 30

    async def test_it_works_again_when_the_memory_is_opened_again(self, busy: Settings, database: Connection) -> None:
        memory = opened(busy)
        for _ in range(3):
            async with memory:
                await talk(memory.user("ana"))
                assert await eventually(lambda: not lacking(database))

    async def test_and_on_another_event_loop(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The sync memory has a new loop whenever it is opened."""
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 600.0)
        memory = Memory(settings=busy, embedder=CallableEmbedder(hashed, "hashed", 384))
        for number in range(3):
            with memory:
                memory.user("ana").chat("monday").add("user", f"hello {number}")
                assert await eventually(lambda: not lacking(database), 15)

    def test_settling_on_another_event_loop(self, busy: Settings, database: Connection) -> None:
        memory = Memory(settings=busy, embedder=CallableEmbedder(slowly(0.05), "hashed", 384))
        for number in range(3):
            with memory:
                memory.user("ana").chat("monday").add("user", f"hello {number}")
                memory.settle()
                assert not lacking(database)


def slowly(seconds: float) -> Callable[[Sequence[str]], Vectors]:
    def embed(texts: Sequence[str]) -> Vectors:
        time.sleep(seconds)
        return hashed(texts)

    return embed


class TestOff:
    async def test_without_it_nothing_happens(self, settings: Settings, database: Connection) -> None:
        asked: list[str] = []

        def embed(texts: Sequence[str]) -> Vectors:
            asked.extend(texts)
            return hashed(texts)

        async with opened(settings, embed) as memory:
            assert memory._worker._tasks == []
            await talk(memory.user("ana"))
            await memory.user("ana").facts.set("city", "Lisbon")
            await asyncio.sleep(0.5)
            assert lacking(database) == {"ana"}
        assert asked == []
        assert value(database, "SELECT count(*) FROM embedding_models") == 0

    def test_the_environment_decides(self) -> None:
        assert Settings.from_environment({}).worker
        for said, expected in (("on", True), ("off", False), ("1", True), ("0", False), ("FALSE", False)):
            assert Settings.from_environment({"LTST_WORKER": said}).worker == expected

    async def test_with_nothing_to_do_it_asks_no_model(self, busy: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.02)
        asked: list[str] = []
        async with opened(busy, lambda texts: asked.extend(texts) or hashed(texts)):
            await asyncio.sleep(0.3)
        assert asked == []


class TestSettle:
    async def test_it_waits_until_all_is_done(self, settings: Settings, database: Connection) -> None:
        async with opened(settings, slowly(0.01)) as memory:
            for name in ("ana", "bob"):
                await talk(memory.user(name), 150)
                await memory.user(name).facts.set("city", "Lisbon")
            await memory.settle()
            assert not lacking(database)

    async def test_for_one_user_only(self, settings: Settings, database: Connection) -> None:
        async with opened(settings) as memory:
            for name in ("ana", "bob"):
                await talk(memory.user(name))
            await memory.settle("ana")
            assert lacking(database) == {"bob"}
            await memory.settle("nobody")
            assert lacking(database) == {"bob"}

    async def test_for_more_users_than_are_looked_at_at_once(self, settings: Settings, database: Connection) -> None:
        async with opened(settings) as memory:
            await asyncio.gather(*(talk(memory.user(f"user {n}"), 1) for n in range(USERS_AT_ONCE + 20)))
            await memory.settle()
            assert not lacking(database)

    async def test_when_nothing_is_due_it_returns(self, settings: Settings) -> None:
        async with opened(settings) as memory:
            await memory.settle()
            await memory.settle("ana")

    async def test_beside_the_background(self, busy: Settings, database: Connection) -> None:
        async with opened(busy, slowly(0.01)) as memory:
            for number in range(5):
                await talk(memory.user(f"user {number}"), 100)
                await memory.settle(f"user {number}")
                assert f"user {number}" not in lacking(database)

    async def test_several_at_once(self, settings: Settings, database: Connection) -> None:
        async with opened(settings) as memory:
            await asyncio.gather(*(talk(memory.user(f"user {number}"), 50) for number in range(4)))
            users = ["user 0", "user 1", None, None, "user 0"]
            await asyncio.gather(*(memory.settle(user) for user in users))
            assert not lacking(database)

    async def test_while_someone_writes(self, settings: Settings, database: Connection) -> None:
        async with opened(settings) as memory:

            async def write() -> None:
                for number in range(50):
                    await memory.user("ana").chat("monday").add("user", f"message {number}")

            await asyncio.gather(write(), memory.settle("ana"))
            await memory.settle("ana")
            assert not lacking(database)


class TestTwoMemories:
    async def test_both_work_on_one_database(self, busy: Settings, database: Connection) -> None:
        async with opened(busy, slowly(0.005)) as one, opened(busy, slowly(0.005)) as two:
            for number in range(20):
                await asyncio.gather(talk(one.user(f"user {number % 4}")), talk(two.user(f"user {number % 3}")))
            await two.user("user 0").documents.add("How to build a ship. " * 400)
            assert await eventually(lambda: not lacking(database))
            await one.settle()  # what was learned last may still change the order of the hits
            hits = [await memory.user("user 1").search("user 1 says 2") for memory in (one, two)]
        assert hits[0] == hits[1] != []
        assert value(database, "SELECT count(*) FROM conversation_messages") == 2 * 20 * 3

    async def test_and_settle_at_the_same_time(self, settings: Settings, database: Connection) -> None:
        """Rows that both have at hand are written once, and neither waits for the other in a circle."""
        async with opened(settings) as one, opened(settings) as two:
            for number in range(4):
                await talk(one.user(f"user {number}"), 200)
                await one.user(f"user {number}").documents.add("How to build a ship. " * 400)
            await asyncio.gather(one.settle(), two.settle(), one.user("user 1").search("ship"))
            assert not lacking(database)

    async def test_one_that_is_gone_leaves_its_work_to_the_other(
        self, settings: Settings, busy: Settings, database: Connection
    ) -> None:
        async with opened(busy, slowly(0.05)) as one:
            await talk(one.user("ana"), 100)
        async with opened(settings) as two:
            await two.settle()
            assert not lacking(database)


class TestClosing:
    async def test_in_the_middle_nothing_is_lost(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun = threading.Event()

        def embed(texts: Sequence[str]) -> Vectors:
            begun.set()
            time.sleep(1)  # for each of some batches, of which closing waits for one
            return hashed(texts)

        async with opened(busy, embed) as memory:
            await talk(memory.user("ana"), 200)
            assert await eventually(begun.is_set)
        assert lacking(database) == {"ana"}, "closed in the middle"
        assert value(database, "SELECT count(*) FROM conversation_messages") == 200
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.1)
        async with opened(busy) as memory:
            assert await eventually(lambda: not lacking(database))
            assert (await memory.user("ana").search("ana says 7"))[0].content == "ana says 7"

    async def test_before_it_has_begun(self, busy: Settings, database: Connection) -> None:
        async with opened(busy) as memory:
            await talk(memory.user("ana"))
        async with opened(busy) as memory:
            await memory.settle()
            assert not lacking(database)

    async def test_many_times(self, busy: Settings, database: Connection) -> None:
        """Each program writes a little and is gone; what none of them did, the last one does."""
        for number in range(10):
            async with opened(busy, slowly(0.01)) as memory:
                await memory.user("ana").chat("monday").add("user", f"message {number}")
                await asyncio.sleep(0.01 * number)
        async with opened(busy) as memory:
            await memory.settle()
            assert not lacking(database)
        assert value(database, "SELECT count(*) FROM conversation_messages") == 10

    async def test_no_task_is_left_behind(self, busy: Settings) -> None:
        before = asyncio.all_tasks()
        async with opened(busy, slowly(0.2)) as memory:
            await talk(memory.user("ana"), 100)
            await asyncio.sleep(0.1)
        assert asyncio.all_tasks() == before


class Unruly(Bare):
    """An embedder that fails so many times before it works, with whatever error it is given."""

    name = "hashed"

    def __init__(self, problem: Exception, times: int) -> None:
        self.problem = problem
        self.left = times

    def embed(self, texts: Sequence[str]) -> Any:
        if self.left:
            self.left -= 1
            raise self.problem
        return super().embed(texts)


class TestTrouble:
    @pytest.mark.parametrize(
        "problem", [ModelUnavailable("no network"), RuntimeError("out of memory"), KeyError("token"), OSError("disk")]
    )
    async def test_an_error_of_the_model_does_not_end_it(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch, problem: Exception
    ) -> None:
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.05)
        unruly = Unruly(problem, 3)
        async with AsyncMemory(settings=busy, embedder=unruly) as memory:
            await talk(memory.user("ana"))
            assert await eventually(lambda: not lacking(database))
        assert unruly.left == 0

    async def test_nor_does_one_of_the_database(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.05)
        async with opened(busy):
            database.execute("ALTER TABLE search_terms RENAME COLUMN postings TO places")
            with database.transaction():
                database.execute("SELECT set_config('ltst.user_id', 'ana', true)")
                message = '{"type": "human", "data": {"content": "hello"}}'
                insert = "INSERT INTO chat_message_history (session_id, message) VALUES ('monday', %s)"
                database.execute(insert, (message,))
            await asyncio.sleep(0.3)
            database.execute("ALTER TABLE search_terms RENAME COLUMN places TO postings")
            assert await eventually(lambda: not lacking(database))

    async def test_one_users_text_does_not_keep_the_others_from_theirs(
        self, busy: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever comes after a user whose text the model cannot take has their turn all the same."""
        monkeypatch.setattr("ltst.worker.IDLE_SECONDS", 0.05)
        unlucky = {"user 2", "user 5", "user 9"}

        def embed(texts: Sequence[str]) -> Vectors:
            if any(name in text for name in unlucky for text in texts):
                raise ModelUnavailable("413 Payload Too Large")
            return hashed(texts)

        async with opened(busy, embed) as memory:
            for number in range(12):
                await talk(memory.user(f"user {number:x}"))
            assert await eventually(lambda: lacking(database) == unlucky)

    async def test_a_text_that_is_refused_for_good_does_not_keep_it_busy(
        self, busy: Settings, database: Connection
    ) -> None:
        """It is tried, and then not over and over again."""
        asked: list[str] = []

        def embed(texts: Sequence[str]) -> Vectors:
            asked.extend(texts)
            if any("UNSPEAKABLE" in text for text in texts):
                raise TextRefused("this text is not allowed")
            return hashed(texts)

        async with opened(busy, embed) as memory:
            await memory.user("ana").chat("monday").add("user", "UNSPEAKABLE")
            await talk(memory.user("ana"))
            assert await eventually(lambda: len(database.execute(UNINDEXED).fetchall()) == 1)
            await asyncio.sleep(0.5)
        assert sum("UNSPEAKABLE" in text for text in asked) < 20

    async def test_erasing_meanwhile(self, busy: Settings, database: Connection) -> None:
        """A user who is erased while the model reads their words leaves none of it behind."""
        begun = threading.Event()

        def embed(texts: Sequence[str]) -> Vectors:
            begun.set()
            time.sleep(0.2)
            return hashed(texts)

        async with opened(busy, embed) as memory:
            user = memory.user("ana")
            await user.chat("monday").add("user", "How to build a ship. " * 500)
            assert await eventually(begun.is_set)
            await user.erase()
            await memory.settle()
            await asyncio.sleep(0.3)
        index = [name for name in tables(database) if name.startswith("search_")]
        assert len(index) == 6
        for table in (*TABLES, *index, "memory_retrieval_cache"):
            assert value(database, f"SELECT count(*) FROM {table}") == 0
