"""Routes that are not plain verbs: imports, forks, messages with their vectors, and erasure."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from pydantic import Field, StrictStr

from ltst.arguments import ENTRY_TYPES, ROLES, Letters
from ltst.doors.http.callers import GuardedRoute, User
from ltst.doors.http.routes.common import IdempotencyKey
from ltst.errors import Invalid
from ltst.records import ImportedConversation, ImportedMessage, MemoryEntry
from ltst.support.reading.source import MEDIA_TYPES
from ltst.verbs import outside, shapes
from ltst.verbs.shapes import Page, page
from ltst.verbs.wire import Id, Limit, Moment, Object, Offset, ShortLine, StrictModel, Text, Whole, text_schema, values

router = APIRouter(route_class=GuardedRoute, prefix="/v1")

Vectors = Annotated[bool, Query(description="With the vectors of those that have one.")]
Title = Annotated[ShortLine | None, Query(description="What to call it.")]
Uri = Annotated[
    Annotated[StrictStr, text_schema(Letters(4096, blank=True))] | None,
    Query(description="Where it is from; the same uri again changes the document."),
]
Metadata = Annotated[StrictStr | None, Query(description="A JSON object, as text.", examples=['{"topic": "food"}'])]
FILE = {
    "requestBody": {
        "required": True,
        "content": {name: {"schema": {"type": "string", "format": "binary"}} for name in MEDIA_TYPES},
    }
}
SCHEMA = {"properties": {"format": {"const": "ltst"}, "version": {"const": 1}}, "required": ["format", "version"]}
Exported = Annotated[dict[str, Any], Body(json_schema_extra=SCHEMA)]


class ImportMessage(StrictModel):
    """A message of a conversation that was held elsewhere."""

    key: Id = Field(description="What it is called there; the same key again is the same message.")
    role: Annotated[StrictStr, Field(json_schema_extra={"enum": [*ROLES]})]
    content: Text
    at: Moment = Field(description="When it was said.")
    parent: Id | None = Field(None, description="The key of the message before it, which stands before it here.")
    metadata: Object = Field(default_factory=dict)


class ImportConversation(StrictModel):
    """A conversation that was held elsewhere; branches other than the one that ends with `current` become forks."""

    session_id: Id
    messages: list[ImportMessage] = Field(min_length=1, max_length=10_000)
    name: ShortLine | None = None
    created_at: Moment | None = None
    current: Id | None = Field(None, description="The key of its last message; the last one, if left out.")
    metadata: Object = Field(default_factory=dict)


class ImportConversations(StrictModel):
    """Conversations to store, all or none."""

    conversations: list[ImportConversation] = Field(max_length=1_000)


class ImportEntry(StrictModel):
    """A memory that was made elsewhere."""

    content: Text
    memory_type: Annotated[StrictStr, Field(json_schema_extra={"enum": [*ENTRY_TYPES]})] = "long_term"
    importance_score: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.5
    source: Id | None = None
    timestamp: Moment | None = Field(None, description="When what it tells of happened; now, if left out.")
    expires_at: Moment | None = None
    metadata: Object = Field(default_factory=dict)


class ImportEntries(StrictModel):
    """Memories to keep, all or none."""

    entries: list[ImportEntry] = Field(max_length=10_000)


class ForkRequest(StrictModel):
    """A copy of the session up to the message with index `at`; of all of it, if left out."""

    at: Whole | None = None
    session_id: Id | None = None


class EraseConfirmation(StrictModel):
    """The id of the user whose memory is to be erased, so that it is not done by mistake."""

    user_id: Id


@router.post("/sessions", response_model=shapes.Imported, tags=["sessions"])
async def import_sessions(user: User, given: ImportConversations) -> Any:
    """Store conversations that were held elsewhere, all or none; what is there already stays as it is."""
    sent = values(given)["conversations"]
    said = [{**each, "messages": [ImportedMessage(**message) for message in each["messages"]]} for each in sent]
    return await user.sessions.add_many([ImportedConversation(**each) for each in said])


@router.post("/entries/many", response_model=shapes.Imported, tags=["entries"])
async def import_entries(user: User, given: ImportEntries) -> Any:
    """Keep memories that were made elsewhere, all or none; what is there already stays as it is."""
    return await user.entries.add_many([MemoryEntry(**each) for each in values(given)["entries"]])


@router.post(
    "/sessions/{session_id:segment}/fork", response_model=shapes.ForkedSession, status_code=201, tags=["sessions"]
)
async def fork_session(user: User, session_id: Id, given: ForkRequest, key: IdempotencyKey = None) -> Any:
    """Begin a new conversation with a copy of this one; with an idempotency key it is made once."""
    return await outside.fork_session(user, session_id, given.at, given.session_id, key)


@router.get(
    "/sessions/{session_id:segment}/messages",
    response_model=Page[shapes.MessageWithVector] | Page[shapes.Message],
    tags=["messages"],
)
async def list_messages(
    user: User, session_id: Id, limit: Limit = 100, offset: Offset = 0, vectors: Vectors = False
) -> Any:
    """Return the messages from the beginning."""
    shape = Page[shapes.MessageWithVector] if vectors else Page[shapes.Message]
    found = await user.chat(session_id).history(limit=limit + 1, offset=offset)
    return shape.model_validate(page(found, limit, offset))


@router.post(
    "/documents/file", response_model=shapes.DocumentWithChunks, status_code=201, tags=["documents"], openapi_extra=FILE
)
async def add_document_file(
    request: Request, user: User, title: Title = None, uri: Uri = None, metadata: Metadata = None
) -> Any:
    """Keep a file: a PDF, HTML, Markdown or plain text, sent as it is with its content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in MEDIA_TYPES:
        raise Invalid(f"a file is one of {', '.join(MEDIA_TYPES)}, named in the header Content-Type")
    about = None if metadata is None else _object(metadata)
    return await user.documents.add(await request.body(), title=title, uri=uri, metadata=about, media_type=kind)


@router.post("/import", tags=["user"])
async def import_memory(user: User, document: Exported) -> dict[str, int]:
    """Put an exported document into this user's memory, all or nothing; the rows added, by noun."""
    return await user.restore(document)


@router.post("/erase", response_model=shapes.Receipt, tags=["user"])
async def erase_memory(user: User, given: EraseConfirmation) -> Any:
    """Remove everything the user owns, this user's keys included, and prove it."""
    if given.user_id != user.user_id:
        raise Invalid("user_id must be the id of the user whose memory is to be erased")
    return await user.erase()


def _object(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise Invalid("metadata must be a JSON object, written as text") from None
