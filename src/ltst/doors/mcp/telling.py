"""Renders records as text for a model. Memories are quoted, so that they read as data whatever they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ltst import records
from ltst.doors.mcp.quotes import PREAMBLE, quoted
from ltst.support import lossless

LONGEST_QUOTE = 4000  # characters of one memory; the structured answer has the whole
ROLES = {"human": "user", "ai": "assistant"}

Part = str | Callable[[Any], Any]  # the name of a field, or a function of the record


def tell(answer: Any, nothing: str = "There is nothing.") -> str:
    """Returns an answer as text: records as quoted blocks, counts as they are, anything else as quoted JSON."""
    if not isinstance(answer, Mapping):
        return "\n".join([PREAMBLE, _block(answer)])
    if "items" not in answer:
        counted = all(isinstance(each, int) for each in answer.values())
        return _counts_line(answer) if counted else "\n".join([PREAMBLE, in_json(answer)])
    if not answer["items"]:
        return nothing
    offset = answer.get("next_offset")
    more = [] if offset is None else [f"There is more: ask again with offset {offset}."]
    return "\n".join([PREAMBLE, *blocks(answer["items"]), *more])


def blocks(found: Iterable[Any]) -> list[str]:
    """Returns a quoted block for each record."""
    return [_block(each) for each in found]


def in_json(value: Any, **attributes: str | None) -> str:
    """Return a JSON value, quoted."""
    return _quoted(json.dumps(value, ensure_ascii=False, default=str), **attributes)


def _counts_line(answer: Mapping[str, int]) -> str:
    words = {name: ("on" if value else "off") if isinstance(value, bool) else value for name, value in answer.items()}
    return ", ".join(f"{name}: {value}" for name, value in words.items()) + "."


def _block(thing: Any) -> str:
    """Returns the block of a record, of a found message, or of a working value; anything else as JSON."""
    if isinstance(thing, Mapping) and "message" in thing:
        thing = thing["message"]
    elif isinstance(thing, Mapping) and thing.keys() == {"key", "value"}:
        return in_json(thing["value"], kind="working", key=thing["key"])
    if type(thing) not in TOLD:
        return in_json(thing)
    kind, content, beside = TOLD[type(thing)]
    attributes = {name: _value_text(_part(thing, each)) for name, each in beside.items()}
    return _quoted(_part(thing, content), **{"kind": kind, **attributes})


def _part(record: Any, part: Part) -> Any:
    return getattr(record, part) if isinstance(part, str) else part(record)


def _quoted(content: str, **attributes: str | None) -> str:
    """Quotes a content. A long one is cut, and the block says so."""
    if len(content) > LONGEST_QUOTE:
        attributes["shortened"] = f"{LONGEST_QUOTE} of {len(content)} characters"
    return quoted(content[:LONGEST_QUOTE], **attributes)


def _value_text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
    return None if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _speaker(role: str) -> dict[str, Part]:
    """Returns the attributes that name the speaker, and mark words that are not the user's."""
    return {
        "from": lambda it: ROLES.get(getattr(it, role), getattr(it, role)),
        "trust": lambda it: None if it.trusted else "low",
    }


def _counts(summary: records.SessionSummary) -> str:
    return (
        f"{summary.message_count} messages ({summary.human_messages} of the user, {summary.ai_messages} of the "
        f"assistant), {summary.token_count} tokens"
    )


def _spans(policy: records.RetentionPolicy) -> str:
    spans = {"archive": policy.archive_after, "delete": policy.delete_after}
    return ", ".join(f"{what} after {span}" for what, span in spans.items() if span is not None)


def _as(kind: str, content: Part, fields: str = "", **made: Part) -> tuple[str, Part, Mapping[str, Part]]:
    """Returns how to render a record: its kind, the quoted field, and its attributes, as name or name=field."""
    named = {name: field or name for name, _, field in (each.partition("=") for each in fields.split())}
    return kind, content, {**named, **made}


TOLD: Mapping[type, tuple[str, Part, Mapping[str, Part]]] = {
    records.ConversationSession: _as(
        "session",
        lambda it: it.session_name or it.session_id,
        "id=session_id agent=agent_name status messages=session_length last=last_activity",
        summary=lambda it: (it.context_summary or "")[:LONGEST_QUOTE] or None,
    ),
    records.ConversationMessage: _as("message", "content", "id=message_id at=timestamp", **_speaker("role")),
    records.ConversationContext: _as("context", "context_value", "kind=context_type key=context_key until=expires_at"),
    records.Fact: _as(
        "fact",
        "fact_value",
        "key=fact_key since=valid_from until=valid_to rejected=rejected_at confidence source=source_message_id",
        about=lambda it: None if it.about == records.ME else it.about,
    ),
    records.Statement: _as(
        "statement",
        "content",
        "kind id=statement_id about at=said_at rejected=rejected_at source=message_id",
        until=lambda it: it.superseded_at or it.until,
    ),
    records.UserPreference: _as("preference", "preference_value", "key=preference_key type=preference_type"),
    records.Instruction: _as(
        "instruction",
        "content",
        "agent=agent_name",
        version=lambda it: f"{it.version}{'' if it.active else ' (not in use)'}",
    ),
    records.MemoryEntry: _as("entry", "content", "id=entry_id type=memory_type at=occurred_at"),
    records.Document: _as(
        "document",
        lambda it: it.text if it.chunks else it.title or it.uri or it.document_id,
        "id=document_id uri at=created_at",
        title=lambda it: it.title if it.chunks else None,
    ),
    records.Item: _as(
        "item",
        lambda it: json.dumps(lossless.sent(it.value), ensure_ascii=False),
        "key at=updated_at revision until=expires_at score",
        namespace=lambda it: "/".join(it.namespace),
    ),
    records.Hit: _as("hit", "content", "kind id at=occurred_at session=session_id score", **_speaker("speaker")),
    records.SessionRelationship: _as(
        "relationship",
        "relationship_type",
        "from=source_session_id to=target_session_id strength=relationship_strength",
    ),
    records.SessionSummary: _as("summary", _counts, "id=session_id status last=last_activity"),
    records.RetentionPolicy: _as("retention", _spans, "type=session_type"),
    records.Event: _as("event", lambda it: f"{it.action} {it.noun} {it.row_id}", "id=event_id at=occurred_at by=actor"),
    records.Receipt: _as(
        "receipt",
        lambda it: f"removed {sum(it.removed.values())} rows, {sum(it.remaining.values())} remain",
        "id=receipt_id at=erased_at digest",
    ),
}
