"""The other side of the comparison: psycopg alone, writing the very rows that ltst writes and reading them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from numpy.typing import NDArray

from ltst.records import ConversationMessage
from ltst.rooms import messages

Row = tuple[Any, ...]
AsyncConnection = psycopg.AsyncConnection[Row]

USER = "bare"
COLUMNS = (
    "user_id, message_id, session_id, role, content, content_hash, context_hash, message_index, message_key, "
    "token_count, metadata, parent_message_id, timestamp, created_at"
)
INSERT = (
    f"INSERT INTO conversation_messages ({COLUMNS}) "
    "VALUES (%s, %s::uuid, %s, %s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s::uuid, %s, %s)"
).encode()
COPY = f"COPY conversation_messages ({COLUMNS}) FROM STDIN".encode()
WINDOW = (
    f"SELECT {COLUMNS}, message_type, relevance_score, is_context_message FROM conversation_messages "
    "WHERE user_id = %s AND session_id = %s ORDER BY message_index DESC LIMIT %s"
).encode()
# Where the vectors of messages lie; those named BEFORE are for a schema that had no table for them.
VECTORS = """
    SELECT row_id AS id, embedding FROM search_units JOIN search_vectors USING (user_id, unit_no)
    WHERE user_id = %(user)s AND kind = 'message'
"""
VECTORS_BEFORE = """
    SELECT message_id AS id, embedding FROM conversation_messages
    WHERE user_id = %(user)s AND embedding IS NOT NULL
    UNION ALL
    SELECT owner_id, embedding FROM embedding_parts WHERE user_id = %(user)s
"""
LARGE = b"SELECT EXISTS (SELECT FROM search_users WHERE user_id = %s AND ready)"
LARGE_BEFORE = b"SELECT EXISTS (SELECT FROM large_users WHERE user_id = %s AND ready)"
# Where there is an index, no other way may be left: an exact one would find everything, and nothing would be measured.
TO_COMPARE = b"""
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '320', true),
           set_config('hnsw.max_scan_tuples', '1000000', true), set_config('jit', 'off', true),
           set_config('enable_sort', (NOT %s::boolean)::text, true)
"""
DEPTH = 100  # vectors that are looked at, of which several may be of one message
NEAREST = b"""
    WITH near AS MATERIALIZED (
        SELECT unit_no, embedding::halfvec(384) <=> %(vector)s::halfvec(384) AS far FROM search_vectors
        WHERE user_id = %(user)s AND ann = %(large)s AND model = 1
        ORDER BY embedding::halfvec(384) <=> %(vector)s::halfvec(384) LIMIT %(depth)s)
    SELECT row_id FROM near JOIN search_units USING (unit_no) WHERE user_id = %(user)s AND kind = 'message'
    GROUP BY row_id ORDER BY min(far) LIMIT %(limit)s
"""
NEAREST_BEFORE = b"""
    WITH near AS MATERIALIZED (
        SELECT message_id, embedding <=> %(vector)s::vector AS far FROM conversation_messages
        WHERE user_id = %(user)s AND ann = %(large)s ORDER BY embedding <=> %(vector)s::vector LIMIT %(depth)s)
    SELECT message_id FROM near ORDER BY far LIMIT %(limit)s
"""
VECTOR_HEAD = 4  # bytes before the numbers
# What searches read: tables of their own, columns of terms in others, and indexes of vectors.
INDEX_TABLES = rb"""
    SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname ~ '^(search_|embedding_parts$)'
"""
HNSW = rb"""
    SELECT coalesce(sum(pg_relation_size(indexrelid)), 0) FROM pg_index
    JOIN pg_class AS index ON index.oid = indexrelid JOIN pg_class AS indexed ON indexed.oid = indrelid
    JOIN pg_am ON pg_am.oid = index.relam AND amname = 'hnsw'
    WHERE indexed.relnamespace = current_schema()::regnamespace AND indexed.relname !~ '^(search_|embedding_parts$)'
"""
COLUMNS_NAMED = rb"""
    SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND column_name = %s
      AND table_name !~ '^(search_|embedding_parts$)'
"""
SESSION = b"INSERT INTO conversation_sessions (user_id, session_id) VALUES (%s, %s)"

SENTENCE = (
    "I moved to Lisbon in March and have been looking for a coach who knows how to train for a trail run of fifty "
    "kilometres without hurting the knee that gave me trouble last autumn after the long descent near Sintra"
)
WORDS = SENTENCE.split()


def text(number: int) -> str:
    """A turn of a conversation, about as long as people write; no two are the same."""
    shift = number % len(WORDS)
    return f"{number}: {' '.join(WORDS[shift:] + WORDS[:shift])}"


def connect(dsn: str) -> psycopg.Connection[Row]:
    """A connection with the settings that ltst's own have."""
    return psycopg.connect(dsn, autocommit=True, prepare_threshold=None)


async def connect_async(dsn: str) -> AsyncConnection:
    """The same, for code that awaits."""
    return await psycopg.AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=None)


class Session:
    """A session of the bare side, which numbers its own messages as nobody else writes to it."""

    def __init__(self, connection: psycopg.Connection[Row], session_id: str) -> None:
        connection.execute(SESSION, (USER, session_id))
        self.session_id = session_id
        self._indexes = count(1)

    def rows(self, amount: int) -> list[Row]:
        """The next rows, complete, so that the clock sees only what the database does with them."""
        return [*self._rows(amount)]

    def _rows(self, amount: int) -> Iterator[Row]:
        for _ in range(amount):
            index, now = next(self._indexes), datetime.now(UTC)
            made = messages.completed(ConversationMessage(self.session_id, "human", text(index), timestamp=now))
            yield (
                USER,
                made.message_id,
                made.session_id,
                made.role,
                made.content,
                made.content_hash,
                made.context_hash,
                index,
                made.message_key,
                made.token_count,
                "{}",
                made.parent_message_id,
                made.timestamp,
                now,
            )


def copy(connection: psycopg.Connection[Row], rows: Sequence[Row]) -> None:
    """Write many rows in the fastest way that Postgres has."""
    with connection.cursor() as cursor, cursor.copy(COPY) as writer:
        for row in rows:
            writer.write_row(row)


async def window(connection: AsyncConnection, user_id: str, session_id: str, limit: int) -> list[Row]:
    """The newest messages, as the driver gives them."""
    cursor = await connection.execute(WINDOW, (user_id, session_id, limit))
    return (await cursor.fetchall())[::-1]


async def nearest(connection: AsyncConnection, user_id: str, vector: str, limit: int) -> list[UUID]:
    """The messages that ltst's own vectors find, by way of the index where the user has so many; the nearest first."""
    return [each for (each,) in await _compared(connection, user_id, vector, limit)]


async def by_index(connection: AsyncConnection, user_id: str, vector: str) -> bool:
    """Whether `nearest` asks the index."""
    plan = await _compared(connection, user_id, vector, 1, b"EXPLAIN ")
    return any("Index Scan using" in line and "_embedding" in line for (line,) in plan)


async def _compared(
    connection: AsyncConnection, user_id: str, vector: str, limit: int, before: bytes = b""
) -> list[Row]:
    query, of_size = (NEAREST, LARGE) if await _has_units(connection) else (NEAREST_BEFORE, LARGE_BEFORE)
    large = await one(connection, of_size, (user_id,))
    wanted = {"user": user_id, "vector": vector, "limit": limit, "depth": DEPTH, "large": large}
    async with connection.transaction():
        await connection.execute(TO_COMPARE, (large,))
        return await (await connection.execute(before + query, wanted)).fetchall()


async def vectors(connection: AsyncConnection, user_id: str) -> tuple[Sequence[UUID], NDArray[np.float32]]:
    """The keys of a user's messages and their vectors, as they are stored; a long one has several."""
    cursor = connection.cursor(binary=True)
    query = f"SELECT id, vector_send(embedding::vector) FROM ({await stored(connection)}) AS stored"
    await cursor.execute(query.encode(), {"user": user_id})
    ids, packed = zip(*await cursor.fetchall(), strict=True)
    return ids, np.array([np.frombuffer(each, ">f4", offset=VECTOR_HEAD) for each in packed], np.float32)


async def stored(connection: AsyncConnection) -> str:
    """The query for the keys of a user's messages and their vectors."""
    return VECTORS if await _has_units(connection) else VECTORS_BEFORE


async def index_bytes(connection: AsyncConnection) -> int:
    """What the index takes on the disk, with what belongs to it in other tables but their vectors."""
    tables = await one(connection, INDEX_TABLES) + await one(connection, HNSW)
    return int(tables) + await column_bytes(connection, "terms")


async def column_bytes(connection: AsyncConnection, column: str) -> int:
    """What all columns of a name take, outside of the index."""
    tables = await (await connection.execute(COLUMNS_NAMED, (column,))).fetchall()
    sizes = [f"SELECT coalesce(sum(pg_column_size({column})), 0) FROM {table}".encode() for (table,) in tables]
    return sum([int(await one(connection, each)) for each in sizes])


async def one(connection: AsyncConnection, query: bytes, parameters: Sequence[object] = ()) -> Any:
    """The only value of the only row."""
    row = await (await connection.execute(query, parameters or None)).fetchone()
    assert row is not None
    return row[0]


async def _has_units(connection: AsyncConnection) -> bool:
    """Whether vectors have a table of their own; before, they were columns of what they belong to."""
    return bool(await one(connection, b"SELECT to_regclass('search_vectors') IS NOT NULL"))
