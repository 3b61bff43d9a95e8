"""Documents of a user: text and files."""

from __future__ import annotations

import asyncio
import builtins
from pathlib import Path

from ltst.errors import Invalid
from ltst.handles.desk import Desk
from ltst.records import Document, Metadata
from ltst.rooms import documents
from ltst.support import validate
from ltst.support.ids import is_id

LARGEST_DOCUMENT = 64 * 1024**2


class AsyncDocuments:
    """Knowledge that a user gave as text or files."""

    def __init__(self, desk: Desk) -> None:
        """Made by `user.documents`."""
        self._desk = desk

    async def add(
        self,
        text_or_path: str | Path,
        *,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> Document:
        """Keep a text, or the text of a file when given a `Path`; the same text is kept once."""
        text, name, address = await _document_source(text_or_path)
        title = validate.optional_text(title or name, "title", 500)
        uri = validate.optional_text(uri or address, "uri", 4096)
        text, extra = validate.content(text, "the document", LARGEST_DOCUMENT), self._desk.metadata(metadata)
        async with self._desk.writing("documents.add") as tx:
            document, new = await documents.add(tx, text, title=title, uri=uri, metadata=extra)
            if new:
                await self._desk.tell(tx, "add", "document", document.document_id, {"chunks": len(document.chunks)})
        return document

    async def get(self, document_id: str) -> Document | None:
        """A document with its chunks, or None."""
        if not is_id(document_id):
            return None
        async with self._desk.reading("documents.get") as calls:
            return await documents.get(calls, document_id)

    async def list(self, *, limit: int = 50, offset: int = 0) -> builtins.list[Document]:
        """The documents without their chunks, the latest first."""
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("documents.list") as calls:
            return await documents.list_all(calls, limit=most, offset=passed)

    async def forget(self, document_id: str) -> bool:
        """Remove a document with its chunks; whether there was one."""
        if not is_id(document_id):
            return False
        async with self._desk.writing("documents.forget") as tx:
            gone = await documents.forget(tx, document_id)
            if gone:
                await self._desk.tell(tx, "forget", "document", document_id)
        return gone


async def _document_source(given: str | Path) -> tuple[str, str | None, str | None]:
    """The text, and for a file its name and address. Text is never taken for a path: it may come from anyone."""
    if not isinstance(given, Path):
        return given, None, None
    return await asyncio.to_thread(_read, given)


def _read(file: Path) -> tuple[str, str, str]:
    try:
        return file.read_bytes().decode(), file.name, file.resolve().as_uri()
    except (OSError, UnicodeDecodeError) as problem:
        raise Invalid(f"a document must be a readable file of UTF-8 text; {file}: {problem}") from None
