"""Retention: after how long the sessions of a user are archived and deleted, by session type."""

from __future__ import annotations

from datetime import timedelta

from ltst.db.pool import Executor
from ltst.records import RetentionPolicy


async def set(
    tx: Executor, session_type: str, archive_after: timedelta | None, delete_after: timedelta | None
) -> RetentionPolicy:
    """Write the policy of a session type."""
    stored = await tx.row(
        "retention.set",
        RetentionPolicy,
        user_id=tx.scope.user_id,
        session_type=session_type,
        archive_after=archive_after,
        delete_after=delete_after,
    )
    assert stored is not None, "an upsert returns its row"
    return stored


async def list_all(tx: Executor) -> list[RetentionPolicy]:
    """The policies of the user."""
    return await tx.rows("retention.list", RetentionPolicy, user_id=tx.scope.user_id)


async def forget(tx: Executor, session_type: str) -> bool:
    """Remove a policy; tells whether there was one."""
    return await tx.run("retention.forget", user_id=tx.scope.user_id, session_type=session_type) > 0
