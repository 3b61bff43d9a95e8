"""Sources: the text or file that a document is read from, and the reader it needs."""

from __future__ import annotations

import codecs
import re
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ltst.errors import Invalid
from ltst.support import validate
from ltst.support.reading import html, markdown
from ltst.support.reading.chunks import Block, Chunk, chunks
from ltst.support.reading.pdf import Pdf

TEXT, MARKDOWN, HTML, PDF = "text/plain", "text/markdown", "text/html", "application/pdf"
MEDIA_TYPES = (TEXT, MARKDOWN, HTML, PDF)
SUFFIXES = {
    **dict.fromkeys((".txt", ".text", ".log"), TEXT),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    ".pdf": PDF,
}
# A file may hold pictures besides its text.
LARGEST_FILE = 512 * 1024**2
LARGEST_TEXT = 64 * 1024**2
CHUNKS_AT_ONCE = 500
# Incremented when a reader changes its output, so that files are then read again.
EDITION = 1

SNIFFED = 2048
SNIFFED_FOR_MARKS = 1024**2
PAGE_BEGINS = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)
DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([a-z0-9_-]+)", re.IGNORECASE)
KNOWN_ENCODING = re.compile(r"(?:iso-8859-|windows-|cp125|latin|koi8-|gb|big5|shift|euc-|us-ascii|ascii|utf-?8)", re.I)


class DocumentSource(NamedTuple):
    """What was given: a text, or the bytes of a file with its name, its URI and their hash."""

    given: str | bytes
    media_type: str
    name: str | None = None
    uri: str | None = None
    source_hash: str | None = None


class SourceDetails(NamedTuple):
    """What is known of an open source: its number of pages and its title, if it has them."""

    pages: int = 0
    title: str | None = None


def of_text(text: str, media_type: str | None) -> DocumentSource:
    """Returns a text as a source, as Markdown if it looks like it, unless a media type is given."""
    if media_type == PDF:
        raise Invalid("a PDF is no text: give its path as a Path")
    return DocumentSource(text, media_type or (MARKDOWN if markdown.is_markdown(text[:SNIFFED_FOR_MARKS]) else TEXT))


def of_file(file: Path, media_type: str | None) -> DocumentSource:
    """Reads a file as a source; its suffix, else its beginning, tells its media type."""
    try:
        data, uri = _bytes(file), file.resolve().as_uri()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Invalid(
            f"a document must be a readable file of UTF-8 text, Markdown, HTML or PDF; {file}: {reason}"
        ) from None
    kind = media_type or SUFFIXES.get(file.suffix.lower()) or _sniffed(data, suffix=file.suffix)
    return DocumentSource(data, kind, file.name, uri, _digest(kind, data))


def of_bytes(data: bytes, media_type: str | None) -> DocumentSource:
    """Returns the content of a file as a source, without the file."""
    if not data or len(data) > LARGEST_FILE:
        raise Invalid(f"a document must have 1 to {LARGEST_FILE:,} bytes, not {len(data):,}")
    kind = media_type or _sniffed(data, suffix="")
    return DocumentSource(data, kind, source_hash=_digest(kind, data))


def _digest(kind: str, data: bytes) -> str:
    return sha256(f"{EDITION} {kind}\n".encode() + data).hexdigest()


def read(source: DocumentSource, most_pages: int, most_unpacked: int) -> Iterator[SourceDetails | list[Chunk]]:
    """Yields the details of a source, then its chunks, those of each page by themselves.

    An untrusted file can make this take any amount of time and memory: call it in a process that can be killed.
    """
    name = source.name or "the document"
    if source.media_type == PDF:
        assert isinstance(source.given, bytes), "a PDF comes from a file"
        pdf = Pdf(source.given, name, most_pages, most_unpacked)
        yield SourceDetails(pdf.pages)
        yield from pdf.chunks()
        return
    text = source.given if isinstance(source.given, str) else _decoded(source.given, source.media_type, name)
    title, blocks = _blocks(text, source.media_type, name)
    yield SourceDetails(title=title)
    found = chunks(blocks)
    while some := [*islice(found, CHUNKS_AT_ONCE)]:
        yield some


def checked(text: object) -> str:
    """Returns a text that can be stored as a document; raises Invalid otherwise."""
    return validate.content(text, "the document", LARGEST_TEXT)


def _blocks(text: str, media_type: str, name: str) -> tuple[str | None, Iterable[Block]]:
    if media_type == HTML:
        title, blocks = html.read(text)
        if not blocks:
            raise Invalid(f"{name} holds no text outside of scripts and navigation")
        return title, blocks
    return None, (markdown.blocks if media_type == MARKDOWN else markdown.paragraphs)(text)


def _bytes(file: Path) -> bytes:
    # A device or a pipe may never end.
    if not stat.S_ISREG(file.stat().st_mode):
        raise ValueError("it is not a regular file")
    with file.open("rb") as opened:
        data = opened.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE:,} bytes")
    return data


def _sniffed(data: bytes, suffix: str) -> str:
    begin = data.removeprefix(codecs.BOM_UTF8)[:SNIFFED]
    if begin.startswith(b"%PDF-"):
        return PDF
    if PAGE_BEGINS.match(begin):
        return HTML
    # A script with its own suffix may have comments that look like headings.
    return MARKDOWN if not suffix and markdown.is_markdown(data[:SNIFFED_FOR_MARKS].decode(errors="ignore")) else TEXT


def _decoded(data: bytes, media_type: str, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Invalid(f"{name} is not a readable file of UTF-8 text: it is UTF-16; save it as UTF-8")
    declared = DECLARED.search(data[:SNIFFED]) if media_type == HTML else None
    encoding = declared[1].decode() if declared else "utf-8"
    try:
        text = data.decode(encoding if KNOWN_ENCODING.match(encoding) else "utf-8").removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError) as problem:
        raise Invalid(f"{name} is not a readable file of UTF-8 text: {problem}") from None
    return text if media_type == HTML else checked(text)
