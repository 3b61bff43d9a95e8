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
    return await tx.one(
        "relationships.link",
        SessionRelationship,
        relationship_id=new_id(),
        source=source,
        target=target,
        type=type,
        similarity=similarity,
        strength=strength,
        metadata=metadata,
    )


async def learn(
    tx: Executor, source: str, target: str, *, type: str, similarity: float, strength: float, metadata: str
) -> str | None:
    """Link two sessions that seem related, unless they are linked; return the id of the new link, or None."""
    linked: str | None = await tx.value(
        "relationships.learn",
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
        await tx.run("relationships.fork_many", rows=json.dumps(rows))
