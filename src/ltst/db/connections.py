"""A pool of connections that notices a restarted server at once.

psycopg_pool is the usual choice, but with every connection dead it backs off for many seconds before it tries
again. This one looks at the socket of each connection before it hands it out, which costs a few microseconds and
no round trip, and connects on demand.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import math
import os
import select
import selectors
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.generators import send
from psycopg.pq import Format, TransactionStatus
from psycopg.sql import Composed
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader

from ltst.errors import DatabaseUnavailable, Invalid
from ltst.support.logs import LOGGER
from ltst.support.place import FORKED, Origin, background, in_thread

R = TypeVar("R")
Values = Sequence[Any] | Mapping[str, Any] | None

WRITE = selectors.EVENT_WRITE  # as in the driver
REAL, REALS = 700, 1021  # the types of Postgres
# The driver prepares no statement automatically; only calls that ask for it are prepared.
BY_ITSELF = 1_000_000_000
CONNECT_SECONDS = 10
FAILOVER_SECONDS = 60.0  # the default of the settings
STATEMENT_SECONDS = 60.0  # the default of the settings
# The server ends a statement that takes too long; a server that stays silent is given up this much later.
GRACE_SECONDS = 5.0
# Detect a network that drops all packets, also on idle connections. Settings in the URL take precedence.
KEEPALIVES = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}


class Reals(bytes):
    """An array of `real` in Postgres's binary format, because hundreds of numbers are slow to encode as text."""

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Reals:
        """Encodes numbers: a header (one dimension, no nulls, type, length, first index 1), then each with its size."""
        packed, sized = struct.pack(f">{len(numbers)}f", *numbers), bytearray(b"\0\0\0\4\0\0\0\0" * len(numbers))
        for place in range(4):
            sized[4 + place :: 8] = packed[place::4]
        return cls(struct.pack(">5i", 1, 0, REAL, len(numbers), 1) + sized)


class RealsDumper(Dumper):
    """Passes the encoded bytes to the driver."""

    format = Format.BINARY
    oid = REALS

    def dump(self, obj: Reals) -> bytes:
        """Returns the bytes unchanged."""
        return obj


def _adapters() -> AdaptersMap:
    """Returns adapters that read UUIDs as text, as records have them, and write `Reals` in binary."""
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("uuid", TextLoader)
    adapters.register_dumper(Reals, RealsDumper)
    return adapters


def _load_json(document: str | bytes) -> Any:
    """Parses a JSON document, with a short cut for the empty one that most rows have."""
    return {} if document == b"{}" else json.loads(document)


@atexit.register
def _silence_driver() -> None:
    """Stops the driver from printing warnings about work that is cut off when the program exits."""
    logging.getLogger("psycopg").addHandler(logging.NullHandler())


class _Context:
    """The context from which the driver takes its adapters."""

    adapters = _adapters()
    connection = None


set_json_loads(_load_json, _Context())


class _Pipeline(psycopg.AsyncPipeline):
    """A pipeline that ends with a Sync.

    The driver's own may send a Flush after the Sync was answered. pgbouncer gives the client a server for it and keeps
    it taken until the client's next query.
    """

    def _exit_gen(self) -> PQGen[None]:
        try:
            self._enqueue_sync()
            yield from self._communicate_gen()
        finally:
            yield from send(self.pgconn)
            yield from self._fetch_gen(flush=False)


class Connection(psycopg.AsyncConnection[tuple[object, ...]]):
    """A connection that waits for answers for a limited time, and that a forked child cannot use."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Bind it to this process; there is no limit until `limit` is called."""
        super().__init__(*args, **kwargs)
        self._process = os.getpid()
        self._patience = math.inf
        self._address = ""
        self._hurried = True
        self._gave_up = False
        self.used_for = 0
        """Which place of a distributed database it was used for; plans that it keeps are of that place."""

    def limit(self, seconds: float, address: str) -> None:
        """Sets how long to wait for an answer; the address is used to check whether the server is alive."""
        self._patience, self._address = seconds, address

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """Allow the statements of the block any time, as long as the server accepts other connections."""
        self._hurried = False
        try:
            yield
        finally:
            self._hurried = True

    async def wait(self, gen: PQGen[R], *args: Any, **kwargs: Any) -> R:
        """Waits for the server; the driver does all of its waiting here."""
        if self._process != os.getpid():
            raise DatabaseUnavailable(FORKED)
        watch = self._watched() if self._patience < math.inf else None
        steps = _eager(gen, self.pgconn.socket)
        try:
            return await super().wait(steps, *args, **kwargs)
        except psycopg.OperationalError as problem:
            if not self._gave_up:
                raise
            told = f"the database gave no answer within {self._patience:g} seconds"
            raise DatabaseUnavailable(told) from problem
        finally:
            if watch is not None:
                watch.cancel()
            _end(steps)

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[psycopg.AsyncPipeline]:
        """Sends statements in one round trip.

        If the block fails or is cancelled, raises only that error, without the driver's warnings about the statements
        that were lost with it.
        """
        raised: BaseException | None = None
        if self._pipeline is None:
            self._pipeline = _Pipeline(self)
        try:
            async with super().pipeline() as pipeline:
                try:
                    yield pipeline
                except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001 - raised again below
                    raised = problem
        except psycopg.Error as problem:
            if isinstance(problem.__context__, asyncio.CancelledError):
                # Cancelled at the end of the block: the driver complains of the busy connection instead.
                raised = problem.__context__
            if raised is None:
                raise
        if raised is not None:
            raise raised

    async def close(self) -> None:
        """Closes the connection; does nothing in a forked child, because the session belongs to the parent."""
        if self._process == os.getpid():
            await super().close()

    async def rows(self, query: str | bytes | Composed, values: Values = None) -> list[tuple[Any, ...]]:
        """Runs a query; returns its rows."""
        return await (await self.execute(query.encode() if isinstance(query, str) else query, values)).fetchall()

    async def value(self, query: str | bytes | Composed, values: Values = None) -> Any:
        """Runs a query; returns the first value of its first row, or None."""
        found = await self.rows(query, values)
        return found[0][0] if found else None

    def _watched(self) -> asyncio.TimerHandle | asyncio.Task[None]:
        if self._hurried:
            return asyncio.get_running_loop().call_later(self._patience, self._give_up)
        return background(self._look_after())

    async def _look_after(self) -> None:
        """Gives the server up once it no longer accepts connections."""
        living = True
        while living:
            await asyncio.sleep(self._patience)
            living = await _welcomes(self._address)
        self._give_up()

    def _give_up(self) -> None:
        """Ends the socket under the driver: it stops waiting at once, without asking a silent server to cancel."""
        self._gave_up = True
        with suppress(OSError), socket.socket(fileno=os.dup(self.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)


def _eager(gen: PQGen[R], line: int) -> PQGen[R]:
    """Runs the driver's steps and waits only for what is not ready, because a socket is nearly always writable.

    Asking the event loop each time would take longer than most statements.
    """
    try:
        wanted = next(gen)
        while True:
            writable = wanted & WRITE and _signals(line, select.POLLOUT)
            wanted = gen.send(WRITE if writable else (yield wanted))
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        _end(gen)


def _end(gen: PQGen[R]) -> None:
    """Closes a generator that a cancelled wait left unfinished, which would warn when collected later."""
    # It raises RuntimeError if it wants to wait once more; the pool then closes the connection.
    with suppress(psycopg.Error, RuntimeError):
        gen.close()


async def _welcomes(address: str) -> bool:
    """Returns whether a server accepts connections; one that is full, or refuses this one, is alive too."""
    try:
        async with await psycopg.AsyncConnection.connect(address, connect_timeout=CONNECT_SECONDS):
            return True
    except psycopg.OperationalError as problem:
        return problem.sqlstate is not None


class ConnectionPool:
    """Connections to one database, the most recently used first; for one process and one event loop."""

    def __init__(
        self,
        conninfo: str,
        *,
        size: int,
        timeout: float,
        statement_timeout: float = STATEMENT_SECONDS,
        patience: float = FAILOVER_SECONDS,
        revive: Callable[[], None] | None = None,
        direct: bool = False,
    ) -> None:
        """Connects on demand, up to `size` connections.

        If a server that was reachable before goes away, the pool waits up to `patience` seconds: it may be restarting,
        or another host in the address may take over. `revive` restarts it. With `direct`, no pooler is in between, and
        statements may be prepared.
        """
        self.conninfo = _check_url(conninfo)
        self.patience = patience
        self.wants_primary = conninfo_to_dict(conninfo).get("target_session_attrs") in ("read-write", "primary")
        """Whether the address asks for the server that accepts writes."""
        self.read_only = False
        """Whether the last server reached is a standby."""
        self._lost_at: float | None = None
        self.ask_where: Callable[[], Awaitable[None]] | None = None
        """Asked while the server cannot be reached; it may give another address."""
        self.place = Origin()
        self.statement_timeout = statement_timeout
        self._size = size
        self._timeout = timeout
        self._revive = revive
        # Prepared statements are session state, which poolers do not keep.
        self._prepares = BY_ITSELF if direct else None
        self._idle: list[Connection] = []
        self._lent = 0
        self._free = asyncio.Semaphore(size)
        self._closed = False
        self._met = False

    def alike(self, conninfo: str) -> ConnectionPool:
        """Returns a pool of the same kind, to another server."""
        return ConnectionPool(
            conninfo,
            size=self._size,
            timeout=self._timeout,
            statement_timeout=self.statement_timeout,
            patience=self.patience,
            direct=self._prepares is not None,
        )

    def connection(self, use: int = 0) -> Lent:
        """Returns an async context manager that lends a working connection."""
        return Lent(self, use)

    async def take(self, use: int = 0) -> Connection:
        """Returns a working connection, which must be given back; one that had the same use, if there is one."""
        self.place.check()
        await self._take_turn()
        self._lent += 1
        try:
            connection = self._take_idle(use) or await self._connect()
        except BaseException:
            self._lent -= 1
            self._free.release()
            raise
        connection.used_for = use
        self.read_only = connection.pgconn.parameter_status(b"in_hot_standby") == b"on"
        return connection

    async def give_back(self, connection: Connection) -> None:
        """Takes a connection back, closing it if it is in a bad state."""
        try:
            if connection.closed:
                return
            if self._closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                await connection.close()
            else:
                self._idle.append(connection)
        finally:
            self._lent -= 1
            self._free.release()

    def drain(self) -> None:
        """Closes all idle connections, since their server is gone."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.pgconn.finish()

    async def close(self) -> None:
        """Closes all connections: idle ones now, others when they are given back."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def connect(self) -> Connection:
        """Opens a connection in autocommit mode, which the caller must close."""
        connection = await Connection.connect(
            make_conninfo(self.conninfo, **_missing_parameters(self.conninfo, KEEPALIVES)),
            autocommit=True,
            prepare_threshold=self._prepares,
            context=_Context(),
            connect_timeout=CONNECT_SECONDS,
        )
        connection.limit(self.statement_timeout + GRACE_SECONDS, self.conninfo)
        return connection

    async def _take_turn(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("this memory is closed: open it, or use it inside `with`")
        if not self._free.locked():
            await self._free.acquire()
            return
        waited = self._timeout
        while not await self._freed(waited):
            # Whoever holds a connection may be waiting for the server to come back.
            if (waited := self._left_to_wait()) <= 0:
                raise DatabaseUnavailable(
                    f"all {self._size} connections were busy for {self._timeout:g} seconds; raise pool_size"
                )

    async def _freed(self, seconds: float) -> bool:
        """Waits for a connection to be given back; returns whether one was."""
        try:
            async with asyncio.timeout(seconds):
                return await self._free.acquire()
        except TimeoutError:
            return False

    def _left_to_wait(self) -> float:
        """Returns for how many more seconds to wait for a server that is away."""
        return 0.0 if self._lost_at is None else self._lost_at + self.patience - time.monotonic()

    def _take_idle(self, use: int) -> Connection | None:
        while (chosen := self._fitting(use)) is not None:
            connection = self._idle.pop(chosen)
            if not _has_news(connection):
                return connection
            connection.pgconn.finish()
        return None

    def _fitting(self, use: int) -> int | None:
        """Returns where the last idle connection of the same use is; of another, the oldest, if no more may open."""
        for index in reversed(range(len(self._idle))):
            if self._idle[index].used_for == use:
                return index
        return 0 if self._idle and self._lent + len(self._idle) > self._size else None

    async def _connect(self) -> Connection:
        """Opens a new connection, waiting for a server that was reachable before."""
        began = time.monotonic()
        while True:
            try:
                connection = await self.connect()
            except psycopg.OperationalError as problem:
                self._lost_at = self._lost_at or time.monotonic()
                if time.monotonic() > began + self.patience or not await self._may_come_back(problem):
                    raise
            else:
                self._met, self._lost_at = True, None
                return connection

    async def _may_come_back(self, problem: psycopg.OperationalError) -> bool:
        if self._revive is not None:
            LOGGER.warning("the server cannot be reached; reviving it", extra={"reason": str(problem)})
            await in_thread(self._revive)
        elif not self._met and "starting up" not in str(problem):
            return False
        await asyncio.sleep(0.1)
        if self.ask_where is not None:
            await self.ask_where()
        return True


class Lent:
    """Lends a connection for a block. It is a class because a generator would cost more on every call."""

    __slots__ = ("_connection", "_pool", "_use")

    def __init__(self, pool: ConnectionPool, use: int) -> None:
        """Borrow from a pool, for a use."""
        self._pool = pool
        self._use = use

    async def __aenter__(self) -> Connection:
        """Takes a connection."""
        self._connection = await self._pool.take(self._use)
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        """Gives it back."""
        await self._pool.give_back(self._connection)


def as_url(conninfo: str) -> str:
    """Returns the address as a URL that libpq, psycopg and SQLAlchemy read, even if the host is a socket folder."""
    if conninfo.startswith(("postgresql://", "postgres://")):
        return conninfo
    parts = {key: str(value) for key, value in conninfo_to_dict(conninfo).items()}
    user, password, name = (quote(parts.pop(key, ""), safe="") for key in ("user", "password", "dbname"))
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    return f"postgresql://{login}/{name}?{urlencode(parts, quote_via=quote, safe='/')}".removesuffix("?")


def _check_url(conninfo: str) -> str:
    try:
        if conninfo_to_dict(conninfo):
            return conninfo
    except psycopg.ProgrammingError:
        pass
    raise Invalid("the database URL must look like postgresql://user:password@host:5432/name, or like host=… dbname=…")


def _missing_parameters(conninfo: str, wanted: Mapping[str, str]) -> dict[str, str]:
    """Returns those of the wanted parameters that the address does not set."""
    said = conninfo_to_dict(conninfo)
    return {name: value for name, value in wanted.items() if name not in said}


def _has_news(connection: Connection) -> bool:
    """Returns whether an idle connection has data to read: a server that goes away says so, others stay silent."""
    return connection.closed or _signals(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)


def _signals(line: int, events: int) -> bool:
    """Returns whether one of the events is pending right now."""
    watch = select.poll()
    watch.register(line, events)
    return bool(watch.poll(0))
