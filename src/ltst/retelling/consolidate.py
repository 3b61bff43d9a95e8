"""Consolidation: merges entries that say the same, and links conversations that are related."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from ltst.db.pool import Database, Executor, Transaction, user_scope
from ltst.learn.weigh import ACTOR
from ltst.records import MemoryEntry
from ltst.retelling.composing import says_the_same
from ltst.rooms import entries, events, work
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from ltst.support.ids import new_id

BATCH = 50
# Entries less similar than this are not compared.
SAME = 0.93
# How similar two conversations must be to be related, and within which time one continues the other.
RELATED = 0.6
CLOSELY_RELATED = 0.75
CONTINUES_WITHIN = timedelta(days=2)
MOST_RELATED = 3


async def consolidate(database: Database, lease: Lease, *, limits: Limits, relate: bool) -> int:
    """Compares new entries with all others; returns how many were compared."""
    async with database.transaction(user_scope(lease.user_id)) as tx:
        new = await tx.rows("entries.unconsolidated", MemoryEntry, limit=BATCH)
        for entry in new:
            merged = await _merge(tx, entry, limits)
            if relate and not merged and entry.learned:
                await _relate(tx, entry)
        await tx.run("entries.consolidated", entry_ids=[entry.entry_id for entry in new])
        await work.finish(tx, lease)
    return len(new)


async def _merge(tx: Transaction, entry: MemoryEntry, limits: Limits) -> bool:
    """Merges an entry into another one that says the same, with all sources; returns whether there was one."""
    others = [other for other, _ in await entries.like(tx, str(entry.entry_id), SAME, MOST_RELATED)]
    compared = await LEARNING.each(
        says_the_same, [(entry, other) for other in others], limits, owner=str(tx.scope.user_id)
    )
    for other, same in zip(others, compared, strict=False):
        if same is True:
            await tx.run(
                "entries.merge",
                entry_id=other.entry_id,
                metadata=json.dumps(_merge_metadata(other, entry), ensure_ascii=False),
                importance=entry.importance_score,
                usage_count=entry.usage_count,
                expires_at=entry.expires_at,
            )
            await entries.forget(tx, str(entry.entry_id))
            await events.add(tx, ACTOR, "merge", "entry", str(entry.entry_id), {"into": str(other.entry_id)})
            return True
    return False


def _merge_metadata(kept: MemoryEntry, other: MemoryEntry) -> dict[str, Any]:
    """Returns the metadata of both entries. Nothing that was said is lost; it is just not shown twice."""
    metadata = {**other.metadata, **kept.metadata}
    sources = [*kept.metadata.get("sources", []), *other.metadata.get("sources", [])]
    if sources:
        metadata["sources"] = [*dict.fromkeys(sources)]
    if kept.learned:
        metadata["messages"] = _range(kept, other)
    when = other.timestamp.isoformat() if other.timestamp else None
    metadata["merged"] = [
        *kept.metadata.get("merged", []),
        *other.metadata.get("merged", []),
        {"entry_id": str(other.entry_id), "content": other.content, "occurred_at": when},
    ]
    return metadata


def _range(one: MemoryEntry, other: MemoryEntry) -> list[int]:
    """Returns the range of message indexes that two episodes cover together."""
    ends = [index for each in (one, other) for index in each.metadata.get("messages", [])]
    return [min(ends), max(ends)] if ends else []


async def _relate(tx: Executor, entry: MemoryEntry) -> None:
    """Links the conversation of an episode with the most similar ones."""
    linked: set[str] = set()
    for other, similarity in await entries.like(tx, str(entry.entry_id), RELATED, 4 * MOST_RELATED):
        type = kinship(entry, other, similarity)
        if type is not None and other.session_id not in linked and len(linked) < MOST_RELATED:
            linked.add(str(other.session_id))
            await _link(tx, entry, other, type, similarity)


def kinship(one: MemoryEntry, other: MemoryEntry, similarity: float) -> str | None:
    """Returns how the conversations of two episodes are related, by similarity, shared names and time; None if not."""
    if None in (one.session_id, other.session_id) or one.session_id == other.session_id:
        return None
    shared = _shared_topics(one, other)
    near = (
        one.timestamp is not None
        and other.timestamp is not None
        and abs(one.timestamp - other.timestamp) <= CONTINUES_WITHIN
    )
    if near and (similarity >= CLOSELY_RELATED or shared) and one.agent_name == other.agent_name:
        return "continuation"
    return "related" if similarity >= CLOSELY_RELATED or shared else None


def _shared_topics(one: MemoryEntry, other: MemoryEntry) -> list[str]:
    """Returns the topics that two episodes have in common."""
    return [topic for topic in one.metadata.get("topics", []) if topic in other.metadata.get("topics", [])]


async def _link(tx: Executor, entry: MemoryEntry, other: MemoryEntry, type: str, similarity: float) -> None:
    earlier, later = sorted((other, entry), key=lambda each: (each.timestamp is None, each.timestamp))
    shared = _shared_topics(entry, other)
    link = await tx.value(
        "relationships.learn",
        relationship_id=new_id(),
        source=earlier.session_id,
        target=later.session_id,
        type=type,
        similarity=similarity,
        strength=min(1.0, similarity + 0.1 * len(shared)),
        metadata=json.dumps({"shared": shared}, ensure_ascii=False),
    )
    if link is not None:  # None: they were already linked
        await events.add(tx, ACTOR, "learn", "relationship", link)
