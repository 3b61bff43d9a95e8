"""Entries: free-standing memories; the same content is kept once."""

from __future__ import annotations

from datetime import datetime

from ltst.db.pool import Executor
from ltst.records import MemoryEntry
from ltst.support.text import sha256

ENTRY_TYPES = ("long_term", "episodic")


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
