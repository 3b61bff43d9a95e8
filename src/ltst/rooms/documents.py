"""Documents: texts stored in chunks. The same text is stored once; a new version keeps the chunks it shares."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.records import Document, DocumentChunk
from ltst.support.ids import new_id
from ltst.support.reading.chunks import Chunk

BATCH = 500

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to store; `metadata` is JSON, or None to keep the stored metadata."""

    chunks: Sequence[Chunk]
    content_hash: str
    media_type: str
    source_hash: str | None
    title: str | None
    uri: str | None
    metadata: str | None

    @property
    def columns(self) -> dict[str, Any]:
        """Returns the columns of the document's own row."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "chunks"}


class KnownChunk(NamedTuple):
    """A chunk that is already stored."""

    chunk_id: str
    chunk_index: int
    content_hash: str
    metadata: Mapping[str, Any]


class PlacedChunk(NamedTuple):
    """A chunk of the new text with its position, and the stored chunk of the same content, if there is one."""

    chunk: Chunk
    position: int
    chunk_id: str
    before: KnownChunk | None = None

    @property
    def moved(self) -> bool:
        """Whether it was stored at another position."""
        return self.before is not None and self.before.chunk_index != self.position

    @property
    def relabelled(self) -> bool:
        """Whether it was stored under another heading."""
        return self.before is not None and self.before.metadata.get("heading") != self.chunk.metadata.get("heading")

    @property
    def changed(self) -> bool:
        """Whether it was stored with another position or other metadata."""
        return self.moved or (self.before is not None and self.before.metadata != self.chunk.metadata)


async def add(tx: Executor, new: NewDocument, progress: Progress) -> Document:
    """Stores a new document and returns it."""
    document_id = new_id()
    await tx.run("documents.add", document_id=document_id, **new.columns | {"metadata": new.metadata or "{}"})
    placed = [PlacedChunk(chunk, position, new_id()) for position, chunk in enumerate(new.chunks, 1)]
    await _add_chunks(tx, document_id, placed, lambda stored: progress(stored, len(placed)))
    return await _stored(tx, document_id)


async def update(
    tx: Executor, there: Document, new: NewDocument, progress: Progress
) -> tuple[Document, dict[str, int]]:
    """Replaces a document's text, keeping the chunks that both texts share; also returns counts of chunks by fate."""
    title = there.title if new.title is None else new.title
    await tx.run("documents.update", document_id=there.document_id, **new.columns | {"title": title})
    known = await tx.rows("documents.outline", KnownChunk, document_id=there.document_id)
    placed, gone = _compared(known, new.chunks)
    kept, added = [each for each in placed if each.before], [each for each in placed if not each.before]
    await _change(tx, "documents.remove_chunks", gone)
    await _change(tx, "documents.lift_chunks", [each.chunk_id for each in kept if each.moved])
    await _place_chunks(tx, [each for each in kept if each.changed])
    await _change(
        tx, "documents.reindex_chunks", [each.chunk_id for each in kept if each.relabelled or title != there.title]
    )
    progress(len(kept), len(placed))
    await _add_chunks(tx, there.document_id, added, lambda stored: progress(len(kept) + stored, len(placed)))
    return await _stored(tx, there.document_id), {"kept": len(kept), "added": len(added), "removed": len(gone)}


async def by_source(tx: Executor, source_hash: str, uri: str | None) -> Document | None:
    """Returns the document that was read from the same bytes, with its chunks."""
    found = await tx.row("documents.by_source", Document, source_hash=source_hash, uri=uri)
    return await with_chunks(tx, found) if found else None


async def get(tx: Executor, document_id: str) -> Document | None:
    """Returns a document with its chunks, if this user has it."""
    found = await tx.row("documents.get", Document, document_id=document_id)
    return await with_chunks(tx, found) if found else None


async def with_chunks(tx: Executor, document: Document) -> Document:
    """Returns the document with its chunks."""
    chunks = await tx.rows("documents.chunks", DocumentChunk, document_id=document.document_id)
    return replace(document, chunks=tuple(chunks))


async def _stored(tx: Executor, document_id: str) -> Document:
    found = await get(tx, document_id)
    assert found is not None, "it was written a moment ago"
    return found


def _compared(known: Sequence[KnownChunk], chunks: Sequence[Chunk]) -> tuple[list[PlacedChunk], list[str]]:
    """Matches each new chunk with a stored one of the same content; also returns the ids of unmatched stored chunks."""
    there: dict[str, deque[KnownChunk]] = defaultdict(deque)
    for each in known:
        there[each.content_hash].append(each)
    placed = []
    for position, chunk in enumerate(chunks, 1):
        same = there[chunk.content_hash]
        before = same.popleft() if same else None
        placed.append(PlacedChunk(chunk, position, before.chunk_id if before else new_id(), before))
    return placed, [each.chunk_id for left in there.values() for each in left]


async def _add_chunks(
    tx: Executor, document_id: str, placed: Sequence[PlacedChunk], stored: Callable[[int], None]
) -> None:
    done = 0
    for batch in _batches(placed):
        await tx.run(
            "documents.add_chunks",
            document_id=document_id,
            chunk_ids=[each.chunk_id for each in batch],
            positions=[each.position for each in batch],
            contents=[each.chunk.content for each in batch],
            metadata=[_json(each.chunk.metadata) for each in batch],
        )
        done += len(batch)
        stored(done)


async def _place_chunks(tx: Executor, placed: Sequence[PlacedChunk]) -> None:
    for batch in _batches(placed):
        await tx.run(
            "documents.place_chunks",
            chunk_ids=[each.chunk_id for each in batch],
            positions=[each.position for each in batch],
            metadata=[_json(each.chunk.metadata) for each in batch],
        )


async def _change(tx: Executor, query: str, chunk_ids: list[str]) -> None:
    if chunk_ids:
        await tx.run(query, chunk_ids=chunk_ids)


def _batches(placed: Sequence[PlacedChunk]) -> Iterator[Sequence[PlacedChunk]]:
    for start in range(0, len(placed), BATCH):
        yield placed[start : start + BATCH]


def _json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, ensure_ascii=False)
