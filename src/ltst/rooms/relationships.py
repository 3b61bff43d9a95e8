"""Relationships: links between the sessions of a user."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ltst.db.pool import Executor
from ltst.support.ids import new_id

LONGEST_TYPE = 100


async def fork_many(tx: Executor, pairs: Sequence[tuple[str, str]]) -> None:
    """Links sessions to their forks, given as pairs of source and fork."""
    if pairs:
        rows = [{"relationship_id": new_id(), "source": source, "target": target} for source, target in pairs]
        await tx.run("relationships.fork_many", rows=json.dumps(rows))
