"""What must hold in the database after servers were killed: acknowledged turns are whole, others are no worse."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import psycopg

MESSAGES = b"""
SELECT user_id, session_id, message_index, message_id::text, role, content, parent_message_id::text
FROM conversation_messages ORDER BY user_id, session_id, message_index
"""


class Acknowledged(NamedTuple):
    """A turn that a client was told of: what was said and answered, and the ids of both."""

    user_id: str
    chat_id: str
    message_id: str
    reply_id: str
    said: str
    reply: str


class Stored(NamedTuple):
    """A message as the database has it."""

    user_id: str
    session_id: str
    message_index: int
    message_id: str
    role: str
    content: str
    parent: str | None


def check(
    connection: psycopg.Connection[tuple[object, ...]], acknowledged: Sequence[Acknowledged]
) -> tuple[int, list[str]]:
    """How many acknowledged turns are missing, and a sentence for everything else that is wrong."""
    stored = [Stored(*row) for row in connection.execute(MESSAGES).fetchall()]  # type: ignore[arg-type]
    by_id = {each.message_id: each for each in stored}
    present = [each for each in acknowledged if each.message_id in by_id and each.reply_id in by_id]
    problems = [*_changed(present, by_id), *_disordered(present, by_id), *_halves(stored, by_id), *_numbers(stored)]
    return len(acknowledged) - len(present), [*problems, *_repeated(stored, acknowledged)]


def _changed(present: Sequence[Acknowledged], by_id: Mapping[str, Stored]) -> Iterator[str]:
    for each in present:
        message, reply = by_id[each.message_id], by_id[each.reply_id]
        place = (each.user_id, each.chat_id)
        if (*message[:2], message.role, message.content) != (*place, "human", each.said):
            yield f"the message of {each} is stored as {message}"
        if (*reply[:2], reply.role, reply.content, reply.parent) != (*place, "ai", each.reply, each.message_id):
            yield f"the reply of {each} is stored as {reply}"


def _disordered(present: Sequence[Acknowledged], by_id: Mapping[str, Stored]) -> Iterator[str]:
    """A client says the next only when it has the answer, so that is their order in the chat too."""
    last: dict[tuple[str, str], int] = defaultdict(int)
    for each in present:
        place = (each.user_id, each.chat_id)
        indexes = (last[place], by_id[each.message_id].message_index, by_id[each.reply_id].message_index)
        if not indexes[0] < indexes[1] < indexes[2]:
            yield f"{each} is out of order: {indexes}"
        last[place] = indexes[2]


def _halves(stored: Sequence[Stored], by_id: Mapping[str, Stored]) -> Iterator[str]:
    replies = Counter(each.parent for each in stored if each.role == "ai")
    for each in (each for each in stored if each.role == "ai"):
        said = by_id.get(each.parent or "")
        if said is None or said[:2] != each[:2] or said.role != "human" or said.message_index >= each.message_index:
            yield f"{each} answers nothing that stands before it"
    yield from (f"message {parent} has {times} replies" for parent, times in replies.items() if times > 1)


def _numbers(stored: Sequence[Stored]) -> Iterator[str]:
    chats: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in stored:
        chats[each.user_id, each.session_id].append(each.message_index)
    for place, indexes in chats.items():
        if indexes != [*range(1, len(indexes) + 1)]:
            yield f"the indexes of {place} are not 1 to {len(indexes)}: {indexes}"


def _repeated(stored: Sequence[Stored], acknowledged: Sequence[Acknowledged]) -> Iterator[str]:
    # No client says the same twice, but for repetitions under one key, which must have no effect.
    said = Counter((each.user_id, each.content) for each in stored if each.role == "human")
    yield from (f"stored {times} times: {content}" for content, times in said.items() if times > 1)
    told = Counter(each.message_id for each in acknowledged)
    yield from (f"acknowledged {times} times: {message_id}" for message_id, times in told.items() if times > 1)
