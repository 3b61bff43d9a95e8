"""From open to close, and what time does in between: expiry, retention, health, settings, rows written by hand."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

import ltst
from helpers.probes import Connection, cloned, logger_restored, superuser, value
from ltst import AsyncMemory, ConversationSession, ConversationStorage, Memory, Settings
from ltst.db.embedded import EmbeddedServer

DAY = timedelta(days=1)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def test_a_memory_can_be_opened_and_closed_twice_and_again(settings: Settings) -> None:
    memory = Memory(settings=settings)
    memory.open()
    memory.open()
    memory.user("ana").chat("one").add("user", "hello")
    memory.close()
    memory.close()
    memory.open()
    assert [message.content for message in memory.user("ana").chat("one").window()] == ["hello"]
    memory.close()


async def test_an_async_memory_can_be_opened_and_closed_twice_and_again(settings: Settings) -> None:
    memory = AsyncMemory(settings=settings)
    await memory.close()
    for _ in range(2):
        await memory.open()
        await memory.open()
        await memory.user("ana").chat("one").add("user", "hello")
        await memory.close()
        await memory.close()
    async with memory:
        assert len(await memory.user("ana").chat("one").window()) == 2


@pytest.mark.one_server("Citus keeps connections between its nodes")
def test_closing_leaves_no_connection_behind(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        memory.user("ana").chat("one").add("user", "hello")
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    deadline = time.monotonic() + 120  # the server takes a moment to notice
    while value(database, others) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert value(database, others) == 0


USES: list[Callable[[Any], Any]] = [
    lambda memory: memory.maintain(),
    lambda memory: memory.health(),
    lambda memory: memory.stats(),
    lambda memory: memory.session_owner("one"),
    lambda memory: memory.rotate_master_key(),
    lambda memory: memory.user("ana").profile(),
    lambda memory: memory.user("ana").erase(),
    lambda memory: memory.user("ana").chat("one").add("user", "hello"),
    lambda memory: memory.user("ana").chat("one").window(),
    lambda memory: memory.user("ana").facts.set("home", "Porto"),
]


@pytest.mark.parametrize("opened_before", [True, False])
def test_a_memory_that_is_not_open_says_so(tmp_path: Path, server: EmbeddedServer, opened_before: bool) -> None:
    memory = Memory(settings=Settings(worker=False, database_url=server.dsn, home=tmp_path))
    if opened_before:
        memory.open()
        memory.close()
    for use in USES:
        with pytest.raises(ltst.DatabaseUnavailable, match="not open"):
            use(memory)


async def test_an_async_memory_that_is_not_open_says_so(tmp_path: Path, server: EmbeddedServer) -> None:
    memory = AsyncMemory(settings=Settings(worker=False, database_url=server.dsn, home=tmp_path))
    for use in USES:
        with pytest.raises(ltst.DatabaseUnavailable, match="not open"):
            await use(memory)


def test_handles_of_a_closed_memory_say_that_it_is_closed(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        user = memory.user("ana")
        chat = user.chat("one")
        facts = user.facts
    for use in (lambda: chat.add("user", "hello"), chat.window, lambda: facts.get("home"), user.profile):
        with pytest.raises(ltst.DatabaseUnavailable):
            use()


async def test_handles_of_a_closed_async_memory_say_that_it_is_closed(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user("ana")
        chat = user.chat("one")
    for use in (lambda: chat.add("user", "hello"), chat.window, user.profile):
        with pytest.raises(ltst.DatabaseUnavailable):
            await use()


def test_a_memory_without_an_address_is_embedded_under_its_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LTST_HOME", str(tmp_path / "moved"))
    with Memory() as memory:
        memory.user("ana").chat("one").add("user", "hello")
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        assert (tmp_path / "moved" / "postgres").is_dir()
        assert (tmp_path / "moved" / "master.key").is_file()
        assert memory.health().ok
        with ConversationStorage() as storage:
            assert [message.content for message in storage.get_messages("one")] == ["hello"]
    with Memory() as memory:
        assert memory.user("ana").chat("one").window()[0].content == "hello"
        assert memory.user("ana").preferences.get("diet").value == "secret"  # type: ignore[union-attr]


def as_url(conninfo: str) -> str:
    """The same address in the form of a URL."""
    parts = psycopg.conninfo.conninfo_to_dict(conninfo)
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}&port={parts['port']}"


def test_the_address_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", as_url(str(settings.database_url)))
    with Memory() as memory:
        memory.user("ana").chat("one").add("user", "hello")
        assert not (tmp_path / "home" / "postgres").exists()
    with ConversationStorage() as storage:
        assert storage.get_session("one") is not None


def test_an_argument_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: EmbeddedServer, template: str, database_url: str
) -> None:
    with cloned(server, template) as other:
        monkeypatch.setenv("DATABASE_URL", other)
        with Memory(database_url) as memory:
            memory.user("ana").chat("one").add("user", "hello")
        with superuser(database_url) as here, superuser(other) as there:
            assert value(here, "SELECT count(*) FROM conversation_messages") == 1
            assert value(there, "SELECT count(*) FROM conversation_messages") == 0


@pytest.mark.parametrize(
    "address",
    [
        "not an address",
        "postgresql+psycopg://localhost/name",
        "http://localhost:5432",
        "postgresql://127.0.0.1:1/name",
        "host=/nowhere/at/all dbname=name",
        "postgresql://ltst@127.0.0.1:1/name?no_such_option=1",
    ],
)
def test_an_address_that_leads_nowhere_is_an_error_of_ltst(address: str) -> None:
    memory = Memory(address)
    with pytest.raises((ltst.DatabaseUnavailable, ltst.Invalid)):
        memory.open()
    with pytest.raises(ltst.DatabaseUnavailable, match="not open"):
        memory.maintain()


def test_a_database_that_does_not_exist_is_an_error_of_ltst(server: EmbeddedServer) -> None:
    with pytest.raises(ltst.DatabaseUnavailable, match="no_such_database"):
        Memory(psycopg.conninfo.make_conninfo(server.dsn, dbname="no_such_database")).open()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pool_size": 0}, "pool_size must be at least 1"),
        ({"pool_size": -3}, "pool_size must be at least 1"),
        ({"max_content_bytes": 0}, "max_content_bytes must be at least 1"),
        ({"log": "loud"}, "debug, info, warning, error"),
        ({"log": ""}, "debug, info, warning, error"),
        ({"pool_size": "many"}, "pool_size"),
        ({"pool_timeout": -1.0}, "pool_timeout"),
        ({"actor": ""}, "actor"),
        ({"actor": "x" * 256}, "actor"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_its_name(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ltst.Invalid, match=words):
        Settings(**arguments)


def test_settings_come_from_the_environment_and_arguments_override_them(tmp_path: Path) -> None:
    environment = {
        "DATABASE_URL": "postgresql://db",
        "LTST_HOME": "~/memory",
        "LTST_USER": "ana",
        "LTST_MASTER_KEY": "k",
        "LTST_LOG": "info",
        "UNRELATED": "x",
    }
    found = Settings.from_environment(environment)
    assert (found.database_url, found.home, found.user) == ("postgresql://db", Path.home() / "memory", "ana")
    assert (found.master_key, found.log) == ("k", "info")
    changed = Settings.from_environment(environment, user="bob", home=tmp_path, log=None)
    assert (changed.user, changed.home, changed.log) == ("bob", tmp_path, "info")
    assert Settings.from_environment({"DATABASE_URL": "", "LTST_LOG": ""}).database_url is None


def test_an_unknown_setting_is_refused_by_its_name() -> None:
    with pytest.raises(ltst.Invalid, match="colour"):
        Settings.from_environment({}, colour="blue")


def test_the_master_key_is_not_shown() -> None:
    assert "secret-key" not in repr(Settings(master_key="secret-key"))


def test_expired_contexts_are_cleaned_by_sql_and_counted(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        contexts = memory.user("ana").chat("one").contexts
        for number in range(3):
            contexts.set("project", f"over {number}", "x", expires_at=LONG_AGO)
        contexts.set("project", "later", "x", expires_at=datetime.now(UTC) + DAY)
        contexts.set("project", "never", "x")
        assert value(database, "SELECT clean_expired_context()") == 3
        assert value(database, "SELECT clean_expired_context()") == 0
        assert [each.context_key for each in contexts.list()] == ["later", "never"]
        expired = [event for event in memory.user("ana").events.list() if event.action == "expire"]
        assert [(event.noun, event.actor) for event in expired] == [("context", "maintenance")] * 3


def test_expired_retrievals_are_cleaned_by_sql_and_counted(database: Connection) -> None:
    for name, expires in [("over", "now() - interval '1 second'"), ("later", "now() + interval '1 hour'")]:
        database.execute(
            "INSERT INTO memory_retrieval_cache (user_id, cache_key, query_hash, retrieved_context, expires_at) "
            f"VALUES ('ana', '{name}', 'hash', '{{}}', {expires})"
        )
    assert value(database, "SELECT clean_expired_cache()") == 1
    assert value(database, "SELECT clean_expired_cache()") == 0
    assert value(database, "SELECT cache_key FROM memory_retrieval_cache") == "later"


@pytest.mark.one_server("measurements lie with the coordinator")
def test_maintenance_removes_what_has_expired_for_everyone(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        for name in ("ana", "bob"):
            user = memory.user(name)
            user.chat("one").working.set("over", 1)
            user.chat("one").contexts.set("project", "over", "x", expires_at=LONG_AGO)
            user.entries.add("over", expires_at=LONG_AGO)
            user.entries.add("stays")
            user.items.put(("a",), "over", 1, ttl=60)
            user.items.put(("a",), "stays", 1)
        database.execute("UPDATE items SET expires_at = %s WHERE key = 'over'", (LONG_AGO,))
        database.execute(
            "INSERT INTO memory_performance_metrics "
            "(user_id, operation_type, operation_name, operation_hash, execution_time_ms, created_at) "
            "SELECT 'x', 'storage', 'x', 'x', 1, now() - days * interval '1 day' FROM unnest(ARRAY[29, 31, 32]) AS days"
        )
        done = memory.maintain()
        assert done == {
            "contexts_expired": 2,
            "contexts_pruned": 0,
            "entries_expired": 2,
            "entries_pruned": 0,
            "items_expired": 2,
            "cache_expired": 0,
            "sessions_deleted": 0,
            "sessions_archived": 0,
            "metrics_pruned": 2,
            "events_pruned": 0,
            "failures_forgotten": 0,
        }
        assert set(memory.maintain().values()) == {0}
        assert value(database, "SELECT count(*) FROM memory_entries") == 2
        assert ("expire", "entry") in {(event.action, event.noun) for event in memory.user("bob").events.list()}


def aged(memory: Memory, user_id: str, session_id: str, days: float, kind: str = "conversation") -> None:
    """A session whose last message was said some days ago."""
    said = datetime.now(UTC) - days * DAY
    user = memory.user(user_id)
    user.sessions.put(ConversationSession(session_id, user_id, session_type=kind, created_at=said))
    user.chat(session_id).add("user", "hello", at=said)


def statuses(memory: Memory, user_id: str) -> dict[str, str]:
    return {each.session_id: each.status for each in memory.user(user_id).sessions.list()}


def test_retention_follows_the_policy_of_each_user_and_type(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        for name in ("ana", "bob", "eve"):
            for days in (1, 20, 100):
                aged(memory, name, f"talk {days}", days)
                aged(memory, name, f"help {days}", days, "support")
        memory.user("ana").retention.set(archive_after=10 * DAY, delete_after=50 * DAY)
        memory.user("ana").retention.set("support", delete_after=10 * DAY)
        memory.user("bob").retention.set("support", archive_after=50 * DAY)
        done = memory.maintain()
        assert statuses(memory, "ana") == {"talk 1": "active", "talk 20": "archived", "help 1": "active"}
        assert statuses(memory, "bob") == {
            **{f"talk {days}": "active" for days in (1, 20, 100)},
            "help 1": "active",
            "help 20": "active",
            "help 100": "archived",
        }
        assert set(statuses(memory, "eve").values()) == {"active"}
        assert len(statuses(memory, "eve")) == 6
        assert (done["sessions_deleted"], done["sessions_archived"]) == (3, 2)
        assert memory.maintain() == dict.fromkeys(done, 0)
        told = [(event.action, event.row_id, event.actor) for event in memory.user("ana").events.list()]
        assert ("archive", "talk 20", "maintenance") in told
        assert ("delete", "help 100", "maintenance") in told


def test_retention_counts_from_the_time_of_the_last_message(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        aged(memory, "ana", "imported", 100)
        aged(memory, "ana", "revived", 100)
        memory.user("ana").chat("revived").add("user", "I am back")
        memory.user("ana").retention.set(delete_after=10 * DAY)
        assert memory.maintain()["sessions_deleted"] == 1
        assert list(statuses(memory, "ana")) == ["revived"]


def test_retention_deletes_archived_sessions_too_with_all_that_hangs_on_them(
    settings: Settings, database: Connection
) -> None:
    with Memory(settings=settings) as memory:
        user = memory.user("ana")
        aged(memory, "ana", "old", 100)
        user.sessions.archive("old")
        user.retention.set(archive_after=DAY, delete_after=10 * DAY)
        assert memory.maintain()["sessions_deleted"] == 1
        assert value(database, "SELECT count(*) FROM conversation_messages") == 0


def test_the_retention_for_everybody_is_off_unless_it_is_switched_on(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        aged(memory, "ana", "old", 100)
        assert memory.maintain()["sessions_deleted"] == 0
    with Memory(settings=replace(settings, retention=True)) as memory:
        aged(memory, "ana", "new", 29)
        assert memory.maintain()["sessions_deleted"] == 1
        assert statuses(memory, "ana") == {"new": "active"}
        (told,) = [each for each in memory.user("ana").events.list() if each.action == "delete"]
        assert (told.row_id, told.actor) == ("old", "maintenance")


def test_the_retention_for_everybody_lasts_as_long_as_the_operator_says(
    settings: Settings, database: Connection
) -> None:
    with Memory(settings=replace(settings, retention=True)) as memory:
        for days in (5, 20, 100):
            aged(memory, "ana", f"talk {days}", days)
        days = "UPDATE user_preferences SET preference_value = %s WHERE preference_key = 'memory_retention_days'"
        database.execute(days, ("50",))
        assert memory.maintain()["sessions_deleted"] == 1
        database.execute(days, ("10",))
        assert memory.maintain()["sessions_deleted"] == 1
        assert list(statuses(memory, "ana")) == ["talk 5"]


def test_a_users_own_policy_wins_over_the_retention_for_everybody(settings: Settings) -> None:
    with Memory(settings=replace(settings, retention=True)) as memory:
        for name in ("longer", "shorter", "archives", "another type"):
            aged(memory, name, "talk", 100)
        memory.user("longer").retention.set(delete_after=200 * DAY)
        memory.user("shorter").retention.set(delete_after=10 * DAY)
        memory.user("archives").retention.set(archive_after=10 * DAY)
        memory.user("another type").retention.set("support", delete_after=200 * DAY)
        memory.user("shorter").facts.set("home", "Porto")
        memory.maintain()
        assert statuses(memory, "longer") == {"talk": "active"}
        assert statuses(memory, "archives") == {"talk": "archived"}
        assert statuses(memory, "shorter") == statuses(memory, "another type") == {}
        assert memory.user("shorter").facts.get("home").fact_value == "Porto"  # type: ignore[union-attr]


def test_a_policy_that_is_forgotten_no_longer_applies(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        aged(memory, "ana", "old", 100)
        memory.user("ana").retention.set(delete_after=10 * DAY)
        memory.user("ana").retention.forget()
        assert memory.maintain()["sessions_deleted"] == 0
        assert statuses(memory, "ana") == {"old": "active"}


def test_a_fresh_database_is_healthy(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        memory.user("ana").chat("one").add("user", "hello")
        health = memory.health()
    assert health.ok
    assert {check.name: check.status for check in health.checks} == {
        "schema": "ok",
        "extension": "ok",
        "indexes": "ok",
        "triggers": "ok",
        "isolation": "ok",
        "index usage": "ok",
        "slow queries": "ok",
        "derived work": "ok",
        "master key": "ok",
        "servers": "ok",
        "disk": "ok",
    }


INDEXES = "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE 'idx\\_%' ORDER BY 1"
TRIGGERS = """
SELECT tgrelid::regclass::text, tgname::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE NOT tgisinternal AND relnamespace = 'public'::regnamespace ORDER BY 1, 2
"""
TABLES = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"


@pytest.fixture
def checked(settings: Settings) -> Iterator[Callable[[Any], dict[str, str]]]:
    """What health says after a change that is taken back again: the checks that are errors, with their words."""
    with Memory(settings=settings) as memory, superuser(str(settings.database_url)) as connection:

        def check(*changes: sql.Composed, undo: sql.Composed | None = None) -> dict[str, str]:
            for change in changes:
                connection.execute(change)
            found = memory.health()
            if undo is not None:
                connection.execute(undo)
            errors = {each.name: each.detail for each in found.checks if each.status == "error"}
            assert found.ok == (not errors)
            return errors

        yield check


@pytest.mark.one_server("the schema of a place cannot be changed there")
def test_health_names_every_index_that_is_missing(checked: Callable[..., dict[str, str]], database: Connection) -> None:
    indexes = [name for (name,) in database.execute(INDEXES)]
    assert len(indexes) > 25
    for name in indexes:
        definition = value(database, "SELECT pg_get_indexdef(%s::regclass)", name)
        drop = sql.SQL("DROP INDEX {}").format(sql.Identifier(name))
        errors = checked(drop, undo=sql.SQL(definition).format())
        assert name in errors.get("indexes", ""), name


@pytest.mark.one_server("the schema of a place cannot be changed there")
def test_health_names_every_trigger_that_is_switched_off_or_missing(
    checked: Callable[..., dict[str, str]], database: Connection
) -> None:
    triggers = database.execute(TRIGGERS).fetchall()
    assert {name for _, name in triggers} >= {"update_session_length_trigger", "fill_message_trigger"}
    overlooked = []
    for table, name in triggers:
        where, which = sql.Identifier(table), sql.Identifier(name)
        definition = value(
            database,
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = %s AND tgrelid = %s::regclass",
            name,
            table,
        )
        if table != "chat_message_history":
            disable = sql.SQL("ALTER TABLE {} DISABLE TRIGGER {}").format(where, which)
            enable = sql.SQL("ALTER TABLE {} ENABLE TRIGGER {}").format(where, which)
            if name not in checked(disable, undo=enable).get("triggers", ""):
                overlooked.append(f"{name} on {table} is off")
        drop = sql.SQL("DROP TRIGGER {} ON {}").format(which, where)
        if name not in checked(drop, undo=sql.SQL(definition).format()).get("triggers", ""):
            overlooked.append(f"{name} on {table} is gone")
    assert overlooked == []


@pytest.mark.one_server("the schema of a place cannot be changed there")
def test_health_names_every_table_that_is_not_isolated(
    checked: Callable[..., dict[str, str]], database: Connection
) -> None:
    for (table,) in database.execute(TABLES).fetchall():
        if table == "ltst_migrations":
            continue
        name = sql.Identifier(table)
        for off, on in [("NO FORCE", "FORCE"), ("DISABLE", "ENABLE")]:
            errors = checked(
                sql.SQL("ALTER TABLE {} " + off + " ROW LEVEL SECURITY").format(name),
                undo=sql.SQL("ALTER TABLE {} " + on + " ROW LEVEL SECURITY").format(name),
            )
            assert table in errors.get("isolation", ""), f"{off} on {table}"


@pytest.mark.one_server("what was migrated lies on every node alike, and is written by Citus")
def test_health_says_that_a_migration_is_missing(checked: Callable[..., dict[str, str]]) -> None:
    errors = checked(
        sql.SQL("DELETE FROM ltst_migrations WHERE version = (SELECT max(version) FROM ltst_migrations)").format()
    )
    assert "pending" in errors["schema"]
    assert "ltst db migrate" in errors["schema"]


@pytest.mark.one_server("measurements lie with the coordinator")
def test_health_says_what_took_long(settings: Settings, database: Connection) -> None:
    database.execute(
        "INSERT INTO memory_performance_metrics "
        "(user_id, operation_type, operation_name, operation_hash, execution_time_ms) "
        "VALUES ('x', 'storage', 'x', 'x', 6000)"
    )
    with Memory(settings=settings) as memory:
        health = memory.health()
    (slow,) = [check for check in health.checks if check.name == "slow queries"]
    assert (slow.status, health.ok) == ("warning", True)
    assert "1 finished" in slow.detail


BY_HAND = "INSERT INTO conversation_messages (session_id, role, content) VALUES (%s, %s, %s)"


def test_a_message_by_hand_gets_its_owner_index_and_hashes(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        first = chat.add("user", "hello")
        database.execute(BY_HAND, ("one", "human", "hello"))
        second, third = chat.window()[1], chat.add("user", "and on")
    assert (second.user_id, second.message_index, third.message_index) == ("ana", 2, 3)
    assert (second.content_hash, second.context_hash) == (first.content_hash, first.context_hash)
    assert value(database, "SELECT session_length FROM conversation_sessions") == 3


@contextmanager
def two_sessions(settings: Settings) -> Iterator[Memory]:
    """A memory in which ana said hello in two sessions."""
    with Memory(settings=settings) as memory:
        for name in ("one", "two"):
            memory.user("ana").chat(name).add("user", "hello")
        yield memory


def test_contexts_and_links_by_hand_get_their_owner(settings: Settings, database: Connection) -> None:
    with two_sessions(settings) as memory:
        database.execute(
            "INSERT INTO conversation_context (session_id, context_type, context_key, context_value, context_hash) "
            "VALUES ('one', 'project', 'goal', 'win', 'hash')"
        )
        database.execute(
            "INSERT INTO session_relationships (source_session_id, target_session_id, relationship_type) "
            "VALUES ('one', 'two', 'related')"
        )
        assert memory.user("ana").chat("one").contexts.get("project", "goal") is not None
        assert [each.user_id for each in memory.user("ana").sessions.related("two")] == ["ana"]


def test_a_row_by_hand_for_a_session_of_two_users_needs_its_owner(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        for name in ("ana", "bob"):
            memory.user(name).chat("one").add("user", "hello")
        with pytest.raises(psycopg.errors.UniqueViolation, match="several users"):
            database.execute(BY_HAND, ("one", "human", "whose?"))
        database.execute(
            "INSERT INTO conversation_messages (user_id, session_id, role, content) "
            "VALUES ('bob', 'one', 'human', 'mine')"
        )
        database.execute("SELECT set_config('ltst.user_id', 'ana', false)")
        database.execute(BY_HAND, ("one", "human", "hers"))
        assert [message.content for message in memory.user("ana").chat("one").window()] == ["hello", "hers"]
        assert [message.content for message in memory.user("bob").chat("one").window()] == ["hello", "mine"]


def test_a_row_by_hand_for_no_session_is_refused(database: Connection) -> None:
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="nowhere"):
        database.execute(BY_HAND, ("nowhere", "human", "hello"))


def test_counters_are_counted_on_and_never_counted_anew(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        chat.add("user", "hello")
        database.execute("UPDATE conversation_sessions SET session_length = 1000")
        chat.add("user", "one more")
        chat.add_interaction("two", "three")
        database.execute(BY_HAND, ("one", "human", "by hand"))
        assert value(database, "SELECT session_length FROM conversation_sessions") == 1004
        database.execute("DELETE FROM conversation_messages WHERE message_index <= 2")
        assert value(database, "SELECT session_length FROM conversation_sessions") == 1002
        assert chat.add("user", "next").message_index == 6


def test_a_statement_over_many_sessions_counts_each(settings: Settings, database: Connection) -> None:
    with two_sessions(settings):
        database.execute(
            "INSERT INTO conversation_messages (session_id, role, content) "
            "SELECT session, 'human', 'x' FROM unnest(ARRAY['one', 'two', 'two']) AS session"
        )
    found = database.execute("SELECT session_id, session_length, last_index FROM conversation_sessions ORDER BY 1")
    assert found.fetchall() == [("one", 2, 2), ("two", 3, 3)]


@pytest.mark.one_server("triggers stand on the shards, behind the views of a place")
def test_the_trigger_of_the_counters_has_its_name(database: Connection) -> None:
    query = "SELECT tgrelid::regclass::text, tgfoid::regproc::text FROM pg_trigger WHERE tgname = %s"
    found = database.execute(query, ("update_session_length_trigger",)).fetchall()
    assert found == [("conversation_messages", "update_session_length")]


def test_a_log_that_was_asked_for_speaks_in_lines_of_json(
    settings: Settings, capfd: pytest.CaptureFixture[str], empty_database_url: str
) -> None:
    with logger_restored():
        with Memory(settings=Settings(worker=False, database_url=empty_database_url, home=settings.home, log="info")):
            pass
        lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "migration" in line]
    assert [line["migration"][:4] for line in lines] == [f"{number:04}" for number in range(1, len(lines) + 1)]
    assert {line["level"] for line in lines} == {"info"}
    assert len(lines) >= 4


def test_calls_from_many_threads_share_one_memory(settings: Settings) -> None:
    with Memory(settings=settings) as memory, ThreadPoolExecutor(8) as threads:
        chat = memory.user("ana").chat("one")
        added = list(threads.map(lambda number: chat.add("user", f"{number}"), range(40)))
        assert sorted(message.message_index or 0 for message in added) == [*range(1, 41)]


def test_closing_while_other_threads_call_leaves_nobody_waiting(settings: Settings) -> None:
    answers: list[object] = []

    def call_until_closed(chat: ltst.Chat) -> None:
        while True:
            try:
                chat.window(1)
            except Exception as problem:
                answers.append(problem)
                return

    for _ in range(5):
        with Memory(settings=settings) as memory:
            chat = memory.user("ana").chat("one")
            callers = [threading.Thread(target=call_until_closed, args=(chat,), daemon=True) for _ in range(4)]
            for caller in callers:
                caller.start()
            time.sleep(0.02)
        for caller in callers:
            caller.join(60)
            assert not caller.is_alive(), "a call waits for ever for a memory that was closed"
    assert {type(answer) for answer in answers} == {ltst.DatabaseUnavailable}
    assert len(answers) == 20


async def test_closing_while_tasks_call_leaves_nobody_waiting(settings: Settings) -> None:
    async def call_until_closed(chat: ltst.AsyncChat) -> None:
        while True:
            await chat.add("user", "hello")

    for _ in range(5):
        async with AsyncMemory(settings=settings) as memory:
            chat = memory.user("ana").chat("one")
            callers = [asyncio.create_task(call_until_closed(chat)) for _ in range(30)]
            await asyncio.sleep(0.02)
        answers = await asyncio.wait_for(asyncio.gather(*callers, return_exceptions=True), 5)
        assert {type(answer) for answer in answers} == {ltst.DatabaseUnavailable}


async def test_calls_that_are_cancelled_leave_the_memory_usable(settings: Settings) -> None:
    narrow = Settings(worker=False, database_url=settings.database_url, home=settings.home, pool_size=3)
    async with AsyncMemory(settings=narrow) as memory:
        user = memory.user("ana")
        chat = user.chat("one")
        for number in range(20):
            calls = [
                asyncio.create_task(call)
                for call in (
                    chat.add("user", "hello"),
                    chat.window(),
                    user.facts.set("home", f"{number}"),
                    user.facts.get("home"),
                    user.preferences.set("diet", f"{number}", sensitive=True),
                    chat.add_interaction("why?", "because"),
                )
            ]
            await asyncio.sleep(number / 2000)
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert not [each for each in ended if isinstance(each, ltst.LtstError)]
        added = await asyncio.wait_for(asyncio.gather(*(chat.add("user", "after") for _ in range(6))), 5)
        session = await user.sessions.get("one")
        assert session is not None
        assert session.session_length == max(message.message_index or 0 for message in added)
        assert [message.message_index for message in await chat.history(limit=1000)] == [
            *range(1, session.session_length + 1)
        ]


def test_a_memory_with_one_connection_serves_many_callers(settings: Settings) -> None:
    async def main() -> None:
        narrow = Settings(worker=False, database_url=settings.database_url, home=settings.home, pool_size=1)
        async with AsyncMemory(settings=narrow) as memory:
            chat = memory.user("ana").chat("one")
            await asyncio.gather(*(chat.add("user", f"{number}") for number in range(20)))
            assert len(await chat.window()) == 20

    asyncio.run(main())


def test_the_home_may_be_given_as_text(settings: Settings) -> None:
    with Memory(
        settings=Settings(worker=False, database_url=settings.database_url, home=os.fspath(settings.home))
    ) as memory:  # type: ignore[arg-type]
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        assert memory.user("ana").preferences.get("diet").value == "secret"  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [{"settings": 5}, {"settings": "text"}, {"database_url": 5}])
def test_a_memory_of_something_else_is_invalid(given: dict[str, Any]) -> None:
    with pytest.raises(ltst.Invalid, match="takes a database URL as text"):
        Memory(**given)
