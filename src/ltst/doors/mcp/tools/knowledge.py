"""Tools for entries and documents: free-standing memories, and knowledge given as text or files."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

from pydantic import Field, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import Identifier, Limit, Metadata, Moment, Offset, Page, Score, Text, one_of, page
from ltst.doors.mcp.telling import removed
from ltst.doors.mcp.toolbox import ADDS_ONCE, READS, REMOVES, Asked, tool
from ltst.errors import Invalid, NotFound
from ltst.support.reading.source import MEDIA_TYPES

EntryType = Annotated[
    StrictStr, one_of("long_term", "episodic"), Field(description="long_term: knowledge; episodic: what happened.")
]
EntryId = Annotated[Identifier, Field(description="The id of the entry.")]
DocumentId = Annotated[Identifier, Field(description="The id of the document.")]
MediaType = Annotated[
    StrictStr,
    one_of(*MEDIA_TYPES),
    Field(description="How it is written; text is plain text, unless this says otherwise."),
]


@tool("Add an entry", ADDS_ONCE, shapes.Entry)
async def add_entry(
    asked: Asked,
    content: Annotated[Text, Field(description="What to keep, word for word.")],
    type: EntryType = "long_term",
    importance: Annotated[Score | None, Field(description="From 0 to 1; judged here, if left out.")] = None,
    occurred_at: Annotated[Moment | None, Field(description="When it happened; now, if left out.")] = None,
    expires_at: Annotated[Moment | None, Field(description="Until when to keep it; for good, if left out.")] = None,
    metadata: Metadata | None = None,
) -> Any:
    """Keep a memory that stands by itself; the same content is kept once."""
    return await asked.user.entries.add(
        content,
        type=type,
        importance=importance,
        occurred_at=occurred_at,
        expires_at=expires_at,
        metadata=metadata,
    )


@tool("Get an entry", READS, shapes.Entry)
async def get_entry(asked: Asked, entry_id: EntryId) -> Any:
    """One free-standing memory."""
    found = await asked.user.entries.get(entry_id)
    if found is None:
        raise NotFound(f"no entry {entry_id!r}")
    return found


@tool("List entries", READS, Page[shapes.Entry], nothing="There are no entries.")
async def list_entries(asked: Asked, type: EntryType | None = None, limit: Limit = 50, offset: Offset = 0) -> Any:
    """Free-standing memories, the latest first."""
    return page(await asked.user.entries.list(type, limit=limit + 1, offset=offset), limit, offset)


@tool("Forget an entry", REMOVES, shapes.Removed, say=removed)
async def forget_entry(asked: Asked, entry_id: EntryId) -> Any:
    """Remove a free-standing memory for good."""
    return {"removed": int(await asked.user.entries.forget(entry_id))}


@tool("Add a document", ADDS_ONCE, shapes.DocumentWhole, say=lambda done: f"Kept as document {done.document_id}.")
async def add_document(
    asked: Asked,
    text: Annotated[Text | None, Field(description="What it says. Give this or data.")] = None,
    data: Annotated[Text | None, Field(description="The bytes of a file, in base64. Give this or text.")] = None,
    title: Annotated[shapes.Line | None, Field(description="What to call it.")] = None,
    uri: Annotated[
        StrictStr | None, Field(description="Where it is from; the same uri again changes the document.")
    ] = None,
    metadata: Metadata | None = None,
    media_type: MediaType | None = None,
) -> Any:
    """Keep a text or a file (text, Markdown, HTML, PDF), so that searches find it. The same text is kept once."""
    return await asked.user.documents.add(
        _given(text, data), title=title, uri=uri, metadata=metadata, media_type=media_type, progress=asked.progress
    )


@tool("Get a document", READS, shapes.DocumentWhole)
async def get_document(asked: Asked, document_id: DocumentId) -> Any:
    """A document with all its parts."""
    found = await asked.user.documents.get(document_id)
    if found is None:
        raise NotFound(f"no document {document_id!r}")
    return found


@tool("List documents", READS, Page[shapes.Document], nothing="There are no documents.")
async def list_documents(asked: Asked, limit: Limit = 50, offset: Offset = 0) -> Any:
    """The documents without their text, the latest first."""
    return page(await asked.user.documents.list(limit=limit + 1, offset=offset), limit, offset)


@tool("Forget a document", REMOVES, shapes.Removed, say=removed)
async def forget_document(asked: Asked, document_id: DocumentId) -> Any:
    """Remove a document for good."""
    return {"removed": int(await asked.user.documents.forget(document_id))}


def _given(text: str | None, data: str | None) -> str | bytes:
    if (text is None) == (data is None):
        raise Invalid("give text, or data in base64, and not both")
    if text is not None:
        return text
    try:
        return base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("data must be base64") from None


TOOLS = (
    add_entry,
    get_entry,
    list_entries,
    forget_entry,
    add_document,
    get_document,
    list_documents,
    forget_document,
)
