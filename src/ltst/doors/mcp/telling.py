"""Telling: records as text for a model. What is remembered is quoted, so that it reads as data whatever it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ltst import records
from ltst.doors.mcp.quotes import PREAMBLE, quoted

LONGEST_QUOTE = 4000  # characters of one memory; the structured answer has all of it
ROLES = {"human": "user", "ai": "assistant"}


def tell(answer: Any, nothing: str = "There is nothing.") -> str:
    """An answer as text: records as quoted blocks, numbers as they are, the rest as JSON in a block."""
    if not isinstance(answer, Mapping):
        return "\n".join([PREAMBLE, _block(answer)])
    if "items" not in answer:
        counted = all(isinstance(each, int) for each in answer.values())
        return _counted(answer) if counted else "\n".join([PREAMBLE, in_json(answer)])
    if not answer["items"]:
        return nothing
    offset = answer.get("next_offset")
    more = [] if offset is None else [f"There is more: ask again with offset {offset}."]
    return "\n".join([PREAMBLE, *blocks(answer["items"]), *more])


def blocks(found: Iterable[Any]) -> list[str]:
    """A block for each thing."""
    return [_block(each) for each in found]


def in_json(value: Any, **attributes: str | None) -> str:
    """Any JSON value, quoted."""
    return _quoted(json.dumps(value, ensure_ascii=False, default=str), **attributes)


def _counted(answer: Mapping[str, int]) -> str:
    told = {name: ("on" if value else "off") if isinstance(value, bool) else value for name, value in answer.items()}
    return ", ".join(f"{name}: {value}" for name, value in told.items()) + "."


def _block(thing: Any) -> str:
    """A record as it is told; of a message that was found, the message; of a value its key; any other thing as JSON."""
    if isinstance(thing, Mapping) and "message" in thing:
        thing = thing["message"]
    elif isinstance(thing, Mapping) and thing.keys() == {"key", "value"}:
        return in_json(thing["value"], kind="working", key=thing["key"])
    shown = TELLERS.get(type(thing))
    return in_json(thing) if shown is None else shown(thing)


def _quoted(content: str, **attributes: str | None) -> str:
    """A long one is cut, and says so."""
    if len(content) > LONGEST_QUOTE:
        attributes["shortened"] = f"{LONGEST_QUOTE} of {len(content)} characters"
    return quoted(content[:LONGEST_QUOTE], **attributes)


def _at(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _session(session: records.ConversationSession) -> str:
    return _quoted(
        session.session_name or session.session_id,
        kind="session",
        id=session.session_id,
        agent=session.agent_name,
        status=session.status,
        messages=str(session.session_length),
        last=_at(session.last_activity),
        summary=(session.context_summary or "")[:LONGEST_QUOTE] or None,
    )


def _message(message: records.ConversationMessage) -> str:
    speaker = {"from": ROLES.get(message.role, message.role), "trust": None if message.trusted else "low"}
    return _quoted(message.content, kind="message", id=message.message_id, at=_at(message.timestamp), **speaker)


def _context(context: records.ConversationContext) -> str:
    return _quoted(
        context.context_value, kind=context.context_type, key=context.context_key, until=_at(context.expires_at)
    )


def _fact(fact: records.Fact) -> str:
    return _quoted(
        fact.fact_value,
        kind="fact",
        about=None if fact.about == records.ME else fact.about,
        key=fact.fact_key,
        since=_at(fact.valid_from),
        until=_at(fact.valid_to),
        rejected=_at(fact.rejected_at),
        confidence=f"{fact.confidence:.2f}",
        source=fact.source_message_id,
    )


def _statement(statement: records.Statement) -> str:
    return _quoted(
        statement.content,
        kind=statement.kind,
        id=statement.statement_id,
        about=statement.about,
        at=_at(statement.said_at),
        until=_at(statement.superseded_at or statement.until),
        rejected=_at(statement.rejected_at),
        source=statement.message_id,
    )


def _preference(preference: records.UserPreference) -> str:
    return _quoted(
        preference.preference_value, kind="preference", key=preference.preference_key, type=preference.preference_type
    )


def _instruction(instruction: records.Instruction) -> str:
    version = f"{instruction.version}{'' if instruction.active else ' (not in use)'}"
    return _quoted(instruction.content, kind="instruction", agent=instruction.agent_name, version=version)


def _entry(entry: records.MemoryEntry) -> str:
    return _quoted(
        entry.content, kind="entry", id=entry.entry_id, type=str(entry.memory_type), at=_at(entry.occurred_at)
    )


def _document(document: records.Document) -> str:
    told = {"kind": "document", "id": document.document_id, "uri": document.uri, "at": _at(document.created_at)}
    if not document.chunks:
        return _quoted(document.title or document.uri or document.document_id, **told)
    return _quoted(document.text, **told, title=document.title)


def _hit(hit: records.Hit) -> str:
    speaker = {"from": hit.speaker and ROLES.get(hit.speaker, hit.speaker), "trust": None if hit.trusted else "low"}
    return _quoted(
        hit.content,
        kind=hit.kind,
        id=hit.id,
        at=_at(hit.occurred_at),
        session=hit.session_id,
        score=f"{hit.score:.2f}",
        **speaker,
    )


def _relationship(link: records.SessionRelationship) -> str:
    told = {"from": link.source_session_id, "to": link.target_session_id}
    return _quoted(link.relationship_type, kind="relationship", **told, strength=f"{link.relationship_strength:.2f}")


def _counts(summary: records.SessionSummary) -> str:
    counted = (
        f"{summary.message_count} messages ({summary.human_messages} of the user, {summary.ai_messages} of the "
        f"assistant), {summary.token_count} tokens"
    )
    return _quoted(
        counted, kind="summary", id=summary.session_id, status=summary.status, last=_at(summary.last_activity)
    )


def _policy(policy: records.RetentionPolicy) -> str:
    spans = {"archive": policy.archive_after, "delete": policy.delete_after}
    told = ", ".join(f"{what} after {span}" for what, span in spans.items() if span is not None)
    return _quoted(told, kind="retention", type=policy.session_type)


def _event(event: records.Event) -> str:
    told = f"{event.action} {event.noun} {event.row_id}"
    return _quoted(told, kind="event", id=str(event.event_id), at=_at(event.occurred_at), by=event.actor)


def _receipt(receipt: records.Receipt) -> str:
    removed = f"removed {sum(receipt.removed.values())} rows, {sum(receipt.remaining.values())} remain"
    return _quoted(removed, kind="receipt", id=receipt.receipt_id, at=_at(receipt.erased_at), digest=receipt.digest)


TELLERS: Mapping[type, Callable[[Any], str]] = {
    records.ConversationSession: _session,
    records.ConversationMessage: _message,
    records.ConversationContext: _context,
    records.Fact: _fact,
    records.Statement: _statement,
    records.UserPreference: _preference,
    records.Instruction: _instruction,
    records.MemoryEntry: _entry,
    records.Document: _document,
    records.Hit: _hit,
    records.SessionRelationship: _relationship,
    records.SessionSummary: _counts,
    records.RetentionPolicy: _policy,
    records.Event: _event,
    records.Receipt: _receipt,
}
