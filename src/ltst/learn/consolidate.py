"""Consolidation: merges entries that say the same, and relates the conversations that they tell of."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from ltst.db.pool import Database, Executor, Transaction, user_scope
from ltst.learn.weigh import ACTOR
from ltst.records import MemoryEntry
from ltst.rooms import entries, events, relationships, work
from ltst.rooms.work import Lease
from ltst.support.terms import terms

BATCH = 50
# Two entries say the same only if they are near, share nearly all words, and agree in every number and every "not".
SAME = 0.93
SHARED_WORDS = 0.8
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
NOT = re.compile(r"\b(?:not?|never|none|without|\w+n['’]t)\b", re.IGNORECASE)
# From where on two conversations are about the same, and when one goes on with the other.
RELATED = 0.6
CLOSELY_RELATED = 0.75
CONTINUES_WITHIN = timedelta(days=2)
MOST_RELATED = 3


async def consolidate(database: Database, lease: Lease, *, relate: bool) -> int:
    """Compare new entries with all others; how many were compared."""
    async with database.transaction(user_scope(lease.user_id)) as tx:
        new = await entries.unconsolidated(tx, BATCH)
        for entry in new:
            merged = await _merge(tx, entry)
            if relate and not merged and entry.learned:
                await _relate(tx, entry)
        await entries.consolidated(tx, [str(entry.entry_id) for entry in new])
        await work.finish(tx, lease)
    return len(new)


async def _merge(tx: Transaction, entry: MemoryEntry) -> bool:
    """Merge an entry into an earlier one that says the same, with all sources; whether there was one."""
    for other, _ in await entries.like(tx, str(entry.entry_id), SAME, MOST_RELATED):
        if says_the_same(entry, other):
            metadata = json.dumps(_together(other, entry), ensure_ascii=False)
            await entries.merge(tx, other, metadata, entry)
            details = {"into": str(other.entry_id)}
            await events.add(tx, ACTOR, "merge", "entry", str(entry.entry_id), details)
            return True
    return False


def says_the_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether nothing is lost when one stands for both. Two conversations stay two, and so do two levels of trust."""
    if (one.session_id, one.learned, _trust(one)) != (other.session_id, other.learned, _trust(other)):
        return False
    words, others = set(terms(one.content)), set(terms(other.content))
    shared = len(words & others) / max(1, len(words | others))
    return (
        shared >= SHARED_WORDS
        and sorted(NUMBER.findall(one.content)) == sorted(NUMBER.findall(other.content))
        and len(NOT.findall(one.content)) == len(NOT.findall(other.content))
    )


def _trust(entry: MemoryEntry) -> Any:
    return entry.metadata.get("trust", "high")


def _together(kept: MemoryEntry, other: MemoryEntry) -> dict[str, Any]:
    """The metadata of both: nothing that was said is lost, it only is not shown twice."""
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
    """How the conversations of two episodes hang together, if they do: by likeness, shared names and time."""
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
