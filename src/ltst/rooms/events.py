"""Events: the ledger of every change, to which rows are only ever added; never a content in clear."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ltst.db.pool import Executor, SingleCall
from ltst.errors import ForeignCursor
from ltst.records import Changes, Event

ANOTHER_LEDGER = "this cursor is not of this ledger: the database was restored from a backup, or is another one"
AT_ONCE = 10_000
NAMES = ("action", "noun", "row_id", "details")


class LedgerPlace(NamedTuple):
    """A place in the ledger: an event's number, with its epoch and its position where they are known."""

    event_id: int
    epoch: int | None = None
    position: int | None = None


class Told(NamedTuple):
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


async def list_all(calls: SingleCall, place: LedgerPlace, *, limit: int, settled: bool = False) -> list[Event]:
    """Returns the events of the user that follow one, oldest first.

    `settled` ones have no earlier one that is yet to come.
    """
    return await _follow(calls.settled(calls.scope.user_id) if settled else calls, "events.list", place, limit)


async def list_of_all(calls: SingleCall, place: LedgerPlace, *, limit: int) -> list[Event]:
    """Returns the settled events of all users that follow one, oldest first."""
    return await _follow(calls.settled(None), "events.list_of_all", place, limit)


async def last(calls: SingleCall) -> str:
    """Returns the cursor of the last settled event of all users."""
    return str(await calls.settled(None).value("events.last"))


async def changed(calls: SingleCall, place: LedgerPlace) -> Changes | None:
    """Returns whose settled events follow a place, and the cursor of the last of them; None if nobody's do."""
    asked = {"epoch": place.epoch or 0, "position": place.position or 0, "after": place.event_id, "limit": AT_ONCE}
    (found,) = await calls.settled(None).dicts("events.changed", **asked)
    return None if found["cursor"] is None else Changes(found["cursor"], frozenset(found["user_ids"]))


async def _follow(calls: SingleCall, query: str, place: LedgerPlace, limit: int) -> list[Event]:
    asked = {"epoch": place.epoch, "position": place.position, "after": place.event_id, "limit": limit}
    found = await calls.dicts(query, **asked)
    if not found:
        newest = await calls.value("events.newest_epoch")
        raise ForeignCursor(ANOTHER_LEDGER, go_on=f"{newest}-0-0")
    return [Event(**each) for each in found if each["event_id"] is not None]
