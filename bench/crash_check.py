"""What must hold in the database after a crash, whatever the moment it came at."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import psycopg

MESSAGES = b"""
SELECT message_id::text, session_id, message_index, content, content_hash
FROM conversation_messages WHERE user_id = %s ORDER BY session_id, message_index
"""
SESSIONS = b"SELECT session_id, session_length, last_index FROM conversation_sessions WHERE user_id = %s"
EVENTS = b"SELECT row_id FROM event_ledger WHERE user_id = %s AND noun = 'message' AND action = 'add'"


class Acknowledgement(NamedTuple):
    """What a client was told when its `add` returned, with the hash of what it had sent."""

    message_id: str
    session_id: str
    message_index: int
    sha256: str


class Stored(NamedTuple):
    """A message as the database has it."""

    message_id: str
    session_id: str
    message_index: int
    content: str
    content_hash: str


def check(
    connection: psycopg.Connection[tuple[object, ...]], user: str, acknowledged: Sequence[Acknowledgement]
) -> tuple[int, list[str]]:
    """How many acknowledged messages are missing, and a sentence for everything else that is wrong."""
    stored = [Stored(*row) for row in connection.execute(MESSAGES, (user,)).fetchall()]  # type: ignore[arg-type]
    by_id = {each.message_id: each for each in stored}
    present = [each for each in acknowledged if each.message_id in by_id]
    counters = {row[0]: row[1:] for row in connection.execute(SESSIONS, (user,)).fetchall()}
    events = Counter(str(row[0]) for row in connection.execute(EVENTS, (user,)).fetchall())
    problems = [
        *_changed(present, by_id),
        *_miscounted(stored, counters),
        *_repeated(stored, acknowledged),
        *_unrecorded(by_id, events),
    ]
    return len(acknowledged) - len(present), problems


def _changed(present: Sequence[Acknowledgement], by_id: Mapping[str, Stored]) -> Iterator[str]:
    for each in present:
        found = by_id[each.message_id]
        if (found.session_id, found.message_index) != (each.session_id, each.message_index):
            yield f"{each} is stored as {found.session_id} {found.message_index}"
        if not each.sha256 == found.content_hash == hashlib.sha256(found.content.encode()).hexdigest():
            yield f"{each} is not stored word for word"


def _miscounted(stored: Sequence[Stored], counters: Mapping[object, tuple[object, ...]]) -> Iterator[str]:
    for session_id, (length, last) in counters.items():
        indexes = [each.message_index for each in stored if each.session_id == session_id]
        if indexes != [*range(1, len(indexes) + 1)]:
            yield f"the indexes of {session_id} are not 1 to {len(indexes)}: {indexes}"
        if not length == last == len(indexes):
            yield f"{session_id} has {len(indexes)} messages, session_length {length}, last_index {last}"


def _repeated(stored: Sequence[Stored], acknowledged: Sequence[Acknowledgement]) -> Iterator[str]:
    # No client says the same twice, so words that are there twice were stored twice.
    for content, times in Counter(each.content for each in stored).items():
        if times > 1:
            yield f"stored {times} times: {content!r}"
    for message_id, times in Counter(each.message_id for each in acknowledged).items():
        if times > 1:
            yield f"acknowledged {times} times: {message_id}"


def _unrecorded(by_id: Mapping[str, Stored], events: Counter[str]) -> Iterator[str]:
    for message_id in by_id.keys() | events.keys():
        if events[message_id] != 1 or message_id not in by_id:
            there = "stored" if message_id in by_id else "not stored"
            yield f"message {message_id} is {there} and has {events[message_id]} events in the ledger"
