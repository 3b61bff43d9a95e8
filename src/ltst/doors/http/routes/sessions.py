"""Conversations over HTTP that are no plain verb: those held elsewhere, copies, messages with their vectors."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field, StrictStr

from ltst.arguments import ENTRY_TYPES, ROLES
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.common import IdempotencyKey
from ltst.records import ImportedConversation, ImportedMessage, MemoryEntry
from ltst.verbs import outside, shapes
from ltst.verbs.shapes import Page, page
from ltst.verbs.wire import Id, Limit, Moment, Object, Offset, Shape, ShortLine, Text, Whole, values

router = APIRouter(route_class=Guarded)

Vectors = Annotated[bool, Query(description="With the vectors of those that have one.")]


class ForeignMessage(Shape):
    """A message of a conversation that was held elsewhere."""

    key: Id = Field(description="What it is called there; the same key again is the same message.")
    role: Annotated[StrictStr, Field(json_schema_extra={"enum": [*ROLES]})]
    content: Text
    at: Moment = Field(description="When it was said.")
    parent: Id | None = Field(None, description="The key of the message before it, which stands before it here.")
    metadata: Object = Field(default_factory=dict)


class ForeignConversation(Shape):
    """A conversation that was held elsewhere; branches other than the one that ends with `current` become forks."""

    session_id: Id
    messages: list[ForeignMessage] = Field(min_length=1, max_length=10_000)
    name: ShortLine | None = None
    created_at: Moment | None = None
    current: Id | None = Field(None, description="The key of its last message; the last one, if left out.")
    metadata: Object = Field(default_factory=dict)


class ForeignConversations(Shape):
    """Conversations to store, all or none."""

    conversations: list[ForeignConversation] = Field(max_length=1_000)


class ForeignEntry(Shape):
    """A memory that was made elsewhere."""

    content: Text
    memory_type: Annotated[StrictStr, Field(json_schema_extra={"enum": [*ENTRY_TYPES]})] = "long_term"
    importance_score: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.5
    source: Id | None = None
    timestamp: Moment | None = Field(None, description="When what it tells of happened; now, if left out.")
    expires_at: Moment | None = None
    metadata: Object = Field(default_factory=dict)


class ForeignEntries(Shape):
    """Memories to keep, all or none."""

    entries: list[ForeignEntry] = Field(max_length=10_000)


class Fork(Shape):
    """A copy of the session up to the message with index `at`; of all of it, if left out."""

    at: Whole | None = None
    session_id: Id | None = None


@router.post("/v1/sessions", response_model=shapes.Imported, tags=["sessions"])
async def add_sessions(user: User, given: ForeignConversations) -> Any:
    """Store conversations that were held elsewhere, all or none; what is there already stays as it is."""
    told = values(given)["conversations"]
    said = [{**each, "messages": [ImportedMessage(**message) for message in each["messages"]]} for each in told]
    return await user.sessions.add_many([ImportedConversation(**each) for each in said])


@router.post("/v1/entries/many", response_model=shapes.Imported, tags=["entries"])
async def add_entries(user: User, given: ForeignEntries) -> Any:
    """Keep memories that were made elsewhere, all or none; what is there already stays as it is."""
    return await user.entries.add_many([MemoryEntry(**each) for each in values(given)["entries"]])


@router.post("/v1/sessions/{session_id:segment}/fork", response_model=shapes.Forked, status_code=201, tags=["sessions"])
async def fork_session(user: User, session_id: Id, given: Fork, key: IdempotencyKey = None) -> Any:
    """A new conversation that begins with a copy of this one; with an idempotency key it is made once."""
    return await outside.fork_session(user, session_id, given.at, given.session_id, key)


@router.get(
    "/v1/sessions/{session_id:segment}/messages",
    response_model=Page[shapes.MessageWithVector] | Page[shapes.Message],
    tags=["messages"],
)
async def list_messages(
    user: User, session_id: Id, limit: Limit = 100, offset: Offset = 0, vectors: Vectors = False
) -> Any:
    """The messages from the beginning on."""
    shape = Page[shapes.MessageWithVector] if vectors else Page[shapes.Message]
    found = await user.chat(session_id).history(limit=limit + 1, offset=offset)
    return shape.model_validate(page(found, limit, offset))
