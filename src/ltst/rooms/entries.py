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
from ltst.support.text import sha256


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
    """Keep memories; return the ids of those whose content was not there already."""
    rows = [{**each.parameters, "metadata": json.loads(each.metadata)} for each in given]
    return await tx.values("entries.add_many", rows=json.dumps(rows, default=str))


async def forget(tx: Executor, entry_id: str) -> bool:
    """Remove an entry; tells whether there was one."""
    return await tx.run("entries.forget", entry_id=entry_id) > 0


async def like(tx: Executor, entry_id: str, similarity: float, limit: int) -> list[tuple[MemoryEntry, float]]:
    """Earlier entries of the same type that are similar to one, the most similar first."""
    found = await tx.dicts("entries.like", entry_id=entry_id, similarity=similarity, limit=limit)
    return [(MemoryEntry(**row), alike) for row in found for alike in [row.pop("similarity")]]
