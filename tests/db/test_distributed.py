"""A memory over several nodes of Citus; what needs them is skipped where LTST_CITUS names no Postgres that has it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import cast

import numpy as np
import psycopg
import pytest

from bench.citus import distribute_new, running
from bench.distributed import MISCOUNTED
from bench.nodes import NAME
from helpers import citus
from helpers.citus import CitusServer
from helpers.embedders import hashed
from helpers.probes import Connection, administer, connected
from ltst import AsyncMemory, CallableEmbedder, Conflict, DatabaseUnavailable, Event, Invalid, Settings
from ltst.db import backup, distribute, gathering, migrate, places, repair
from ltst.db import blueprint as drawing
from ltst.db.embedded import EmbeddedServer
from ltst.rooms import events

on_citus = pytest.mark.skipif(not citus.PREFIX, reason="LTST_CITUS names no Postgres with Citus: make citus")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
SHARD = """
SELECT 'user_facts_' || shardid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
WHERE logicalrelid = 'user_facts'::regclass AND groupid = (SELECT groupid FROM pg_dist_local_group)
"""
EVERY_PLACE = [f"user {number}" for number in range(12)]


def test_users_are_hashed_as_postgres_hashes_them(database: Connection) -> None:
    for text in ("", "a", "ana", "twelve bytes", "thirteen byte", "ünïcödé 🙂", "x" * 255):
        assert database.execute("SELECT hashtext(%s)", (text,)).fetchone() == (places.hashed(text),)


@pytest.mark.skipif(bool(citus.PREFIX), reason="there is Citus")
async def test_a_database_without_citus_says_what_to_do(database_url: str) -> None:
    async with connected(database_url) as database:
        with pytest.raises(DatabaseUnavailable, match="shared_preload_libraries"):
            await distribute.look(database)


def event(number: int, seconds: int) -> Event:
    return Event(number, "ana", NOW + timedelta(seconds=seconds), "a", "add", "fact", "x", {}, cursor=f"1-{number}-1")


def test_events_of_several_places_come_by_their_moments_and_each_cursor_tells_of_all_places() -> None:
    found = [[event(1, 10), event(2, 30)], [event(7, 20)], []]
    merged = events._merged(found, ["0-0-0"] * 3, 10, newest_first=False)
    assert [each.event_id for each in merged] == [1, 7, 2]
    assert [each.cursor for each in merged] == ["1-1-1.0-0-0.0-0-0", "1-1-1.1-7-1.0-0-0", "1-2-1.1-7-1.0-0-0"]


@pytest.fixture
def alone(server: EmbeddedServer) -> Iterator[str]:
    """A database on all nodes, which do not know of each other yet."""
    name = f"test_{uuid.uuid4().hex}"
    administer(server, f"CREATE DATABASE {name}")
    yield psycopg.conninfo.make_conninfo(server.dsn, dbname=name)
    administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def join(server: EmbeddedServer, url: str) -> None:
    """Let the nodes know of each other in this database."""
    cast("CitusServer", server).join(str(psycopg.conninfo.conninfo_to_dict(url)["dbname"]))


# Citus hides shards unless it is told not to. A policy that is not forced would not bind the owner.
OPEN_TABLES = """
SELECT relname::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)
"""
OPEN_FUNCTIONS = """
SELECT proname::text FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace
  AND (proacl IS NULL OR EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0)) AND prorettype <> 'trigger'::regtype
"""


def left_open(server: EmbeddedServer, url: str) -> list[str]:
    """The tables and functions of any node that are not protected."""
    found: list[str] = []
    for node in cast("CitusServer", server).nodes:
        address = psycopg.conninfo.make_conninfo(node, dbname=psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        with psycopg.connect(address, options="-ccitus.override_table_visibility=off") as connection:
            found += [name for query in (OPEN_TABLES, OPEN_FUNCTIONS) for (name,) in connection.execute(query.encode())]
    return found


def test_counts_of_several_places_are_added_up_whatever_number_they_are() -> None:
    rows = [{"name": "messages", "day": Decimal(2), "all": 3}, {"name": "messages", "day": Decimal(5), "all": 4}]
    assert gathering._added_up("name", rows) == [{"name": "messages", "day": 7, "all": 7}]


def on_worker(server: EmbeddedServer, url: str) -> str:
    """The same database by the address of a worker, which holds only parts of it."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    return psycopg.conninfo.make_conninfo(cast("CitusServer", server).nodes[-1], dbname=name)


@on_citus
async def test_the_address_of_a_worker_is_refused(server: EmbeddedServer, database_url: str, tmp_path: Path) -> None:
    worker = on_worker(server, database_url)
    with pytest.raises(Conflict, match="give the address of the coordinator"):
        await AsyncMemory(settings=Settings(worker=False, database_url=worker, home=tmp_path)).open()
    async with connected(worker) as database:
        for refused in (backup.backup(database, tmp_path / "b"), distribute.check(database)):
            with pytest.raises(Conflict, match="give the address of the coordinator"):
                await refused
    assert not (tmp_path / "b").exists()


@on_citus
async def test_a_database_whose_nodes_do_not_know_each_other_is_refused_before_it_is_migrated(alone: str) -> None:
    async with connected(alone) as database:
        with pytest.raises(DatabaseUnavailable, match="citus_add_node"):
            await distribute.check(database)


@on_citus
async def test_a_lost_worker_is_told_by_health_and_before_anything_is_distributed(tmp_path: Path) -> None:
    with running(Path(cast("str", citus.PREFIX))) as cluster:
        await distribute_new(cluster.coordinator.dsn(), 2)
        settings = Settings(worker=False, database_url=cluster.coordinator.dsn(), home=tmp_path)
        async with AsyncMemory(settings=settings) as memory:
            assert (await memory.health()).ok
            with psycopg.connect(cluster.nodes[-1].dsn(), autocommit=True) as worker:
                (shard,) = worker.execute(SHARD).fetchone() or ("",)
                worker.execute(f"ALTER TABLE {shard} DISABLE ROW LEVEL SECURITY".encode())
                (open_table,) = [each for each in (await memory.health()).checks if each.status != "ok"]
                told, _, remedy = open_table.detail.partition("; run on the coordinator: ")
                assert told == "row-level security is off in some places for user_facts"
                with psycopg.connect(cluster.coordinator.dsn(), autocommit=True) as coordinator:
                    coordinator.execute(remedy.encode())
                assert (await memory.health()).ok
            cluster.nodes[-1].kill()
            found = {each.name: each for each in (await memory.health()).checks}
        lost = f"127.0.0.1:{cluster.nodes[-1].port} cannot be reached"
        assert found["servers"].status == "error" and found["servers"].detail.startswith(lost)
        assert {found[name].status for name in ("derived work", "master key", "isolation")} == {"warning"}
        assert {found[name].status for name in ("schema", "indexes")} == {"ok"}
        async with connected(cluster.coordinator.dsn()) as database:
            with pytest.raises(DatabaseUnavailable, match=lost):
                await distribute.look(database)


LATER = "SET citus.enable_ddl_propagation = off"


@on_citus
async def test_a_right_that_a_node_lacks_is_told_before_anything_is_distributed_and_by_health(tmp_path: Path) -> None:
    """A node that joins later does not get the grants that were made before."""
    with running(Path(cast("str", citus.PREFIX))) as cluster:
        for node in cluster.nodes:
            with psycopg.connect(node.dsn(), autocommit=True) as connection:
                for statement in (LATER, "CREATE ROLE app LOGIN", "CREATE ROLE ltst_user", "CREATE ROLE ltst_keeper"):
                    connection.execute(statement.encode())
                for granted in ("ltst_user, ltst_keeper", "ALL ON SCHEMA public"):
                    connection.execute(f"GRANT {granted} TO app".encode())
        url, last = psycopg.conninfo.make_conninfo(cluster.coordinator.dsn(), user="app"), cluster.nodes[-1]
        missing = f"create the schemas of the places on .*127.0.0.1:{last.port}.*; run on the coordinator: GRANT"
        async with connected(url) as database:
            for refused in (distribute.check(database), distribute.look(database)):
                with pytest.raises(Conflict, match=missing):
                    await refused
        grant = f"GRANT CREATE ON DATABASE {NAME} TO app".encode()
        with psycopg.connect(cluster.coordinator.dsn(), autocommit=True) as connection:
            connection.execute(grant)
        settings = Settings(worker=False, database_url=url, home=tmp_path)
        async with AsyncMemory(settings=settings) as early:
            await early.user("ana").chat("monday").add("user", "hello")
            async with connected(url) as database:
                await distribute.distribute(database, 2)
                with pytest.raises(Conflict, match="this database has 2 places, and their number stays"):
                    await distribute.look(database, 4)
            with pytest.raises(DatabaseUnavailable, match="distributed while this program was open: start the program"):
                await early.user("ana").chat("monday").window()
        async with AsyncMemory(settings=settings) as memory:
            assert len(await memory.user("ana").chat("monday").window()) == 1
            with psycopg.connect(last.dsn(), autocommit=True) as connection:
                connection.execute(LATER.encode())
                connection.execute(grant.replace(b"GRANT", b"REVOKE").replace(b" TO ", b" FROM "))
            found = {each.name: each for each in (await memory.health()).checks}
            assert (found["servers"].status, f"127.0.0.1:{last.port};" in found["servers"].detail) == ("error", True)


@on_citus
async def test_what_was_there_before_is_distributed_with_all_that_belongs_to_it(
    server: EmbeddedServer, alone: str, tmp_path: Path
) -> None:
    settings = Settings(worker=False, database_url=alone, home=tmp_path)
    async with AsyncMemory(settings=settings) as memory:
        for name in EVERY_PLACE:
            chat = memory.user(name).chat("monday")
            first = await chat.add("user", "I moved to Lisbon.")
            await chat.add("assistant", "Noted.", parent=first.message_id)
            await memory.user(name).facts.set("home", "Lisbon", source_message_id=first.message_id)
            await memory.user(name).preferences.set("diet", "no nuts", sensitive=True)
        before = {name: await memory.user(name).export() for name in EVERY_PLACE}
        seen = (await memory.feed(limit=1000))[-1].cursor
    join(server, alone)
    async with connected(alone) as database:
        planned = await distribute.look(database, 4)
        assert "conversation_messages" in planned.distributed and planned.places == 4
        done = await distribute.distribute(database, 4)
        assert done.distributed == planned.distributed
        assert (await distribute.distribute(database, 4)).distributed == []
    assert left_open(server, alone) == []
    async with AsyncMemory(settings=settings) as memory:
        assert {name: await memory.user(name).export() for name in EVERY_PLACE} == before
        assert await memory.feed(after=seen) == [], "a cursor from before stays good"
        for name in EVERY_PLACE:
            await memory.user(name).chat("monday").add("user", "Hello again.")
        assert {each.user_id for each in await memory.feed(after=seen)} == {*EVERY_PLACE}
        (summary,) = [await memory.user("user 1").chat("monday").summary()]
        assert summary.message_count == 3
        await memory.user("user 1").chat("monday").remove(before["user 1"]["messages"][0]["message_id"])
        assert [fact.source_message_id for fact in await memory.user("user 1").facts.list()] == [None]


async def nearest(memory: AsyncMemory) -> dict[str, list[tuple[str, float]]]:
    """What each user said about the water, and how near it is by meaning."""
    found = {name: await memory.user(name).search("waves and water", kinds=["message"]) for name in EVERY_PLACE}
    return {name: [(hit.content, round(hit.scores["dense"], 1)) for hit in hits] for name, hits in found.items()}


OLD_VECTOR = "INSERT INTO search_vectors (user_id, unit_no, part, embedding) VALUES (%s, 1000, 0, %s::real[]::vector)"


@on_citus
async def test_a_distributed_database_is_brought_up_to_date_with_all_it_holds(
    server: EmbeddedServer, alone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join(server, alone)
    settings = Settings(worker=False, database_url=alone, home=tmp_path)
    lacking = [each.name for each in migrate.migrations() if each.name >= "0036"]
    with monkeypatch.context() as earlier:
        until = migrate.migrations()[: -len(lacking)]
        for module in (migrate, drawing):
            earlier.setattr(module, "migrations", lambda: until)
        earlier.setattr(distribute, "blueprint", drawing.blueprint.__wrapped__)
        await distribute_new(alone, 4)
        async with AsyncMemory(settings=settings) as memory:
            for name in EVERY_PLACE:
                await tell_of_home(memory, name, "Lisbon")
                await memory.user(name).chat("monday").add("user", f"I like the sea, says {name}.")
            before = await exports(memory)
        with psycopg.connect(alone, autocommit=True) as connection:
            for name in EVERY_PLACE:
                connection.execute(OLD_VECTOR, (name, [2.0] * 384))
    async with connected(alone) as database:
        assert await distribute.bring_up_to_date(database) == lacking
    with psycopg.connect(alone) as connection:
        vectors = connection.execute("SELECT user_id, embedding::real[] FROM search_vectors").fetchall()
        assert {*EVERY_PLACE} == {name for name, _ in vectors}
        assert all(vector == pytest.approx([384**-0.5] * 384, abs=1e-4) for _, vector in vectors)
    async with AsyncMemory(settings=settings) as memory:
        assert (await memory.health()).ok
        assert await exports(memory) == before
        await memory.settle()
        assert all(found[0][1] for found in (await nearest(memory)).values())


def words(dimensions: int, name: str) -> CallableEmbedder:
    """A model in which texts that share words are alike."""
    return CallableEmbedder(lambda texts: np.tile(hashed(texts), (1, dimensions // 384)), name, dimensions)


@on_citus
@pytest.mark.parametrize("dimensions", [768, 1_152])
async def test_the_model_is_changed_in_all_places_while_users_write(
    database_url: str, tmp_path: Path, dimensions: int
) -> None:
    settings, over, numbers = Settings(worker=False, database_url=database_url, home=tmp_path), asyncio.Event(), count()

    async def live(memory: AsyncMemory, name: str) -> None:
        while not over.is_set():
            word = f"word{next(numbers)}"
            stored = await memory.user(name).chat("monday").add("user", f"{word} is what {name} says.")
            assert stored.message_id in [hit.id for hit in await memory.user(name).search(word)]

    async with AsyncMemory(settings=settings, embedder=words(384, "before")) as memory:
        for name in EVERY_PLACE:
            said = ["Waves and water.", *(f"Something else, {number}." for number in range(20))]
            await memory.user(name).chat("monday").add_many({"role": "user", "content": each} for each in said)
        await memory.settle()
        lives = [asyncio.create_task(live(memory, name)) for name in EVERY_PLACE[:4]]
        assert await memory.switch_embedder(words(dimensions, "after")) >= 20 * len(EVERY_PLACE)
        over.set()
        await asyncio.gather(*lives)
        await memory.settle()
        assert all(found[0][1] > 0.5 for found in (await nearest(memory)).values())
        assert (await memory.health()).ok
    with psycopg.connect(database_url) as connection:
        lengths = "SELECT vector_dims(embedding), count(*) FROM search_vectors GROUP BY 1"
        vectored = "SELECT count(*) FROM search_units WHERE vectored"
        assert connection.execute(lengths).fetchall() == [
            (dimensions, *(connection.execute(vectored).fetchone() or ()))
        ]
        assert connection.execute("SELECT name, state FROM embedding_models").fetchall() == [("after", "active")]


@on_citus
async def test_an_adopted_table_cannot_be_distributed(server: EmbeddedServer, alone: str, tmp_path: Path) -> None:
    async with AsyncMemory(settings=Settings(worker=False, database_url=alone, home=tmp_path)) as memory:
        with psycopg.connect(alone, autocommit=True) as connection:
            connection.execute("CREATE TABLE chats (id SERIAL, session_id TEXT, role TEXT, content TEXT)")
            connection.execute("INSERT INTO chats (session_id, role, content) VALUES ('a', 'user', 'hello')")
        await memory.adopt("chats", user_id="ana")
    join(server, alone)
    async with connected(alone) as database:
        with pytest.raises(Conflict, match="chats"):
            await distribute.look(database)


async def tell_of_home(memory: AsyncMemory, name: str, place: str) -> None:
    """Say something, and let a fact refer to it."""
    said = await memory.user(name).chat("monday").add("user", f"I moved to {place}.")
    await memory.user(name).facts.set("home", place, source_message_id=said.message_id)


async def exports(memory: AsyncMemory) -> dict[str, object]:
    return {name: await memory.user(name).export() for name in EVERY_PLACE}


@on_citus
async def test_a_backup_becomes_one_server_again_and_then_several(
    server: EmbeddedServer, database_url: str, alone: str, tmp_path: Path
) -> None:
    async with AsyncMemory(settings=Settings(worker=False, database_url=database_url, home=tmp_path)) as memory:
        for name in EVERY_PLACE:
            await tell_of_home(memory, name, "Lisbon")
        before, seen = await exports(memory), await memory.user("user 1").events.feed()
        numbers = [each.event_id for name in EVERY_PLACE for each in await memory.user(name).events.list()]
    async with connected(database_url) as database:
        assert await backup.backup(database, tmp_path / "memory.dump")
        with pytest.raises(Conflict, match="ltst db distribute"):
            await backup.restore(database, tmp_path / "memory.dump", replace=True)
    async with connected(alone) as database:
        await backup.restore(database, tmp_path / "memory.dump")
        assert await repair.compare(database) == []
    settings = Settings(worker=False, database_url=alone, home=tmp_path)
    async with AsyncMemory(settings=settings) as memory:
        assert await exports(memory) == before
        await tell_of_home(memory, "user 1", "Porto")
        new = await memory.user("user 1").events.feed(after=seen[-1].cursor)
        assert new and min(each.event_id for each in new) > max(numbers)
        (said, _) = await memory.user("user 1").chat("monday").window()
        await memory.user("user 1").chat("monday").remove(said.message_id)
        assert said.message_id not in {
            fact.source_message_id for fact in await memory.user("user 1").facts.history("home")
        }
        before = await exports(memory)
    join(server, alone)
    async with connected(alone) as database:
        await distribute.distribute(database, 4)
    async with AsyncMemory(settings=settings) as memory:
        assert await exports(memory) == before


@on_citus
async def test_a_backup_under_writers_holds_each_user_as_of_one_moment(
    database_url: str, alone: str, tmp_path: Path
) -> None:
    over = asyncio.Event()

    async def write(memory: AsyncMemory, name: str) -> None:
        while not over.is_set():
            await tell_of_home(memory, name, "Lisbon")

    async with AsyncMemory(settings=Settings(worker=False, database_url=database_url, home=tmp_path)) as memory:
        writers = [asyncio.create_task(write(memory, name)) for name in EVERY_PLACE[:4]]
        async with connected(database_url) as database:
            await backup.backup(database, tmp_path / "memory.dump")
        over.set()
        await asyncio.gather(*writers)
    async with connected(alone) as database:
        await backup.restore(database, tmp_path / "memory.dump")
    with psycopg.connect(alone) as connection:
        assert connection.execute(MISCOUNTED).fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM conversation_messages").fetchone() != (0,)


@on_citus
async def test_what_needs_one_server_is_refused(database_url: str, tmp_path: Path) -> None:
    settings = Settings(worker=False, database_url=database_url, home=tmp_path)
    async with AsyncMemory(settings=settings) as memory:
        with pytest.raises(Conflict, match="distributed"):
            await memory.adopt("chats")
        with pytest.raises(Invalid, match="cursor"):
            await memory.feed(after=5)
    reading = Settings(database_url=database_url, read_database_url=database_url, home=tmp_path)
    with pytest.raises(Invalid, match="LTST_READ_DATABASE_URL"):
        await AsyncMemory(settings=reading).open()


@on_citus
async def test_every_user_is_where_citus_looks_for_them(database_url: str, tmp_path: Path) -> None:
    async with AsyncMemory(settings=Settings(worker=False, database_url=database_url, home=tmp_path)) as memory:
        for name in EVERY_PLACE:
            await memory.user(name).chat("monday").add("user", "hello")
        with psycopg.connect(database_url) as connection:
            for name in EVERY_PLACE:
                query = "SELECT count(*) FROM conversation_messages WHERE user_id = %s"
                assert connection.execute(query, (name,)).fetchone() == (1,)
        receipt = await memory.user("user 1").erase()
        assert receipt.removed["conversation_messages"] == 1
        assert (await memory.verify(receipt)).ok
        stats = {table.name: table.bytes for table in (await memory.stats()).tables}
        assert stats["conversation_messages"] > 0 and stats["api_keys"] > 0
