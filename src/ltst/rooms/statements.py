"""Statements: what the user said of their life, as spans of their messages; the words stay in the messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.records import Stated, Statement
from ltst.support.ids import new_id

COMPARED_LENGTH = 400  # characters of a message that are compared with another


class SpanOf(NamedTuple):
    """A statement with the message that it stands in."""

    message_id: str
    stated: Stated


class Compared(NamedTuple):
    """A statement as it is compared with another, and how near its vector is to that one's."""

    statement_id: str
    message_id: str
    content: str
    kind: str
    said_at: datetime
    position: int
    start_at: int
    nearness: float


class Telling(NamedTuple):
    """A message that states something, as it is compared with another, and how near its vector is to that one's."""

    message_id: str
    content: str
    session_id: str
    said_at: datetime
    position: int
    nearness: float


async def add(tx: Executor, spans: Iterable[SpanOf]) -> list[str]:
    """Keep statements; a span that is known, or was rejected, is not kept again; return the ids of new ones."""
    found = [*spans]
    if not found:
        return []
    # Ids in the order of saying, which decides where two things are said at the same moment.
    ids = sorted(new_id() for _ in found)
    rows = [_row(each, statement_id) for each, statement_id in zip(found, ids, strict=True)]
    return await tx.values("statements.add", rows=json.dumps(rows))


async def list_all(
    tx: Executor, *, about: str | None, kind: str | None, current: bool | None, session_id: str | None, limit: int
) -> list[Statement]:
    """Return what was stated and not rejected, the newest first; with `current` what holds, or what does not."""
    return await tx.rows(
        "statements.list", Statement, about=about, kind=kind, current=current, session_id=session_id, limit=limit
    )


async def in_messages(tx: Executor, message_ids: Iterable[str]) -> list[Statement]:
    """Return what stands in these messages and was not rejected, in the order of saying."""
    wanted = [*message_ids]
    if not wanted:
        return []
    return await tx.rows("statements.in_messages", Statement, message_ids=wanted)


async def nearest(tx: Executor, given: Compared, *, later: bool, limit: int) -> list[Compared]:
    """Return the nearest that were said before a statement, or after it and compared already."""
    return await tx.rows(
        "statements.nearest",
        Compared,
        statement_id=given.statement_id,
        position=given.position,
        later=later,
        limit=limit,
    )


async def supersede(tx: Executor, older: str, newer: str) -> bool:
    """Let one take the place of another, unless something said before it did; return whether it does."""
    return bool(await tx.run("statements.supersede", older=older, newer=newer))


async def telling(tx: Executor, message_id: str) -> Telling | None:
    """Return a message that states something, as it is compared; None when it is gone."""
    return await tx.row("statements.telling", Telling, message_id=message_id, length=COMPARED_LENGTH)


async def nearest_telling(tx: Executor, message_id: str, *, later: bool, limit: int) -> list[Telling]:
    """Return the messages before one, or compared ones after it, that state something: the nearest first."""
    return await tx.rows(
        "statements.nearest_telling", Telling, message_id=message_id, later=later, limit=limit, length=COMPARED_LENGTH
    )


async def doubt(tx: Executor, newer: str, older: Mapping[str, float]) -> None:
    """Note how likely a message took the place of what others before it state, where nothing is likelier to have."""
    if older:
        await tx.run("statements.doubt", newer=newer, older=[*older], doubts=[*older.values()])


def _row(span: SpanOf, statement_id: str) -> dict[str, Any]:
    times = {"since": span.stated.since, "until": span.stated.until}
    written = {name: moment and moment.isoformat() for name, moment in times.items()}
    return {**asdict(span.stated), **written, "statement_id": statement_id, "message_id": span.message_id}
