"""Converts the memories that an answer rests on into plain values that can be sent and stored."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ltst.recall.context import Context
from ltst.records import ConversationMessage, Fact, Hit, UserPreference

MOST_KEPT = 200
# A message may hold a pasted book: an answer shows its beginning, and the id leads to the rest.
LONGEST_CONTENT = 2_000

Memory = dict[str, Any]


def plain(memory: Hit) -> Memory:
    """Returns a hit as kind, id, content, date, session_id, score and sources; a hit without a search has no score."""
    known = memory.kind, memory.id, memory.content, memory.occurred_at, memory.session_id
    return _memory(*known, round(memory.score, 4) or None, memory.sources)


def left_out(context: Context, session_id: str) -> list[Memory]:
    """Returns a note on window turns that did not fit into the prompt; an empty list if all did."""
    missing = context.dropped.get("window")
    if not missing:
        return []
    told = f"{missing} turns of this chat did not fit into the prompt and were left out or cut; raise max_tokens"
    return [_memory("window", session_id, told, None, session_id, None, ())]


def plain_fact(fact: Fact) -> Memory:
    """Returns a fact as a memory."""
    sources = () if fact.source_message_id is None else (fact.source_message_id,)
    return _memory("fact", fact.fact_id, fact.line, fact.valid_from, None, None, sources)


def plain_preference(preference: UserPreference) -> Memory:
    """Returns a preference as a memory."""
    told = f"{preference.key}: {preference.value}"
    sources = preference.metadata.get("sources", ())
    return _memory("preference", preference.preference_id, told, preference.updated_at, None, None, sources)


def plain_message(message: ConversationMessage) -> Memory:
    """Returns a message that no search found as a memory."""
    message_id = str(message.message_id)
    return _memory("message", message_id, message.content, message.timestamp, message.session_id, None, (message_id,))


def _memory(
    kind: str,
    id: str,
    content: str,
    date: datetime | None,
    session_id: str | None,
    score: float | None,
    sources: Iterable[str],
) -> Memory:
    return {
        "kind": kind,
        "id": id,
        "content": content if len(content) <= LONGEST_CONTENT else f"{content[: LONGEST_CONTENT - 1]}…",
        "date": None if date is None else date.isoformat(),
        "session_id": session_id,
        "score": score,
        "sources": [*sources],
    }


def distinct(memories: Iterable[Memory]) -> list[Memory]:
    """Returns each memory once, because a tool may find what is already in the context."""
    return [*{(each["kind"], each["id"], each["content"]): each for each in memories}.values()]


def kept(memories: Iterable[Memory]) -> list[Memory]:
    """Returns the kind and id of each memory, to be stored with an answer without the contents."""
    return [{"kind": each["kind"], "id": each["id"]} for each in memories][:MOST_KEPT]
