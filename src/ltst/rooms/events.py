"""Events: the ledger of every change, to which rows are only ever added; never a content in clear."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ltst.db.pool import Executor
from ltst.records import Event


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


async def list_all(tx: Executor, *, after: int, limit: int) -> list[Event]:
    """The events of the user that follow one, oldest first."""
    return await tx.rows("events.list", Event, user_id=tx.scope.user_id, after=after, limit=limit)
