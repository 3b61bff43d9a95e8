"""Metrics: gathered in memory, written in batches, without saying whose they are."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
from helpers import probes
from helpers.probes import Connection, holding, value
from helpers.waiting import soon
from ltst import AsyncMemory, Memory, NotFound, Settings
from ltst.measurements import Measurement
from ltst.records import ImportedConversation, ImportedMessage, MemoryEntry
from ltst.rooms import metrics

COUNT = "SELECT count(*) FROM memory_performance_metrics"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


async def test_calls_write_no_metrics_until_they_are_flushed(settings: Settings, database: Connection) -> None:
    async with AsyncMemory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        for number in range(20):
            await chat.add("user", f"{number}")
            await chat.window()
        assert value(database, COUNT) == 0
        await memory.stats()
        assert value(database, COUNT) == 40
        await memory.user("ana").profile()
        assert value(database, COUNT) == 40
    assert value(database, COUNT) > 40


async def test_metrics_are_written_by_themselves_after_a_while(
    settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltst.memory.FLUSH_SECONDS", 0.05)
    async with AsyncMemory(settings=settings) as memory:
        await memory.user("ana").chat("one").add("user", "hello")
        await soon(lambda: value(database, COUNT) == 1)


def test_a_batch_is_one_statement(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        for number in range(30):
            memory.user("ana").chat("one").add("user", f"{number}")
    assert value(database, COUNT) == 30
    assert value(database, "SELECT count(DISTINCT xmin::text) FROM memory_performance_metrics") == 1


def test_metrics_name_neither_users_nor_sessions_nor_contents(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        user = memory.user("NAME-of-the-user")
        user.chat("NAME-of-the-session").add("user", "WORDS-of-the-message")
        user.facts.set("KEY-of-the-fact", "WORDS-of-the-message")
        with pytest.raises(ltst.Invalid):
            user.chat("NAME-of-the-session").add("user", "")
        with pytest.raises(ltst.NotFound):
            user.sessions.summary("NAME-of-nothing")
        memory.stats()
        for words in ("NAME-of", "WORDS-of", "KEY-of"):
            found = {each for each in holding(database, words) if each.startswith("memory_performance_metrics")}
            assert found == set()
    assert value(database, COUNT) >= 3


def test_metrics_tell_callers_apart_within_a_process_and_not_beyond(settings: Settings, database: Connection) -> None:
    seen = []
    for _ in range(2):
        with Memory(settings=settings) as memory:
            for name in ("ana", "bob", "ana"):
                memory.user(name).chat("one").add("user", "hello")
        seen.append({row for (row,) in database.execute("SELECT DISTINCT user_id FROM memory_performance_metrics")})
    first, both = seen
    assert (len(first), len(both)) == (2, 4)


def test_stats_tell_how_often_and_how_fast(settings: Settings, database: Connection) -> None:
    database.execute(
        "INSERT INTO memory_performance_metrics "
        "(user_id, operation_type, operation_name, operation_hash, execution_time_ms, error_message, cache_hit, "
        "created_at) "
        "SELECT 'x', 'retrieval', 'known', 'x', ms, CASE WHEN ms > 98 THEN 'Invalid' END, ms <= 25, now() "
        "FROM generate_series(1, 101) AS ms "
        "UNION ALL SELECT 'x', 'retrieval', 'old', 'x', 1, NULL, NULL, now() - interval '2 days'"
    )
    with Memory(settings=settings) as memory:
        memory.user("ana").chat("one").add("user", "hello")
        stats = memory.stats()
    known = {each.name: each for each in stats.operations}
    assert set(known) == {"known", "messages.add"}
    found = known["known"]
    assert (found.count, found.errors) == (101, 3)
    assert (found.p50_ms, found.p95_ms, found.p99_ms, found.max_ms) == (51, 96, 100, 101)
    assert found.cache_hit_rate == pytest.approx(25 / 101)
    added = known["messages.add"]
    assert (added.count, added.errors, added.cache_hit_rate) == (1, 0, None)
    assert 0 < added.p50_ms <= added.p99_ms <= added.max_ms < 60_000


def test_stats_tell_how_large_the_tables_are_and_how_they_grow(settings: Settings, database: Connection) -> None:
    with Memory(settings=settings) as memory:
        user = memory.user("ana")
        user.chat("one").add("user", "hello")
        user.chat("one").add_many([{"role": "user", "content": f"{number}"} for number in range(4)])
        user.facts.set("home", "Porto")
        database.execute("ANALYZE")
        stats = memory.stats()
    tables = {each.name: each for each in stats.tables}
    assert {*tables} == {*probes.tables(database)} - {"ltst_migrations"}
    assert (tables["conversation_messages"].rows, tables["conversation_messages"].added_last_day) == (5, 5)
    assert (tables["conversation_sessions"].added_last_day, tables["user_facts"].added_last_day) == (1, 1)
    assert tables["user_keys"].added_last_day is None
    assert all(each.bytes > 0 for each in stats.tables)
    assert stats.database_bytes > sum(each.bytes for each in stats.tables)


def test_growth_counts_messages_once_however_often_they_are_sent(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        for _ in range(3):
            memory.user("ana").chat("one").add_many([{"role": "user", "content": "hello", "key": "k"}])
        tables = {each.name: each for each in memory.stats().tables}
    assert tables["conversation_messages"].added_last_day == 1


def rows(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute(
        "SELECT operation_name, operation_type, error_message, result_count, execution_time_ms > 0 "
        "FROM memory_performance_metrics ORDER BY created_at, metric_id"
    ).fetchall()


def test_an_operation_is_recorded_with_its_kind_and_the_number_of_its_results(
    settings: Settings, database: Connection
) -> None:
    with Memory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        chat.add_many([{"role": "user", "content": f"{number}"} for number in range(3)])
        chat.window()
        chat.history()
        memory.user("ana").facts.get("nothing")
    assert {(name, kind, error, positive) for name, kind, error, _, positive in rows(database)} == {
        ("messages.add_many", "storage", None, True),
        ("messages.window", "retrieval", None, True),
        ("messages.list", "retrieval", None, True),
        ("facts.get", "retrieval", None, True),
    }
    counted = {name: count for name, _, _, count, _ in rows(database)}
    assert (counted["messages.window"], counted["messages.list"], counted["facts.get"]) == (3, 3, 0)


def test_a_failed_operation_is_recorded_with_the_class_of_its_error_alone(
    settings: Settings, database: Connection
) -> None:
    with Memory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        chat.add("user", "hello", key="k")
        with pytest.raises(ltst.Conflict):
            chat.add("user", "other", key="k")
        with pytest.raises(ltst.NotFound):
            memory.user("ana").sessions.summary("nowhere")
        with pytest.raises(ltst.NotFound):
            memory.user("ana").chat("nowhere").fork()
    failed = [(name, error) for name, _, error, _, _ in rows(database) if error]
    assert failed == [("messages.add", "Conflict"), ("sessions.summary", "NotFound"), ("sessions.fork", "NotFound")]


async def test_a_slow_operation_is_recorded_and_logged_without_its_content(
    settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncMemory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        await chat.add("user", "hello")
        monkeypatch.setattr("ltst.handles.desk.SLOW_MILLISECONDS", 100.0)
        with database.transaction():
            database.execute("SELECT 1 FROM conversation_sessions FOR UPDATE")
            waiting = asyncio.create_task(chat.add("user", "WORDS-of-the-message"))
            await soon(lambda: value(database, WAITING))
            await asyncio.sleep(0.3)
        await waiting
        stats = await memory.stats()
    (added,) = [each for each in stats.operations if each.name == "messages.add"]
    assert added.max_ms > 250
    slow = [each for each in caplog.records if each.getMessage() == "slow operation"]
    (record,) = [each for each in slow if each.__dict__["operation"] == "messages.add"]
    assert record.__dict__["milliseconds"] > 250
    assert "WORDS-of" not in str(record.__dict__)


def test_without_metrics_nothing_is_recorded(settings: Settings, database: Connection) -> None:
    quiet = Settings(worker=False, database_url=settings.database_url, home=settings.home, metrics=False)
    with Memory(settings=quiet) as memory:
        memory.user("ana").chat("one").add("user", "hello")
        memory.user("ana").export()
        assert memory.stats().operations == ()
    assert value(database, COUNT) == 0


async def test_metrics_that_cannot_be_written_are_kept_and_fail_nobody(
    settings: Settings, database: Connection
) -> None:
    async with AsyncMemory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        await chat.add("user", "hello")
        with database.transaction():
            database.execute("LOCK memory_performance_metrics")
            flush = asyncio.create_task(memory._core.flush())
            await soon(lambda: value(database, WAITING))
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE query LIKE '%%memory_performance_metrics%%' AND pid <> pg_backend_pid()"
            )
            await flush
        assert value(database, COUNT) == 0
        await memory.stats()
        assert value(database, COUNT) == 1


def test_when_the_database_is_away_for_long_the_oldest_go() -> None:
    recorder = metrics.Recorder()
    for number in range(metrics.MOST_PENDING + 5):
        recorder.add(Measurement("storage", f"{number}", "ana", None, 1.0, 0, None, datetime(2020, 1, 1, tzinfo=UTC)))
    assert len(recorder) == metrics.MOST_PENDING


# --- what is logged


def lines(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.getMessage() == event]


async def test_each_operation_is_logged_without_saying_whose_it_is(
    memory: AsyncMemory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ltst")
    user = memory.user("canary-user")
    await user.chat("canary-session").add("user", "canary-content")
    await user.chat("canary-session").window()
    await user.facts.set("canary-key", "canary-value")
    await user.search("canary-question")
    told = lines(caplog, "operation")
    assert [each["operation"] for each in told] == ["messages.add", "messages.window", "facts.set", "search"]
    assert all(each["milliseconds"] > 0 and each["rows"] >= 1 for each in told)
    assert len({each["user"] for each in told}) == 1
    assert not lines(caplog, "query"), "steps are for debug"
    assert "canary" not in str([vars(record) for record in caplog.records])


async def test_a_failure_is_logged_by_its_name(memory: AsyncMemory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ltst")
    with pytest.raises(NotFound):
        await memory.user("ana").sessions.summary("missing")
    assert [each["error"] for each in lines(caplog, "operation")] == ["NotFound"]


async def test_debug_tells_the_steps(memory: AsyncMemory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ltst")
    user = memory.user("canary-user")
    await user.chat("one").add("user", "canary-content")
    await user.search("canary-question")
    await memory.settle()  # the message is embedded by the search, or by the worker if that took it first
    assert {"messages.add", "search.look"} <= {each["query"] for each in lines(caplog, "query")}
    assert sum(each["texts"] for each in lines(caplog, "embedded")) >= 2
    assert "canary" not in str([vars(record) for record in caplog.records])


async def test_a_watcher_hears_of_each_operation(memory: AsyncMemory) -> None:
    heard: list[str] = []
    memory.watch(lambda seen: heard.append(seen.name))
    await memory.user("ana").chat("one").add("user", "Hello.")
    await memory.user("ana").chat("one").window()
    assert heard == ["messages.add", "messages.window"]


async def test_stats_tell_how_long_conversations_last(memory: AsyncMemory) -> None:
    now = datetime.now(UTC)
    for session_id, minutes in (("short", 0), ("long", 30)):
        chat = memory.user("ana").chat(session_id)
        await chat.add("user", "Hello.", at=now - timedelta(minutes=minutes))
        await memory.user("ana").sessions.touch(session_id)
    sessions = (await memory.stats()).sessions
    assert sessions is not None
    assert sessions.within[float("inf")] == 2
    assert sessions.within == dict(sorted(sessions.within.items()))


async def test_storing_many_counts_what_was_stored(memory: AsyncMemory) -> None:
    heard: list[tuple[str, int]] = []
    memory.watch(lambda seen: heard.append((seen.name, seen.results)))
    user = memory.user("counted")
    turns = [{"role": "user", "content": f"Turn {number}.", "key": str(number)} for number in range(5)]
    await user.chat("one").add_many(turns[:3])
    await user.chat("one").add_many(turns)
    await user.entries.add_many([MemoryEntry("Ran ten miles."), MemoryEntry("Swam a mile.")])
    said = ImportedMessage("first", "user", "Said.", datetime.now(UTC))
    await user.sessions.add_many([ImportedConversation("two", [said])])
    counted = [each for each in heard if each[0].endswith("add_many")]
    assert counted == [
        ("messages.add_many", 3),
        ("messages.add_many", 2),
        ("entries.add_many", 2),
        ("sessions.add_many", 1),
    ]
