"""Links between the sessions of a user."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ltst.db.pool import Executor
from ltst.records import SessionRelationship
from ltst.support.ids import new_id

LONGEST_TYPE = 100


async def link(
    tx: Executor, source: str, target: str, *, type: str, similarity: float, strength: float, metadata: str = "{}"
) -> SessionRelationship:
    """Link two sessions; linking them again renews the scores."""
    linked = await tx.row(
        "relationships.link",
        SessionRelationship,
        user_id=tx.scope.user_id,
        relationship_id=new_id(),
        source=source,
        target=target,
        type=type,
        similarity=similarity,
        strength=strength,
        metadata=metadata,
    )
    assert linked is not None, "an upsert returns its row"
    return linked


async def related(tx: Executor, session_id: str) -> list[SessionRelationship]:
    """The links from and to a session, the strongest first."""
    return await tx.rows("relationships.related", SessionRelationship, user_id=tx.scope.user_id, session_id=session_id)


async def learn(
    tx: Executor, source: str, target: str, *, type: str, similarity: float, strength: float, metadata: str
) -> str | None:
    """Link two sessions that seem related, unless they are linked; return the id of the new link, or None."""
    linked: str | None = await tx.value(
        "relationships.learn",
        user_id=tx.scope.user_id,
        relationship_id=new_id(),
        source=source,
        target=target,
        type=type,
        similarity=similarity,
        strength=strength,
        metadata=metadata,
    )
    return linked


async def fork_many(tx: Executor, pairs: Sequence[tuple[str, str]]) -> None:
    """Link sessions to their forks."""
    if pairs:
        rows = [{"relationship_id": new_id(), "source": source, "target": target} for source, target in pairs]
        await tx.run("relationships.fork_many", user_id=tx.scope.user_id, rows=json.dumps(rows))


async def forget_learned(tx: Executor) -> int:
    """Remove the links that nobody set by hand."""
    return await tx.run("relationships.forget_learned", user_id=tx.scope.user_id)
