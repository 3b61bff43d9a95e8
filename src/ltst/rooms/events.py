"""Events: an append-only ledger of every change, which never holds readable contents."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ltst.db.pool import Database, Executor, SingleCall
from ltst.errors import ForeignCursor, Invalid
from ltst.records import Changes, Event

ANOTHER_LEDGER = "this cursor is not of this ledger: the database was restored from a backup, or is another one"
AT_ONCE = 10_000
NAMES = ("action", "noun", "row_id", "details")


class LedgerPlace(NamedTuple):
    """A position in the ledger: an event's number, plus its epoch and position if known."""

    event_id: int
    epoch: int | None = None
    position: int | None = None


# After every event.
END = LedgerPlace(0, 10**18 - 1, 0)
# What stands between the cursors of several places.
BETWEEN = "."


class NewEvent(NamedTuple):
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
    """Records a change, in the transaction that makes it."""
    await tx.run(
        "events.add",
        user_id=user_id or tx.scope.user_id,
        actor=actor,
        action=action,
        noun=noun,
        row_id=row_id,
        details=json.dumps(details or {}),
    )


async def add_many(tx: Executor, actor: str, changes: Sequence[NewEvent]) -> None:
    """Records many changes, in the transaction that makes them."""
    if changes:
        rows = json.dumps([{name: getattr(each, name) for name in NAMES} for each in changes])
        await tx.run("events.add_many", actor=actor, rows=rows)


async def list_all(calls: SingleCall, place: LedgerPlace, *, limit: int, settled: bool = False) -> list[Event]:
    """Returns the user's events after a place, oldest first.

    With `settled`, only events that no earlier one can still precede.
    """
    return await _follow(calls.settled(calls.scope.user_id) if settled else calls, "events.list", place, limit)


async def list_of_all(database: Database, after: Sequence[LedgerPlace], *, limit: int) -> list[Event]:
    """Returns the settled events of all users after a place, oldest first."""

    async def follow(place: Database, start: LedgerPlace) -> list[Event]:
        return await _follow(place.following().settled(None), "events.list_of_all", start, limit)

    starts = _starts(database, after)
    found = await asyncio.gather(*map(follow, database.places, starts))
    return _merged(found, [_cursor(start) for start in starts], limit, newest_first=False)


async def latest(
    database: Database, before: Sequence[LedgerPlace] | None, *, whose: str | None, limit: int
) -> list[Event]:
    """Returns the latest events of all users or of one, the newest first, before one."""

    async def read(place: Database, end: LedgerPlace) -> list[Event]:
        asked = {"whose": whose, "limit": limit, **end._asdict()}
        return await place.keeper().rows("events.latest", Event, **asked)

    ends = _starts(database, before or (END,))
    found = await asyncio.gather(*map(read, database.places, ends))
    return _merged(found, [_cursor(end) for end in ends], limit, newest_first=True)


async def last(database: Database) -> str:
    """Returns the cursor of the last settled event of all users."""

    async def ask(place: Database) -> str:
        return str(await place.following().settled(None).value("events.last"))

    return BETWEEN.join(await asyncio.gather(*map(ask, database.places)))


async def changed(database: Database, after: Sequence[LedgerPlace]) -> Changes | None:
    """Returns which users have settled events after a place, and the last cursor; None if there are none."""

    async def ask(place: Database, start: LedgerPlace) -> tuple[str | None, list[str]]:
        asked = {"epoch": start.epoch or 0, "position": start.position or 0, "after": start.event_id, "limit": AT_ONCE}
        (found,) = await place.following().settled(None).dicts("events.changed", **asked)
        return found["cursor"], found["user_ids"]

    starts = _starts(database, after)
    found = await asyncio.gather(*map(ask, database.places, starts))
    if all(cursor is None for cursor, _ in found):
        return None
    cursors = [cursor or _cursor(start) for (cursor, _), start in zip(found, starts, strict=True)]
    return Changes(BETWEEN.join(cursors), frozenset(user for _, users in found for user in users))


def _starts(database: Database, given: Sequence[LedgerPlace]) -> Sequence[LedgerPlace]:
    """Returns where to go on in the ledger of each place; one from before they were several holds for all of them."""
    places = len(database.places)
    if places > 1 and any(each.epoch is None and each.event_id for each in given):
        raise Invalid("this memory lies in several places, whose numbers differ: name an event by its cursor, or 0")
    if len(given) not in (1, places):
        raise ForeignCursor(ANOTHER_LEDGER, go_on=BETWEEN.join(["0-0-0"] * places))
    return given if len(given) == places else [*given] * places


def _merged(found: Sequence[list[Event]], reached: list[str], limit: int, *, newest_first: bool) -> list[Event]:
    """Returns the events of all places by their moments; the cursor of each tells how far every place was read."""
    if len(found) == 1:
        return found[0]
    numbered = ([(place, event) for event in events] for place, events in enumerate(found))
    ordered = heapq.merge(*numbered, key=lambda each: each[1].occurred_at, reverse=newest_first)
    merged = []
    for place, event in itertools.islice(ordered, limit):
        reached[place] = event.cursor
        merged.append(replace(event, cursor=BETWEEN.join(reached)))
    return merged


def _cursor(place: LedgerPlace) -> str:
    return f"{place.epoch or 0}-{place.position or 0}-{place.event_id}"


async def _follow(calls: SingleCall, query: str, place: LedgerPlace, limit: int) -> list[Event]:
    asked = {"epoch": place.epoch, "position": place.position, "after": place.event_id, "limit": limit}
    found = await calls.dicts(query, **asked)
    if not found:
        newest = await calls.value("events.newest_epoch")
        raise ForeignCursor(ANOTHER_LEDGER, go_on=f"{newest}-0-0")
    return [Event(**each) for each in found if each["event_id"] is not None]
