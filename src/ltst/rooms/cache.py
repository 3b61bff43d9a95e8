"""The retrieval cache: keeps search results for `cache_ttl_hours` or until the memory changes, without contents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ltst.db.pool import Executor


class Retrieval(NamedTuple):
    """A search result to cache: the keys and scores of the best hits, in one version of the user's memory."""

    user_id: str
    cache_key: str
    query_hash: str
    session_id: str | None
    best: Sequence[dict[str, Any]]
    version: int
    milliseconds: float


async def put(tx: Executor, found: Iterable[Retrieval], hours: float) -> None:
    """Caches search results of several users, skipping those whose memory changed since the search began."""
    rows = [_row(each) for each in found]
    await tx.values("cache.share", user_ids=sorted({row["user_id"] for row in rows}))
    await tx.run("cache.put", rows=json.dumps(rows), hours=hours)


def _packed(best: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns hits in the stored form. Only the first one names the arms because all hits have the same ones."""
    hits = [{"key": each["key"], "score": each["score"], "scores": [*each["scores"].values()]} for each in best]
    if hits:
        hits[0]["arms"] = [*best[0]["scores"]]
    return hits


def unpacked(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns cached hits in the form that a search produces."""
    arms = hits[0].get("arms") if hits else None
    if arms is None:  # no hits, or cached by an earlier version
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
    """Counts one use of a cached search result."""
    await tx.run("cache.count_hit", cache_key=cache_key)
