"""Entries: free-standing memories; the same content is kept once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from ltst.db.pool import Executor
from ltst.records import MemoryEntry
from ltst.support.text import scoped_hash, sha256


async def add(
    tx: Executor,
    entry_id: str,
    content: str,
    *,
    type: str,
    importance: float,
    source: str | None,
    metadata: str,
    occurred_at: datetime,
    expires_at: datetime | None,
) -> MemoryEntry:
    """Keep a memory; content that is there already comes back as it is, with the higher importance."""
    added = await tx.row(
        "entries.add",
        MemoryEntry,
        user_id=tx.scope.user_id,
        entry_id=entry_id,
        memory_type=type,
        content=content,
        content_hash=sha256(content),
        importance=importance,
        source=source,
        metadata=metadata,
        occurred_at=occurred_at,
        expires_at=expires_at,
    )
    assert added is not None, "an upsert returns its row"
    return added


@dataclass(frozen=True, slots=True)
class New:
    """An entry that passed the checks, one of many."""

    entry_id: str
    memory_type: str
    content: str
    content_hash: str
    importance: float
    source: str | None
    metadata: str
    occurred_at: datetime
    expires_at: datetime | None


async def add_many(tx: Executor, given: Iterable[New]) -> list[str]:
    """Keep memories; the ids of those whose content was not there already."""
    rows = [{**asdict(each), "metadata": json.loads(each.metadata)} for each in given]
    return await tx.values("entries.add_many", user_id=tx.scope.user_id, rows=json.dumps(rows, default=str))


async def get(tx: Executor, entry_id: str) -> MemoryEntry | None:
    """An entry, if this user has it and it has not expired."""
    return await tx.row("entries.get", MemoryEntry, user_id=tx.scope.user_id, entry_id=entry_id)


async def list_all(tx: Executor, *, type: str | None, limit: int, offset: int) -> list[MemoryEntry]:
    """The living entries, the latest first."""
    return await tx.rows(
        "entries.list", MemoryEntry, user_id=tx.scope.user_id, memory_type=type, limit=limit, offset=offset
    )


async def forget(tx: Executor, entry_id: str) -> bool:
    """Remove an entry; tells whether there was one."""
    return await tx.run("entries.forget", user_id=tx.scope.user_id, entry_id=entry_id) > 0


async def clean(tx: Executor) -> int:
    """Remove what has expired; the number removed."""
    return await tx.run("entries.clean")


async def learn(
    tx: Executor,
    entry_id: str,
    content: str,
    *,
    session_id: str,
    agent: str | None,
    importance: float,
    metadata: str,
    occurred_at: datetime,
) -> None:
    """Keep an episode of a session; the same of the same session is kept once."""
    await tx.run(
        "entries.learn",
        user_id=tx.scope.user_id,
        entry_id=entry_id,
        content=content,
        content_hash=scoped_hash(session_id, sha256(content)),
        session_id=session_id,
        agent=agent,
        importance=importance,
        metadata=metadata,
        occurred_at=occurred_at,
    )


async def unconsolidated(tx: Executor, limit: int) -> list[MemoryEntry]:
    """Entries that were not compared with the others yet, the oldest first."""
    return await tx.rows("entries.unconsolidated", MemoryEntry, user_id=tx.scope.user_id, limit=limit)


async def like(tx: Executor, entry_id: str, similarity: float, limit: int) -> list[tuple[MemoryEntry, float]]:
    """Earlier entries of the same type that are similar to one, the most similar first."""
    found = await tx.dicts(
        "entries.like", user_id=tx.scope.user_id, entry_id=entry_id, similarity=similarity, limit=limit
    )
    return [(MemoryEntry(**row), alike) for row in found for alike in [row.pop("similarity")]]


async def merge(tx: Executor, kept: MemoryEntry, metadata: str, other: MemoryEntry) -> None:
    """Let one entry stand for another too, and remove the other."""
    await tx.run(
        "entries.merge",
        user_id=tx.scope.user_id,
        entry_id=kept.entry_id,
        metadata=metadata,
        importance=other.importance_score,
        usage_count=other.usage_count,
        expires_at=other.expires_at,
    )
    await forget(tx, str(other.entry_id))


async def consolidated(tx: Executor, entry_ids: Iterable[str]) -> None:
    """Note that entries were compared with the others."""
    await tx.run("entries.consolidated", user_id=tx.scope.user_id, entry_ids=[*entry_ids])


async def compare_again(tx: Executor) -> None:
    """Let all episodes be compared with each other anew."""
    await tx.run("entries.compare_again", user_id=tx.scope.user_id)


async def forget_learned(tx: Executor) -> int:
    """Remove all episodes; the messages tell them again."""
    return await tx.run("entries.forget_learned", user_id=tx.scope.user_id)


async def used(tx: Executor, times: Mapping[str, int]) -> None:
    """Count that entries were shown to a model."""
    await tx.run("entries.used", user_id=tx.scope.user_id, ids=[*times], times=[*times.values()])


async def prune(tx: Executor, budget: int) -> int:
    """Of each user who has more episodes than that, remove the least important; the number removed."""
    return await tx.run("entries.prune", budget=budget)
