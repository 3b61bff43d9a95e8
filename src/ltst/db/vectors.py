"""The columns of vectors: a second one beside the first, filled while the first is in use, and the swap of the two.

Its column exists only while the model is being changed, so these statements stand here and not among the named ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.rows import class_row, scalar_row

from ltst.db.connections import Connection
from ltst.db.pool import ENTER, KEEPER, Database, translated
from ltst.errors import Conflict

TABLES = ("conversation_messages", "user_facts", "memory_entries", "document_chunks", "embedding_parts")
DUE_INDEXES = tuple(f"idx_{table}_due" for table in TABLES[:-1])
NEAREST_INDEXES = ("idx_conversation_messages_embedding", "idx_embedding_parts_embedding")
# A longer row would not fit a page with the rest of it; a longer vector cannot be indexed.
LARGEST_INLINE = 1_800
LARGEST_INDEXED = 2_000
# The graph is built as in the migrations.
CAREFUL = "WITH (ef_construction = 200)"
BEFORE_ALL = ("", "00000000-0000-0000-0000-000000000000")
# A change of a table waits for whoever uses it, and everyone else behind it: not for long, but again and again.
PATIENCE = "500ms"
ATTEMPTS = 240
SWITCHING = 0x6C747374_0002

SOURCES = {
    "message": """
        SELECT 'message' AS kind, user_id, message_id::text AS id, content, role,
               coalesce(metadata ->> 'speaker', metadata ->> 'name') AS said_by,
               (SELECT session_name FROM conversation_sessions AS session
                WHERE session.user_id = row.user_id AND session.session_id = row.session_id) AS title,
               timestamp AS occurred_at, NULL AS heading
        FROM conversation_messages AS row
        WHERE embedding_next IS NULL AND (user_id, message_id) > (%s::text, %s::uuid)
        ORDER BY user_id, message_id LIMIT %s""",
    "fact": """
        SELECT 'fact' AS kind, user_id, fact_id::text AS id, fact_key || ': ' || fact_value AS content,
               NULL AS role, NULL AS said_by, NULL AS title, valid_from AS occurred_at, NULL AS heading
        FROM user_facts WHERE embedding_next IS NULL AND (user_id, fact_id) > (%s::text, %s::uuid)
        ORDER BY user_id, fact_id LIMIT %s""",
    "entry": """
        SELECT 'entry' AS kind, user_id, entry_id::text AS id, content,
               NULL AS role, NULL AS said_by, NULL AS title, occurred_at, NULL AS heading
        FROM memory_entries WHERE embedding_next IS NULL AND (user_id, entry_id) > (%s::text, %s::uuid)
        ORDER BY user_id, entry_id LIMIT %s""",
    "document": """
        SELECT 'document' AS kind, user_id, chunk_id::text AS id, content, NULL AS role, NULL AS said_by,
               (SELECT title FROM documents AS document
                WHERE document.user_id = row.user_id AND document.document_id = row.document_id) AS title,
               NULL::timestamptz AS occurred_at, metadata ->> 'heading' AS heading
        FROM document_chunks AS row
        WHERE embedding_next IS NULL AND (user_id, chunk_id) > (%s::text, %s::uuid)
        ORDER BY user_id, chunk_id LIMIT %s""",
}
OWNERS = {
    "message": ("conversation_messages", "message_id"),
    "fact": ("user_facts", "fact_id"),
    "entry": ("memory_entries", "entry_id"),
    "document": ("document_chunks", "chunk_id"),
}
FILL = """
    UPDATE {table} AS row SET embedding_next = given.embedding::vector
    FROM unnest(%s::text[], %s::uuid[], %s::text[]) AS given (user_id, id, embedding)
    WHERE row.user_id = given.user_id AND row.{key} = given.id
    RETURNING row.{key}::text"""
FILL_PARTS = """
    INSERT INTO embedding_parts (user_id, owner_id, part_index, embedding_next, ann)
    SELECT given.*, EXISTS (SELECT FROM large_users WHERE large_users.user_id = given.user_id)
    FROM (SELECT user_id, owner, part, embedding::vector
          FROM unnest(%s::text[], %s::uuid[], %s::integer[], %s::text[])
              AS listed (user_id, owner, part, embedding)) AS given
    ON CONFLICT (user_id, owner_id, part_index) DO UPDATE SET embedding_next = EXCLUDED.embedding_next"""
LEFT = """
    SELECT (SELECT count(*) FROM conversation_messages WHERE embedding_next IS NULL)
         + (SELECT count(*) FROM user_facts WHERE embedding_next IS NULL)
         + (SELECT count(*) FROM memory_entries WHERE embedding_next IS NULL)
         + (SELECT count(*) FROM document_chunks WHERE embedding_next IS NULL)"""


@dataclass(frozen=True, slots=True)
class Unfilled:
    """A row that has no vector of the next model yet."""

    kind: str
    user_id: str
    id: str
    content: str
    role: str | None
    said_by: str | None
    title: str | None
    occurred_at: datetime | None
    heading: str | None


@dataclass(frozen=True, slots=True)
class Filled:
    """The vectors of a row by the next model: of the whole, and of its parts if it is long."""

    user_id: str
    id: str
    vector: str
    parts: Sequence[str]


class Switch:
    """A change of the model, by one process at a time; it can be stopped and taken up again at any point."""

    def __init__(self, connection: Connection) -> None:
        """Made by `switching`; every statement is a transaction of its own."""
        self._connection = connection

    async def next_model(self) -> str | None:
        """The name of the model that is being changed to."""
        name: str | None = await self._value("SELECT name FROM embedding_models WHERE state = 'next'")
        return name

    async def begin(self, name: str, dimensions: int, source: str | None) -> None:
        """Add the columns for the vectors of another model."""
        storage = sql.SQL("PLAIN" if dimensions <= LARGEST_INLINE else "EXTERNAL")
        changes = [
            sql.SQL(
                "ALTER TABLE {0} ADD COLUMN embedding_next vector({1}); "
                "ALTER TABLE {0} ALTER COLUMN embedding_next SET STORAGE {2}"
            ).format(sql.Identifier(table), sql.Literal(dimensions), storage)
            for table in TABLES
        ]
        told = sql.SQL("INSERT INTO embedding_models (name, dimensions, source, state) VALUES ({}, {}, {}, 'next')")
        await self._patiently([*changes, told.format(name, dimensions, source)])

    async def cancel(self) -> None:
        """Take the columns away again."""
        drop = "ALTER TABLE {} DROP COLUMN IF EXISTS embedding_next"
        changes: list[sql.Composed | sql.SQL] = [sql.SQL(drop).format(sql.Identifier(table)) for table in TABLES]
        changes.append(sql.SQL("DELETE FROM embedding_models WHERE state = 'next'"))
        changes.append(sql.SQL("DELETE FROM embedding_parts WHERE embedding IS NULL"))
        await self._patiently(changes)

    async def left(self) -> int:
        """How many rows have no vector of the next model."""
        left: int = await self._value(LEFT)
        return left

    async def unfilled(self, kind: str, after: tuple[str, str], limit: int) -> list[Unfilled]:
        """The next such rows of a kind."""
        async with self._as_keeper():
            cursor = self._connection.cursor(row_factory=class_row(Unfilled))
            await cursor.execute(SOURCES[kind].encode(), (*after, limit), prepare=False)
            return await cursor.fetchall()

    async def fill(self, kind: str, rows: Sequence[Filled]) -> None:
        """Write vectors; rows that are gone meanwhile leave no parts behind."""
        if not rows:
            return
        table, key = OWNERS[kind]
        update = sql.SQL(FILL).format(table=sql.Identifier(table), key=sql.Identifier(key))
        async with self._as_keeper():
            cursor = self._connection.cursor(row_factory=scalar_row)
            given = [[each.user_id for each in rows], [each.id for each in rows], [each.vector for each in rows]]
            await cursor.execute(update, given, prepare=False)
            there = {*await cursor.fetchall()}
            parts = [
                (each.user_id, each.id, number, part)
                for each in rows
                if each.id in there
                for number, part in enumerate(each.parts)
            ]
            if parts:
                await cursor.execute(FILL_PARTS.encode(), [[*column] for column in zip(*parts, strict=True)])

    async def index(self, dimensions: int) -> None:
        """Build the indexes over the new columns, beside those in use."""
        for table, name in zip(TABLES, DUE_INDEXES, strict=False):
            columns = "user_id, created_at" if table == TABLES[0] else "user_id"
            await self._build(name, f"ON {table} ({columns}) WHERE terms IS NULL OR embedding_next IS NULL")
        if dimensions <= LARGEST_INDEXED:
            for table, name in zip((TABLES[0], TABLES[-1]), NEAREST_INDEXES, strict=True):
                await self._build(name, f"ON {table} USING hnsw (embedding_next vector_cosine_ops) {CAREFUL} WHERE ann")

    async def swap(self) -> None:
        """Put the new columns in the place of the old ones, with their indexes, all at once."""
        changes: list[sql.Composed | sql.SQL] = []
        for table in TABLES:
            changes.append(sql.SQL("ALTER TABLE {} DROP COLUMN embedding").format(sql.Identifier(table)))
            rename = "ALTER TABLE {} RENAME COLUMN embedding_next TO embedding"
            changes.append(sql.SQL(rename).format(sql.Identifier(table)))
        for name in (*DUE_INDEXES, *NEAREST_INDEXES):
            rename = "ALTER INDEX IF EXISTS {} RENAME TO {}"
            changes.append(sql.SQL(rename).format(sql.Identifier(f"{name}_next"), sql.Identifier(name)))
        changes += [
            sql.SQL("DELETE FROM embedding_models WHERE state = 'active'"),
            sql.SQL("UPDATE embedding_models SET state = 'active', since = now() WHERE state = 'next'"),
            sql.SQL("DELETE FROM embedding_parts WHERE embedding IS NULL"),
            sql.SQL("DELETE FROM memory_retrieval_cache"),
        ]
        await self._patiently(changes)

    async def _build(self, name: str, definition: str) -> None:
        """An index that was being built when its builder died is of no use."""
        valid = await self._value("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", f"{name}_next")
        if valid is False:
            await self._connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(f"{name}_next")))
        if not valid:
            await self._connection.execute(f"CREATE INDEX CONCURRENTLY {name}_next {definition}".encode())

    async def _value(self, query: str, *parameters: object) -> Any:
        row = await (await self._connection.execute(query.encode(), parameters)).fetchone()
        return row[0] if row else None

    async def _patiently(self, changes: Sequence[sql.Composed | sql.SQL]) -> None:
        """Make the changes at once, between the transactions of the others."""
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


@asynccontextmanager
async def switching(database: Database) -> AsyncIterator[Switch]:
    """A connection of its own, since indexes are built outside of transactions; Conflict if another process has it."""
    with translated():
        async with await database.connect() as connection:
            with connection.unhurried():  # an index takes as long as it takes
                free = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", (SWITCHING,))).fetchone()
                if free != (True,):
                    raise Conflict("another process is changing the embedding model of this database right now")
                try:
                    yield Switch(connection)
                finally:
                    # By word, since a server may notice late that a connection is gone; and if it is, it has noticed.
                    with suppress(psycopg.OperationalError):
                        await connection.execute("SELECT pg_advisory_unlock(%s)", (SWITCHING,))
