"""Events: the ledger of every change, to which rows are only ever added; never a content in clear."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltst.db.pool import Executor
from ltst.errors import ForeignCursor
from ltst.records import Changes, Event

ANOTHER_LEDGER = "this cursor is not of this ledger: the database was restored from a backup, or is another one"
AT_ONCE = 10_000
NAMES = ("action", "noun", "row_id", "details")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the ledger: an event's number, with its epoch and its transaction where they are known."""

    event_id: int
    epoch: int | None = None
    xact: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """One of many changes that are made at once."""

    action: str
    noun: str
    row_id: str
    details: Mapping[str, Any]


async def add(
    tx: Executor,
    actor: str,
    action: str,
    noun: str,
    row_id: str,
    details: Mapping[str, Any] | None = None,
    *,
    user_id: str | None = None,
) -> None:
    """Record a change, in the transaction that makes it."""
    await tx.run(
        "events.add",
        user_id=user_id or tx.scope.user_id,
        actor=actor,
        action=action,
        noun=noun,
        row_id=row_id,
        details=json.dumps(details or {}),
    )


async def add_many(tx: Executor, actor: str, changes: Sequence[Told]) -> None:
    """Record many changes, in the transaction that makes them."""
    if changes:
        rows = json.dumps([{name: getattr(each, name) for name in NAMES} for each in changes])
        await tx.run("events.add_many", actor=actor, rows=rows)


async def list_all(tx: Executor, place: Place, *, limit: int, settled: bool = False) -> list[Event]:
    """Returns the events of the user that follow one, oldest first.

    `settled` ones have no earlier one that is yet to come.
    """
    return await _follow(tx, "events.list", place, limit, settled=settled)


async def list_of_all(tx: Executor, place: Place, *, limit: int) -> list[Event]:
    """Returns the settled events of all users that follow one, oldest first."""
    return await _follow(tx, "events.list_of_all", place, limit)


async def last(tx: Executor) -> str:
    """Returns the cursor of the last settled event of all users."""
    return str(await tx.value("events.last"))


async def changed(tx: Executor, place: Place) -> Changes | None:
    """Returns whose settled events follow a place, and the cursor of the last of them; None if nobody's do."""
    asked = {"epoch": place.epoch or 0, "xact": place.xact or "0", "after": place.event_id, "limit": AT_ONCE}
    (found,) = await tx.dicts("events.changed", **asked)
    return None if found["cursor"] is None else Changes(found["cursor"], frozenset(found["user_ids"]))


async def _follow(tx: Executor, query: str, place: Place, limit: int, **asked: Any) -> list[Event]:
    found = await tx.dicts(query, epoch=place.epoch, xact=place.xact, after=place.event_id, limit=limit, **asked)
    if not found:
        newest = await tx.value("events.newest_epoch")
        raise ForeignCursor(ANOTHER_LEDGER, go_on=f"{newest}-0-0")
    return [Event(**each) for each in found if each["event_id"] is not None]
