"""Shapes: what tools take, told for a model, and what they answer, told for a program."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    create_model,
)
from pydantic.json_schema import GenerateJsonSchema

from ltst import records
from ltst.arguments import FEWEST_TOKENS
from ltst.support.validate import DIMENSIONS, LARGEST_INTEGER, LARGEST_REAL, LONGEST_IDENTIFIER, moment

T = TypeVar("T")

MOST = 1000  # of a list in one answer
DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def told(**schema: Any) -> Any:
    """What a schema says of a text that the core checks, and refuses in words."""
    return Field(json_schema_extra=schema)


def _whole(value: object) -> object:
    """In JSON 10.0 is a whole number too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _written(value: object) -> object:
    """A time is written as text; a bare number could be seconds or anything else."""
    if not (isinstance(value, str) and DATE.match(value)):
        raise ValueError("a time is a text with its zone, such as 2026-03-01T09:30:00Z")
    return value


def _structured(value: object) -> object:
    """Some clients write lists and objects as the text of their JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


FROM_TEXT = BeforeValidator(_structured)


def _moment(value: datetime) -> datetime:
    return moment(value, "a time")


Identifier = Annotated[StrictStr, told(minLength=1, maxLength=LONGEST_IDENTIFIER)]
Text = Annotated[StrictStr, told(minLength=1)]
Line = Annotated[StrictStr, told(maxLength=500)]
Word = Annotated[StrictStr, told(minLength=1, maxLength=100)]
Flag = StrictBool
Index = Annotated[StrictInt, Field(ge=1, le=LARGEST_INTEGER), BeforeValidator(_whole)]
Few = Annotated[StrictInt, Field(ge=1, le=200), BeforeValidator(_whole)]
Count = Annotated[StrictInt, Field(ge=1, le=MOST), BeforeValidator(_whole)]
Passed = Annotated[StrictInt, Field(ge=0, le=LARGEST_INTEGER), BeforeValidator(_whole)]
Budget = Annotated[StrictInt, Field(ge=FEWEST_TOKENS, le=LARGEST_INTEGER), BeforeValidator(_whole)]
WindowSize = Annotated[StrictInt, Field(ge=1, le=100_000), BeforeValidator(_whole)]
Score = Annotated[StrictFloat, Field(ge=0, le=1)]
Weight = Annotated[StrictFloat, Field(ge=-1e300, le=1e300)]
Seconds = Annotated[StrictFloat, Field(ge=1e-6, le=31_536_000_000)]
Moment = Annotated[
    datetime, BeforeValidator(_written), AfterValidator(_moment), Field(examples=["2026-03-01T09:30:00Z"])
]
Object = Annotated[dict[str, Any], FROM_TEXT]
Vector = Annotated[
    list[Annotated[StrictFloat, Field(ge=-LARGEST_REAL, le=LARGEST_REAL)]],
    Field(min_length=DIMENSIONS, max_length=DIMENSIONS),
]
# Answered in seconds, as it is asked.
Span = Annotated[timedelta, PlainSerializer(timedelta.total_seconds), WithJsonSchema({"type": "number"})]


def one_of(*words: str) -> Any:
    """What a schema says of a text that is one of a few words; the core refuses others."""
    return told(enum=list(words))


SessionId = Annotated[
    Identifier, Field(description="The id of the conversation, such as monday. Any text; list_sessions shows them.")
]
FactKey = Annotated[Identifier, Field(description="The short name of the fact, such as name, home, job or allergy.")]
PreferenceKey = Annotated[Identifier, Field(description="The short name of the preference, such as units or tone.")]
AgentName = Annotated[Identifier, Field(description="The name of the agent that the instructions are for.")]
Limit = Annotated[Count, Field(description="How many at most.")]
Offset = Annotated[Passed, Field(description="How many to pass over; use next_offset of the answer before.")]
Metadata = Annotated[Object, Field(description="Anything else to keep with it: an object of JSON values.")]
Role = Annotated[
    StrictStr,
    one_of("user", "assistant", "human", "ai", "system", "tool"),
    Field(description="Who says it: user, assistant, system or tool."),
]
Agent = Annotated[Identifier, Field(description="The agent that the user talks with, for a new conversation.")]
SessionName = Annotated[Line, Field(description="What to call the conversation, if it is a new one.")]


class Schema(GenerateJsonSchema):
    """Schemas without a title for each field: its name says the same."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


@dataclass(frozen=True, slots=True)
class Items:
    """Some of what there is; `next_offset` tells where the rest begins, and is None when there is none."""

    items: Sequence[Any]
    next_offset: int | None = None


def page(found: Sequence[Any], limit: int, offset: int) -> Items:
    """The first `limit` of what was found, of which one more was asked for to see whether there is more."""
    return Items(found[:limit], offset + limit if len(found) > limit else None)


class Page(BaseModel, Generic[T]):
    """Some of what there is; `next_offset` tells where the rest begins, and is missing when there is none."""

    model_config = ConfigDict(from_attributes=True)

    items: list[T]
    next_offset: int | None = None


def _answer(record: type, *, leave_out: Sequence[str] = ("embedding",), **instead: Any) -> Any:
    """The shape of a record that is sent, without its vector; what is None is left out."""
    hints = {**get_type_hints(record), **instead}
    kept: dict[str, Any] = {
        each.name: (hints[each.name], None if _may_be_none(hints[each.name]) else ...)
        for each in fields(record)
        if each.name not in leave_out
    }
    return create_model(record.__name__, __config__=ConfigDict(from_attributes=True), __doc__=record.__doc__, **kept)


def _may_be_none(hint: Any) -> bool:
    return type(None) in getattr(hint, "__args__", ())


Session: Any = _answer(records.ConversationSession)
Message: Any = _answer(records.ConversationMessage)
MessageWithVector: Any = _answer(records.ConversationMessage, leave_out=())
SessionContext: Any = _answer(records.ConversationContext)
Fact: Any = _answer(records.Fact)
Statement: Any = _answer(records.Statement)
Preference: Any = _answer(records.UserPreference)
Instruction: Any = _answer(records.Instruction)
Entry: Any = _answer(records.MemoryEntry)
Chunk: Any = _answer(records.DocumentChunk)
Document: Any = _answer(records.Document, leave_out=("chunks",))
DocumentWhole: Any = _answer(records.Document, chunks=list[Chunk])
Hit: Any = _answer(records.Hit)
Relationship: Any = _answer(records.SessionRelationship)
Summary: Any = _answer(records.SessionSummary)
Policy: Any = _answer(records.RetentionPolicy, archive_after=Span | None, delete_after=Span | None)
Event: Any = _answer(records.Event)
Receipt: Any = _answer(records.Receipt)


class Answer(BaseModel):
    """What a tool answers."""

    model_config = ConfigDict(from_attributes=True)


class Remembered(Answer):
    """What was stored: messages of a conversation, or a free-standing note."""

    kind: str
    ids: list[str]
    session_id: str | None = None


class Removed(Answer):
    """How many there were."""

    removed: int


class Done(Answer):
    """Whether there was such a thing."""

    done: bool


class Values(Answer):
    """Working memory: JSON values by their keys."""

    values: dict[str, Any]


class Section(Answer):
    """One part of a context."""

    name: str
    text: str
    tokens: int
    sources: list[str]


class Source(Answer):
    """What a line of a context is, and the messages that it rests on."""

    kind: str
    id: str | None = None
    messages: list[str]


class Packed(Answer):
    """A context within its budget; `dropped` tells of each section how many items did not fit.

    `notes` say what is left out because it cannot be read; `references` what m1, m2 and so on stand for in the text.
    """

    text: str
    tokens: int
    sources: list[str]
    references: dict[str, Source]
    dropped: dict[str, int]
    notes: list[str]
    messages: list[dict[str, str]] | None = None
    sections: list[Section] | None = None


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


class ProfileFact(Answer):
    """A fact that holds."""

    key: str
    value: str
    confidence: float
    source_message_id: str | None = None


class Profile(Answer):
    """Who the user is: facts that hold, and preferences; `notes` say which values cannot be read."""

    user_id: str
    facts: list[ProfileFact]
    preferences: dict[str, str]
    notes: list[str]


class Forked(Answer):
    """The conversation that was made."""

    session_id: str


class Conversations(Answer):
    """How many conversations were read."""

    conversations: int


class Switches(Answer):
    """What is learnt from what the user says."""

    extraction: bool
    episodes: bool
    relationships: bool
    consolidation: bool


class Exported(Answer):
    """Everything the user owns, as import_memory reads it back."""

    document: dict[str, Any]


class Restored(Answer):
    """The rows added, by noun."""

    added: dict[str, int]
