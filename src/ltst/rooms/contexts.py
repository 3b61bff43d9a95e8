"""Contexts: typed keys and values attached to a session, some of which expire; working memory among them."""

from __future__ import annotations

from datetime import datetime

from ltst.db.pool import Executor
from ltst.records import ConversationContext
from ltst.support.ids import new_id
from ltst.support.text import scoped_hash


async def set(
    tx: Executor,
    session_id: str,
    context_type: str,
    key: str,
    value: str,
    *,
    relevance: float,
    expires_at: datetime | None,
    metadata: str = "{}",
) -> tuple[ConversationContext, bool]:
    """Write a value under its type and key, in place of the one before; tells whether anything changed."""
    stored = await tx.row(
        "contexts.set",
        ConversationContext,
        user_id=tx.scope.user_id,
        session_id=session_id,
        context_id=new_id(),
        context_type=context_type,
        context_key=key,
        context_value=value,
        relevance_score=relevance,
        context_hash=scoped_hash(session_id, context_type, key, value),
        metadata=metadata,
        expires_at=expires_at,
    )
    if stored is not None:
        return stored, True
    (known,) = await tx.rows(
        "contexts.known",
        ConversationContext,
        user_id=tx.scope.user_id,
        session_id=session_id,
        context_type=context_type,
        context_key=key,
    )
    return known, False


async def list_all(
    tx: Executor, session_id: str, context_type: str | None = None, key: str | None = None
) -> list[ConversationContext]:
    """The living contexts of a session, by type and key."""
    return await tx.rows(
        "contexts.list",
        ConversationContext,
        user_id=tx.scope.user_id,
        session_id=session_id,
        context_type=context_type,
        context_key=key,
    )


async def forget(tx: Executor, session_id: str, context_type: str, key: str | None = None) -> int:
    """Remove one context, or all of a type; the number removed."""
    return await tx.run(
        "contexts.forget",
        user_id=tx.scope.user_id,
        session_id=session_id,
        context_type=context_type,
        context_key=key,
    )


async def fork(tx: Executor, session_id: str, fork_id: str) -> int:
    """Copy the living contexts of a session to another."""
    return await tx.run("contexts.fork", user_id=tx.scope.user_id, session_id=session_id, fork_id=fork_id)


async def clean(tx: Executor) -> int:
    """Remove what has expired; the number removed."""
    return int(await tx.value("contexts.clean"))


async def prune(tx: Executor, most: int) -> int:
    """Of each session that holds more contexts than that, remove the least relevant; the number removed."""
    return await tx.run("contexts.prune", most=most)
