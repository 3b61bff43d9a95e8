"""Switches the embedding model: fills a second vector column while the first is in use, then swaps the two.

That column exists only during a switch, so these statements are here and not among the named queries.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import errors, sql
from psycopg.rows import class_row

from ltst.db.connections import Connection
from ltst.db.pool import ENTER, KEEPER, Database, translated
from ltst.db.queries import statements
from ltst.errors import Conflict

# The type of the vectors of each table. Searches compare directions only, for which numbers of two bytes are as good.
TYPES = {
    **dict.fromkeys(("conversation_messages", "user_facts", "memory_entries", "document_chunks"), "vector"),
    "search_vectors": "halfvec",
}
TABLES = (*TYPES,)
# Longer vectors would not fit into a page with the rest of their row; during a change, those of both models are in it.
LARGEST_INLINE = {"vector": 1_800, "halfvec": 3_600}
LENGTH = "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'embedding'"


class Index(NamedTuple):
    """An index of vectors, as the migrations make it, and the longest vectors that it can hold."""

    name: str
    table: str
    definition: str
    longest: int


# The same build parameter as in the migrations.
CAREFUL = "WITH (ef_construction = 200) WHERE ann"
INDEXES = (
    Index(
        "idx_conversation_messages_embedding",
        "conversation_messages",
        f"USING hnsw ({{column}} vector_cosine_ops) {CAREFUL}",
        2_000,
    ),
    Index(
        "idx_search_vectors_embedding",
        "search_vectors",
        f"USING hnsw ({{column}} halfvec_cosine_ops) {CAREFUL}",
        4_000,
    ),
    # With a user id of any length, a row of the index takes at most a third of a page.
    Index("idx_search_vectors_near", "search_vectors", "(user_id, unit_no) INCLUDE ({column})", 800),
)
BEFORE_ALL = ("", -1)
# An ALTER TABLE waits for current users of the table and blocks all others meanwhile, so wait briefly but often.
PATIENCE = "500ms"
ATTEMPTS = 240
SWITCHING = 0x6C747374_0002

STATEMENTS = statements(__name__)


class Unfilled(NamedTuple):
    """A row that still lacks a vector of the next model."""

    user_id: str
    unit_no: int
    kind: str
    id: str
    content: str
    role: str | None
    said_by: str | None
    title: str | None
    occurred_at: datetime | None
    heading: str | None


class Filled(NamedTuple):
    """The vectors of a row by the next model: one of the whole text, then one for each part of a long one."""

    row: Unfilled
    vectors: Sequence[str]


class Switch:
    """A change of the model. One process does it at a time; it can be stopped and resumed at any point."""

    def __init__(self, connection: Connection) -> None:
        """Made by `switching`; every statement is a transaction of its own."""
        self._connection = connection

    async def next_model(self) -> str | None:
        """Returns the name of the next model, or None."""
        name: str | None = await self._connection.value("SELECT name FROM embedding_models WHERE state = 'next'")
        return name

    async def begin(self, name: str, dimensions: int, source: str | None) -> None:
        """Adds the columns for the vectors of another model."""
        before = await self._connection.value(LENGTH, ("search_vectors",))
        changes = []
        for table, kind in TYPES.items():
            column = sql.SQL("embedding_next {}({})").format(sql.SQL(kind), sql.Literal(dimensions))
            changes.append(sql.SQL("ALTER TABLE {} ADD COLUMN {}").format(sql.Identifier(table), column))
            changes.append(_stored(table, "embedding_next", inline=dimensions <= LARGEST_INLINE[kind]))
            # If both do not fit into a row, those in use move out.
            changes.append(_stored(table, "embedding", inline=before + dimensions <= LARGEST_INLINE[kind]))
        told = sql.SQL("INSERT INTO embedding_models (name, dimensions, source, state) VALUES ({}, {}, {}, 'next')")
        await self._patiently([*changes, told.format(name, dimensions, source)])

    async def cancel(self) -> None:
        """Drops the columns of the next model."""
        drop = "ALTER TABLE {} DROP COLUMN IF EXISTS embedding_next"
        length = await self._connection.value(LENGTH, ("search_vectors",))
        changes: list[sql.Composed | sql.SQL] = [sql.SQL(drop).format(sql.Identifier(table)) for table in TABLES]
        changes += [_stored(table, "embedding", inline=length <= LARGEST_INLINE[kind]) for table, kind in TYPES.items()]
        changes.append(sql.SQL("DELETE FROM embedding_models WHERE state = 'next'"))
        changes.append(sql.SQL("DELETE FROM search_vectors WHERE embedding IS NULL"))
        await self._patiently(changes)

    async def left(self) -> int:
        """Returns how many rows lack a vector of the next model."""
        left: int = await self._connection.value(STATEMENTS["left"])
        return left

    async def unfilled(self, after: tuple[str, int], limit: int) -> list[Unfilled]:
        """Returns the next rows, of any kind, that lack one."""
        async with self._as_keeper():
            cursor = self._connection.cursor(row_factory=class_row(Unfilled))
            await cursor.execute(STATEMENTS["unfilled"].encode(), (*after, limit), prepare=False)
            return await cursor.fetchall()

    async def fill(self, rows: Sequence[Filled]) -> None:
        """Writes vectors into the search index, and into the entries, which keep theirs."""
        async with self._as_keeper():
            entries = [(each.row.user_id, each.row.id, each.vectors[0]) for each in rows if each.row.kind == "entry"]
            if entries:
                await self._connection.execute(STATEMENTS["fill_entries"].encode(), _columns(entries), prepare=False)
            made = [
                (each.row.user_id, each.row.unit_no, part, vector)
                for each in rows
                for part, vector in enumerate(each.vectors)
            ]
            if made:
                await self._connection.execute(STATEMENTS["fill_units"].encode(), _columns(made), prepare=False)

    async def index(self, dimensions: int) -> None:
        """Builds the indexes over the new columns, beside those in use."""
        for index in INDEXES:
            if dimensions <= index.longest:
                definition = index.definition.format(column="embedding_next")
                await self._build(index.name, f"ON {index.table} {definition}")

    async def swap(self) -> None:
        """Replaces the old columns and their indexes by the new ones, in one transaction."""
        changes: list[sql.Composed | sql.SQL] = []
        for table in TABLES:
            changes.append(sql.SQL("ALTER TABLE {} DROP COLUMN embedding").format(sql.Identifier(table)))
            rename = "ALTER TABLE {} RENAME COLUMN embedding_next TO embedding"
            changes.append(sql.SQL(rename).format(sql.Identifier(table)))
        for index in INDEXES:
            rename = "ALTER INDEX IF EXISTS {} RENAME TO {}"
            changes.append(sql.SQL(rename).format(sql.Identifier(f"{index.name}_next"), sql.Identifier(index.name)))
        changes += [
            sql.SQL("DELETE FROM embedding_models WHERE state = 'active'"),
            sql.SQL("UPDATE embedding_models SET state = 'active', since = now() WHERE state = 'next'"),
            sql.SQL("DELETE FROM search_vectors WHERE embedding IS NULL"),
            sql.SQL(STATEMENTS["forget_rewritten"]),
            sql.SQL(STATEMENTS["due_again"]),
            sql.SQL("DELETE FROM memory_retrieval_cache"),
        ]
        await self._patiently(changes)

    async def _build(self, name: str, definition: str) -> None:
        """Builds an index, first dropping what an interrupted build left of it."""
        query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
        valid = await self._connection.value(query, (f"{name}_next",))
        if valid is False:
            await self._connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(f"{name}_next")))
        if not valid:
            await self._connection.execute(f"CREATE INDEX CONCURRENTLY {name}_next {definition}".encode())

    async def _patiently(self, changes: Sequence[sql.Composed | sql.SQL]) -> None:
        """Makes the changes in one transaction, with short lock timeouts and many attempts."""
        for attempt in range(ATTEMPTS):
            try:
                async with self._connection.transaction():
                    await self._connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(PATIENCE))
                    locked = sql.SQL(", ").join(map(sql.Identifier, TABLES))
                    await self._connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(locked))
                    for change in changes:
                        await self._connection.execute(change)
                return
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                if attempt == ATTEMPTS - 1:
                    raise

    @asynccontextmanager
    async def _as_keeper(self) -> AsyncIterator[None]:
        async with self._connection.transaction():
            await self._connection.execute(ENTER, (KEEPER.role, KEEPER.user_id))
            yield


def _stored(table: str, column: str, *, inline: bool) -> sql.Composed:
    """Returns the statement that keeps the vectors of a column in their rows, or lets long ones move out."""
    names = sql.Identifier(table), sql.Identifier(column), sql.SQL("PLAIN" if inline else "EXTERNAL")
    return sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET STORAGE {}").format(*names)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [[*column] for column in zip(*rows, strict=True)]


@asynccontextmanager
async def switching(database: Database) -> AsyncIterator[Switch]:
    """Yields a switch on its own connection, as indexes are built outside transactions; Conflict if another one runs.

    An idle transaction on a second connection holds the lock, because a pooler keeps no session locks.
    """
    if database.distributed:
        raise Conflict(
            "the embedding model of a distributed database cannot be changed: choose it before `ltst db distribute`, "
            "with `ltst embedder switch`; else it must have vectors of 384 numbers, as the default has"
        )
    with translated():
        async with (
            await database.connect() as connection,
            await database.connect() as holder,
            holder.transaction(),
        ):
            if not await holder.value("SELECT pg_try_advisory_xact_lock(%s)", (SWITCHING,)):
                raise Conflict("another process is changing the embedding model of this database right now")
            # Last because a SELECT would keep its snapshot open, and building an index waits for old snapshots.
            await holder.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            with connection.unhurried():  # building an index may take long
                yield Switch(connection)
