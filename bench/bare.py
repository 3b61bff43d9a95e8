"""The other side of the comparison: psycopg alone, writing the very rows that ltst writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count

import psycopg

from ltst.rooms import messages

Row = tuple[object, ...]

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


async def connect_async(dsn: str) -> psycopg.AsyncConnection[Row]:
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
