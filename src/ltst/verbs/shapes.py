"""The models of answers: records and what is made from them, as they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
    create_model,
)

from ltst import measurements, records
from ltst.recall.context import Context
from ltst.support import lossless

T = TypeVar("T")

# JSON in which bytes have a form of their own.
Lossless = Annotated[JsonValue, BeforeValidator(lossless.sent)]
# A duration, sent as a number of seconds.
Span = Annotated[timedelta, PlainSerializer(timedelta.total_seconds), WithJsonSchema({"type": "number"})]


class Answer(BaseModel):
    """What is read from a record or a mapping."""

    model_config = ConfigDict(from_attributes=True)


class Page(Answer, Generic[T]):
    """Some of what there is; `next_offset` tells where the rest begins, and is null when there is none."""

    items: list[T]
    next_offset: int | None = None

    def __class_getitem__(cls, kind: Any) -> Any:
        """Return the page of a kind as a class of its own, which documents call by a plain name: FactPage."""
        return _page_model(super().__class_getitem__(kind), kind)


@cache
def _page_model(page: Any, kind: type) -> Any:
    return create_model(f"{kind.__name__}Page", __base__=page, __doc__=Page.__doc__)


def page(found: Sequence[Any], limit: int, offset: int, most: int | None = None) -> dict[str, Any]:
    """Return the first `limit` of what was found; one more was read, if no more than `most` are, to see if there is."""
    more = len(found) > limit or len(found) == most
    return {"items": found[:limit], "next_offset": offset + limit if more else None}


def sent(record: type, *, leave_out: Sequence[str] = ("embedding",), **instead: Any) -> Any:
    """Return the model of a record as it is sent, without its vector; `instead` replaces types."""
    hints = {**get_type_hints(record), **instead}
    kept: dict[str, Any] = {each.name: (hints[each.name], ...) for each in fields(record) if each.name not in leave_out}
    return create_model(record.__name__, __base__=Answer, __doc__=record.__doc__, **kept)


Session: Any = sent(records.ConversationSession)
Message: Any = sent(records.ConversationMessage)
Chunk: Any = sent(records.DocumentChunk)
Document: Any = sent(records.Document, leave_out=("chunks",))
Event: Any = sent(records.Event)
Key: Any = sent(records.ApiKey, leave_out=("secret",))
Imported: Any = sent(records.Imported)
Stats: Any = sent(measurements.Stats)
Health: Any = sent(records.Health)
KnownUser: Any = sent(records.KnownUser)
Verification: Any = sent(records.Verification)
Receipt: Any = sent(records.Receipt)
Item: Any = sent(records.Item, value=Lossless, ttl=Span | None)


class MessageWithVector(Message):  # type: ignore[misc]
    """A message and its vector, once it has one."""

    embedding: list[float] | None


class DocumentWithChunks(Document):  # type: ignore[misc]
    """A document with its chunks."""

    chunks: list[Chunk]


class ContextSection(Answer):
    """One part of a context."""

    name: str
    text: str
    tokens: int
    sources: list[str]


class ContextSource(Answer):
    """What a line of a context is, and the messages that it rests on."""

    kind: str
    id: str | None
    messages: list[str]


class PackedContext(Answer):
    """A prompt within its budget, as messages for a model and as one text."""

    messages: list[dict[str, str]]
    text: str
    sections: list[ContextSection]
    tokens: int
    sources: list[str]
    references: dict[str, ContextSource] = Field(
        description="What the references in the text stand for: m1, m2 and so on."
    )
    dropped: dict[str, int]
    notes: list[str]


class Snapshot(Answer):
    """The short-term window."""

    session_id: str
    messages: list[dict[str, str]]
    window_strategy: str
    max_tokens: int


class MessageHit(Answer):
    """A message and its relevance, from 0 to 1."""

    message: Message
    score: float


class WorkingMemoryValue(Answer):
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


class ItemNamespace(Answer):
    """A namespace that holds items."""

    namespace: list[str]


class BatchResults(Answer):
    """What each operation of a batch came to: an item, null, whether there was one, or a list."""

    results: list[Item | bool | list[Item | ItemNamespace] | None]


class ForkedSession(Answer):
    """The session that was made."""

    session_id: str


class RemovedCount(Answer):
    """How many there were."""

    removed: int


class ConversationCount(Answer):
    """How many conversations were read."""

    conversations: int


class Done(Answer):
    """Whether there was such a thing."""

    done: bool


# The model that each returned record is sent as.
SENT: Mapping[Any, Any] = {
    records.ConversationSession: Session,
    records.ConversationMessage: Message,
    records.ConversationContext: sent(records.ConversationContext),
    records.Fact: sent(records.Fact),
    records.Statement: sent(records.Statement),
    records.UserPreference: sent(records.UserPreference),
    records.Instruction: sent(records.Instruction),
    records.MemoryEntry: sent(records.MemoryEntry),
    records.Item: Item,
    records.Document: DocumentWithChunks,
    records.Hit: sent(records.Hit),
    records.SessionRelationship: sent(records.SessionRelationship),
    records.SessionSummary: sent(records.SessionSummary),
    records.RetentionPolicy: sent(records.RetentionPolicy, archive_after=Span | None, delete_after=Span | None),
    records.Event: Event,
    records.Receipt: Receipt,
    Context: PackedContext,
}
