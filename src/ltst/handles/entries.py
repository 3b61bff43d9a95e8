"""Entries of a user: memories that belong to no conversation."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from ltst.arguments import ENTRY_TYPES, Content, EntryType, Identifier, Limit, Metadata, Offset, Score
from ltst.errors import Invalid
from ltst.handles.desk import Handle, now
from ltst.records import Imported, MemoryEntry
from ltst.retelling.importance import kept
from ltst.rooms import entries, events
from ltst.support import validate
from ltst.support.ids import is_id

EntryId = Annotated[Identifier, "The id of the entry."]


class AsyncEntries(Handle):
    """Free-standing memories of a user."""

    async def add(
        self,
        content: Annotated[Content, "What to keep, word for word."],
        *,
        type: Annotated[EntryType, "long_term: knowledge; episodic: what happened."] = "long_term",
        importance: Annotated[Score | None, "From 0 to 1; judged by its words, if left out."] = None,
        occurred_at: Annotated[datetime | None, "When it happened; now, if left out."] = None,
        expires_at: Annotated[datetime | None, "Until when to keep it; for good, if left out."] = None,
        source: Annotated[Identifier | None, "Where it comes from."] = None,
        metadata: Metadata | None = None,
    ) -> MemoryEntry:
        """Keep a memory; the same content is kept once. `source` is where it comes from, else who writes it."""
        content = self._desk.content(content, "content")
        validate.choice(type, "type", ENTRY_TYPES)
        weight = kept(content) if importance is None else validate.score(importance, "importance")
        happened = validate.optional_moment(occurred_at, "occurred_at") or now()
        origin = validate.optional_identifier(source, "source") or self._desk.settings.actor
        expires, extra = validate.optional_moment(expires_at, "expires_at"), self._desk.metadata(metadata)
        new = entries.NewEntry(type, content, weight, origin, extra, happened, expires)
        async with self._desk.writing("entries.add") as tx:
            entry = await tx.one("entries.add", MemoryEntry, **new.parameters)
            action = "add" if entry.entry_id == new.entry_id else "confirm"
            await self._desk.tell(tx, action, "entry", str(entry.entry_id))
        return entry

    async def add_many(self, given: Iterable[MemoryEntry]) -> Imported:
        """Keep memories that were made elsewhere, all or none; what is there already stays as it is.

        Of each its content, type, time, importance, source, metadata and end are kept.
        """
        if not isinstance(given, Iterable):
            raise Invalid("entries must be a list of MemoryEntry")
        new = [self._new(position, each) for position, each in enumerate(given, start=1)]
        if not new:
            return Imported()
        async with self._desk.writing("entries.add_many") as tx:
            added = await entries.add_many(tx, new)
            told = [events.NewEvent("add", "entry", str(entry_id), {}) for entry_id in added]
            await events.add_many(tx, self._desk.settings.actor, told)
            tx.seen = len(added)
        return Imported(entries=len(added), known=len(new) - len(added))

    async def get(self, entry_id: EntryId) -> MemoryEntry | None:
        """Return an entry, or None."""
        if not is_id(entry_id):
            return None
        async with self._desk.reading("entries.get") as calls:
            return await calls.row("entries.get", MemoryEntry, entry_id=entry_id)

    async def list(
        self, type: Annotated[EntryType | None, "Only of a type."] = None, *, limit: Limit = 50, offset: Offset = 0
    ) -> builtins.list[MemoryEntry]:
        """Return the entries, the latest first; `type` is long_term or episodic."""
        validate.optional_choice(type, "type", ENTRY_TYPES)
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("entries.list") as calls:
            return await calls.rows("entries.list", MemoryEntry, memory_type=type, limit=most, offset=passed)

    async def forget(self, entry_id: EntryId) -> bool:
        """Remove an entry; return whether there was one."""
        if not is_id(entry_id):
            return False
        async with self._desk.writing("entries.forget") as tx:
            gone = await entries.forget(tx, entry_id)
            if gone:
                await self._desk.tell(tx, "forget", "entry", entry_id)
        return gone

    def _new(self, position: int, entry: MemoryEntry) -> entries.NewEntry:
        if not isinstance(entry, MemoryEntry):
            raise Invalid(f"entry {position} must be a MemoryEntry, not {type(entry).__name__}")
        try:
            content = self._desk.content(entry.content, "content")
            return entries.NewEntry(
                validate.choice(entry.memory_type, "memory_type", ENTRY_TYPES),
                content,
                validate.score(entry.importance_score, "importance_score"),
                validate.optional_identifier(entry.source, "source"),
                self._desk.metadata(entry.metadata),
                validate.optional_moment(entry.timestamp, "timestamp") or now(),
                validate.optional_moment(entry.expires_at, "expires_at"),
            )
        except Invalid as problem:
            raise Invalid(f"entry {position}: {problem}") from None
