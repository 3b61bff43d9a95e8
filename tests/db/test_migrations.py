"""Migrations: applied once by whoever comes first, whole or not at all, with words for whoever has to help."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import ltst
from helpers.embedders import hashed
from helpers.household import SECRET_KEY, furnish
from helpers.probes import Connection, counts, free_port, superuser, tables, value, views
from helpers.waiting import soon
from ltst import AsyncMemory, CallableEmbedder, Memory, Settings
from ltst.adoption import upkeep
from ltst.db import migrate, repair
from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.migrate import Migration, _extension_steps
from ltst.db.pool import Database
from ltst.retelling.importance import importance

CROWD = 16
DEFAULTS = 8  # the preferences of `system`
OPEN = """
import sys, time
from pathlib import Path
from ltst import Memory
memory = Memory(sys.argv[1])
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.01)
with memory:
    memory.user(sys.argv[3]).chat("one").add("user", "hello")
"""


@asynccontextmanager
async def reached(url: str) -> AsyncIterator[Database]:
    database = Database(ConnectionPool(url, size=2, timeout=60))
    try:
        yield database
    finally:
        await database.close()


async def migrate_before(name: str, url: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Applies the migrations before one of them; returns the names of the others."""
    known = migrate.migrations()
    place = [each.name for each in known].index(name)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "migrations", lambda: known[:place])
        async with reached(url) as database:
            await migrate.migrate(database)
    return [each.name for each in known[place:]]


def extended(name: str, text: str) -> tuple[Migration, ...]:
    return (*migrate.migrations(), Migration(9999, f"9999_{name}", text))


def test_a_crowd_that_opens_an_empty_database_at_once_migrates_it_once(empty_database_url: str, tmp_path: Path) -> None:
    start = tmp_path / "start"
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(OPEN), empty_database_url, str(start), f"user {number}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(CROWD)
    ]
    for process in crowd:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    start.touch()
    complaints = [process.communicate(timeout=60)[1] for process in crowd]
    assert [process.returncode for process in crowd] == [0] * CROWD, complaints
    with superuser(empty_database_url) as connection:
        applied = connection.execute("SELECT name FROM ltst_migrations ORDER BY version").fetchall()
        assert [name for (name,) in applied] == [migration.name for migration in migrate.migrations()]
        assert value(connection, "SELECT count(DISTINCT xmin::text) FROM ltst_migrations") == 1
        assert value(connection, "SELECT count(*) FROM user_preferences WHERE user_id = 'system'") == DEFAULTS
        assert value(connection, "SELECT count(*) FROM conversation_messages") == CROWD


async def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    async with reached(empty_database_url) as database:
        assert await migrate.migrate(database) == [migration.name for migration in migrate.migrations()]
        with superuser(empty_database_url) as connection:
            before, when = counts(connection), value(connection, "SELECT max(applied_at) FROM ltst_migrations")
            assert await migrate.migrate(database) == []
            assert (counts(connection), value(connection, "SELECT max(applied_at) FROM ltst_migrations")) == (
                before,
                when,
            )
        assert {each.state for each in await migrate.status(database)} == {"applied"}


async def test_a_database_without_migrations_has_all_of_them_pending(empty_database_url: str) -> None:
    async with reached(empty_database_url) as database:
        assert {each.state for each in await migrate.status(database)} == {"pending"}


def test_the_files_are_numbered_without_gaps() -> None:
    assert [each.version for each in migrate.migrations()] == [*range(1, len(migrate.migrations()) + 1)]


async def test_facts_from_before_they_had_a_person_are_about_the_user(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate_before("0026_about", empty_database_url, monkeypatch)
    with superuser(empty_database_url) as connection:
        connection.execute("INSERT INTO user_facts (user_id, fact_key, fact_value) VALUES ('ana', 'home', 'Porto')")
    async with ltst.AsyncMemory(empty_database_url) as memory:
        facts = memory.user("ana").facts
        assert [(fact.about, fact.value) for fact in await facts.list()] == [("me", "Porto")]
        await facts.set("home", "Leeds", about="Dani")
        await facts.set("home", "Lisbon")
        assert [fact.line for fact in await facts.list()] == ["home: Lisbon", "Dani: home: Leeds"]
        assert [fact.value for fact in await facts.history("home")] == ["Porto", "Lisbon"]


VECTORS_INDEXED = "SELECT count(*) FROM pg_indexes WHERE indexname ~ '^idx_search_vectors_(near|embedding_1)$'"
COLUMNS_LEFT = """
SELECT DISTINCT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid WHERE attname ~ '^embedding' AND relkind = 'r' AND NOT attisdropped
"""


@pytest.mark.parametrize(("length", "indexes"), [(384, 2), (64, 2), (900, 1), (3_700, 1), (4_001, 0)])
async def test_vectors_from_before_they_took_two_bytes_a_number_keep_their_directions(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch, length: int, indexes: int
) -> None:
    """Also where the model is being changed, which begins anew."""
    lacking = await migrate_before("0036_together", empty_database_url, monkeypatch)
    with superuser(empty_database_url) as connection:
        if length > 2_000:
            connection.execute("DROP INDEX idx_search_vectors_embedding, idx_conversation_messages_embedding")
        for table in ("search_vectors", "conversation_messages", "user_facts"):
            connection.execute(f"ALTER TABLE {table} ALTER COLUMN embedding TYPE vector({length})")
            connection.execute(f"ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE EXTERNAL")
            connection.execute(f"ALTER TABLE {table} ADD COLUMN embedding_next vector(63)")
        connection.execute(
            "INSERT INTO embedding_models (name, dimensions, state) VALUES ('old', %s, 'active'), ('new', 63, 'next')",
            (length,),
        )
        old = [[number * (place + 1.5) for place in range(length)] for number in (-1e6, 0.25)]
        for number, vector in enumerate([*map(str, old), None]):
            connection.execute(
                "INSERT INTO search_vectors (user_id, unit_no, part, embedding, embedding_next, ann) "
                "VALUES ('ana', %s, 0, %s, %s, true)",
                (number, vector, str([1.0] * 63)),
            )
    async with reached(empty_database_url) as database:
        assert await migrate.migrate(database) == lacking
        assert await repair.compare(database) == []
    with superuser(empty_database_url) as connection:
        kept = {f"embedding {kind}" for kind in ("halfvec", "vector(384)")}
        assert {each for (each,) in connection.execute(COLUMNS_LEFT)} == kept
        assert connection.execute("SELECT name, number FROM embedding_models").fetchall() == [("old", 1)]
        near = "SELECT 1 - (embedding <=> %s::vector::halfvec) FROM search_vectors WHERE model = 1 ORDER BY unit_no"
        small = [[number / (abs(vector[-1]) * length) for number in vector] for vector in old]
        for number, vector in enumerate(small):
            found = [similarity for (similarity,) in connection.execute(near, (str(vector),))]
            assert (len(found), found[number]) == (2, pytest.approx(1, abs=1e-3))
        assert value(connection, VECTORS_INDEXED) == indexes
        # Searches may read the indexes without looking into the table.
        assert value(connection, "SELECT relallvisible FROM pg_class WHERE relname = 'search_vectors'") > 0


async def test_what_was_indexed_before_vectors_left_the_messages_stays_and_the_rest_is_indexed(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three messages the first has words and a vector, the second has words, the third has nothing yet."""
    lacking = await migrate_before("0036_together", empty_database_url, monkeypatch)
    contents = ("A ship.", "A harbour.", "I decided to move to Lisbon.")
    made = [0.0] * 383 + [1.0]
    with superuser(empty_database_url) as connection:
        connection.execute("INSERT INTO embedding_models (name, dimensions, state) VALUES ('hashed', 384, 'active')")
        connection.execute("INSERT INTO conversation_sessions (user_id, session_id) VALUES ('ana', 'monday')")
        for content in contents:
            connection.execute(
                "INSERT INTO conversation_messages (session_id, role, content) VALUES ('monday', 'human', %s)",
                (content,),
            )
        due = "SELECT message_id, since FROM search_due JOIN conversation_messages ON row_id = message_id"
        ids, sinces = map(
            list, zip(*connection.execute(f"{due} ORDER BY message_index LIMIT 2").fetchall(), strict=True)
        )
        connection.execute(
            "SELECT ltst_add_words('ana', %s::uuid[], %s::timestamptz[], '{1,1}', '{1,1}', '{0.5,0.5}', '{1,2}', "
            "'{ship,harbour}', '{1,1}')",
            (ids, sinces),
        )
        connection.execute(
            "SELECT ltst_add_vectors('ana', 'hashed', 'conversation_messages', 'message_id', %s::uuid[], "
            "%s::timestamptz[], '{NULL}', '{0.35}', '{1}', '{0}', %s::text[])",
            (ids[:1], sinces[:1], [str(made)]),
        )
        assert (
            value(connection, "SELECT relevance_score FROM conversation_messages WHERE embedding IS NOT NULL") == 0.35
        )
    async with reached(empty_database_url) as database:
        assert await migrate.migrate(database) == lacking
    settings = Settings(worker=False, database_url=empty_database_url)
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        user = memory.user("ana")
        assert (await user.sessions.summary("monday")).average_relevance == 0.35
        await memory.settle()
        assert (await memory.health()).ok
        vectors = [each.embedding for each in await user.chat("monday").history()]
        assert vectors[0] == made
        assert all(vectors)
        assert (await user.search("harbour"))[0].content == "A harbour."
        average = (await user.sessions.summary("monday")).average_relevance
        assert average == pytest.approx((0.35 + importance(contents[2], "human")) / 2), "of the second it is not known"


async def test_a_migration_and_a_deletion_that_wait_for_each_other_both_end(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = await migrate_before("0036_together", empty_database_url, monkeypatch)
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'search_units'::regclass"
    async with reached(empty_database_url) as database:
        with superuser(empty_database_url) as connection, superuser(empty_database_url) as watch:
            connection.execute("SET deadlock_timeout = '10s'")  # so that mostly the migration gives way
            with suppress(psycopg.errors.DeadlockDetected), connection.transaction():
                connection.execute("DELETE FROM search_units")
                migrating = asyncio.create_task(migrate.migrate(database))
                await soon(lambda: value(watch, waits))
                await asyncio.to_thread(connection.execute, "DELETE FROM search_vectors")
        assert await migrating == lacking


def test_a_failed_migration_leaves_an_empty_database_empty_and_says_how_to_go_on(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = extended("broken", "CREATE TABLE half_made (a INTEGER); SELECT 1 / 0;")
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "migrations", lambda: broken)
        with pytest.raises(ltst.DatabaseUnavailable) as failure:
            Memory(empty_database_url).open()
    told = str(failure.value)
    assert all(words in told for words in ("9999_broken", "rolled back", "division by zero", "ltst db migrate"))
    with superuser(empty_database_url) as connection:
        assert tables(connection) + views(connection) == []
        assert value(connection, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace") == 0
    with Memory(empty_database_url) as memory:
        memory.user("ana").chat("one").add("user", "hello")


def test_a_failed_migration_leaves_a_database_with_data_as_it_was(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(database_url) as memory:
        memory.user("ana").chat("one").add("user", "hello")
    with superuser(database_url) as connection:
        before = counts(connection)
        broken = extended(
            "broken", "DROP TABLE user_facts CASCADE; DELETE FROM conversation_messages; SELECT no_such_function();"
        )
        mended = extended("mended", "CREATE TABLE whole (a INTEGER);")
        with monkeypatch.context() as patched:
            patched.setattr(migrate, "migrations", lambda: broken)
            with pytest.raises(ltst.DatabaseUnavailable, match="no_such_function"):
                Memory(database_url).open()
        assert counts(connection) == before
        with monkeypatch.context() as patched:
            patched.setattr(migrate, "migrations", lambda: mended)
            with Memory(database_url) as memory:
                assert memory.user("ana").chat("one").window()[0].content == "hello"
        assert "whole" in tables(connection)


def test_a_migration_that_was_changed_after_it_was_applied_is_refused(database_url: str) -> None:
    with superuser(database_url) as connection:
        connection.execute("UPDATE ltst_migrations SET sha256 = repeat('0', 64) WHERE version = 2")
        name = value(connection, "SELECT name FROM ltst_migrations WHERE version = 2")
        before = counts(connection)
        with pytest.raises(ltst.DatabaseUnavailable, match=f"{name} differs.*install the ltst that made it"):
            Memory(database_url).open()
        assert counts(connection) == before


def test_a_database_of_a_newer_ltst_is_refused(database_url: str) -> None:
    with superuser(database_url) as connection:
        connection.execute("INSERT INTO ltst_migrations (version, name, sha256) VALUES (9999, '9999_future', 'x')")
        with pytest.raises(ltst.DatabaseUnavailable, match=r"9999_future.*install a newer ltst"):
            Memory(database_url).open()


async def test_reset_builds_everything_anew_and_leaves_what_is_not_its_own(database_url: str) -> None:
    with Memory(database_url) as memory:
        furnish(memory.user("ana"), "before")
    with superuser(database_url) as connection:
        connection.execute("CREATE TABLE somebody_elses AS SELECT 1 AS one")
        async with reached(database_url) as database:
            await upkeep.reset(database)
        after = counts(connection)
    assert after.pop("somebody_elses") == 1
    assert after.pop("ltst_migrations") == len(migrate.migrations())
    assert after.pop("user_preferences") == DEFAULTS
    assert after.pop("ledger_epochs") == 2
    assert after.pop("key_requirement") == 1, "a server that asked for keys goes on asking"
    assert set(after.values()) == {0}
    with Memory(database_url) as memory:
        assert memory.health().ok
        assert memory.user("ana").chat("monday").window() == []


async def test_reset_of_an_empty_database_builds_it(empty_database_url: str) -> None:
    async with reached(empty_database_url) as database:
        await upkeep.reset(database)
        assert {each.state for each in await migrate.status(database)} == {"applied"}


@pytest.mark.parametrize(
    ("installed", "available", "may_create", "steps"),
    [
        (None, "0.8.4", True, []),
        (None, "0.8.4", False, ["CREATE EXTENSION vector;"]),
        (None, "0.7.4", True, ["-- install pgvector 0.8.4 or newer on the server first: it offers 0.7.4"]),
        (None, "0.7.4", False, ["-- install pgvector 0.8.4 or newer on the server first: it offers 0.7.4"]),
        ("0.8.4", "0.8.4", False, []),
        ("0.8.10", "0.8.10", False, []),
        ("0.9.0", "0.9.0", False, []),
        ("0.10.1", None, False, []),
        ("1.0", "1.0", False, []),
        ("0.8.3", "0.8.4", False, ["ALTER EXTENSION vector UPDATE;"]),
        ("0.5.0", "0.10.0", True, ["ALTER EXTENSION vector UPDATE;"]),
        (
            "0.7.0",
            "0.7.4",
            True,
            [
                "-- install pgvector 0.8.4 or newer on the server first: it has 0.7.0",
                "ALTER EXTENSION vector UPDATE;",
            ],
        ),
    ],
)
def test_the_steps_to_a_new_enough_pgvector(
    installed: str | None, available: str | None, may_create: bool, steps: list[str]
) -> None:
    assert _extension_steps(installed, available, may_create) == steps


@pytest.fixture(scope="module")
def bare_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server on which ltst was never used, with a port for roles that have a password."""
    held = EmbeddedServer.acquire(tmp_path_factory.mktemp("bare"), port=free_port())
    yield held
    held.release()


@pytest.fixture
def administrator(bare_server: EmbeddedServer) -> Iterator[Connection]:
    """The superuser of the bare server, who leaves it as bare as before."""
    with psycopg.connect(bare_server.dsn, dbname="postgres", autocommit=True) as connection:
        yield connection
        connection.execute("DROP DATABASE IF EXISTS memory WITH (FORCE)")
        made = connection.execute("SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> current_user")
        for (role,) in made.fetchall():
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def prepared(administrator: Connection, server: EmbeddedServer, role: str, *, owns: bool, rights: str = "") -> str:
    """How a role that is no superuser reaches a database called memory."""
    name = sql.Identifier(role)
    administrator.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'p' NOSUPERUSER " + rights).format(name))
    owner = sql.SQL(" OWNER {}").format(name) if owns else sql.SQL("")
    administrator.execute(sql.SQL("CREATE DATABASE memory") + owner)
    return psycopg.conninfo.make_conninfo(str(server.tcp_dsn), user=role, password="p", dbname="memory")


def extension_steps(connection: Connection) -> list[str]:
    """What the owner of a database needs help with where pgvector is not a trusted extension."""
    trusted = "SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector'"
    return [] if value(connection, trusted) else ["CREATE EXTENSION vector;"]


def steps(url: str) -> list[str]:
    """The SQL that a database which is not ready asks for."""
    with pytest.raises(ltst.DatabaseUnavailable) as failure:
        Memory(url).open()
    head, *listed = str(failure.value).splitlines()
    assert "As a superuser, run in this database" in head
    return [line.strip() for line in listed]


def run_as_superuser(server: EmbeddedServer, statements: list[str]) -> None:
    with superuser(psycopg.conninfo.make_conninfo(server.dsn, dbname="memory")) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def use_everything(url: str, home: Path) -> None:
    """All that touches roles and policies, as a role that is no superuser."""
    with Memory(settings=Settings(worker=False, database_url=url, home=home)) as memory:
        furnish(memory.user("ana"), "ana")
        furnish(memory.user("eve"), "eve")
        assert memory.user("ana").preferences.get(SECRET_KEY).value == "ana secret"  # type: ignore[union-attr]
        assert memory.user("ana").preferences.get("tone").user_id == "system"  # type: ignore[union-attr]
        assert memory.health().ok, memory.health()
        assert memory.stats().operations
        assert memory.maintain()["sessions_deleted"] == 2
        assert memory.rotate_master_key() == 2
        document = memory.user("ana").export()
        assert set(memory.user("ana").erase().remaining.values()) == {0}
        memory.user("ana").restore(document)
        assert memory.user("ana").export() == document
        assert memory.session_owner("monday" if memory.user("eve").erase() else "") == "ana"
        assert memory.user("eve").sessions.list() == []
    with Memory(settings=Settings(worker=False, database_url=url, home=home)) as memory:
        assert memory.user("ana").chat("monday").window()


@pytest.mark.parametrize("role", ["app", "App-Owner", 'we"ird'])
def test_an_owner_who_may_not_create_roles_is_told_what_to_run_and_then_needs_nothing_more(
    administrator: Connection, bare_server: EmbeddedServer, tmp_path: Path, role: str
) -> None:
    url = prepared(administrator, bare_server, role, owns=True)
    told = steps(url)
    quoted = sql.Identifier(role).as_string(None)
    assert set(told) == {
        *extension_steps(administrator),
        "CREATE ROLE ltst_user NOLOGIN;",
        "CREATE ROLE ltst_keeper NOLOGIN;",
        f"GRANT ltst_user, ltst_keeper TO {quoted};",
    }
    run_as_superuser(bare_server, told)
    use_everything(url, tmp_path)


def test_a_guest_is_told_of_the_extension_the_roles_and_the_schema(
    administrator: Connection, bare_server: EmbeddedServer, tmp_path: Path
) -> None:
    url = prepared(administrator, bare_server, "guest", owns=False)
    told = steps(url)
    assert set(told) == {
        "CREATE EXTENSION vector;",
        "CREATE ROLE ltst_user NOLOGIN;",
        "CREATE ROLE ltst_keeper NOLOGIN;",
        'GRANT ltst_user, ltst_keeper TO "guest";',
        'GRANT USAGE, CREATE ON SCHEMA public TO "guest";',
    }
    run_as_superuser(bare_server, told)
    use_everything(url, tmp_path)


@pytest.mark.parametrize(
    ("role", "before", "told"),
    [
        (
            "second",
            ["CREATE ROLE ltst_user", "CREATE ROLE ltst_keeper", "GRANT ltst_user TO second"],
            ['GRANT ltst_keeper TO "second";'],
        ),
        (
            "third",
            ["CREATE ROLE ltst_user"],
            ["CREATE ROLE ltst_keeper NOLOGIN;", 'GRANT ltst_user, ltst_keeper TO "third";'],
        ),
        (
            "fourth",
            [
                "CREATE ROLE ltst_user",
                "CREATE ROLE ltst_keeper",
                "GRANT ltst_user, ltst_keeper TO fourth WITH SET FALSE",
            ],
            ['GRANT ltst_user, ltst_keeper TO "fourth" WITH SET TRUE;'],
        ),
    ],
    ids=["one role is granted", "one role exists", "members who may not become the roles"],
)
def test_where_some_of_it_is_there_only_the_rest_is_told(
    administrator: Connection,
    bare_server: EmbeddedServer,
    tmp_path: Path,
    role: str,
    before: list[str],
    told: list[str],
) -> None:
    url = prepared(administrator, bare_server, role, owns=True)
    for statement in before:
        administrator.execute(statement.encode())
    wanted = steps(url)
    assert wanted == [*extension_steps(administrator), *told]
    run_as_superuser(bare_server, wanted)
    use_everything(url, tmp_path)


def test_an_owner_who_may_create_roles_needs_no_help(
    administrator: Connection, bare_server: EmbeddedServer, tmp_path: Path
) -> None:
    url = prepared(administrator, bare_server, "creator", owns=True, rights="CREATEROLE")
    run_as_superuser(bare_server, extension_steps(administrator))
    use_everything(url, tmp_path)
    rights = administrator.execute(
        "SELECT bool_or(rolsuper), bool_or(rolbypassrls), bool_or(rolcanlogin) FROM pg_roles "
        "WHERE rolname IN ('ltst_user', 'ltst_keeper')"
    ).fetchone()
    assert rights == (False, False, False)


def test_nothing_is_left_behind_when_something_is_missing(
    administrator: Connection, bare_server: EmbeddedServer
) -> None:
    url = prepared(administrator, bare_server, "guest", owns=False)
    with pytest.raises(ltst.DatabaseUnavailable):
        Memory(url).open()
    with superuser(psycopg.conninfo.make_conninfo(bare_server.dsn, dbname="memory")) as connection:
        assert tables(connection) == []
        assert value(connection, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == 0
    assert value(administrator, "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'ltst\\_%'") == 0
