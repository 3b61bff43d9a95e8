"""Claims: what messages say about their speaker; the evidence that facts, preferences and instructions rest on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.records import Claim, Metadata
from ltst.support.ids import new_id


class Heard(NamedTuple):
    """A claim as it is kept: with its message, its times and what rests on it."""

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
    """A claim with the message that it was read in."""

    message_id: str
    said_at: datetime
    claim: Claim


async def add(tx: Executor, said: Iterable[SourcedClaim], *, reader: str) -> list[tuple[str, str]]:
    """Keep claims; what the message was known to say already is not said twice. The nouns and keys of new ones."""
    heard = [*said]
    if not heard:
        return []
    # Ids in the order of saying, which decides where two things are said at the same moment.
    ids = sorted(new_id() for _ in heard)
    rows = [_row(each, reader, claim_id) for each, claim_id in zip(heard, ids, strict=True)]
    added = await tx.dicts("claims.add", rows=json.dumps(rows))
    return sorted({(row["noun"], row["claim_key"]) for row in added})


async def of(tx: Executor, noun: str, key: str) -> list[Heard]:
    """Return all that was said about a key, in the order of saying."""
    return await tx.rows("claims.of", Heard, noun=noun, key=key)


async def strike_out(tx: Executor, ids: Iterable[str]) -> list[tuple[str, str]]:
    """Let what the rules read count no more, until it is learnt anew; return the nouns and keys."""
    struck = await tx.dicts("claims.strike_out", ids=[*ids])
    return sorted({(row["noun"], row["claim_key"]) for row in struck})


async def said_in(tx: Executor, message_id: str) -> list[tuple[str, str]]:
    """Return the nouns and keys that a message says something about."""
    found = await tx.dicts("claims.said_in", message_id=message_id)
    return [(row["noun"], row["claim_key"]) for row in found]


async def rest_on(tx: Executor, rows: Mapping[str, str | None]) -> None:
    """Note which row rests on which claim."""
    if rows:
        await tx.run("claims.rest_on", claim_ids=[*rows], row_ids=[*rows.values()])


async def forget(tx: Executor, noun: str, key: str) -> int:
    """Remove what was said about a key, since it is to be forgotten; return the number of claims removed."""
    gone = await tx.run("claims.forget", noun=noun, key=key)
    await settled(tx, noun, key)
    return gone


async def unsettled(tx: Executor) -> list[tuple[str, str]]:
    """Return the nouns and keys that lost claims and were not folded since."""
    return [(row["noun"], row["claim_key"]) for row in await tx.dicts("claims.unsettled")]


async def settled(tx: Executor, noun: str, key: str) -> None:
    """Note that a key was folded."""
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
