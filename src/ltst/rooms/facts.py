"""Facts: claims about the user on a line of time, where a correction closes and never deletes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ltst.db.pool import Executor
from ltst.errors import Conflict
from ltst.records import Fact
from ltst.support.ids import new_id
from ltst.support.text import normalised


async def set(
    tx: Executor, key: str, value: str, *, confidence: float, source_message_id: str | None, valid_from: datetime | None
) -> tuple[Fact, bool]:
    """Make a value hold from a moment on, until the next known change; tells whether it is a new fact."""
    await _lock(tx, key)
    await _refuse_rejected(tx, key, value)
    # By the server's clock: those of two clients differ, and the later of two writes has to come later.
    valid_from = valid_from or await tx.value("facts.now")
    current = await _at(tx, key, valid_from)
    if current is not None and current.fact_value == value:
        return await _confirm(tx, current, confidence, source_message_id), False
    fact_id = new_id()
    await _add(tx, fact_id, key, value, confidence, source_message_id, valid_from)
    await _thread(tx, key)
    added = await tx.row("facts.get", Fact, user_id=tx.scope.user_id, fact_id=fact_id)
    assert added is not None, "it was added in this transaction"
    return added, True


async def get(tx: Executor, key: str, moment: datetime | None) -> Fact | None:
    """What holds at a moment, or now."""
    return await _at(tx, key, moment)


async def list_all(tx: Executor, moment: datetime | None) -> list[Fact]:
    """Everything that holds at a moment, or now, by key."""
    return await tx.rows("facts.at", Fact, user_id=tx.scope.user_id, key=None, moment=moment)


async def history(tx: Executor, key: str) -> list[Fact]:
    """Every value there ever was, rejected ones included, oldest first."""
    return await tx.rows("facts.history", Fact, user_id=tx.scope.user_id, key=key)


async def reject(tx: Executor, key: str, value: str, now: datetime) -> list[Fact]:
    """Strike a value out for good, and give its time back to the value that it had replaced."""
    await _lock(tx, key)
    same = [fact for fact in await history(tx, key) if normalised(fact.fact_value) == normalised(value)]
    struck = await _strike(tx, [fact for fact in same if fact.rejected_at is None], now)
    if not same:
        # Kept although it was never a fact: a value rejected beforehand must not be learnt later.
        struck = [await _add(tx, new_id(), key, value, 0.0, None, now, rejected_at=now)]
    await _thread(tx, key)
    return struck


async def mend(tx: Executor, key: str) -> None:
    """Make the values of a key follow one another again after some came from elsewhere; rejected ones stay so."""
    await _lock(tx, key)
    known = await history(tx, key)
    rejected = {normalised(fact.fact_value): fact.rejected_at for fact in known if fact.rejected_at}
    for fact in known:
        since = rejected.get(normalised(fact.fact_value))
        if since is not None and fact.rejected_at is None:
            await _strike(tx, [fact], since)
    await _thread(tx, key)


def closed(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Facts from elsewhere, none of them open: two open values of one key would exclude each other until mended."""
    return [
        row
        if row.get("rejected_at") or row.get("valid_to") or not row.get("single_valued", True)
        else {**row, "valid_to": row["valid_from"]}
        for row in rows
    ]


async def forget(tx: Executor, key: str) -> int:
    """Remove a key with its whole history and its rejections; the number of facts removed."""
    await _lock(tx, key)
    return await tx.run("facts.forget", user_id=tx.scope.user_id, key=key)


async def _lock(tx: Executor, key: str) -> None:
    """One change of a key at a time, also of a key that has no row to lock yet."""
    await tx.value("facts.lock", user_id=tx.scope.user_id, key=key)


async def _refuse_rejected(tx: Executor, key: str, value: str) -> None:
    rejected_at = await _rejection(tx, key, value)
    if rejected_at is not None:
        raise Conflict(
            f"this value of {key!r} was rejected on {rejected_at:%Y-%m-%d} and is not learnt again; "
            "forget the key to begin anew"
        )


async def _rejection(tx: Executor, key: str, value: str) -> datetime | None:
    for fact in await history(tx, key):
        if fact.rejected_at is not None and normalised(fact.fact_value) == normalised(value):
            return fact.rejected_at
    return None


async def _at(tx: Executor, key: str, moment: datetime | None) -> Fact | None:
    return await tx.row("facts.at", Fact, user_id=tx.scope.user_id, key=key, moment=moment)


async def _confirm(tx: Executor, fact: Fact, confidence: float, source_message_id: str | None) -> Fact:
    confirmed = await tx.row(
        "facts.confirm",
        Fact,
        user_id=tx.scope.user_id,
        fact_id=fact.fact_id,
        confidence=confidence,
        source_message_id=source_message_id,
    )
    assert confirmed is not None, "the fact was read under the same lock"
    return confirmed


async def _strike(tx: Executor, rejected: Sequence[Fact], now: datetime) -> list[Fact]:
    ids = [fact.fact_id for fact in rejected]
    return await tx.rows("facts.reject", Fact, user_id=tx.scope.user_id, fact_ids=ids, rejected_at=now)


async def _thread(tx: Executor, key: str) -> None:
    """Let each value end where the next begins; the last one is open. First all are closed, as only one may be open."""
    await tx.run("facts.close", user_id=tx.scope.user_id, key=key)
    await tx.run("facts.open", user_id=tx.scope.user_id, key=key)


async def _add(
    tx: Executor,
    fact_id: str,
    key: str,
    value: str,
    confidence: float,
    source_message_id: str | None,
    valid_from: datetime,
    *,
    rejected_at: datetime | None = None,
) -> Fact:
    added = await tx.row(
        "facts.add",
        Fact,
        user_id=tx.scope.user_id,
        fact_id=fact_id,
        key=key,
        value=value,
        confidence=confidence,
        source_message_id=source_message_id,
        valid_from=valid_from,
        rejected_at=rejected_at,
    )
    assert added is not None, "an insert returns its row"
    return added
