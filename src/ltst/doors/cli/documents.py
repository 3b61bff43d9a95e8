"""Documents: `ltst documents …`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, MetadataOption, Offset, Options, command, named, remembered
from ltst.doors.cli.verbs import Given, Noun, forgotten
from ltst.records import Document, DocumentChunk
from ltst.support import validate

if TYPE_CHECKING:
    from ltst.sync import User

ABOUT = "Files that a user gave to be remembered."
app = Noun("documents", ABOUT, "add manual.pdf", missing="document {document_id!r}")

ID = "01900000-0000-7000-8000-000000000000"

COLUMNS = show.columns(
    "Document: document_id, Title: title, Last change",
    {"Last change": lambda document: document.updated_at or document.created_at},
)
ADDED = show.columns("Document: document_id, Title: title, Chunks", {"Chunks": lambda document: len(document.chunks)})
WHOLE: show.Columns = {
    **ADDED,
    **show.columns("Address: uri, Type: media_type, Added: created_at, Changed: updated_at"),
}
CHUNKS: show.Columns = {
    "": "chunk_index",
    "Where": lambda chunk: _page_and_heading(chunk.metadata),
    "Content": "content",
}


@command(app, "add", user=True)
def add(
    options: Options,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Text, Markdown, HTML or PDF; - reads standard input.")
    ],
    title: Annotated[str | None, named("--title", "TEXT", "What to call it, if not as its file.")] = None,
    uri: Annotated[str | None, named("--uri", "URI", "Its address, if not the file's own.")] = None,
    media_type: Annotated[
        str | None, named("--media-type", "TYPE", "Such as text/html, if its name does not tell.")
    ] = None,
    metadata: MetadataOption = None,
) -> None:
    """Read files, so that searches find what they say.

    A file that did not change changes nothing; one that did changes its document.

    Example: ltst documents add manual.pdf --title "The manual"
    """
    if len(files) > 1 and (title or uri):
        raise typer.BadParameter("--title and --uri are for one file")
    about = {"title": title, "uri": uri, "media_type": media_type, "metadata": metadata}
    with remembered(options) as user:
        kept = [_added(user, file, about) for file in files]
    document = [{**_without_chunks(each), "chunks": len(each.chunks)} for each in kept]
    show.records(options.json, kept, ADDED, title="Kept", instead=document)


def _show_documents(as_json: bool, known: Sequence[Document], _: Given) -> None:
    document = [_without_chunks(each) for each in known]
    show.records(as_json, known, COLUMNS, title="Documents", empty="There are no documents yet.", instead=document)


def _show_document(as_json: bool, document: Document, given: Given) -> None:
    first, most = validate.offset(given["offset"]), validate.limit(given["limit"])
    shown: tuple[DocumentChunk, ...] = document.chunks[first : first + most]
    if as_json:
        show.document(replace(document, chunks=shown))
        return
    show.record(False, document, WHOLE)
    if shown:
        show.out().print(show.table(shown, CHUNKS))


app.verb("list", "List documents, the latest first.", "--limit 10", _show_documents)
WITH_CHUNKS = "Show a document with its chunks and where they stand in it."
SOME = {"limit": (Limit, 20), "offset": (Offset, 0)}
app.verb("show", WITH_CHUNKS, ID, _show_document, does="documents.get", own=SOME)
app.verb("forget", "Remove a document with its chunks.", ID, forgotten("document_id"))


def _added(user: User, file: Path, about: Mapping[str, Any]) -> Document:
    given = sys.stdin.buffer.read() if str(file) == "-" else file
    with show.progress(file.name) as done:
        return user.documents.add(given, **about, progress=done)


def _without_chunks(document: Document) -> dict[str, Any]:
    return {name: value for name, value in asdict(replace(document, chunks=())).items() if name != "chunks"}


def _page_and_heading(metadata: Mapping[str, Any]) -> str:
    """Return the page and the heading of a chunk."""
    page = f"page {metadata['page']}" if "page" in metadata else ""
    return ", ".join(each for each in (page, metadata.get("heading")) if each)
