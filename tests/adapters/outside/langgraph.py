"""Puts ltst's stores in the place of LangGraph's InMemoryStore, PostgresStore and AsyncPostgresStore."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

import langgraph.store.memory
import langgraph.store.postgres
import pytest

import outside
from ltst import Memory
from ltst.langgraph import AsyncLtstStore, LtstStore


class MemoryStore(LtstStore):
    """Made as theirs in memory is made: of a user whom nobody has used."""

    def __init__(self, *, index: Any = None) -> None:
        super().__init__(outside.user(), index=index)


class Cursor:
    """What is said to their database goes nowhere: ltst has tables of its own."""

    @classmethod
    def connect(cls, *_: Any, **__: Any) -> Any:
        return cls()

    def execute(self, *_: Any) -> Self:
        return self

    def __await__(self) -> Iterator[Any]:
        return self
        yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class PostgresStore(LtstStore):
    """Made as theirs in Postgres is made: each database is another user."""

    MIGRATIONS = ()

    @classmethod
    @contextmanager
    def from_conn_string(cls, url: str, *, index: Any = None, ttl: Any = None, **_: Any) -> Iterator[Self]:
        yield cls(outside.user(url), index=index, ttl=ttl)

    def setup(self) -> None:
        """Ltst has made its tables."""

    # Ltst leaves out what has expired by itself.
    start_ttl_sweeper = stop_ttl_sweeper = setup

    def _cursor(self) -> Cursor:
        return Cursor()


class AsyncPostgresStore(AsyncLtstStore):
    """The same, for an event loop."""

    MIGRATIONS = ()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, url: str, *, index: Any = None, ttl: Any = None, **_: Any) -> AsyncIterator[Self]:
        yield cls(outside.user(url), index=index, ttl=ttl)

    async def setup(self) -> None:
        """Ltst has made its tables."""

    start_ttl_sweeper = stop_ttl_sweeper = setup

    def _cursor(self) -> Cursor:
        return Cursor()


langgraph.store.memory.InMemoryStore = MemoryStore
langgraph.store.postgres.PostgresStore = PostgresStore
langgraph.store.postgres.AsyncPostgresStore = AsyncPostgresStore


@pytest.fixture(scope="session", autouse=True)
def nowhere(opened: Memory) -> None:
    """Their fixtures make and clear databases of their own, which nothing uses here; their times are short."""
    opened.warm()
    for name, module in [*sys.modules.items()]:
        if name.startswith("tests."):
            for connection in ("Connection", "AsyncConnection"):
                if hasattr(module, connection):
                    setattr(module, connection, Cursor)
