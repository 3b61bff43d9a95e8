"""Entries: memories that belong to no conversation; the same content is stored once."""

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
    """A validated entry to store; `metadata` is JSON."""

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
        """Returns the parameters of the queries."""
        return {**asdict(self), "content_hash": sha256(self.content)}


async def add_many(tx: Executor, given: Iterable[NewEntry]) -> list[str]:
    """Stores entries and returns the ids of those whose content was new."""
    rows = [{**each.parameters, "metadata": json.loads(each.metadata)} for each in given]
    return await tx.values("entries.add_many", rows=json.dumps(rows, default=str))


async def forget(tx: Executor, entry_id: str) -> bool:
    """Removes an entry and returns whether it existed."""
    return await tx.run("entries.forget", entry_id=entry_id) > 0


async def like(tx: Executor, entry_id: str, similarity: float, limit: int) -> list[tuple[MemoryEntry, float]]:
    """Returns earlier entries of the same type that are similar to this one, the most similar first."""
    found = await tx.dicts("entries.like", entry_id=entry_id, similarity=similarity, limit=limit)
    return [(MemoryEntry(**row), alike) for row in found for alike in [row.pop("similarity")]]
