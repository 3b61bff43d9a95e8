"""Claims: what messages say about the user, as evidence for facts, preferences and instructions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.records import Claim, Metadata
from ltst.support.ids import new_id


class StoredClaim(NamedTuple):
    """A stored claim with its message, its dates and the row that was derived from it."""

    claim_id: str
    message_id: str
    noun: str
    claim_key: str
    claim_value: str
    change: str
    single_valued: bool
    confidence: float
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    reader: str
    details: Metadata
    recorded_at: datetime
    row_id: str | None


class SourcedClaim(NamedTuple):
    """A claim with the message it was found in."""

    message_id: str
    said_at: datetime
    claim: Claim


async def add(tx: Executor, said: Iterable[SourcedClaim], *, reader: str) -> list[tuple[str, str]]:
    """Stores claims, skips those already known, and returns the noun and key of each new one."""
    heard = [*said]
    if not heard:
        return []
    # Ids in the order of the claims: they decide which of two simultaneous claims counts as the later one.
    ids = sorted(new_id() for _ in heard)
    rows = [_row(each, reader, claim_id) for each, claim_id in zip(heard, ids, strict=True)]
    added = await tx.dicts("claims.add", rows=json.dumps(rows))
    return sorted({(row["noun"], row["claim_key"]) for row in added})


async def of(tx: Executor, noun: str, key: str) -> list[StoredClaim]:
    """Returns all claims about a key, oldest first, except those struck out."""
    return await tx.rows("claims.of", StoredClaim, noun=noun, key=key)


async def strike_out(tx: Executor, ids: Iterable[str]) -> list[tuple[str, str]]:
    """Disregards claims that the local rules found, without deleting them; returns the nouns and keys affected."""
    struck = await tx.dicts("claims.strike_out", ids=[*ids])
    return sorted({(row["noun"], row["claim_key"]) for row in struck})


async def said_in(tx: Executor, message_id: str) -> list[tuple[str, str]]:
    """Returns the nouns and keys that a message makes claims about."""
    found = await tx.dicts("claims.said_in", message_id=message_id)
    return [(row["noun"], row["claim_key"]) for row in found]


async def rest_on(tx: Executor, rows: Mapping[str, str | None]) -> None:
    """Records which row was derived from each claim."""
    if rows:
        await tx.run("claims.rest_on", claim_ids=[*rows], row_ids=[*rows.values()])


async def forget(tx: Executor, noun: str, key: str) -> int:
    """Deletes all claims about a key that is being forgotten, and returns how many there were."""
    gone = await tx.run("claims.forget", noun=noun, key=key)
    await settled(tx, noun, key)
    return gone


async def unsettled(tx: Executor) -> list[tuple[str, str]]:
    """Returns the nouns and keys that lost claims and have not been recomputed since."""
    return [(row["noun"], row["claim_key"]) for row in await tx.dicts("claims.unsettled")]


async def settled(tx: Executor, noun: str, key: str) -> None:
    """Records that a key has been recomputed from its claims."""
    await tx.run("claims.settled", noun=noun, key=key)


def _row(said: SourcedClaim, reader: str, claim_id: str) -> dict[str, Any]:
    claim = said.claim
    since = claim.valid_from or said.said_at
    return {
        "claim_id": claim_id,
        "message_id": said.message_id,
        "noun": claim.noun,
        "claim_key": claim.key,
        "claim_value": claim.value,
        "change": claim.change,
        "single_valued": claim.single_valued,
        "confidence": claim.confidence,
        "said_at": said.said_at.isoformat(),
        "valid_from": since.isoformat(),
        "valid_to": claim.valid_to.isoformat() if claim.valid_to and claim.valid_to >= since else None,
        "reader": reader,
        "details": dict(claim.details),
    }
