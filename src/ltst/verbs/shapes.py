"""What is answered: records and what is made of them, as they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer, WithJsonSchema, create_model

from ltst import measurements, records
from ltst.recall.context import Context

T = TypeVar("T")

# Told in seconds, as it is written.
Span = Annotated[timedelta, PlainSerializer(timedelta.total_seconds), WithJsonSchema({"type": "number"})]


class Answer(BaseModel):
    """What is read from a record or a mapping."""

    model_config = ConfigDict(from_attributes=True)


class Page(Answer, Generic[T]):
    """Some of what there is; `next_offset` tells where the rest begins, and is null when there is none."""

    items: list[T]
    next_offset: int | None = None


def page(found: Sequence[Any], limit: int, offset: int) -> dict[str, Any]:
    """Return the first `limit` of what was found; one more was read to see whether there is more."""
    return {"items": found[:limit], "next_offset": offset + limit if len(found) > limit else None}


def _sent(record: type, *, leave_out: Sequence[str] = ("embedding",), **instead: Any) -> Any:
    """Return the model of a record as it is sent, without its vector; `instead` replaces types."""
    hints = {**get_type_hints(record), **instead}
    kept: dict[str, Any] = {each.name: (hints[each.name], ...) for each in fields(record) if each.name not in leave_out}
    return create_model(record.__name__, __base__=Answer, __doc__=record.__doc__, **kept)


Session: Any = _sent(records.ConversationSession)
Message: Any = _sent(records.ConversationMessage)
Chunk: Any = _sent(records.DocumentChunk)
Document: Any = _sent(records.Document, leave_out=("chunks",))
Event: Any = _sent(records.Event)
Key: Any = _sent(records.ApiKey, leave_out=("secret",))
Imported: Any = _sent(records.Imported)
Stats: Any = _sent(measurements.Stats)
Health: Any = _sent(records.Health)
KnownUser: Any = _sent(records.KnownUser)
Verification: Any = _sent(records.Verification)
Receipt: Any = _sent(records.Receipt)


class MessageWithVector(Message):  # type: ignore[misc]
    """A message and its vector, once it has one."""

    embedding: list[float] | None


class DocumentWhole(Document):  # type: ignore[misc]
    """A document with its chunks."""

    chunks: list[Chunk]


class Section(Answer):
    """One part of a context."""

    name: str
    text: str
    tokens: int
    sources: list[str]


class Source(Answer):
    """What a line of a context is, and the messages that it rests on."""

    kind: str
    id: str | None
    messages: list[str]


class ContextPacked(Answer):
    """A prompt within its budget, as messages for a model and as one text."""

    messages: list[dict[str, str]]
    text: str
    sections: list[Section]
    tokens: int
    sources: list[str]
    references: dict[str, Source] = Field(description="What the references in the text stand for: m1, m2 and so on.")
    dropped: dict[str, int]
    notes: list[str]


class Snapshot(Answer):
    """The short-term window."""

    session_id: str
    messages: list[dict[str, str]]
    window_strategy: str
    max_tokens: int


class MessageFound(Answer):
    """A message and its relevance, from 0 to 1."""

    message: Message
    score: float


class WorkingValue(Answer):
    """A value of working memory."""

    key: str
    value: JsonValue


class ProfileFact(Answer):
    """A fact that holds."""

    key: str
    value: str
    confidence: float
    source_message_id: str | None


class Profile(Answer):
    """Who the user is: facts that hold, and preferences; `notes` say which values cannot be read."""

    user_id: str
    facts: list[ProfileFact]
    preferences: dict[str, str]
    notes: list[str]


class Forked(Answer):
    """The session that was made."""

    session_id: str


class Removed(Answer):
    """How many there were."""

    removed: int


class Conversations(Answer):
    """How many conversations were read."""

    conversations: int


class Done(Answer):
    """Whether there was such a thing."""

    done: bool


# How a record that a verb returns is sent.
SENT: Mapping[Any, Any] = {
    records.ConversationSession: Session,
    records.ConversationMessage: Message,
    records.ConversationContext: _sent(records.ConversationContext),
    records.Fact: _sent(records.Fact),
    records.Statement: _sent(records.Statement),
    records.UserPreference: _sent(records.UserPreference),
    records.Instruction: _sent(records.Instruction),
    records.MemoryEntry: _sent(records.MemoryEntry),
    records.Document: DocumentWhole,
    records.Hit: _sent(records.Hit),
    records.SessionRelationship: _sent(records.SessionRelationship),
    records.SessionSummary: _sent(records.SessionSummary),
    records.RetentionPolicy: _sent(records.RetentionPolicy, archive_after=Span | None, delete_after=Span | None),
    records.Event: Event,
    records.Receipt: Receipt,
    Context: ContextPacked,
}
