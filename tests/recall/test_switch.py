"""The embedding model is changed in place: while reads and writes go on, across processes, and after a crash."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import psycopg
import pytest

from helpers.embedding_endpoint import Answer, embedding_endpoint
from helpers.probes import connected, superuser, value
from helpers.waiting import soon
from ltst import AsyncMemory, Conflict, ConversationMessage, DatabaseUnavailable, Invalid, Memory, Settings
from ltst.db.pool import Executor, Transaction
from ltst.db.vectors import SWITCHING, Action, Switch, switching
from ltst.indexing.index import index_words
from ltst.providers.embedding import CallableEmbedder
from ltst.rooms import models
from ltst.rooms.models import Filled

TABLES = ("conversation_messages", "user_facts", "memory_entries", "document_chunks")


def bag(name: str, dimensions: int, longest: int = 300) -> CallableEmbedder:
    """A bag of words: quick, and another one for every name."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        rows = []
        for text in texts:
            row = [0.0] * dimensions
            for word in text.lower().split():
                row[crc32((name + word).encode()) % dimensions] += 1.0
            rows.append(row)
        return rows

    return CallableEmbedder(embed, name, dimensions, longest=longest)


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(embedder=bag("first", 384), settings=settings) as opened:
        yield opened


async def furnish(memory: AsyncMemory, name: str = "ana", count: int = 200) -> None:
    user = memory.user(name)
    long = "with many words " * 60
    await user.chat("old").add_many(
        {"role": "user", "content": f"number {at} is about topic{at % 40} {long if at % 25 == 0 else ''}"}
        for at in range(count)
    )
    await user.facts.set("home", "Lisbon")
    await user.entries.add("The oven runs hot.")
    await user.documents.add("The kettle. " * 300, title="Kettle")
    await memory.settle()


def dimensions(connection: psycopg.Connection[Any]) -> set[int]:
    return {each for (each,) in connection.execute("SELECT DISTINCT vector_dims(embedding) FROM search_vectors")}


async def test_everything_gets_a_vector_of_the_new_model(memory: AsyncMemory, settings: Settings) -> None:
    await furnish(memory)
    seen: list[tuple[int, int]] = []
    changed = await memory.switch_embedder(bag("second", 64), progress=lambda done, total: seen.append((done, total)))
    assert await memory.embedder_model() == "second"
    assert seen[-1][0] == seen[-1][1] == changed
    with superuser(str(settings.database_url)) as connection:
        assert dimensions(connection) == {64}
        assert changed == sum(value(connection, f"SELECT count(*) FROM {table}") for table in TABLES)
        assert value(connection, "SELECT count(*) FROM embedding_models") == 1
        numbers = "SELECT array_agg(DISTINCT model) = ARRAY(SELECT number FROM embedding_models) FROM search_vectors"
        assert value(connection, numbers), "of the model before nothing is left"
    (best, *_) = await memory.user("ana").search("topic7")
    assert "topic7 " in best.content
    assert best.scores["dense"] > 0
    assert (await memory.health()).ok


async def test_a_switch_to_the_model_in_use_does_nothing(memory: AsyncMemory) -> None:
    await furnish(memory, count=3)
    assert await memory.switch_embedder(bag("first", 384)) == 0


async def test_reads_and_writes_go_on_during_a_switch(memory: AsyncMemory, settings: Settings) -> None:
    """Two memories: one that switches, and one that brings the old model and finds by words what it cannot compare."""
    await furnish(memory)
    over = asyncio.Event()
    made = [0, 0]

    async def live(owner: AsyncMemory, name: str, place: int) -> None:
        user = owner.user(name)
        while not over.is_set() or made[place] < 5:
            word = f"zebra{made[place]}{name}"
            stored = await user.chat("live").add("user", f"said {word} just now")
            found = await user.search(word)
            assert stored.message_id in [hit.id for hit in found]
            made[place] += 1

    async with AsyncMemory(embedder=bag("first", 384), settings=settings) as other:
        tasks = [asyncio.create_task(live(memory, "ana", 0)), asyncio.create_task(live(other, "eve", 1))]
        await asyncio.sleep(0.2)
        await memory.switch_embedder(bag("second", 64))
        over.set()
        await asyncio.gather(*tasks)
        (best, *_) = await other.user("ana").search("topic7")
        assert "topic7 " in best.content
        assert "dense" not in best.scores
    await memory.settle()
    with superuser(str(settings.database_url)) as connection:
        assert dimensions(connection) == {64}
        assert value(connection, "SELECT count(*) FROM search_due") == 0
        rows = value(connection, "SELECT count(*) FROM search_sources")
        assert value(connection, "SELECT count(*) FROM search_units") == rows
        vectored = value(connection, "SELECT count(*) FROM search_sources WHERE vectored")
        assert value(connection, "SELECT count(*) FROM search_vectors WHERE part = 0") == vectored


@pytest.mark.parametrize("indexed", ["words", "vectors"])
@pytest.mark.parametrize("removal", ["remove", "erase"])
async def test_what_is_removed_while_it_gets_its_vectors_leaves_none_behind(
    memory: AsyncMemory, settings: Settings, monkeypatch: pytest.MonkeyPatch, indexed: str, removal: str
) -> None:
    """Those of a text that has more parts for the new model than it had for the old one are added to the index."""
    user, said, filled, go_on = memory.user("ana"), "A secret that goes. " * 12, asyncio.Event(), asyncio.Event()
    message = await user.chat("monday").add("user", said)
    if indexed == "vectors":
        await memory.settle()
    else:
        await index_words(memory._core.database, "ana")

    async def slowly(tx: Executor, number: int, rows: Sequence[Filled]) -> None:
        await fill(tx, number, rows)
        filled.set()
        await go_on.wait()

    fill = models.fill
    monkeypatch.setattr(models, "fill", slowly)
    switching = asyncio.create_task(memory.switch_embedder(bag("second", 64, longest=100)))
    await filled.wait()
    going = user.erase() if removal == "erase" else user.chat("monday").remove(str(message.message_id))
    removing = asyncio.create_task(going)
    with superuser(str(settings.database_url)) as connection:
        await soon(lambda: removing.done() or value(connection, "SELECT count(*) FROM pg_locks WHERE NOT granted"))
        go_on.set()
        await asyncio.gather(removing, switching)
        assert value(connection, "SELECT count(*) FROM search_vectors") == 0


async def test_a_switch_that_was_stopped_goes_on_where_it_was(memory: AsyncMemory, settings: Settings) -> None:
    await furnish(memory)

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done > 100:
            raise Stopped

    with pytest.raises(Stopped):
        await memory.switch_embedder(bag("second", 64), progress=stop)
    assert (await memory.embedder_model(), await memory.next_embedder_model()) == ("first", "second")
    assert (await memory.user("ana").search("topic7"))[0].scores["dense"] > 0
    with pytest.raises(Conflict, match="second"):
        await memory.switch_embedder(bag("third", 32))
    seen: list[tuple[int, int]] = []
    await memory.switch_embedder(bag("second", 64), progress=lambda done, total: seen.append((done, total)))
    assert seen[0][1] < 110
    assert (await memory.embedder_model(), await memory.next_embedder_model()) == ("second", None)


async def test_a_switch_can_be_given_up(memory: AsyncMemory, settings: Settings) -> None:
    await furnish(memory)
    assert await memory.cancel_switch() is False

    def stop(done: int, total: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        await memory.switch_embedder(bag("second", 64), progress=stop)
    assert await memory.cancel_switch() is True
    assert await memory.embedder_model() == "first"
    await memory.switch_embedder(bag("third", 32))
    assert await memory.embedder_model() == "third"
    with superuser(str(settings.database_url)) as connection:
        assert dimensions(connection) == {32}


HOLDERS = """
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
WHERE datname = current_database() AND locktype = 'advisory' AND (classid::bigint << 32) + objid::bigint = %s
"""


@pytest.mark.one_server("the lock of a change lies with the coordinator")
@pytest.mark.parametrize("other", ["cancel", "switch"])
async def test_a_change_whose_lock_was_lost_gives_way_to_another(
    memory: AsyncMemory, settings: Settings, other: str
) -> None:
    """A server or a pooler may end a transaction that is idle for long; the vectors in use stay."""
    await furnish(memory)
    lost, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(tx: Executor, number: int, rows: Sequence[Filled]) -> None:
        await fill(tx, number, rows)
        lost.set()
        await go_on.wait()

    fill = models.fill
    with pytest.MonkeyPatch.context() as slow:
        slow.setattr(models, "fill", slowly)
        switching = asyncio.create_task(memory.switch_embedder(bag("second", 64)))
        await lost.wait()
    with superuser(str(settings.database_url)) as connection:
        assert len(connection.execute(HOLDERS, (SWITCHING,)).fetchall()) == 1
        async with AsyncMemory(embedder=bag("first", 384), settings=settings) as helper:
            doing = helper.cancel_switch() if other == "cancel" else helper.switch_embedder(bag("second", 64))
            done = asyncio.create_task(doing)
            await soon(lambda: done.done() or value(connection, "SELECT count(*) FROM pg_locks WHERE NOT granted"))
            go_on.set()
            await done
            with pytest.raises((Conflict, DatabaseUnavailable)):
                await switching
            assert await helper.embedder_model() == ("first" if other == "cancel" else "second")
        assert dimensions(connection) == ({384} if other == "cancel" else {64})
    await memory.settle()
    (best, *_) = await memory.user("ana").search("topic7")
    assert "topic7 " in best.content and best.scores["dense"] > 0
    assert (await memory.health()).ok


async def test_a_change_goes_on_with_vectors_of_the_same_length_alone(memory: AsyncMemory) -> None:
    await furnish(memory)

    def stop(done: int, total: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        await memory.switch_embedder(bag("second", 64), progress=stop)
    with pytest.raises(Conflict, match="begun with vectors of 64 numbers, and the model gives 128 now"):
        await memory.switch_embedder(bag("second", 128))
    assert await memory.switch_embedder(bag("second", 64)) > 0


async def test_what_is_rewritten_at_the_moment_of_the_change_is_found(
    memory: AsyncMemory, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = memory.user("ana")
    await furnish(memory, count=5)
    rewriting: list[asyncio.Task[None]] = []

    async def take_over(change: Switch, mark_due: Action, promote: Action) -> None:
        entry = await user.entries.add("The kettle is blue.")
        await memory.settle()  # with vectors of the first model, too late for another round

        def rewrite() -> None:
            with superuser(str(settings.database_url)) as connection:
                update = "UPDATE memory_entries SET content = 'The kettle is green.' WHERE entry_id = %s"
                connection.execute(update, (entry.entry_id,))

        async def mark(tx: Transaction) -> None:
            rewriting.append(asyncio.create_task(asyncio.to_thread(rewrite)))
            with superuser(str(settings.database_url)) as connection:
                await soon(lambda: value(connection, "SELECT count(*) FROM pg_locks WHERE NOT granted"))
            await mark_due(tx)

        await original(change, mark, promote)

    original = Switch.take_over
    monkeypatch.setattr(Switch, "take_over", take_over)
    await memory.switch_embedder(bag("second", 64))
    await asyncio.gather(*rewriting)
    await memory.settle()
    (best, *_) = await user.search("kettle green")
    assert best.content == "The kettle is green."
    assert best.scores["dense"] > 0


@pytest.mark.parametrize("finish", ["maintain", "switch", "cancel"])
async def test_what_a_change_that_was_stopped_at_its_end_left_is_removed_later(
    memory: AsyncMemory, settings: Settings, monkeypatch: pytest.MonkeyPatch, finish: str
) -> None:
    await furnish(memory)

    async def stop(*given: object) -> None:
        raise KeyError

    with monkeypatch.context() as stopped, pytest.raises(KeyError):
        stopped.setattr(models, "remove", stop)
        await memory.switch_embedder(bag("second", 64))
    assert await memory.embedder_model() == "second"
    (best, *_) = await memory.user("ana").search("topic7")
    assert "topic7 " in best.content and best.scores["dense"] > 0
    with superuser(str(settings.database_url)) as connection:
        assert dimensions(connection) == {384, 64}
        if finish == "maintain":
            async with connected(str(settings.database_url)) as database, switching(database):
                await memory.maintain()
            assert dimensions(connection) == {384, 64}, "somebody else is at it"
            await memory.maintain()
        elif finish == "switch":
            assert await memory.switch_embedder(bag("second", 64)) == 0
        else:
            assert await memory.cancel_switch() is False
        assert dimensions(connection) == {64}
        assert value(connection, "SELECT count(*) FROM embedding_models") == 1
    assert (await memory.health()).ok


async def test_a_vector_that_a_message_came_with_is_of_the_model_of_its_time(
    memory: AsyncMemory, settings: Settings
) -> None:
    chat, given = memory.user("ana").chat("old"), [1.0, *[0.0] * 383]
    said = ConversationMessage("old", "user", "A word that was given a vector.", embedding=given)
    before = await chat.store(said)
    await memory.settle()
    await memory.switch_embedder(bag("second", 384))
    after = await chat.store(said)
    await memory.switch_embedder(bag("third", 64))
    unlike = await chat.store(said)
    copied = await (await chat.fork()).history()
    await memory.settle()
    with superuser(str(settings.database_url)) as connection:
        kept = dict(connection.execute("SELECT message_id::text, embedding::real[] FROM conversation_messages"))
        assert [kept[str(each.message_id)] for each in (before, after, unlike)] == [given] * 3
        assert dimensions(connection) == {64}
    assert {len(each.embedding or []) for each in [*await chat.history(), *copied]} <= {0, 64}
    assert "dense" in (await memory.user("ana").search("given a vector"))[0].scores


async def test_large_users_are_found_by_the_index_of_the_new_model(settings: Settings) -> None:
    narrow = replace(settings, large_memory=50)
    async with AsyncMemory(embedder=bag("first", 384), settings=narrow) as memory:
        await furnish(memory)
        await memory.switch_embedder(bag("second", 64))
        (best, *_) = await memory.user("ana").search("topic7")
        assert "topic7 " in best.content
        assert (await memory.health()).ok


@pytest.mark.parametrize("name", ["", "nothing", "openai:", "openai:m@ftp://x"])
async def test_an_unknown_name_is_refused(memory: AsyncMemory, name: str) -> None:
    with pytest.raises(Invalid):
        await memory.switch_embedder(name)


@pytest.fixture
def endpoint() -> Iterator[str]:
    """A model of 16 dimensions behind an OpenAI-compatible endpoint, somewhat slow."""
    model = bag("remote", 16)

    def answer(path: str, headers: Mapping[str, str], question: Any) -> Answer:
        time.sleep(0.02)
        rows = model.embed(question["input"]).tolist()
        return 200, {"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}

    with embedding_endpoint(answer) as url:
        yield url


def command(settings: Settings, *arguments: str) -> list[str]:
    options = ["--database-url", str(settings.database_url), "--home", str(settings.home)]
    return [sys.executable, "-m", "ltst.doors.cli.main", *options, "embedder", *arguments]


NEXT = "SELECT count(*) FROM search_vectors JOIN embedding_models ON number = model AND state = 'next'"


def filled(connection: psycopg.Connection[Any]) -> int:
    return int(value(connection, NEXT))


def test_a_switch_that_was_killed_is_taken_up_and_every_process_follows(settings: Settings, endpoint: str) -> None:
    """By name: the memories that were open before go over to the new model by themselves."""
    name = f"openai:m@{endpoint}"
    with Memory(settings=settings) as reader, superuser(str(settings.database_url)) as connection:
        user = reader.user("ana")
        user.chat("old").add_many(
            {"role": "user", "content": f"number {at} is about topic{at % 40}"} for at in range(600)
        )
        reader.settle()
        assert user.search("topic7")[0].scores["dense"] > 0
        switching = subprocess.Popen(command(settings, "switch", name), stderr=subprocess.PIPE)
        while filled(connection) < 100 and switching.poll() is None:
            time.sleep(0.01)
        os.kill(switching.pid, signal.SIGKILL)
        switching.communicate()
        before = filled(connection)
        assert 100 <= before < 600
        shown = subprocess.run(command(settings, "show"), capture_output=True, text=True)
        assert "A change to m@127.0.0.1" in shown.stdout
        assert user.search("topic8")[0].content.endswith("topic8")
        again = subprocess.run(command(settings, "switch", name), capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
        assert f"{600 - before} rows" in again.stdout
        (best, *_) = user.search("topic9")
        assert best.content.endswith("topic9")
        assert best.scores["dense"] > 0
        assert dimensions(connection) == {16}
    shown = subprocess.run(command(settings, "show"), capture_output=True, text=True)
    assert shown.stdout.startswith("m@127.0.0.1")


VECTOR_INDEXES = """
SELECT indexname::text FROM pg_indexes
WHERE tablename = 'search_vectors' AND indexname <> 'search_vectors_pkey'
"""


OUTSIDE = """
SELECT sum(pg_relation_size(reltoastrelid)) FROM pg_class
WHERE relname ~ '^search_vectors(_[0-9]+)?$' AND relkind = 'r'
"""


@pytest.mark.parametrize(
    ("dimensions", "indexed"),
    [
        (800, {"embedding_2", "near"}),
        (801, {"embedding_2"}),
        (4_000, {"embedding_2"}),
        (4_001, set[str]()),
    ],
)
async def test_vectors_of_any_length_are_found(
    memory: AsyncMemory, settings: Settings, dimensions: int, indexed: set[str]
) -> None:
    """Also those of a user whose id is as long as an id may be, in indexes that can hold them."""
    chance = random.Random(7)
    name = "".join(chr(chance.randrange(0x20000, 0x2A000)) for _ in range(255))
    await furnish(memory, name, count=30)
    await memory.switch_embedder(bag("second", dimensions))
    await memory.user(name).chat("new").add("user", "number 31 is about topic31")
    await memory.settle()
    (best, *_) = await memory.user(name).search("topic31")
    assert best.content == "number 31 is about topic31"
    assert best.scores["dense"] > 0
    assert (await memory.health()).ok
    with superuser(str(settings.database_url)) as connection:
        there = {each.removeprefix("idx_search_vectors_") for (each,) in connection.execute(VECTOR_INDEXES)}
        assert there == indexed
        connection.execute("SET citus.override_table_visibility = off")  # what is set there means nothing elsewhere
        assert (value(connection, OUTSIDE) == 0) is (dimensions < 4_000), "what fits into a page lies in its row"


async def test_a_model_may_follow_any_other(memory: AsyncMemory) -> None:
    """Also one with vectors of so many numbers that those of both would not fit into a page."""
    user = memory.user("ana")
    await furnish(memory, count=5)
    for number, dimensions in enumerate((1536, 3072, 1536, 1536, 1024)):
        await memory.switch_embedder(bag(f"model {number}", dimensions))
        await user.chat("new").add("user", f"number {90 + number} is about topic{90 + number}")
        await memory.settle()
        (best, *_) = await user.search(f"topic{90 + number}")
        assert best.content == f"number {90 + number} is about topic{90 + number}"
        assert best.scores["dense"] > 0
