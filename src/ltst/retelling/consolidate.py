"""Consolidation: merges entries that say the same, and relates the conversations that they tell of."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from ltst.db.pool import Database, Executor, Transaction, user_scope
from ltst.learn.weigh import ACTOR
from ltst.records import MemoryEntry
from ltst.retelling.composing import says_the_same
from ltst.rooms import entries, events, relationships, work
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.children import LEARNING

BATCH = 50
# Two entries may say the same only if they are as near as this.
SAME = 0.93
# From where on two conversations are about the same, and when one goes on with the other.
RELATED = 0.6
CLOSELY_RELATED = 0.75
CONTINUES_WITHIN = timedelta(days=2)
MOST_RELATED = 3


async def consolidate(database: Database, lease: Lease, *, limits: Limits, relate: bool) -> int:
    """Compare new entries with all others; how many were compared."""
    async with database.transaction(user_scope(lease.user_id)) as tx:
        new = await entries.unconsolidated(tx, BATCH)
        for entry in new:
            merged = await _merge(tx, entry, limits)
            if relate and not merged and entry.learned:
                await _relate(tx, entry)
        await entries.consolidated(tx, [str(entry.entry_id) for entry in new])
        await work.finish(tx, lease)
    return len(new)


async def _merge(tx: Transaction, entry: MemoryEntry, limits: Limits) -> bool:
    """Merge an entry into an earlier one that says the same, with all sources; whether there was one."""
    others = [other for other, _ in await entries.like(tx, str(entry.entry_id), SAME, MOST_RELATED)]
    compared = await LEARNING.each(
        says_the_same, [(entry, other) for other in others], limits, owner=str(tx.scope.user_id)
    )
    for other, same in zip(others, compared, strict=False):
        if same is True:
            metadata = json.dumps(_together(other, entry), ensure_ascii=False)
            await entries.merge(tx, other, metadata, entry)
            details = {"into": str(other.entry_id)}
            await events.add(tx, ACTOR, "merge", "entry", str(entry.entry_id), details)
            return True
    return False


def _together(kept: MemoryEntry, other: MemoryEntry) -> dict[str, Any]:
    """Returns the metadata of both: nothing that was said is lost, it only is not shown twice."""
    told = {**other.metadata, **kept.metadata}
    sources = [*kept.metadata.get("sources", []), *other.metadata.get("sources", [])]
    if sources:
        told["sources"] = [*dict.fromkeys(sources)]
    if kept.learned:
        told["messages"] = _range(kept, other)
    told["merged"] = [
        *kept.metadata.get("merged", []),
        *other.metadata.get("merged", []),
        {"entry_id": str(other.entry_id), "content": other.content, "occurred_at": _moment(other)},
    ]
    return told


def _range(one: MemoryEntry, other: MemoryEntry) -> list[int]:
    """From the first to the last of the messages that two episodes tell of."""
    ends = [index for each in (one, other) for index in each.metadata.get("messages", [])]
    return [min(ends), max(ends)] if ends else []


def _moment(entry: MemoryEntry) -> str | None:
    return entry.timestamp.isoformat() if entry.timestamp else None


async def _relate(tx: Executor, entry: MemoryEntry) -> None:
    """Link the conversation of an episode with the most similar ones."""
    linked: set[str] = set()
    for other, similarity in await entries.like(tx, str(entry.entry_id), RELATED, 4 * MOST_RELATED):
        type = kinship(entry, other, similarity)
        if type is not None and other.session_id not in linked and len(linked) < MOST_RELATED:
            linked.add(str(other.session_id))
            await _link(tx, entry, other, type, similarity)


def kinship(one: MemoryEntry, other: MemoryEntry, similarity: float) -> str | None:
    """Returns how the conversations of two episodes hang together, if they do: by likeness, shared names and time."""
    if None in (one.session_id, other.session_id) or one.session_id == other.session_id:
        return None
    shared = _shared(one.metadata.get("topics", []), other.metadata.get("topics", []))
    near = (
        one.timestamp is not None
        and other.timestamp is not None
        and abs(one.timestamp - other.timestamp) <= CONTINUES_WITHIN
    )
    if near and (similarity >= CLOSELY_RELATED or shared) and one.agent_name == other.agent_name:
        return "continuation"
    return "related" if similarity >= CLOSELY_RELATED or shared else None


def _shared(one: Sequence[str], other: Collection[str]) -> list[str]:
    return [topic for topic in one if topic in other]


async def _link(tx: Executor, entry: MemoryEntry, other: MemoryEntry, type: str, similarity: float) -> None:
    earlier, later = sorted((other, entry), key=lambda each: (each.timestamp is None, each.timestamp))
    shared = _shared(entry.metadata.get("topics", []), other.metadata.get("topics", []))
    link = await relationships.learn(
        tx,
        str(earlier.session_id),
        str(later.session_id),
        type=type,
        similarity=similarity,
        strength=min(1.0, similarity + 0.1 * len(shared)),
        metadata=json.dumps({"shared": shared}, ensure_ascii=False),
    )
    if link is not None:
        await events.add(tx, ACTOR, "learn", "relationship", link)
