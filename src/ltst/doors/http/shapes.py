"""Shapes: what requests carry and what comes back, as the page /docs tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

from fastapi import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    WithJsonSchema,
    create_model,
)

from ltst import records
from ltst.arguments import FEWEST_TOKENS
from ltst.support.validate import DIMENSIONS, LARGEST_INTEGER, LARGEST_REAL, LONGEST_IDENTIFIER, moment

T = TypeVar("T")

# Something in it that is no blank, and no NUL anywhere. Told in the docs; the core checks it, and says it in words.
VISIBLE = r"^[^\x00]*[^\x00\x09-\x0d\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\x00]*$"
PRINTABLE = r"^[^\x00]*$"
DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def told(**schema: Any) -> Any:
    """What the docs say of a text that the core checks."""
    return Field(json_schema_extra=schema)


def _whole(value: object) -> object:
    """In JSON 10.0 is a whole number too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _written(value: object) -> object:
    """A time is written as text; a bare number could be seconds or anything else."""
    if not isinstance(value, datetime) and not (isinstance(value, str) and DATE.match(value)):
        raise ValueError("a time is a text such as 2026-03-01T09:30:00Z")
    return value


Identifier = Annotated[StrictStr, told(minLength=1, maxLength=LONGEST_IDENTIFIER, pattern=VISIBLE)]
Text = Annotated[StrictStr, told(minLength=1, pattern=VISIBLE)]
Line = Annotated[StrictStr, told(maxLength=500, pattern=PRINTABLE)]
Number = StrictFloat  # of any size, whole ones too
Index = Annotated[StrictInt, Field(ge=1, le=LARGEST_INTEGER), BeforeValidator(_whole)]
Few = Annotated[StrictInt, Field(ge=1, le=200), BeforeValidator(_whole)]
WindowSize = Annotated[StrictInt, Field(ge=1, le=100_000), BeforeValidator(_whole)]
EntryType = Annotated[str, StringConstraints(strict=True, pattern="^(long_term|episodic)$")]
Budget = Annotated[StrictInt, Field(ge=FEWEST_TOKENS, le=LARGEST_INTEGER), BeforeValidator(_whole)]
Score = Annotated[Number, Field(ge=0, le=1)]
Seconds = Annotated[Number, Field(ge=1e-6, le=31_536_000_000)]
# Told in seconds, as it is written.
Span = Annotated[timedelta, PlainSerializer(timedelta.total_seconds), WithJsonSchema({"type": "number"})]
Moment = Annotated[
    datetime,
    BeforeValidator(_written),
    AfterValidator(lambda value: moment(value, "a time")),
    Field(examples=["2026-03-01T09:30:00Z"], description="With its zone, in the years 2 to 9998."),
]
Weight = Annotated[Number, Field(ge=-1e300, le=1e300)]
Vector = Annotated[
    list[Annotated[Number, Field(ge=-LARGEST_REAL, le=LARGEST_REAL)]],
    Field(min_length=DIMENSIONS, max_length=DIMENSIONS),
]
Metadata = Annotated[dict[str, JsonValue], Field(examples=[{"topic": "food"}])]
Role = Annotated[StrictStr, told(pattern="^(user|assistant|human|ai|system|tool)$", examples=["user"])]

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="How many to pass over.")]
AsOf = Annotated[Moment | None, Query(description="What was true at this time, instead of now.")]


Word = Annotated[StrictStr, told(minLength=1, maxLength=100, pattern=VISIBLE)]
Uri = Annotated[StrictStr, told(maxLength=4096, pattern=PRINTABLE)]
TitleQuery = Annotated[Line | None, Query(description="What to call it.")]
MetadataQuery = Annotated[
    StrictStr | None, Query(description="A JSON object, as text.", examples=['{"topic": "food"}'])
]
UriQuery = Annotated[Uri | None, Query(description="Where it is from; the same uri again changes the document.")]


def _left_out() -> Any:
    """What may be left out but is not null when it is there."""
    return None


class Shape(BaseModel):
    """What a request carries: nothing that has no name here."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel, Generic[T]):
    """Some of what there is; `next_offset` tells where the rest begins, and is null when there is none."""

    items: list[T]
    next_offset: int | None = None


def _answer(record: type, *, leave_out: Sequence[str] = ("embedding",), **instead: Any) -> Any:
    """The shape of a record that is sent, without its vector; some fields in another form."""
    hints = get_type_hints(record)
    kept: dict[str, Any] = {each.name: (hints[each.name], ...) for each in fields(record) if each.name not in leave_out}
    kept.update({name: (kind, ...) for name, kind in instead.items()})
    return create_model(record.__name__, __config__=ConfigDict(from_attributes=True), __doc__=record.__doc__, **kept)


Session: Any = _answer(records.ConversationSession)
Message: Any = _answer(records.ConversationMessage)
Context: Any = _answer(records.ConversationContext)
Fact: Any = _answer(records.Fact)
Statement: Any = _answer(records.Statement)
Preference: Any = _answer(records.UserPreference)
Instruction: Any = _answer(records.Instruction)
Entry: Any = _answer(records.MemoryEntry)
Chunk: Any = _answer(records.DocumentChunk)
Document: Any = _answer(records.Document, leave_out=("chunks",))
Hit: Any = _answer(records.Hit)
Relationship: Any = _answer(records.SessionRelationship)
Summary: Any = _answer(records.SessionSummary)
Policy: Any = _answer(records.RetentionPolicy, archive_after=Span | None, delete_after=Span | None)
Event: Any = _answer(records.Event)
Receipt: Any = _answer(records.Receipt)
Key: Any = _answer(records.ApiKey, leave_out=("secret",))
Imported: Any = _answer(records.Imported)
Stats: Any = _answer(records.Stats)
Health: Any = _answer(records.Health)
KnownUser: Any = _answer(records.KnownUser)
Verification: Any = _answer(records.Verification)


class MessageWithVector(Message):  # type: ignore[misc]
    """A message and its vector, once it has one."""

    embedding: list[float] | None


class Removed(BaseModel):
    """How many there were."""

    removed: int


def page(found: Sequence[T], limit: int, offset: int) -> dict[str, Any]:
    """The first `limit` of what was found, of which one more was asked for to see whether there is more."""
    more = len(found) > limit
    return {"items": found[:limit], "next_offset": offset + limit if more else None}


class NewMessage(Shape):
    """One turn to store."""

    role: Role
    content: Text
    at: Moment | None = Field(None, description="When it was said; now, if left out.")
    metadata: Metadata | None = None
    parent: Identifier | None = Field(None, description="The id of the message that it answers.")
    key: Identifier | None = Field(None, description="Sent again with the same key, it is stored once.")

    def arguments(self) -> dict[str, Any]:
        """The arguments of `add`."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class MessageReplaced(Shape):
    """What a message says from now on."""

    content: Text
    metadata: Metadata | None = Field(None, description="As it is, if left out.")


class ReadyMessage(Shape):
    """A message with all that it says of itself; an index must be the next one of the session."""

    role: Role
    content: Text
    message_type: Annotated[StrictStr, told(pattern="^(message|system|context|preference)$")] = "message"
    message_index: Index | None = None
    at: Moment | None = Field(None, description="When it was said; now, if left out.")
    metadata: Metadata = Field(default_factory=dict)
    parent: Identifier | None = Field(None, description="The id of the message that it answers.")
    embedding: Vector | None = Field(None, description="Its vector, of the model whose vectors are stored here.")
    relevance_score: Weight = 0.0
    is_context_message: StrictBool = False


class NewMessages(Shape):
    """Turns to store, all or none."""

    messages: list[NewMessage] = Field(max_length=10_000)


class ForeignMessage(Shape):
    """A message of a conversation that was held elsewhere."""

    key: Identifier = Field(description="What it is called there; the same key again is the same message.")
    role: Role
    content: Text
    at: Moment = Field(description="When it was said.")
    parent: Identifier | None = Field(
        None, description="The key of the message before it, which stands before it here."
    )
    metadata: Metadata = Field(default_factory=dict)


class ForeignConversation(Shape):
    """A conversation that was held elsewhere; branches other than the one that ends with `current` become forks."""

    session_id: Identifier
    messages: list[ForeignMessage] = Field(min_length=1, max_length=10_000)
    name: Line | None = None
    created_at: Moment | None = None
    current: Identifier | None = Field(None, description="The key of its last message; the last one, if left out.")
    metadata: Metadata = Field(default_factory=dict)


class ForeignConversations(Shape):
    """Conversations to store, all or none."""

    conversations: list[ForeignConversation] = Field(max_length=1_000)


class Interaction(Shape):
    """What the user said and what the assistant answered."""

    user_msg: Text
    ai_msg: Text


class SessionWritten(Shape):
    """What a session is to be; what is left out gets its default."""

    session_name: Line | None = None
    session_type: Word = "conversation"
    status: Annotated[StrictStr, told(minLength=1, maxLength=50, pattern=VISIBLE)] = "active"
    metadata: Metadata = Field(default_factory=dict)
    context_summary: Annotated[StrictStr, told(pattern=PRINTABLE)] | None = None
    relevance_score: Weight = 0.0
    agent_name: Identifier | None = None
    created_at: Moment | None = None
    last_activity: Moment | None = None


class Touch(Shape):
    """When the session was active; now, if left out."""

    at: Moment | None = None


class Link(Shape):
    """A link from this session, the earlier one, to another."""

    target: Identifier
    type: Word = "related"
    similarity: Score = 0.0
    strength: Score = 1.0
    metadata: Metadata | None = None


class Fork(Shape):
    """A copy of the session up to the message with index `at`; of all of it, if left out."""

    at: Index | None = None
    session_id: Identifier | None = None


class Forked(BaseModel):
    """The session that was made."""

    session_id: str


class ContextWanted(Shape):
    """What the context is for, and how long it may be."""

    query: Text | None = None
    max_tokens: Budget = 4000
    strategy: Annotated[str, StringConstraints(strict=True, pattern="^sliding_window(_summary)?$")] = "sliding_window"
    agent: Identifier | None = Field(None, description="Whose instructions stand first.")
    about: Text | None = Field(None, description="Recall for this, and ask nothing.")
    window: WindowSize | None = Field(None, description="How many messages are shown word for word at most.")


class Section(BaseModel):
    """One part of a context."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    text: str
    tokens: int
    sources: list[str]


class Source(BaseModel):
    """What a line of a context is, and the messages that it rests on."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    id: str | None
    messages: list[str]


class ContextPacked(BaseModel):
    """A prompt within its budget, as messages for a model and as one text."""

    model_config = ConfigDict(from_attributes=True)

    messages: list[dict[str, str]]
    text: str
    sections: list[Section]
    tokens: int
    sources: list[str]
    references: dict[str, Source] = Field(description="What the references in the text stand for: m1, m2 and so on.")
    dropped: dict[str, int]
    notes: list[str]


class Snapshot(BaseModel):
    """The short-term window."""

    session_id: str
    messages: list[dict[str, str]]
    window_strategy: str
    max_tokens: int


class MessagesWanted(Shape):
    """What to look for in one session."""

    query: Text
    limit: Few = 10
    threshold: Score = 0.0


class MessageFound(BaseModel):
    """A message and its relevance, from 0 to 1."""

    message: Message
    score: float


Kind = Annotated[str, StringConstraints(strict=True, pattern=f"^({'|'.join(records.KINDS)})$")]
Condition = Annotated[
    JsonValue, Field(examples=["food", {"gte": 5, "lt": 10}], description="An equal value, or bounds.")
]


class SearchWanted(Shape):
    """What to look for, and where."""

    query: Text
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=10)] | None = None
    limit: Few = 10
    session_id: Identifier | None = None
    since: Moment | None = None
    until: Moment | None = None
    where: dict[StrictStr, Condition] | None = Field(None, description="Conditions on metadata.")
    floor: Score | None = None
    entry_type: EntryType | None = Field(None, description="Only entries of this type.")
    without: Text | None = Field(None, description="Leave out messages that say exactly this.")
    now: Moment | None = Field(None, description="The time that “last week” counts from; now, if left out.")


class WorkingWritten(Shape):
    """A value of working memory: any JSON."""

    value: JsonValue
    ttl: Seconds | None = Field(None, description="Seconds that it lives.")


class WorkingValue(BaseModel):
    """A value of working memory."""

    key: str
    value: JsonValue


class ContextWritten(Shape):
    """A value under a type and a key of a session."""

    value: Text
    relevance: Weight = 0.0
    expires_at: Moment | None = None
    metadata: Metadata | None = None


class FactWritten(Shape):
    """A value that holds, from a time on."""

    value: Text
    confidence: Score = 1.0
    source_message_id: Identifier | None = None
    valid_from: Moment | None = None
    single_valued: StrictBool = True


class FactRejected(Shape):
    """A value that is wrong and must not come back."""

    value: Text


class FactEnded(Shape):
    """What is over: one value, or whatever holds."""

    value: Text | None = None
    at: Moment | None = None


class PreferenceWritten(Shape):
    """How the user wants things."""

    value: Text
    type: Annotated[str, StringConstraints(strict=True, pattern="^(general|coding|communication|project)$")] = "general"
    sensitive: StrictBool = False
    source: Word = "explicit"
    confidence: Score = 1.0


class InstructionWritten(Shape):
    """What an agent is to do always."""

    content: Text


class EntryWritten(Shape):
    """A free-standing memory."""

    content: Text
    type: EntryType = "long_term"
    importance: Score | None = None
    occurred_at: Moment | None = None
    expires_at: Moment | None = None
    metadata: Metadata | None = None


class ForeignEntry(Shape):
    """A memory that was made elsewhere."""

    content: Text
    memory_type: EntryType = "long_term"
    importance_score: Score = 0.5
    source: Identifier | None = None
    timestamp: Moment | None = Field(None, description="When what it tells of happened; now, if left out.")
    expires_at: Moment | None = None
    metadata: Metadata = Field(default_factory=dict)


class ForeignEntries(Shape):
    """Memories to keep, all or none."""

    entries: list[ForeignEntry] = Field(max_length=10_000)


class DocumentWritten(Shape):
    """Knowledge given as text."""

    text: Text
    title: Line | None = None
    uri: Uri | None = None
    metadata: Metadata | None = None
    media_type: Annotated[str, StringConstraints(strict=True, pattern="^text/(plain|markdown|html)$")] | None = None


class DocumentWhole(Document):  # type: ignore[misc]
    """A document with its chunks."""

    chunks: list[Chunk]


class PolicyWritten(Shape):
    """After how many seconds without activity sessions are archived and deleted; at least one of them."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    archive_after: Seconds = Field(default_factory=_left_out)
    delete_after: Seconds = Field(default_factory=_left_out)


class Switches(Shape):
    """What to switch on or off, at least one of them; what is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    extraction: StrictBool = Field(default_factory=_left_out)
    episodes: StrictBool = Field(default_factory=_left_out)
    relationships: StrictBool = Field(default_factory=_left_out)
    consolidation: StrictBool = Field(default_factory=_left_out)


class Conversations(BaseModel):
    """How many conversations were read."""

    conversations: int


class Confirmed(Shape):
    """The id of the user whose memory is to be erased, so that it is not done by mistake."""

    user_id: Identifier


class ProfileFact(BaseModel):
    """A fact that holds."""

    key: str
    value: str
    confidence: float
    source_message_id: str | None


class Profile(BaseModel):
    """Who the user is: facts that hold, and preferences; `notes` say which values cannot be read."""

    user_id: str
    facts: list[ProfileFact]
    preferences: dict[str, str]
    notes: list[str]


class Users(BaseModel):
    """Some of the users, by id; go on with `after` set to `next`, which is null when there are no more."""

    items: list[KnownUser]
    next: str | None


class ReceiptGiven(BaseModel):
    """The receipt of an erasure, as it was given."""

    receipt_id: Identifier
    user_id: Identifier
    erased_at: Moment
    removed: dict[str, int]
    remaining: dict[str, int]
    digest: Identifier


class Verified(Verification):  # type: ignore[misc]
    """Whether a receipt holds, and what was checked."""

    ok: bool


class Feed(BaseModel):
    """Changes in order; go on with `after` set to `next`."""

    items: list[Event]
    next: str


class KeyWanted(Shape):
    """Whose key: one user's, or an admin's."""

    user_id: Identifier | None = None
    admin: StrictBool = False
    name: Annotated[StrictStr, told(maxLength=255, pattern=PRINTABLE)] = ""


class NewKey(Key):  # type: ignore[misc]
    """A key with its secret, which is shown only this once."""

    secret: str
