"""A pool of connections that notices a restarted server at once.

psycopg_pool is the usual choice, but with every connection dead it backs off for many seconds before it tries
again. This one looks at the socket of each connection before it hands it out, which costs a few microseconds and
no round trip, and connects on demand.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Callable

import psycopg
import psycopg.conninfo
from psycopg.adapt import AdaptersMap
from psycopg.pq import TransactionStatus
from psycopg.types.string import TextLoader

from ltst.errors import DatabaseUnavailable, Invalid
from ltst.support.logs import LOGGER

Connection = psycopg.AsyncConnection[tuple[object, ...]]

CONNECT_SECONDS = 10
RESTART_SECONDS = 10.0


def _adapters() -> AdaptersMap:
    """Identifiers are text in the records, whatever the driver would make of them."""
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("uuid", TextLoader)
    return adapters


class _Context:
    """What the driver takes its adapters from."""

    adapters = _adapters()
    connection = None


class ConnectionPool:
    """Connections to one database, the most recently used first."""

    def __init__(self, conninfo: str, *, size: int, timeout: float, revive: Callable[[], None] | None = None) -> None:
        """Connect on demand, up to `size`; `revive` brings the server back when it cannot be reached."""
        self.conninfo = _checked(conninfo)
        self._size = size
        self._timeout = timeout
        self._revive = revive
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(size)
        self._closed = False
        self._met = False

    def connection(self) -> Lent:
        """A living connection, for the time of an `async with` block."""
        return Lent(self)

    async def take(self) -> Connection:
        """A living connection, to be given back."""
        await self._take_turn()
        try:
            return self._take_idle() or await self._connect()
        except BaseException:
            self._free.release()
            raise

    async def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next one, unless it is in no state for that."""
        try:
            if connection.closed:
                return
            if self._closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                await connection.close()
            else:
                self._idle.append(connection)
        finally:
            self._free.release()

    def drain(self) -> None:
        """Forget all idle connections: the server that they led to is gone."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.pgconn.finish()

    async def close(self) -> None:
        """Close what is idle now, and what is in use as soon as it comes back."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def _take_turn(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("this memory is closed: open it, or use it inside `with`")
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                f"all {self._size} connections were busy for {self._timeout:g} seconds; raise pool_size"
            ) from None

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not _has_news(connection):
                return connection
            connection.pgconn.finish()
        return None

    async def _connect(self) -> Connection:
        """A new connection; a server that was there before gets some seconds to come back."""
        deadline = time.monotonic() + RESTART_SECONDS
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(
                    self.conninfo,
                    autocommit=True,
                    prepare_threshold=None,  # a prepared statement is state of a session, which poolers do not keep
                    context=_Context(),
                    connect_timeout=CONNECT_SECONDS,
                )
            except psycopg.OperationalError as problem:
                if time.monotonic() > deadline or not await self._may_come_back(problem):
                    raise
            else:
                self._met = True
                return connection

    async def _may_come_back(self, problem: psycopg.OperationalError) -> bool:
        if self._revive is not None:
            LOGGER.warning("the server cannot be reached; reviving it", extra={"reason": str(problem)})
            await asyncio.to_thread(self._revive)
        elif not self._met and "starting up" not in str(problem):
            return False
        await asyncio.sleep(0.1)
        return True


class Lent:
    """A connection for the time of a block. A class and not a generator, which would cost more on every call."""

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: ConnectionPool) -> None:
        """Borrow from a pool."""
        self._pool = pool

    async def __aenter__(self) -> Connection:
        """Take it."""
        self._connection = await self._pool.take()
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        await self._pool.give_back(self._connection)


def _checked(conninfo: str) -> str:
    try:
        if psycopg.conninfo.conninfo_to_dict(conninfo):
            return conninfo
    except psycopg.ProgrammingError:
        pass
    raise Invalid("the database URL must look like postgresql://user:password@host:5432/name, or like host=… dbname=…")


def _has_news(connection: Connection) -> bool:
    """Whether something waits on an idle connection: a server that is gone says so, a living one is silent."""
    if connection.closed:
        return True
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(watch.poll(0))
