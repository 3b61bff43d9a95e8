"""Entries and documents over HTTP."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.shapes import Identifier, Limit, Offset, Page
from ltst.errors import Invalid
from ltst.records import MemoryEntry
from ltst.support.reading.source import MEDIA_TYPES

router = APIRouter(route_class=Guarded)

EntryType = Annotated[str | None, Query(pattern="^(long_term|episodic)$", description="Only of a type.")]
FILE = {
    "requestBody": {
        "required": True,
        "content": {name: {"schema": {"type": "string", "format": "binary"}} for name in MEDIA_TYPES},
    }
}


@router.post("/v1/entries", response_model=shapes.Entry, status_code=201, tags=["entries"])
async def add_entry(user: User, given: shapes.EntryWritten) -> Any:
    """Keep a free-standing memory; the same content is kept once."""
    written = {name: getattr(given, name) for name in type(given).model_fields if name != "content"}
    return await user.entries.add(given.content, **written)


@router.post("/v1/entries/many", response_model=shapes.Imported, tags=["entries"])
async def add_entries(user: User, given: shapes.ForeignEntries) -> Any:
    """Keep memories that were made elsewhere, all or none; what is there already stays as it is."""
    written = [{name: getattr(each, name) for name in type(each).model_fields} for each in given.entries]
    return await user.entries.add_many([MemoryEntry(**each) for each in written])


@router.get("/v1/entries", response_model=Page[shapes.Entry], tags=["entries"])
async def list_entries(user: User, type: EntryType = None, limit: Limit = 50, offset: Offset = 0) -> Any:
    """The entries, the latest first."""
    return shapes.page(await user.entries.list(type, limit=limit + 1, offset=offset), limit, offset)


@router.get("/v1/entries/{entry_id:segment}", response_model=shapes.Entry, tags=["entries"])
async def get_entry(user: User, entry_id: Identifier) -> Any:
    """One entry."""
    return found(await user.entries.get(entry_id), f"entry {entry_id!r}")


@router.delete("/v1/entries/{entry_id:segment}", status_code=204, response_class=Response, tags=["entries"])
async def forget_entry(user: User, entry_id: Identifier) -> Response:
    """Remove an entry."""
    return gone(await user.entries.forget(entry_id), f"entry {entry_id!r}")


@router.post("/v1/documents", response_model=shapes.DocumentWhole, status_code=201, tags=["documents"])
async def add_document(user: User, given: shapes.DocumentWritten) -> Any:
    """Keep a text; the same text is kept once, and one of the same uri is changed."""
    written = {name: getattr(given, name) for name in type(given).model_fields if name != "text"}
    return await user.documents.add(given.text, **written)


@router.post(
    "/v1/documents/file",
    response_model=shapes.DocumentWhole,
    status_code=201,
    tags=["documents"],
    openapi_extra=FILE,
)
async def add_file(
    request: Request,
    user: User,
    title: shapes.TitleQuery = None,
    uri: shapes.UriQuery = None,
    metadata: shapes.MetadataQuery = None,
) -> Any:
    """Keep a file: a PDF, HTML, Markdown or plain text, sent as it is with its content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in MEDIA_TYPES:
        raise Invalid(f"a file is one of {', '.join(MEDIA_TYPES)}, named in the header Content-Type")
    told = None if metadata is None else _object(metadata)
    return await user.documents.add(await request.body(), title=title, uri=uri, metadata=told, media_type=kind)


@router.get("/v1/documents", response_model=Page[shapes.Document], tags=["documents"])
async def list_documents(user: User, limit: Limit = 50, offset: Offset = 0) -> Any:
    """The documents without their text, the latest first."""
    return shapes.page(await user.documents.list(limit=limit + 1, offset=offset), limit, offset)


@router.get("/v1/documents/{document_id:segment}", response_model=shapes.DocumentWhole, tags=["documents"])
async def get_document(user: User, document_id: Identifier) -> Any:
    """A document with its chunks."""
    return found(await user.documents.get(document_id), f"document {document_id!r}")


@router.delete("/v1/documents/{document_id:segment}", status_code=204, response_class=Response, tags=["documents"])
async def forget_document(user: User, document_id: Identifier) -> Response:
    """Remove a document with its chunks."""
    return gone(await user.documents.forget(document_id), f"document {document_id!r}")


def _object(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise Invalid("metadata must be a JSON object, written as text") from None
