"""Connections: whoever fails or is cancelled leaves one that works, without a word of the driver."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from ltst.db.connections import ConnectionPool
from ltst.db.pool import Database
from ltst.rooms import facts, search

FAILING = b"SELECT 1 / 0"
PREPARED = "SELECT statement FROM pg_prepared_statements"


@pytest.fixture
async def pool(database_url: str) -> ConnectionPool:
    return ConnectionPool(database_url, size=1, timeout=60)


async def test_cancelled_statements_are_no_trouble(pool: ConnectionPool, caplog: pytest.LogCaptureFixture) -> None:
    async with pool.connection() as connection:
        with pytest.raises(asyncio.CancelledError):
            async with connection.pipeline():
                await connection.execute(FAILING)
                raise asyncio.CancelledError
        assert await connection.value("SELECT 1") == 1
    await pool.close()
    assert caplog.messages == []


async def test_who_is_cancelled_twice_leaves_nothing_behind(
    pool: ConnectionPool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    sent = asyncio.Event()

    async def asks() -> None:
        async with pool.connection() as connection, connection.pipeline():
            await connection.execute(b"SELECT pg_sleep(600)")
            asyncio.get_running_loop().call_soon(sent.set)

    asking = asyncio.create_task(asks())
    await sent.wait()
    while not asking.done():  # The first cancels the statement, the others the wait for its end.
        asking.cancel()
        await asyncio.sleep(0)
    await pool.close()
    gc.collect()
    assert asking.cancelled() and complaints == [] and caplog.messages == []
    async with ConnectionPool(pool.conninfo, size=1, timeout=60).connection() as connection:
        assert await connection.value("SELECT 1") == 1
        await connection.close()


async def test_what_fails_first_is_told_and_nothing_else(
    pool: ConnectionPool, caplog: pytest.LogCaptureFixture
) -> None:
    async with pool.connection() as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            async with connection.pipeline():
                failing = await connection.execute(FAILING)
                await connection.execute(b"SELECT 1")
                await failing.fetchall()
        with pytest.raises(LookupError):
            async with connection.pipeline():
                await connection.execute(FAILING)
                raise LookupError
        assert await connection.value("SELECT 1") == 1
    await pool.close()
    assert caplog.messages == []


async def test_statements_that_fail_together_say_so(pool: ConnectionPool) -> None:
    async with pool.connection() as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            async with connection.pipeline():
                await connection.execute(FAILING)
        assert await connection.value("SELECT 1") == 1
    await pool.close()


@pytest.mark.parametrize("direct", [True, False])
async def test_calls_of_functions_are_prepared_where_no_pooler_is_between(database_url: str, direct: bool) -> None:
    """What reads tables is planned anew by the values that it is asked with, also where it is asked often."""
    database = Database(ConnectionPool(database_url, size=1, timeout=60, direct=direct))
    for _ in range(12):
        assert not await search.is_due(database.user("ana"))
        assert await facts.list_all(database.user("ana"), None) == []
    async with database.alone() as connection:
        prepared = {statement.split("(")[0] for (statement,) in await connection.rows(PREPARED)}
    await database.close()
    assert prepared == ({"SELECT set_config", "SELECT ltst_is_due"} if direct else set())


async def test_after_the_end_of_a_pipeline_nothing_more_is_sent(pool: ConnectionPool, tmp_path: Path) -> None:
    """pgbouncer would give the client another server for it, and wait for the end of a transaction that never comes."""
    trace = tmp_path / "trace"
    async with pool.connection() as connection:
        with trace.open("wb") as file:
            connection.pgconn.trace(file.fileno())
            for statement in (b"SELECT 1", FAILING):
                with suppress(psycopg.errors.DivisionByZero):
                    async with connection.pipeline():
                        await connection.execute(statement, prepare=True)
                        await connection.execute(b"SELECT 2")
            connection.pgconn.untrace()
        assert await connection.value("SELECT 1") == 1
    await pool.close()
    sent = [line.split("\t")[3] for line in trace.read_text().splitlines() if "\tF\t" in line]
    assert sent.count("Sync") == 2
    assert sent[-1] == "Sync" and "Flush" not in sent
