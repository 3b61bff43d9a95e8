"""Entries of a user: free-standing memories."""

from __future__ import annotations

import builtins
from datetime import datetime

from ltst.handles.desk import Desk, now
from ltst.learn.importance import importance as seen
from ltst.records import MemoryEntry, Metadata
from ltst.rooms import entries
from ltst.support import validate
from ltst.support.ids import is_id, new_id

# What somebody took the trouble to keep is worth that much at the least.
MIDDLING = 0.5


class AsyncEntries:
    """Free-standing memories of a user."""

    def __init__(self, desk: Desk) -> None:
        """Made by `user.entries`."""
        self._desk = desk

    async def add(
        self,
        content: str,
        *,
        type: str = "long_term",
        importance: float | None = None,
        occurred_at: datetime | None = None,
        expires_at: datetime | None = None,
        metadata: Metadata | None = None,
    ) -> MemoryEntry:
        """Keep a memory; the same content is kept once."""
        content = self._desk.content(content, "content")
        validate.choice(type, "type", entries.ENTRY_TYPES)
        weight = max(MIDDLING, seen(content)) if importance is None else validate.score(importance, "importance")
        happened = validate.optional_moment(occurred_at, "occurred_at") or now()
        expires, extra = validate.optional_moment(expires_at, "expires_at"), self._desk.metadata(metadata)
        async with self._desk.writing("entries.add") as tx:
            entry_id = new_id()
            entry = await entries.add(
                tx,
                entry_id,
                content,
                type=type,
                importance=weight,
                source=self._desk.settings.actor,
                metadata=extra,
                occurred_at=happened,
                expires_at=expires,
            )
            await self._desk.tell(tx, "add" if entry.entry_id == entry_id else "confirm", "entry", str(entry.entry_id))
        return entry

    async def get(self, entry_id: str) -> MemoryEntry | None:
        """An entry, or None."""
        if not is_id(entry_id):
            return None
        async with self._desk.reading("entries.get") as calls:
            return await entries.get(calls, entry_id)

    async def list(self, type: str | None = None, *, limit: int = 50, offset: int = 0) -> builtins.list[MemoryEntry]:
        """The entries, the latest first; `type` is long_term or episodic."""
        if type is not None:
            validate.choice(type, "type", entries.ENTRY_TYPES)
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("entries.list") as calls:
            return await entries.list_all(calls, type=type, limit=most, offset=passed)

    async def forget(self, entry_id: str) -> bool:
        """Remove an entry; whether there was one."""
        if not is_id(entry_id):
            return False
        async with self._desk.writing("entries.forget") as tx:
            gone = await entries.forget(tx, entry_id)
            if gone:
                await self._desk.tell(tx, "forget", "entry", entry_id)
        return gone
