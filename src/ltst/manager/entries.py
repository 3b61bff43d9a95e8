"""Converts messages, contexts and facts into the memory entries of a MemoryManager."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ltst.errors import Invalid
from ltst.handles.chats import MODEL_ROLES
from ltst.records import ME, ConversationContext, ConversationMessage, Fact, MemoryEntry, MemoryTypes, Metadata
from ltst.retelling.importance import importance
from ltst.support import validate
from ltst.support.terms import distinct, terms

# Default sources of a memory: said in a conversation, or written explicitly.
SAID, WRITTEN = "conversation", "explicit"
SIGNS = {
    "gt": lambda held, bound: held > bound,
    "gte": lambda held, bound: held >= bound,
    "lt": lambda held, bound: held < bound,
    "lte": lambda held, bound: held <= bound,
}


def copied(metadata: Metadata | None) -> dict[str, Any]:
    """Returns a copy of the metadata, from which callers may remove what is not to be stored."""
    if not isinstance(metadata, Mapping | None):
        raise Invalid(f"metadata must be a mapping with text keys and JSON values, not {type(metadata).__name__}")
    return dict(metadata or {})


def weight(metadata: Metadata) -> float | None:
    """Returns the importance in the metadata if it is a number from 0 to 1, else None."""
    given = metadata.get("importance")
    is_weight = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1
    return given if is_weight else None


def source(metadata: Metadata) -> str | None:
    """Returns the source in the metadata if it is a text, else None."""
    given = metadata.get("source")
    return validate.identifier(given, "source") if isinstance(given, str) and given.strip() else None


def moment(metadata: dict[str, Any], name: str) -> datetime | None:
    """Removes a time from the metadata and returns it, local if it has no zone; a text is left alone."""
    return validate.local_moment(metadata.pop(name)) if isinstance(metadata.get(name), datetime) else None


def matching(query: str, kept: list[ConversationContext]) -> list[MemoryEntry]:
    """Returns the contexts that share words with the query, best match first, then newest first."""
    asked = {*distinct(query)}
    found = [(of_context(each), each.context_key) for each in kept]
    held = [(len(asked & {*terms(f"{key} {entry.content}")}), entry) for entry, key in found]
    held.sort(key=lambda each: (each[0], each[1].timestamp), reverse=True)
    return [entry for words, entry in held if words]


def meets(metadata: Metadata, filters: Mapping[str, Any]) -> bool:
    """Returns whether metadata meets the filters, by the same rules as a database search."""
    return all(key in metadata and _meets(metadata[key], wanted) for key, wanted in filters.items())


def _meets(held: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and wanted and wanted.keys() <= SIGNS.keys():
        return all(_kind(held) == _kind(bound) and SIGNS[sign](held, bound) for sign, bound in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(held, Mapping) and meets(held, wanted)
    if isinstance(wanted, list | tuple):
        return isinstance(held, list) and all(any(_meets(each, one) for each in held) for one in wanted)
    return _kind(held) == _kind(wanted) and bool(held == wanted)


def _kind(value: Any) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def of_message(message: ConversationMessage) -> MemoryEntry:
    """Returns a message as an entry."""
    return MemoryEntry(
        message.content,
        message.embedding,
        {**message.metadata, "role": MODEL_ROLES.get(message.role, message.role)},
        message.timestamp,
        source(message.metadata) or SAID,
        # Indexing weighs a message, which may not have happened yet.
        message.relevance_score or importance(message.content, message.role),
        MemoryTypes.SHORT_TERM,
        message.message_id,
        message.user_id,
        session_id=message.session_id,
        created_at=message.created_at,
    )


def of_context(context: ConversationContext) -> MemoryEntry:
    """Returns a value of working memory as an entry."""
    value = json.loads(context.context_value)
    return MemoryEntry(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        None,
        {**context.metadata, "key": context.context_key},
        context.created_at,
        source(context.metadata) or WRITTEN,
        context.relevance_score,
        MemoryTypes.WORKING,
        context.context_id,
        context.user_id,
        session_id=context.session_id,
        created_at=context.created_at,
        expires_at=context.expires_at,
    )


def of_fact(fact: Fact) -> MemoryEntry:
    """Returns a fact as an entry."""
    about = {"key": fact.fact_key, "value": fact.fact_value, "source_message_id": fact.source_message_id}
    about |= {} if fact.about == ME else {"about": fact.about}
    return MemoryEntry(
        fact.line,
        None,
        {**fact.metadata, **about},
        fact.valid_from,
        SAID if fact.source_message_id else WRITTEN,
        fact.confidence,
        MemoryTypes.LONG_TERM,
        fact.fact_id,
        fact.user_id,
        created_at=fact.recorded_at,
        learned=fact.learned,
    )
