"""Documents of a user, given as text or files."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

from ltst.arguments import Choices, Identifier, Limit, Line, Metadata, Offset, Uri
from ltst.errors import Invalid
from ltst.handles.desk import Handle
from ltst.records import Document
from ltst.rooms import documents
from ltst.rooms.documents import NewDocument
from ltst.support import validate
from ltst.support.child import Limits
from ltst.support.children import READING, Crashed, OutOfTime
from ltst.support.ids import is_id
from ltst.support.reading import source
from ltst.support.reading.chunks import Chunk
from ltst.support.reading.source import LARGEST_TEXT, MEDIA_TYPES, DocumentSource, SourceDetails, checked
from ltst.support.text import sha256

Title = Annotated[Line | None, "What to call it."]
From = Annotated[Uri | None, "Where it is from; the same uri again changes the document."]
MediaType = Annotated[str | None, Choices(MEDIA_TYPES), "How it is written; plain text, if left out."]
DocumentId = Annotated[Identifier, "The id of the document."]


class DocumentDetails(NamedTuple):
    """What the caller says about a document besides its text; None if not given."""

    title: str | None
    uri: str | None
    metadata: str | None
    progress: Callable[[int, int], None]


class AsyncDocuments(Handle):
    """Knowledge that a user gave as text or files."""

    async def add(
        self,
        text_or_path: str | Path | bytes,
        *,
        title: Title = None,
        uri: From = None,
        metadata: Metadata | None = None,
        media_type: MediaType = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Document:
        """Keep a text, or what a file says, given as a `Path` or its bytes: text, Markdown, HTML or PDF.

        The same text is kept once for each `uri`, which for a file is the file's own. Another text of the same `uri`
        changes its document: the parts that are the same stay as they are. `progress` is told how many pages of how
        many are read, if there are pages, and then how many chunks of how many are stored.
        """
        validate.function(progress, "progress")
        found = await _source(text_or_path, media_type)
        given = DocumentDetails(
            validate.optional_text(title or None, "title", 500),
            validate.optional_text(uri or found.uri, "uri", 4096),
            None if metadata is None else self._desk.metadata(metadata),
            progress or (lambda done, total: None),
        )
        return await self._known(found, given) or await self._keep(await self._read_all(found, given), given)

    async def get(self, document_id: DocumentId) -> Document | None:
        """Return a document with its chunks, or None."""
        if not is_id(document_id):
            return None
        async with self._desk.reading("documents.get") as calls:
            return await documents.get(calls, document_id)

    async def list(self, *, limit: Limit = 50, offset: Offset = 0) -> builtins.list[Document]:
        """Return the documents without their chunks, the latest first."""
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("documents.list") as calls:
            return await calls.rows("documents.list", Document, limit=most, offset=passed)

    async def forget(self, document_id: DocumentId) -> bool:
        """Remove a document with its chunks; return whether there was one."""
        if not is_id(document_id):
            return False
        async with self._desk.writing("documents.forget") as tx:
            gone = await tx.run("documents.forget", document_id=document_id) > 0
            if gone:
                await self._desk.tell(tx, "forget", "document", document_id)
        return gone

    async def _known(self, found: DocumentSource, given: DocumentDetails) -> Document | None:
        """Returns the document that was read from the same bytes before, so that they need not be read again."""
        if found.source_hash is None:
            return None
        async with self._desk.reading("documents.known") as calls:
            return await documents.by_source(calls, found.source_hash, given.uri)

    async def _read_all(self, found: DocumentSource, given: DocumentDetails) -> NewDocument:
        """Reads a source in another process, because an untrusted file may take any amount of time and memory."""
        chunks: builtins.list[Chunk] = []
        about = SourceDetails()
        size = pages = 0
        async with aclosing(self._read(found)) as parts:
            async for part in parts:
                if isinstance(part, SourceDetails):
                    about = part
                    continue
                chunks += part
                size += sum(len(chunk.content) for chunk in part)
                if size > LARGEST_TEXT:
                    raise Invalid(f"the document may have up to {LARGEST_TEXT:,} bytes of UTF-8")
                pages += 1
                if about.pages:
                    given.progress(pages, about.pages)
        digest = await asyncio.to_thread(lambda: sha256(checked("".join(chunk.content for chunk in chunks))))
        title = given.title or (about.title or found.name or "")[:500] or None
        return NewDocument(chunks, digest, found.media_type, found.source_hash, title, given.uri, given.metadata)

    async def _read(self, found: DocumentSource) -> AsyncGenerator[SourceDetails | builtins.list[Chunk], None]:
        """Yields the parts of a source; raises Invalid if a limit is reached."""
        settings, name = self._desk.settings, found.name or "the document"
        limits = Limits(settings.document_seconds, settings.document_memory)
        bounds = settings.document_pages, settings.document_unpacked_bytes
        try:
            async with aclosing(
                READING.parts(source.read, found, *bounds, limits=limits, owner=self._desk.user_id)
            ) as parts:
                async for part in parts:
                    yield part
        except OutOfTime:
            raise Invalid(f"{name} takes more than {limits.seconds:g} s to read (LTST_DOCUMENT_SECONDS)") from None
        except MemoryError:
            raise Invalid(
                f"{name} takes more than {limits.memory:,} bytes of memory to read (LTST_DOCUMENT_MEMORY)"
            ) from None
        except Crashed as problem:
            raise Invalid(f"{name} cannot be read: {problem}") from None

    async def _keep(self, new: NewDocument, given: DocumentDetails) -> Document:
        async with self._desk.writing("documents.add") as tx:
            await tx.run("documents.hold")  # lets only one document be added at a time
            same = await tx.row("documents.by_hash", Document, content_hash=new.content_hash, uri=new.uri)
            if same is not None:
                return await documents.with_chunks(tx, same)
            there = await tx.row("documents.by_uri", Document, uri=new.uri) if new.uri else None
            if there is not None:
                # A title taken from the file does not replace one that was given.
                document, counts = await documents.update(tx, there, replace(new, title=given.title), given.progress)
                await self._desk.tell(tx, "update", "document", document.document_id, counts)
                return document
            document = await documents.add(tx, new, given.progress)
            await self._desk.tell(tx, "add", "document", document.document_id, {"chunks": len(document.chunks)})
            return document


async def _source(given: str | Path | bytes, media_type: str | None) -> DocumentSource:
    """Returns the source to read; a string is always text, never a path, because it may be untrusted."""
    kind = validate.optional_choice(media_type, "media_type", MEDIA_TYPES)
    if isinstance(given, Path):
        return await asyncio.to_thread(source.of_file, given, kind)
    if isinstance(given, bytes):
        return await asyncio.to_thread(source.of_bytes, given, kind)
    return source.of_text(checked(given), kind)
