"""A Postgres that is stopped, and answers nobody, gives DatabaseUnavailable in bounded time on every connection."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

import ltst
from helpers.embedders import hashed
from helpers.probes import free_port
from ltst import AsyncMemory, CallableEmbedder, Settings
from ltst.db import connections, watcher
from ltst.db.embedded import EmbeddedServer

AT_MOST = 120.0  # seconds: far more than the limits below, and far less than for ever


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A Postgres that no other test needs."""
    server = EmbeddedServer.acquire(tmp_path_factory.mktemp("own"))
    yield server
    server.release()


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 2)


@pytest.fixture
def quick(own_server: EmbeddedServer, tmp_path: Path) -> Settings:
    return Settings(
        worker=False, database_url=own_server.dsn, home=tmp_path / "home", statement_timeout=1.0, failover_timeout=1.0
    )


@contextmanager
def stopped(server: EmbeddedServer) -> Iterator[None]:
    """All processes of the server stand still, as on a machine that swaps or is suspended."""
    pid = watcher.postmaster(server.data_dir)
    assert pid is not None
    postmaster = psutil.Process(pid)
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(processes):
            os.kill(process.pid, signal.SIGCONT)


USES: dict[str, Callable[[AsyncMemory], Coroutine[Any, Any, Any]]] = {
    "a read": lambda memory: memory.user("ana").chat("one").window(),
    "a message": lambda memory: memory.user("ana").chat("one").add("user", "hello"),
    "a write": lambda memory: memory.user("ana").preferences.set("diet", "vegan"),
    "a search": lambda memory: memory.user("ana").search("hello"),
    "an export": lambda memory: memory.user("ana").export(),
    "an erasure": lambda memory: memory.user("ana").erase(),
    "health": lambda memory: memory.health(),
    "readiness": lambda memory: memory.ready(),
    "maintenance": lambda memory: memory.maintain(),
    "settle": lambda memory: memory.settle(),
    "another embedder": lambda memory: memory.switch_embedder(CallableEmbedder(hashed, "other", 384)),
    "the feed": lambda memory: memory.feed(),
}


async def test_a_stopped_server_is_unavailable_in_bounded_time(own_server: EmbeddedServer, quick: Settings) -> None:
    async with AsyncMemory(settings=quick, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        await memory.user("ana").chat("one").add("user", "hello")
        await memory.user("ana").search("hello")
        with stopped(own_server):
            for name, use in USES.items():
                async with asyncio.timeout(AT_MOST):
                    with pytest.raises(ltst.DatabaseUnavailable):
                        await use(memory)
                        pytest.fail(name)
        assert (await memory.user("ana").chat("one").window())[0].content == "hello"


async def test_a_server_that_is_stopped_in_the_middle_of_a_call_is_given_up(
    own_server: EmbeddedServer, quick: Settings
) -> None:
    async with AsyncMemory(settings=quick) as memory:
        async with memory._core.database.owner() as connection:
            with stopped(own_server):
                async with asyncio.timeout(AT_MOST):
                    with pytest.raises(ltst.DatabaseUnavailable, match="no answer within"):
                        await connection.execute(b"SELECT 1")
        await memory.user("ana").chat("one").add("user", "hello")


async def test_a_stopped_server_behind_tcp_is_unavailable_too(tmp_path: Path, quick: Settings) -> None:
    with_port = EmbeddedServer.acquire(tmp_path / "port", port=free_port())
    try:
        async with AsyncMemory(settings=replace(quick, database_url=with_port.tcp_dsn)) as memory:
            with stopped(with_port):
                async with asyncio.timeout(AT_MOST):
                    with pytest.raises(ltst.DatabaseUnavailable):
                        await memory.user("ana").chat("one").window()
            async with memory._core.database.owner() as connection:
                said = connection.info.get_parameters()
                assert (said["keepalives_idle"], said["keepalives_interval"], said["keepalives_count"]) == (
                    "30",
                    "10",
                    "3",
                )
    finally:
        with_port.release()


async def test_the_embedded_server_that_is_stopped_is_unavailable_too(tmp_path: Path) -> None:
    settings = Settings(worker=False, home=tmp_path / "home", statement_timeout=1.0)
    beside = EmbeddedServer.acquire(settings.home)
    async with AsyncMemory(settings=settings) as memory:
        with stopped(beside):
            for _ in range(2):  # on a connection that is there, and on one that has to be made
                async with asyncio.timeout(AT_MOST):
                    with pytest.raises(ltst.DatabaseUnavailable):
                        await memory.user("ana").chat("one").window()
        await memory.user("ana").chat("one").add("user", "hello")
    beside.release()


async def test_a_statement_that_takes_too_long_is_ended_by_the_server(quick: Settings) -> None:
    async with AsyncMemory(settings=quick) as memory:
        with pytest.raises(ltst.DatabaseUnavailable, match="LTST_STATEMENT_TIMEOUT"):
            async with memory._core.database.owner() as connection:
                await connection.execute(b"SELECT pg_sleep(3600)")


async def test_what_is_done_without_hurry_takes_as_long_as_it_takes(quick: Settings) -> None:
    async with (
        AsyncMemory(settings=quick) as memory,
        memory._core.database.owner(hurry=False) as connection,
        asyncio.timeout(AT_MOST),
    ):
        await connection.execute(b"SELECT pg_sleep(4)")


async def test_the_limit_leaves_nothing_behind_in_a_session(quick: Settings) -> None:
    async with AsyncMemory(settings=replace(quick, pool_size=1)) as memory:
        await memory.user("ana").preferences.set("diet", "vegan")
        await memory.maintain()

        async def limit(connection: psycopg.AsyncConnection[Any], _: bool) -> Any:
            return await (await connection.execute(b"SHOW statement_timeout")).fetchone()

        assert await memory._core.database.attempt(limit, repeatable=True) == ("0",)
