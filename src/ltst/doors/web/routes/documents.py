"""Documents on the page: uploads files, and shows them as the chunks that searches find."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ltst.doors.web.pages import PageRoute, leading, page, paged
from ltst.doors.web.visits import Visited
from ltst.errors import NotFound

router = APIRouter(route_class=PageRoute)

LISTED, CHUNKS = 50, 100
DONE = {"forgotten": "The document is forgotten.", "added": "It is read, and can be found from now on."}


@router.get("/documents")
async def listed(visit: Visited) -> Response:
    """Show the documents, and where to drop another."""
    offset = visit.number("offset", 0)
    found = await visit.user.documents.list(limit=LISTED + 1, offset=offset)
    told = {"documents": found[:LISTED], **paged(found, LISTED, offset)}
    return page(visit, "documents.html", **told, most=visit.largest, done=DONE.get(visit.asked("done")))


@router.get("/documents/read")
async def read(visit: Visited) -> Response:
    """Show a document by its chunks."""
    document = await visit.user.documents.get(visit.need("id"))
    if document is None:
        raise NotFound("there is no such document")
    offset = visit.number("offset", 0)
    chunks = document.chunks[offset:]
    told = {"document": document, "chunks": chunks[:CHUNKS], **paged(chunks, CHUNKS, offset)}
    return page(visit, "document.html", **told, done=DONE.get(visit.asked("done")))


@router.post("/documents")
async def add(visit: Visited) -> Response:
    """Keep a file or a text."""
    file, title = visit.files.get("file"), visit.asked("title") or None
    if file is not None and file.content:
        named = title or file.name[:500] or None
        kept = await visit.user.documents.add(file.content, title=named, uri=file.name[:4096] or None)
    else:
        kept = await visit.user.documents.add(visit.need("text"), title=title)
    return leading("/documents/read", id=kept.document_id, done="added")


@router.post("/documents/forget")
async def forget(visit: Visited) -> Response:
    """Remove a document with its chunks."""
    if not await visit.user.documents.forget(visit.need("id")):
        raise NotFound("there is no such document")
    return leading("/documents", done="forgotten")
