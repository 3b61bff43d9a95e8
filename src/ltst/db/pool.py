"""The database: runs named queries for one user or for the keeper, and translates the driver's errors.

Nothing depends on session state, so everything works behind a pooler in transaction mode: the acting user is set
inside each transaction, and a single query is a transaction of its own, in one round trip. Function calls and the
statements that begin a transaction are prepared if no pooler can be in between.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import errors as sql
from psycopg.rows import BaseRowFactory, class_row, dict_row, kwargs_row, scalar_row, tuple_row

from ltst.db.connections import Connection, ConnectionPool
from ltst.db.queries import queries
from ltst.errors import Conflict, DatabaseUnavailable, Denied, Invalid, LtstError, NotFound, OutcomeUnknown
from ltst.support.logs import LOGGER

R = TypeVar("R")
Work = Callable[[Connection, bool], Awaitable[R]]
Parameters = Mapping[str, Any]
Statement = tuple[bytes, Sequence[Any]]

UNKNOWN = (
    "the connection to the database broke before it answered: whether this was written is not known; look, or repeat "
    "it with the same key"
)

ENTER = b"SELECT set_config('role', %s, true), set_config('ltst.user_id', %s, true)"
# For this transaction alone, since a pooler gives the session to others afterwards.
LIMIT = b", set_config('statement_timeout', %s, true)"
# Writes share a lock that the erasure of their user takes exclusively, so that it waits for writes under way.
TO_WRITE = b", pg_advisory_xact_lock_shared(hashtextextended(%s, 2))"

# For queries that follow the ledger: the position before which no event can still appear.
TO_FOLLOW = b", set_config('ltst.settled', ltst_last_settled(%s::text)::text, true)"

# For vector comparisons: the index scans until it has enough rows of the user, in relaxed order because they are
# compared exactly afterwards; JIT is off because compiling takes longer than it saves.
TO_COMPARE = (
    b", set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '400', true), "
    b"set_config('hnsw.max_scan_tuples', '1000000', true), set_config('jit', 'off', true)"
)

# What workers ask again and again. Each part of these queries looks for few rows, by an index of its own.
LONG_TO_PLAN = ("work.due_users", "work.todo")


class Scope(NamedTuple):
    """A database role, and the user whose rows it may see."""

    role: str
    user_id: str


KEEPER = Scope("ltst_keeper", "")
# Whoever connected, who owns the tables.
OWNER = Scope("none", "")


def user_scope(user_id: str) -> Scope:
    """Returns the scope of one user."""
    return Scope("ltst_user", user_id)


class Executor(ABC):
    """Runs named queries, in a transaction or each in its own; `user_id` in them is the user of the scope."""

    scope: Scope
    seen = 0
    """How many rows the queries returned or changed so far."""

    @abstractmethod
    async def _ask(self, name: str, factory: BaseRowFactory[R], parameters: Parameters) -> list[R]: ...

    @abstractmethod
    async def _change(self, name: str, parameters: Parameters) -> int: ...

    async def rows(self, name: str, record: type[R], /, **parameters: Any) -> list[R]:
        """Runs a query; returns its rows as records."""
        return await self._counted(name, class_row(record), parameters)

    async def row(self, name: str, record: type[R], /, **parameters: Any) -> R | None:
        """Runs a query; returns its first row as a record, or None."""
        found = await self._counted(name, class_row(record), parameters)
        return found[0] if found else None

    async def one(self, name: str, record: type[R], /, **parameters: Any) -> R:
        """Runs a query that always has a row, such as an upsert; returns that row as a record."""
        (found,) = await self._counted(name, class_row(record), parameters)
        return found

    async def dicts(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Runs a query; returns its rows as dictionaries."""
        return await self._counted(name, dict_row, parameters)

    async def value(self, name: str, /, **parameters: Any) -> Any:
        """Runs a query; returns the first value of its first row, or None."""
        found = await self._counted(name, scalar_row, parameters)
        return found[0] if found else None

    async def values(self, name: str, /, **parameters: Any) -> list[Any]:
        """Runs a query; returns the first value of each row."""
        return await self._counted(name, scalar_row, parameters)

    async def run(self, name: str, /, **parameters: Any) -> int:
        """Runs a query; returns how many rows it changed."""
        started = time.perf_counter()
        changed = await self._change(name, self._bound(parameters))
        self.seen += changed
        _log(name, started, changed)
        return changed

    async def _counted(self, name: str, factory: BaseRowFactory[R], parameters: Parameters) -> list[R]:
        started = time.perf_counter()
        found = await self._ask(name, factory, self._bound(parameters))
        self.seen += len(found)
        _log(name, started, len(found))
        return found

    def _bound(self, parameters: Parameters) -> Parameters:
        """Adds the scope's user to the parameters unless they name one; the keeper has no user."""
        return {"user_id": self.scope.user_id, **parameters} if self.scope.user_id else parameters


class Transaction(Executor):
    """Several queries that succeed or fail together."""

    def __init__(self, connection: Connection, scope: Scope) -> None:
        """Runs on a connection that has entered its scope."""
        self._connection = connection
        self.scope = scope

    async def _ask(self, name: str, factory: BaseRowFactory[R], parameters: Parameters) -> list[R]:
        cursor = self._connection.cursor(row_factory=factory)
        await cursor.execute(queries()[name], parameters, prepare=_is_prepared(name))
        return await cursor.fetchall()

    async def _change(self, name: str, parameters: Parameters) -> int:
        return (await self._connection.execute(queries()[name], parameters)).rowcount


class SingleCall(Executor):
    """Runs each query as its own transaction in one round trip, and repeats it after a lost connection if safe."""

    def __init__(self, database: Database, scope: Scope) -> None:
        """Runs every query in this scope."""
        self._database = database
        self.scope = scope
        self._entry: tuple[bytes, tuple[Any, ...]] = database.entry(scope)

    def settled(self, whose: str | None) -> SingleCall:
        """Limits later queries to the events of a user (None: of all users) that are settled.

        The limit is read in a statement of its own, so that the query sees all events up to it.
        """
        entry, values = self._database.entry(self.scope)
        self._entry = entry + TO_FOLLOW, (*values, whose)
        return self

    async def _ask(self, name: str, factory: BaseRowFactory[R], parameters: Parameters) -> list[R]:
        # A row that was written past an erasure's lock would outlive it.
        entry = self._database.entry_to_write(self.scope) if _changes(name) else self._entry

        async def work(connection: Connection, retried: bool) -> list[R]:
            async with connection.pipeline():
                await connection.execute(*entry, prepare=True)
                cursor = connection.cursor(row_factory=factory)
                await cursor.execute(queries()[name], parameters, prepare=_is_prepared(name))
            return await cursor.fetchall()

        return await self._noted(work, repeatable=_only_reads(name))

    async def _change(self, name: str, parameters: Parameters) -> int:
        async def work(connection: Connection, retried: bool) -> int:
            async with connection.pipeline():
                await connection.execute(*self._database.entry_to_write(self.scope), prepare=True)
                cursor = await connection.execute(queries()[name], parameters)
            return cursor.rowcount

        return await self._noted(work, repeatable=False)

    async def _noted(self, work: Work[R], *, repeatable: bool) -> R:
        """Runs the work and reports a write, even if it failed, because it may still have been written."""
        try:
            return await self._database.attempt(work, repeatable=repeatable)
        finally:
            if not repeatable and self.scope.user_id:
                self._database.wrote(self.scope.user_id)

    async def compared(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Runs a query that orders by vectors; returns its rows as dictionaries.

        It is planned each time, because a cached plan would ignore the settings made here and the values.
        """

        async def work(connection: Connection, retried: bool) -> list[dict[str, Any]]:
            async with connection.pipeline():
                await connection.execute(*self._database.entry_to_compare(self.scope))
                cursor = connection.cursor(row_factory=dict_row)
                await cursor.execute(queries()[name], parameters, prepare=False)
            return await cursor.fetchall()

        return await self._database.attempt(work, repeatable=True)


def _ignore_write(user_id: str) -> None:
    """Ignores a write, because nobody listens for it."""


class Database:
    """One database, by the connections of a pool."""

    follows = False
    """Whether it is a standby beside the database that is written to."""
    distributed = False
    """Whether the rows of users lie on several nodes."""
    use = 0
    """What its connections are used for, so that each keeps to one use; see `Connection.used_for`."""

    def __init__(self, pool: ConnectionPool, data_dir: Path | None = None) -> None:
        """Uses a pool; only the embedded server's data folder is known."""
        self.pool = pool
        """The connections."""
        self.data_dir = data_dir
        self.conninfo = pool.conninfo
        """The connection string, for Postgres's own tools."""
        self.wrote = _ignore_write
        """Called with the user for whom something was or may have been written; with "" where that is everybody."""
        self.place = pool.place
        """The process and the event loop in which it may be used."""
        self.places: Sequence[Database] = (self,)
        """Where the rows of users lie: here, unless they are distributed."""

    @property
    def read_only(self) -> bool:
        """Whether the server is a standby and accepts no writes."""
        return self.pool.read_only

    async def close(self) -> None:
        """Closes all connections."""
        await self.pool.close()

    def user(self, user_id: str) -> SingleCall:
        """Returns single calls for one user."""
        return SingleCall(self, user_scope(user_id))

    def keeper(self) -> Executor:
        """Returns single calls that may see the rows of all users."""
        return SingleCall(self, KEEPER)

    def following(self) -> SingleCall:
        """Returns single calls of the keeper that follow the ledger of this place."""
        return SingleCall(self, KEEPER)

    def at(self, user_id: str) -> Database:
        """Returns where the rows of a user lie."""
        return self

    @asynccontextmanager
    async def beside(self, tx: Transaction, user_id: str) -> AsyncIterator[Transaction]:
        """Uses a transaction of the keeper for what lies with a user: the same one, as it lies here."""
        yield tx

    @asynccontextmanager
    async def transaction(self, scope: Scope, *, hurry: bool = True) -> AsyncIterator[Transaction]:
        """Opens a transaction. Without `hurry` a query may take longer than statement_timeout."""
        try:
            async with self._begun(self.entry_to_write(scope, hurry=hurry), hurry=hurry) as connection:
                yield Transaction(connection, scope)
        finally:
            self.wrote(scope.user_id)

    @asynccontextmanager
    async def snapshot(self, scope: Scope) -> AsyncIterator[Transaction]:
        """Opens a transaction whose reads all see the same moment, with times in UTC."""
        one_moment = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        first: list[Statement] = [(one_moment, ()), (b"SET LOCAL TIME ZONE 'UTC'", ()), self.entry(scope)]
        async with self._begun(*first, writes=False) as connection:
            yield Transaction(connection, scope)

    @asynccontextmanager
    async def owner(self, *, hurry: bool = True) -> AsyncIterator[Connection]:
        """Opens a transaction as the role that connected, for migrations (without `hurry`) and inspections."""
        limit = f"SET LOCAL statement_timeout = {self._limit(hurry)}".encode()
        async with self._begun((limit, ()), hurry=hurry) as connection:
            yield connection

    async def connect(self) -> Connection:
        """Opens a connection that the caller must close."""
        return await self.pool.connect()

    async def barred(self) -> str | None:
        """Returns what to do where this role lacks a right on another server of a distributed database; else None."""
        return None

    async def lost_servers(self) -> list[str]:
        """Returns the addresses of the other servers of a distributed database that cannot be reached."""
        return []

    def entry(self, scope: Scope, *, hurry: bool = True) -> tuple[bytes, tuple[Any, ...]]:
        """Returns the first statement of a reading transaction, with its values."""
        return ENTER + LIMIT, (scope.role, scope.user_id, self._limit(hurry))

    def entry_to_write(self, scope: Scope, *, hurry: bool = True) -> tuple[bytes, tuple[Any, ...]]:
        """Returns the first statement of a writing transaction; the keeper needs no user's lock."""
        entry, values = self.entry(scope, hurry=hurry)
        return (entry + TO_WRITE, (*values, scope.user_id)) if scope.user_id else (entry, values)

    def entry_to_compare(self, scope: Scope) -> tuple[bytes, tuple[Any, ...]]:
        """Returns the first statement of a transaction that compares vectors."""
        entry, values = self.entry(scope)
        return entry + TO_COMPARE, values

    def _limit(self, hurry: bool) -> str:
        """Returns the time limit of a statement in milliseconds; 0 means none."""
        return str(round(self.pool.statement_timeout * 1000)) if hurry else "0"

    @asynccontextmanager
    async def _begun(self, *first: Statement, hurry: bool = True, writes: bool = True) -> AsyncIterator[Connection]:
        """Opens a transaction. Raises OutcomeUnknown if the connection breaks during COMMIT."""
        with translated():
            held, connection = await self._opened(first, hurry)
            committing = False
            try:
                async with held:
                    yield connection
                    committing = writes
            except (psycopg.OperationalError, DatabaseUnavailable) as problem:
                if committing and connection.closed:
                    raise OutcomeUnknown(UNKNOWN) from problem
                raise
            except sql.ReadOnlySqlTransaction:
                self.pool.drain()  # the next call looks for the server that took the place of this one
                raise

    async def _opened(self, first: Sequence[Statement], hurry: bool) -> tuple[AsyncExitStack, Connection]:
        """Begins a transaction and runs its first statements, retrying if the connection is broken."""
        deadline = time.monotonic() + self.pool.patience
        while True:
            held = AsyncExitStack()
            connection = await held.enter_async_context(self.pool.connection(self.use))
            try:
                if not hurry:
                    held.enter_context(connection.unhurried())
                await held.enter_async_context(connection.transaction())
                for statement, values in first:
                    await connection.execute(statement, values or None, prepare=bool(values))
            except BaseException as problem:
                await held.__aexit__(type(problem), problem, problem.__traceback__)
                if not _connection_lost(problem) or time.monotonic() > deadline:
                    raise
            else:
                return held, connection
            self.pool.drain()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Connection]:
        """Opens a connection as the role that connected, without a transaction, for statements that allow none."""
        with translated():
            async with self.pool.connection() as connection:
                with connection.unhurried():
                    yield connection

    async def call(self, name: str, parameters: Parameters) -> tuple[Any, ...]:
        """Calls a function that sets its own user; `retried` tells it whether it may have run already."""

        async def work(connection: Connection, retried: bool) -> tuple[Any, ...]:
            cursor = connection.cursor()
            await self._execute(cursor, name, {**parameters, "retried": retried})
            found = await cursor.fetchone()
            assert found is not None, "a function with OUT parameters answers with one row"
            return found

        started = time.perf_counter()
        try:
            found = await self.attempt(work, repeatable=True, writes=True)
        finally:
            self.wrote(str(parameters["user_id"]))
        _log(name, started, 1)
        return found

    async def call_rows(
        self, name: str, record: Callable[..., R], /, *, binary: bool = False, **parameters: Any
    ) -> list[R]:
        """Calls a reading function that sets its own user; returns a record made from each row."""
        return await self._called(name, kwargs_row(record), binary, parameters)

    async def call_tuples(self, name: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """Calls a reading function that sets its own user; returns each row as a tuple."""
        return await self._called(name, tuple_row, False, parameters)

    async def _called(self, name: str, factory: BaseRowFactory[R], binary: bool, parameters: Parameters) -> list[R]:
        async def work(connection: Connection, retried: bool) -> list[R]:
            cursor = connection.cursor(row_factory=factory)
            await self._execute(cursor, name, parameters, binary=binary)
            return await cursor.fetchall()

        started = time.perf_counter()
        found = await self.attempt(work, repeatable=True)
        _log(name, started, len(found))
        return found

    async def _execute(self, cursor: psycopg.AsyncCursor[Any], name: str, given: Parameters, **how: Any) -> None:
        """Calls a function that sets its own user."""
        await cursor.execute(queries()[name], given, prepare=True, **how)

    async def attempt(self, work: Work[R], *, repeatable: bool, writes: bool = False) -> R:
        """Runs the work on a connection, and repeats it on new ones if the connection breaks and repeating is safe.

        Keeps trying for as long as a failover may take. Work that cannot be repeated counts as a write.
        """
        writes = writes or not repeatable
        with translated():
            pool = self.pool
            retried, deadline = False, time.monotonic() + pool.patience
            while True:
                # An earlier attempt may have written, whatever goes wrong now.
                with _report_unknown(unknown=retried and writes):
                    connection = await pool.take(self.use)
                    try:
                        return await work(connection, retried)
                    except sql.ReadOnlySqlTransaction:
                        # Nothing was written. The next attempt looks for the server that took over.
                        if not pool.wants_primary or time.monotonic() > deadline:
                            raise
                        await connection.close()
                    except (psycopg.OperationalError, DatabaseUnavailable) as problem:
                        lost = _connection_lost(problem)
                        if not (lost and repeatable) or time.monotonic() > deadline:
                            with _report_unknown(unknown=writes and (lost or isinstance(problem, DatabaseUnavailable))):
                                raise
                        retried = True
                    finally:
                        await pool.give_back(connection)
                pool.drain()


@contextmanager
def _report_unknown(*, unknown: bool) -> Iterator[None]:
    """Raises OutcomeUnknown if a failure leaves open whether something was written."""
    try:
        yield
    except (psycopg.OperationalError, DatabaseUnavailable, sql.ReadOnlySqlTransaction) as problem:
        if unknown:
            raise OutcomeUnknown(UNKNOWN) from problem
        raise


def _log(query: str, started: float, rows: int) -> None:
    """Logs a query by its name, never with its values."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        milliseconds = round((time.perf_counter() - started) * 1000, 3)
        LOGGER.debug("query", extra={"query": query, "milliseconds": milliseconds, "rows": rows})


def _only_reads(name: str) -> bool:
    """Returns whether a query begins with SELECT; all of those may run twice."""
    return queries()[name].startswith(b"SELECT")


def _changes(name: str) -> bool:
    """Returns whether a query writes and returns what it wrote."""
    return queries()[name].startswith((b"INSERT", b"UPDATE", b"DELETE"))


def _is_prepared(name: str) -> bool:
    """Returns whether a query is planned once: it only calls a function, or to plan it takes longer than to run it."""
    return name in LONG_TO_PLAN or queries()[name].startswith((b"SELECT ltst_", b"SELECT * FROM ltst_"))


def _connection_lost(problem: BaseException) -> bool:
    """Returns whether the connection was lost, with or without a message from the server."""
    return isinstance(problem, psycopg.OperationalError) and (
        problem.sqlstate is None or isinstance(problem, sql.AdminShutdown | sql.CrashShutdown | sql.CannotConnectNow)
    )


@contextmanager
def translated() -> Iterator[None]:
    """Raises the driver's errors as errors of ltst."""
    try:
        yield
    except sql.ForeignKeyViolation as problem:
        raise NotFound(f"what this refers to does not exist: {_message_of(problem)}") from problem
    except sql.UniqueViolation as problem:
        raise Conflict(f"there is one already: {_message_of(problem)}") from problem
    except (sql.CheckViolation, sql.NotNullViolation, sql.ProgramLimitExceeded, psycopg.DataError) as problem:
        raise Invalid(f"the database refuses this value: {_message_of(problem)}") from problem
    except sql.InsufficientPrivilege as problem:
        raise Denied(f"the database refuses this: {_message_of(problem)}") from problem
    except sql.QueryCanceled as problem:
        raise DatabaseUnavailable(f"the database gave up: {_message_of(problem)} (LTST_STATEMENT_TIMEOUT)") from problem
    except (psycopg.OperationalError, psycopg.InterfaceError, sql.ReadOnlySqlTransaction) as problem:
        raise DatabaseUnavailable(f"the database cannot be used: {_message_of(problem)}{_advice(problem)}") from problem
    except psycopg.Error as problem:
        raise LtstError(f"the database answers with an error: {_message_of(problem)}") from problem


def _message_of(problem: psycopg.Error) -> str:
    lines = (problem.diag.message_primary or str(problem)).strip().splitlines() or [type(problem).__name__]
    return lines[0]


def _advice(problem: psycopg.Error) -> str:
    """Returns what to do when the coordinator of a distributed database was asked for what lies in its places."""
    signs = ("connection to the remote node", "not permitted to log in")
    if all(sign in str(problem) for sign in signs):
        return "; it was distributed while this program was open: start the program again"
    return ""
