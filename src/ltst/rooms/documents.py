"""Documents: knowledge given as text, cut into chunks; the same text is kept once."""

from __future__ import annotations

from dataclasses import replace

from ltst.db.pool import Executor
from ltst.records import Document, DocumentChunk
from ltst.support.ids import new_id
from ltst.support.text import sha256, split

CHUNK_CHARACTERS = 1200


async def add(tx: Executor, text: str, *, title: str | None, uri: str | None, metadata: str) -> tuple[Document, bool]:
    """Keep a text with its chunks; tells whether it is new."""
    digest = sha256(text)
    added = await tx.row(
        "documents.add",
        Document,
        user_id=tx.scope.user_id,
        document_id=new_id(),
        title=title,
        uri=uri,
        content_hash=digest,
        metadata=metadata,
    )
    if added is None:
        known = await tx.row("documents.by_hash", Document, user_id=tx.scope.user_id, content_hash=digest)
        assert known is not None, "the same text was there a moment ago"
        return await _with_chunks(tx, known), False
    parts = split(text, CHUNK_CHARACTERS)
    await tx.run(
        "documents.add_chunks",
        user_id=tx.scope.user_id,
        document_id=added.document_id,
        chunk_ids=[new_id() for _ in parts],
        contents=parts,
    )
    return await _with_chunks(tx, added), True


async def get(tx: Executor, document_id: str) -> Document | None:
    """A document with its chunks, if this user has it."""
    found = await tx.row("documents.get", Document, user_id=tx.scope.user_id, document_id=document_id)
    return await _with_chunks(tx, found) if found else None


async def list_all(tx: Executor, *, limit: int, offset: int) -> list[Document]:
    """The documents without their chunks, the latest first."""
    return await tx.rows("documents.list", Document, user_id=tx.scope.user_id, limit=limit, offset=offset)


async def forget(tx: Executor, document_id: str) -> bool:
    """Remove a document with its chunks; tells whether there was one."""
    return await tx.run("documents.forget", user_id=tx.scope.user_id, document_id=document_id) > 0


async def _with_chunks(tx: Executor, document: Document) -> Document:
    chunks = await tx.rows(
        "documents.chunks", DocumentChunk, user_id=tx.scope.user_id, document_id=document.document_id
    )
    return replace(document, chunks=tuple(chunks))
