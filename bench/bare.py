"""The other side of the comparison: psycopg alone, writing the very rows that ltst writes and asking what it asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from ltst.db.pool import ENTER, TO_COMPARE
from ltst.db.queries import queries
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
LARGE = b"SELECT true FROM large_users WHERE user_id = %s AND ready"
MARKED = b"SELECT count(*) FROM conversation_messages WHERE user_id = %s AND ann"
VECTORS = (
    b"SELECT uuid_send(message_id), vector_send(embedding) FROM conversation_messages "
    b"WHERE user_id = %(user)s AND embedding IS NOT NULL "
    b"UNION ALL SELECT uuid_send(owner_id), vector_send(embedding) FROM embedding_parts WHERE user_id = %(user)s"
)
VECTOR_HEAD = 4  # bytes before the numbers
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
            draft = messages.draft(messages.Turn(self.session_id, "human", text(index), now, "{}", None, None))
            yield (
                USER,
                draft.message_id,
                draft.session_id,
                draft.role,
                draft.content,
                draft.content_hash,
                draft.context_hash,
                index,
                draft.key,
                draft.token_count,
                draft.metadata,
                draft.parent,
                draft.timestamp,
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


async def candidates(connection: AsyncConnection, user_id: str, parameters: Mapping[str, Any]) -> bytes:
    """The query that every search makes, in one round trip; the packed units that it finds."""
    async with connection.pipeline():
        await connection.execute(ENTER + TO_COMPARE, ("ltst_user", user_id))
        cursor = connection.cursor()
        await cursor.execute(queries()["search.candidates"], parameters, prepare=False, binary=True)
    (found,) = await cursor.fetchall()
    return bytes(found[0] or b"")


async def vectors(connection: AsyncConnection, user_id: str) -> tuple[Sequence[bytes], NDArray[np.float32]]:
    """The keys of a user's messages and their vectors, as they are stored; a long one has several."""
    cursor = connection.cursor(binary=True)
    await cursor.execute(VECTORS, {"user": user_id})
    ids, packed = zip(*await cursor.fetchall(), strict=True)
    return ids, np.array([np.frombuffer(each, ">f4", offset=VECTOR_HEAD) for each in packed], np.float32)
