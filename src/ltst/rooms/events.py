"""Events: an append-only ledger of every change, which never holds readable contents."""

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
    """A position in the ledger: an event's number, plus its epoch and position if known."""

    event_id: int
    epoch: int | None = None
    position: int | None = None


class Told(NamedTuple):
    """One of several changes to record at once."""

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
    """Returns the user's events after a place, oldest first.

    With `settled`, only events that no earlier one can still precede.
    """
    return await _follow(calls.settled(calls.scope.user_id) if settled else calls, "events.list", place, limit)


async def list_of_all(calls: SingleCall, place: LedgerPlace, *, limit: int) -> list[Event]:
    """Returns the settled events of all users after a place, oldest first."""
    return await _follow(calls.settled(None), "events.list_of_all", place, limit)


async def last(calls: SingleCall) -> str:
    """Returns the cursor of the last settled event of all users."""
    return str(await calls.settled(None).value("events.last"))


async def changed(calls: SingleCall, place: LedgerPlace) -> Changes | None:
    """Returns which users have settled events after a place, and the last cursor; None if there are none."""
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
