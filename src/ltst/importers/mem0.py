"""Reads memories of mem0, in the form its `get_all` returns; each becomes an entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ltst.importers import words
from ltst.importers.shapes import mapping, moment, name
from ltst.importers.shapes import words as text
from ltst.importers.source import Found, PlacedValue, SourceFile
from ltst.importers.words import MessageText
from ltst.records import MemoryEntry

TOLD = ("id", "hash", "user_id", "agent_id", "run_id", "app_id", "actor_id", "role")


def is_one(value: object) -> bool:
    """Returns whether a value is one of mem0's memories."""
    return isinstance(value, dict) and "memory" in value and not {"id", "hash", "user_id"}.isdisjoint(value)


def read(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields the memories of a file."""
    return source.each(items, lambda item: _entry(item.value, source))


def _entry(value: object, source: SourceFile) -> MemoryEntry | None:
    given = mapping(value, "it")
    if not source.is_wanted(given.get("user_id")):
        return None
    spoken = MessageText()
    spoken.say(text(given.get("memory"), "memory"))
    created, updated = (moment(given.get(each), each) for each in ("created_at", "updated_at"))
    expires = moment(given.get("expiration_date"), "expiration_date")
    one = source.said("human", spoken, created, "memory", _metadata(given))
    if one is None:
        return None
    return MemoryEntry(
        one.content,
        metadata=one.metadata,
        timestamp=updated or created or source.options.now,
        source="mem0",
        expires_at=expires,
    )


def _metadata(given: dict[str, Any]) -> dict[str, Any]:
    origin: dict[str, Any] = {"format": "mem0"}
    for each in TOLD:
        if (known := name(given.get(each), each)) is not None:
            origin[each] = words.clean(known)[:200]
    kept: dict[str, Any] = {"imported": origin}
    for each in ("metadata", "categories"):
        if given.get(each):
            kept[each] = words.storable(given[each])
    return kept
