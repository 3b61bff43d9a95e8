"""Entries: free-standing memories; the same content is kept once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from ltst.db.pool import Executor
from ltst.records import MemoryEntry
from ltst.support.ids import new_id
from ltst.support.text import scoped_hash, sha256


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry that passed the checks; `metadata` is JSON."""

    memory_type: str
    content: str
    importance: float
    source: str | None
    metadata: str
    occurred_at: datetime
    expires_at: datetime | None
    entry_id: str = field(default_factory=new_id)

    @property
    def parameters(self) -> dict[str, Any]:
        """What the queries take."""
        return {**asdict(self), "content_hash": sha256(self.content)}


async def add_many(tx: Executor, given: Iterable[NewEntry]) -> list[str]:
    """Keep memories; the ids of those whose content was not there already."""
    rows = [{**each.parameters, "metadata": json.loads(each.metadata)} for each in given]
    return await tx.values("entries.add_many", rows=json.dumps(rows, default=str))


async def forget(tx: Executor, entry_id: str) -> bool:
    """Remove an entry; tells whether there was one."""
    return await tx.run("entries.forget", entry_id=entry_id) > 0


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
    return await tx.rows("entries.unconsolidated", MemoryEntry, limit=limit)


async def like(tx: Executor, entry_id: str, similarity: float, limit: int) -> list[tuple[MemoryEntry, float]]:
    """Earlier entries of the same type that are similar to one, the most similar first."""
    found = await tx.dicts("entries.like", entry_id=entry_id, similarity=similarity, limit=limit)
    return [(MemoryEntry(**row), alike) for row in found for alike in [row.pop("similarity")]]


async def merge(tx: Executor, kept: MemoryEntry, metadata: str, other: MemoryEntry) -> None:
    """Let one entry stand for another too, and remove the other."""
    await tx.run(
        "entries.merge",
        entry_id=kept.entry_id,
        metadata=metadata,
        importance=other.importance_score,
        usage_count=other.usage_count,
        expires_at=other.expires_at,
    )
    await forget(tx, str(other.entry_id))


async def consolidated(tx: Executor, entry_ids: Iterable[str]) -> None:
    """Note that entries were compared with the others."""
    await tx.run("entries.consolidated", entry_ids=[*entry_ids])
