"""Facts: claims about the user on a line of time, where a correction closes and never deletes."""

from __future__ import annotations

from datetime import datetime

from ltst.db.pool import Executor
from ltst.errors import Conflict
from ltst.records import Fact
from ltst.support.ids import new_id


async def set(
    tx: Executor, key: str, value: str, *, confidence: float, source_message_id: str | None, valid_from: datetime
) -> tuple[Fact, bool]:
    """Make a value hold from a moment on, until the next known change; tells whether it is a new fact."""
    await _lock(tx, key)
    await _refuse_rejected(tx, key, value)
    current = await _at(tx, key, valid_from)
    if current is not None and current.fact_value == value:
        return await _confirm(tx, current, confidence, source_message_id), False
    following = await _following(tx, key, valid_from)
    fact_id = new_id()
    if current is not None:
        await _close(tx, current, valid_from, fact_id)
    until = following.valid_from if following else None
    return await _add(tx, fact_id, key, value, confidence, source_message_id, valid_from, until), True


async def get(tx: Executor, key: str, moment: datetime) -> Fact | None:
    """What holds at a moment."""
    return await _at(tx, key, moment)


async def list_all(tx: Executor, moment: datetime) -> list[Fact]:
    """Everything that holds at a moment, by key."""
    return await tx.rows("facts.at", Fact, user_id=tx.scope.user_id, key=None, moment=moment)


async def history(tx: Executor, key: str) -> list[Fact]:
    """Every value there ever was, rejected ones included, oldest first."""
    return await tx.rows("facts.history", Fact, user_id=tx.scope.user_id, key=key)


async def reject(tx: Executor, key: str, value: str, now: datetime) -> list[Fact]:
    """Strike a value out for good, and give its time back to the value that it had replaced."""
    await _lock(tx, key)
    struck = await tx.rows("facts.reject", Fact, user_id=tx.scope.user_id, key=key, value=value, rejected_at=now)
    for fact in struck:
        await tx.run(
            "facts.reopen",
            user_id=tx.scope.user_id,
            rejected=fact.fact_id,
            valid_to=fact.valid_to,
            superseded_by=fact.superseded_by,
        )
    if not struck and await _rejection(tx, key, value) is None:
        # Kept although it was never a fact: a value rejected beforehand must not be learnt later.
        struck.append(await _add(tx, new_id(), key, value, 0.0, None, now, now, rejected_at=now))
    return struck


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
    found: datetime | None = await tx.value("facts.rejection", user_id=tx.scope.user_id, key=key, value=value)
    return found


async def _at(tx: Executor, key: str, moment: datetime) -> Fact | None:
    return await tx.row("facts.at", Fact, user_id=tx.scope.user_id, key=key, moment=moment)


async def _following(tx: Executor, key: str, moment: datetime) -> Fact | None:
    return await tx.row("facts.following", Fact, user_id=tx.scope.user_id, key=key, moment=moment)


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


async def _close(tx: Executor, fact: Fact, valid_to: datetime, superseded_by: str) -> None:
    await tx.run(
        "facts.close",
        user_id=tx.scope.user_id,
        fact_id=fact.fact_id,
        valid_to=valid_to,
        superseded_by=superseded_by,
    )


async def _add(
    tx: Executor,
    fact_id: str,
    key: str,
    value: str,
    confidence: float,
    source_message_id: str | None,
    valid_from: datetime,
    valid_to: datetime | None,
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
        valid_to=valid_to,
        rejected_at=rejected_at,
    )
    assert added is not None, "an insert returns its row"
    return added
