"""Facts about the user or other people over time; a correction ends a value instead of deleting it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.errors import Conflict
from ltst.records import Fact
from ltst.support.ids import new_id
from ltst.support.text import normalised
from ltst.support.timeline import Mention, Period, periods, same


class FoldedKey(NamedTuple):
    """The result of recomputing a key: the fact derived from each claim, and the facts that changed or were removed."""

    rests: Mapping[str, str | None]
    changed: Sequence[str]
    gone: Sequence[str]


async def set(
    tx: Executor,
    key: str,
    value: str,
    *,
    about: str,
    confidence: float,
    source_message_id: str | None,
    valid_from: datetime | None,
    single_valued: bool = True,
) -> tuple[str, bool]:
    """Stores a value set by hand; returns its id and whether it is new. It takes effect at the key's next `fold`."""
    await lock(tx, key)
    await _refuse_rejected(tx, key, about, value)
    # The database's clock, because clients' clocks differ and the later of two writes must get the later time.
    valid_from = valid_from or await tx.value("facts.now")
    sure = {"confidence": confidence, "source_message_id": source_message_id}
    for current in await at(tx, key, about, valid_from):
        if current.fact_value == value:
            await tx.run("facts.confirm", fact_id=current.fact_id, **sure)
            return current.fact_id, False
    new = {"key": key, "about": about, "value": value, "valid_from": valid_from, "rejected_at": None}
    added = await tx.one("facts.add", Fact, fact_id=new_id(), **new, **sure, single_valued=single_valued)
    return added.fact_id, True


async def fold(tx: Executor, key: str, about: str, said: Sequence[Mention], *, single_valued: bool) -> FoldedKey:
    """Recomputes a key's values from all claims and all values set by hand, and writes what changed."""
    await lock(tx, key)
    known = await history(tx, key, about)
    living = [fact for fact in known if fact.rejected_at is None]
    single_valued = single_valued and all(fact.single_valued for fact in living)
    by_hand = [_by_hand(fact) for fact in living if not fact.learned]
    rejected = [fact.fact_value for fact in known if fact.rejected_at is not None]
    line = periods([*by_hand, *said], rejected, single_valued=single_valued)
    placed = _placed(line, [fact for fact in living if fact.learned])
    rows = _rows(key, about, placed, living, single_valued=single_valued)
    changed, gone = await _write(tx, key, living, rows)
    rests = {each.id: str(row["fact_id"]) for row, period in rows for each in period.mentions if not each.by_hand}
    return FoldedKey({each.id: rests.get(each.id) for each in said}, changed, gone)


async def end(tx: Executor, key: str, about: str, value: str | None, moment: datetime) -> list[str]:
    """Ends one value or all values of a key; returns the ids of those facts. The key must be folded afterwards."""
    await lock(tx, key)
    over = [fact for fact in await at(tx, key, about, moment) if value is None or same(fact.fact_value, value)]
    ids = [fact.fact_id for fact in over]
    await tx.run("facts.end", fact_ids=ids, ended_at=moment)
    return ids


async def at(tx: Executor, key: str, about: str, moment: datetime | None) -> list[Fact]:
    """Returns every value of a key that is valid at a moment (default: now), ordered by start."""
    return await tx.rows("facts.at", Fact, key=key, about=about, moment=moment)


async def get(tx: Executor, key: str, about: str, moment: datetime | None) -> Fact | None:
    """Returns the fact that is valid at a moment (default: now), the latest if there are several."""
    found = await at(tx, key, about, moment)
    return found[-1] if found else None


async def list_all(tx: Executor, moment: datetime | None, about: str | None = None) -> list[Fact]:
    """Returns the facts valid at a moment (default: now) about a person or everyone: the user's first, each by key."""
    return await tx.rows("facts.at", Fact, key=None, about=about, moment=moment)


async def history(tx: Executor, key: str, about: str) -> list[Fact]:
    """Returns every value a key ever had, including rejected ones, oldest first."""
    return await tx.rows("facts.history", Fact, key=key, about=about)


async def reject(tx: Executor, key: str, about: str, value: str, now: datetime) -> list[Fact]:
    """Rejects a value for good; the next `fold` of the key restores the value that it had replaced."""
    await lock(tx, key)
    known = [fact for fact in await history(tx, key, about) if same(fact.fact_value, value)]
    struck = await _strike(tx, [fact for fact in known if fact.rejected_at is None], now)
    if not known:
        # Stored although it was never a fact, so that it is not learned later.
        new = {"key": key, "about": about, "value": value, "valid_from": now, "rejected_at": now}
        unsure = {"confidence": 0.0, "source_message_id": None, "single_valued": True}
        struck = [await tx.one("facts.add", Fact, fact_id=new_id(), **new, **unsure)]
    return struck


async def mend(tx: Executor, key: str, about: str) -> None:
    """Marks values as rejected that were rejected here or in the imported facts, after an import."""
    await lock(tx, key)
    known = await history(tx, key, about)
    rejected = {normalised(fact.fact_value): fact.rejected_at for fact in known if fact.rejected_at}
    for fact in known:
        since = rejected.get(normalised(fact.fact_value))
        if since is not None and fact.rejected_at is None:
            await _strike(tx, [fact], since)


def closed(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns imported facts with open ones closed: two open values of a key would violate a constraint."""
    return [
        row
        if row.get("rejected_at") or row.get("valid_to") or not row.get("single_valued", True)
        else {**row, "valid_to": row["valid_from"]}
        for row in rows
    ]


async def forget(tx: Executor, key: str, about: str) -> int:
    """Deletes all values of a key, including rejected ones; returns how many there were."""
    await lock(tx, key)
    return await tx.run("facts.forget", key=key, about=about)


async def drop(tx: Executor, key: str, about: str, value: str) -> int:
    """Deletes one value of a key and returns how many facts had it. The key must be folded afterwards."""
    await lock(tx, key)
    gone = [fact.fact_id for fact in await history(tx, key, about) if same(fact.fact_value, value)]
    return await tx.run("facts.remove", fact_ids=gone)


async def lock(tx: Executor, key: str) -> None:
    """Locks a key until the transaction ends, even if it has no row yet."""
    await tx.value("facts.lock", key=key)


async def _refuse_rejected(tx: Executor, key: str, about: str, value: str) -> None:
    for fact in await history(tx, key, about):
        if fact.rejected_at is not None and same(fact.fact_value, value):
            raise Conflict(
                f"this value of {key!r} was rejected on {fact.rejected_at:%Y-%m-%d} and is not learnt again; "
                "forget the key to begin anew"
            )


async def _strike(tx: Executor, rejected: Sequence[Fact], now: datetime) -> list[Fact]:
    ids = [fact.fact_id for fact in rejected]
    return await tx.rows("facts.reject", Fact, fact_ids=ids, rejected_at=now)


def _by_hand(fact: Fact) -> Mention:
    return Mention(
        fact.fact_id,
        fact.fact_value,
        fact.valid_from,
        fact.recorded_at,
        until=fact.ended_at,
        by_hand=True,
        confidence=fact.confidence,
        source=fact.source_message_id,
    )


def _placed(line: Sequence[Period], learned: Sequence[Fact]) -> list[tuple[str, Period]]:
    """Assigns an id to each period, reusing those of facts set by hand and of learned facts with the same value."""
    left = [*learned]
    placed = []
    for period in line:
        known = next((fact for fact in left if fact.fact_value == period.value), None)
        if period.by_hand is not None:
            placed.append((period.by_hand.id, period))
        elif known is not None:
            left.remove(known)
            placed.append((known.fact_id, period))
        else:
            placed.append((new_id(), period))
    return placed


def _rows(
    key: str, about: str, placed: Sequence[tuple[str, Period]], living: Sequence[Fact], *, single_valued: bool
) -> list[tuple[dict[str, Any], Period]]:
    """Builds the row for each period."""
    known = {fact.fact_id: fact for fact in living}
    begins = {period.since: fact_id for fact_id, period in placed if period.until != period.since}
    rows = []
    for fact_id, period in placed:
        follows = begins.get(period.until) if period.until and single_valued else None
        common = {"fact_id": fact_id, "fact_key": key, "single_valued": single_valued, "superseded_by": follows}
        rows.append((common | _row(about, period, known.get(fact_id)), period))
    return rows


def _row(about: str, period: Period, known: Fact | None) -> dict[str, Any]:
    by_hand = period.by_hand
    return {
        # Keep the stored spelling, which may differ in capitals.
        "about": known.about if known else about,
        "fact_value": known.fact_value if known else period.value,
        "confidence": period.confidence,
        "source_message_id": by_hand.source if by_hand and by_hand.source else next(iter(period.sources), None),
        "valid_from": period.since,
        "valid_to": period.until,
        "ended_at": by_hand.until if by_hand else None,
        "metadata": dict(known.metadata) if by_hand and known else period.details,
        "learned": by_hand is None,
    }


async def _write(
    tx: Executor, key: str, living: Sequence[Fact], rows: Sequence[tuple[Mapping[str, Any], Period]]
) -> tuple[list[str], list[str]]:
    """Makes the table match the rows, leaving equal ones alone; returns the ids of changed and of removed facts."""
    known = {fact.fact_id: fact for fact in living}
    wanted = {str(row["fact_id"]): row for row, _ in rows}
    gone = [fact_id for fact_id in known if fact_id not in wanted]
    changed = [row for fact_id, row in wanted.items() if fact_id not in known or _differs(known[fact_id], row)]
    if gone:
        await tx.run("facts.remove", fact_ids=gone)
    if changed:
        # Close them all first, because a single-valued key may have only one open value at a time.
        await tx.run("facts.release", key=key, fact_ids=[row["fact_id"] for row in changed])
        closed_first = sorted(changed, key=lambda row: row["valid_to"] is None)
        await tx.run("facts.place", rows=json.dumps(closed_first, default=datetime.isoformat))
    return [str(row["fact_id"]) for row in changed], gone


def _differs(fact: Fact, row: Mapping[str, Any]) -> bool:
    return any(getattr(fact, name) != value for name, value in row.items())
