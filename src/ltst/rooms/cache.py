"""The retrieval cache: what a search found, for an hour or until the user's memory changes. It holds no contents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ltst.db.pool import Executor


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a search found in one version of the user's memory: the keys and scores of the best."""

    cache_key: str
    query_hash: str
    session_id: str | None
    best: Sequence[dict[str, Any]]
    version: int
    milliseconds: float


async def clean(tx: Executor) -> int:
    """Remove what has expired; the number removed."""
    return int(await tx.value("cache.clean"))


async def put(tx: Executor, kept: Retrieval) -> None:
    """Keep what a search found, unless the user's memory has changed since it began."""
    await tx.run(
        "cache.put",
        user_id=tx.scope.user_id,
        cache_key=kept.cache_key,
        query_hash=kept.query_hash,
        session_id=kept.session_id,
        hits=json.dumps(kept.best),
        scores=json.dumps({each["key"]: each["score"] for each in kept.best}),
        version=kept.version,
        milliseconds=kept.milliseconds,
    )


async def count_hit(tx: Executor, cache_key: str) -> None:
    """Note that a cached retrieval was of use."""
    await tx.run("cache.count_hit", user_id=tx.scope.user_id, cache_key=cache_key)
