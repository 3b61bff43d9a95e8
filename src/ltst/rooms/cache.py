"""The retrieval cache: keeps what a search found for `cache_ttl_hours`, or until the user's memory changes.

It holds no contents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ltst.db.pool import Executor


class Retrieval(NamedTuple):
    """What a search found in one version of the user's memory: the keys and scores of the best."""

    user_id: str
    cache_key: str
    query_hash: str
    session_id: str | None
    best: Sequence[dict[str, Any]]
    version: int
    milliseconds: float


async def put(tx: Executor, found: Iterable[Retrieval], hours: float) -> None:
    """Keep what searches of several users found, each unless its user's memory has changed since it began."""
    rows = [_row(each) for each in found]
    await tx.values("cache.share", user_ids=sorted({row["user_id"] for row in rows}))
    await tx.run("cache.put", rows=json.dumps(rows), hours=hours)


def _packed(best: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what a search found as it is kept: the arms, which are the same for all, are named by the first alone."""
    hits = [{"key": each["key"], "score": each["score"], "scores": [*each["scores"].values()]} for each in best]
    if hits:
        hits[0]["arms"] = [*best[0]["scores"]]
    return hits


def unpacked(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a search found, from what is kept of it."""
    arms = hits[0].get("arms") if hits else None
    if arms is None:  # there is none, or it was kept by an earlier version
        return hits
    return [
        {"key": each["key"], "score": each["score"], "scores": dict(zip(arms, each["scores"], strict=True))}
        for each in hits
    ]


def _row(found: Retrieval) -> dict[str, Any]:
    return {
        "user_id": found.user_id,
        "cache_key": found.cache_key,
        "query_hash": found.query_hash,
        "session_id": found.session_id,
        "hits": _packed(found.best),
        "scores": {each["key"]: each["score"] for each in found.best},
        "version": found.version,
        "milliseconds": found.milliseconds,
    }


async def count_hit(tx: Executor, cache_key: str) -> None:
    """Note that a cached retrieval was of use."""
    await tx.run("cache.count_hit", cache_key=cache_key)
