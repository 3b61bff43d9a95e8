"""What a change of the embedding model asks of tables: the indexes of vectors, and the moment when nobody uses them.

Vectors of both models lie in one table meanwhile, each with the number of its model (`rooms/models.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from psycopg import errors, sql

from ltst.db.connections import Connection, ConnectionPool
from ltst.db.pool import KEEPER, OWNER, Database, Scope, Transaction, translated
from ltst.db.queries import statements
from ltst.errors import Conflict

STATEMENTS = statements(__name__)
FIRST = 1  # the number of the first model
NEAR = "idx_search_vectors_near"
# With a user id of any length, a row of an index over vectors takes at most a third of a page.
LONGEST_NEAR = 800
LONGEST_HNSW = 4_000
# The locks: for one, whoever writes vectors waits; for the other, whoever searches as well.
WRITERS, EVERYBODY = "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"
# A lock waits for current users of the table and blocks others meanwhile, so wait briefly but often; longer than
# deadlock_timeout (1 s), after which an autovacuum gives way.
PATIENCE = "1500ms"
TO_TAKE_OVER, TO_OUTLAST = 80, 20  # attempts
SWITCHING = 0x6C747374_0002

# Places, each with a connection in the transaction that locks its vectors.
Held = list[tuple[Database, Connection]]
Action = Callable[[Transaction], Awaitable[None]]


def hnsw(number: int) -> str:
    """Returns the name of the HNSW index over the vectors of a model."""
    return f"idx_search_vectors_embedding_{number}"


def indexes(number: int, dimensions: int) -> dict[str, str]:
    """Returns the indexes that there should be over the vectors of a model: what they are made of, by their names."""
    found = {}
    if dimensions <= LONGEST_NEAR:
        found[NEAR] = "ON search_vectors (user_id, model, unit_no) INCLUDE (embedding)"
    if dimensions <= LONGEST_HNSW:
        found[hnsw(number)] = (
            f"ON search_vectors USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops) "
            f"WITH (ef_construction = 200) WHERE ann AND model = {number}"
        )
    return found


class Switch:
    """A change of the model. One process makes it at a time; it can be stopped and resumed at any point."""

    def __init__(self, database: Database, connection: Connection, holder: Connection) -> None:
        """Made by `switching`, with a connection on which every statement is a transaction of its own."""
        self._database = database
        self._connection = connection
        self._holder = holder

    async def hold(self) -> None:
        """Raises if the lock was lost, because a server or a pooler ended the idle transaction that holds it."""
        # No SELECT: it would keep its snapshot open, and building an index waits for old snapshots.
        await self._holder.execute("SET LOCAL idle_in_transaction_session_timeout = 0")

    async def build(self, wanted: Mapping[str, str]) -> None:
        """Builds the indexes that are not there, while others read and write."""
        await self.hold()
        for name, definition in wanted.items():
            valid = await self._connection.value(STATEMENTS["valid"], (name,))
            if valid is False:  # left by a build that was interrupted
                await self.drop(name)
            if not valid:
                await self._connection.execute(f"CREATE INDEX CONCURRENTLY {name} {definition}".encode())

    async def drop(self, *names: str) -> None:
        """Drops indexes, if they are there."""
        for name in names:
            await self._connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())

    async def take_over(self, mark_due: Action, promote: Action) -> None:
        """Lets the next model take the place of the one in use.

        `mark_due` is called for each place while nobody can write vectors: so it sees all that the next model lacks.
        With one server this and `promote` are one transaction. With several, a node may be lost before it keeps its
        marks: they are made again when the former vectors are removed.
        """

        async def work(held: Held) -> None:
            await self.hold()
            for place, connection in held:
                await _act_as(connection, place, KEEPER)
                await mark_due(Transaction(connection, KEEPER))
            if self._database.distributed:
                async with self._database.owner() as leader:
                    await promote(Transaction(leader, OWNER))
            else:
                ((place, connection),) = held
                await _act_as(connection, place, OWNER)
                await promote(Transaction(connection, OWNER))

        await _patiently(partial(self._lock, self._database.places, WRITERS), work, TO_TAKE_OVER)

    async def outlast_searches(self) -> bool:
        """Waits until every search is over that began with a model that was given up; returns whether all are."""

        async def work(held: Held) -> None:
            """Does nothing: to have had the lock is all."""

        await self.hold()
        try:
            for place in self._database.places:
                await _patiently(partial(self._lock, [place], EVERYBODY), work, TO_OUTLAST)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            return False
        return True

    async def _lock(self, places: Iterable[Database], mode: str, nodes: AsyncExitStack) -> Held:
        """Locks the vectors of places, in one transaction on each node."""
        begun: dict[ConnectionPool, Connection] = {}
        held: Held = []
        for place in places:
            if place.pool not in begun:
                connection = begun[place.pool] = await nodes.enter_async_context(await place.connect())
                await nodes.enter_async_context(connection.transaction())
                await connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(PATIENCE))
                await connection.execute(b"SET LOCAL idle_in_transaction_session_timeout = 0")
                nodes.enter_context(connection.unhurried())
            await _act_as(begun[place.pool], place, OWNER)
            await begun[place.pool].execute(f"LOCK TABLE search_vectors IN {mode} MODE".encode())
            held.append((place, begun[place.pool]))
        return held


async def _act_as(connection: Connection, place: Database, scope: Scope) -> None:
    """Goes on in a place, in a transaction that may have been in another one; only the owner may enter it."""
    await connection.execute(b"SET LOCAL ROLE NONE")
    await connection.execute(*place.entry(scope, hurry=False))


async def _patiently(
    lock: Callable[[AsyncExitStack], Awaitable[Held]], work: Callable[[Held], Awaitable[None]], attempts: int
) -> None:
    """Works under a lock; tries for a while, and waits only briefly each time."""
    for attempt in range(1, attempts + 1):
        try:
            async with AsyncExitStack() as nodes:
                await work(await lock(nodes))
            return
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if attempt == attempts:
                raise


@asynccontextmanager
async def switching(database: Database) -> AsyncIterator[Switch]:
    """Yields a switch on its own connection, as indexes are built outside transactions; Conflict if another one runs.

    An idle transaction on a second connection holds the lock, because a pooler keeps no session locks.
    """
    with translated():
        async with (
            await database.connect() as connection,
            await database.connect() as holder,
            holder.transaction(),
        ):
            if not await holder.value("SELECT pg_try_advisory_xact_lock(%s)", (SWITCHING,)):
                raise Conflict("another process is changing the embedding model of this database right now")
            change = Switch(database, connection, holder)
            await change.hold()
            with connection.unhurried():  # building an index may take long
                yield change
