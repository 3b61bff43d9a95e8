"""Statements: what the user said about their life, stored as spans of messages; the text stays in the messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.records import NewStatement, Statement
from ltst.support.ids import new_id

COMPARED_LENGTH = 400  # characters of a message used for comparison


class StatementInMessage(NamedTuple):
    """A statement with the message that contains it."""

    message_id: str
    stated: NewStatement


class ComparedStatement(NamedTuple):
    """A statement for comparison with another one, and the similarity of their vectors."""

    statement_id: str
    message_id: str
    content: str
    kind: str
    said_at: datetime
    position: int
    start_at: int
    nearness: float


class ComparedMessage(NamedTuple):
    """A message for comparison with another one, and the similarity of their vectors."""

    message_id: str
    content: str
    session_id: str
    said_at: datetime
    position: int
    nearness: float


async def add(tx: Executor, spans: Iterable[StatementInMessage]) -> list[str]:
    """Stores statements except spans that are known or were rejected; returns the ids of new ones."""
    found = [*spans]
    if not found:
        return []
    # Ids in the order of the statements: they decide which of two simultaneous ones counts as the later one.
    ids = sorted(new_id() for _ in found)
    rows = [_row(each, statement_id) for each, statement_id in zip(found, ids, strict=True)]
    return await tx.values("statements.add", rows=json.dumps(rows))


async def list_all(
    tx: Executor, *, about: str | None, kind: str | None, current: bool | None, session_id: str | None, limit: int
) -> list[Statement]:
    """Returns statements that were not rejected, newest first; `current` selects those that still hold, or do not."""
    return await tx.rows(
        "statements.list", Statement, about=about, kind=kind, current=current, session_id=session_id, limit=limit
    )


async def in_messages(tx: Executor, message_ids: Iterable[str]) -> list[Statement]:
    """Returns the statements in these messages that were not rejected, oldest first."""
    wanted = [*message_ids]
    if not wanted:
        return []
    return await tx.rows("statements.in_messages", Statement, message_ids=wanted)


async def nearest(tx: Executor, given: ComparedStatement, *, later: bool, limit: int) -> list[ComparedStatement]:
    """Returns the nearest statements made before this one; with `later`, those after it that were already compared."""
    return await tx.rows(
        "statements.nearest",
        ComparedStatement,
        statement_id=given.statement_id,
        position=given.position,
        later=later,
        limit=limit,
    )


async def supersede(tx: Executor, older: str, newer: str) -> bool:
    """Marks a statement as replaced by a newer one unless an earlier one replaced it; returns whether it did."""
    return bool(await tx.run("statements.supersede", older=older, newer=newer))


async def telling(tx: Executor, message_ids: Sequence[str]) -> list[ComparedMessage]:
    """Returns those of the messages that are still there, in the form used for comparison."""
    return await tx.rows("statements.telling", ComparedMessage, message_ids=[*message_ids], length=COMPARED_LENGTH)


async def nearest_telling(tx: Executor, message_id: str, *, later: bool, limit: int) -> list[ComparedMessage]:
    """Returns the nearest messages with statements before this one; with `later`, already compared ones after it."""
    return await tx.rows(
        "statements.nearest_telling",
        ComparedMessage,
        message_id=message_id,
        later=later,
        limit=limit,
        length=COMPARED_LENGTH,
    )


async def doubt(tx: Executor, doubts: Mapping[str, tuple[float, str]]) -> None:
    """Records how likely messages were replaced, and by which, unless another one is a likelier replacement."""
    if doubts:
        likely, newer = zip(*doubts.values(), strict=True)
        await tx.run("statements.doubt", older=[*doubts], doubts=[*likely], newer=[*newer])


def _row(span: StatementInMessage, statement_id: str) -> dict[str, Any]:
    times = {"since": span.stated.since, "until": span.stated.until}
    written = {name: moment and moment.isoformat() for name, moment in times.items()}
    return {**asdict(span.stated), **written, "statement_id": statement_id, "message_id": span.message_id}
