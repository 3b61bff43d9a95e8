"""Chunks: packs blocks of a text into pieces of a good size for search; joined in order, they are the text again.

Where a chunk ends depends on the words just before its end and on little else, so that a change in one place of a long
text leaves the chunks of other places as they are.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ltst.support.text import cut, sha256

LONGEST, LONGEST_HEADING = 1200, 120
# A chunk may end from this share of LONGEST on; the longer its last piece, the likelier it ends there.
EARLIEST, SPREAD = 0.5, 250
# A leftover at the end of a section that is shorter than this share of LONGEST joins the chunk before it.
LEFTOVER = 0.2
# Nobody writes a text with this many sections: beyond them, chunks cross the borders of sections.
MOST_SECTIONS = 20_000

SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]{0,3}\s+|[。！？]")
LINE_END = re.compile(r"\r\n?|\n")
WORD_END = re.compile(r"\s+")
PROSE = (SENTENCE_END, LINE_END, WORD_END)
ROWS = (LINE_END, SENTENCE_END, WORD_END)


class Block(NamedTuple):
    """A paragraph, a heading (`title`), or lines with a meaning each (`rows`: code, a table, a list)."""

    text: str
    heading: str | None = None
    title: bool = False
    rows: bool = False


class Headings:
    """The headings above the current position; `path` leads there, such as "Install > Linux"."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self.path: str | None = None

    def enter(self, level: int, title: str) -> None:
        """Enters the section of a heading, which closes those of its own level and below."""
        shown = " ".join(title.split())[:LONGEST_HEADING]
        self._open = [each for each in self._open if each[0] < level]
        if shown:
            self._open.append((level, shown))
        self.path = " > ".join(title for _, title in self._open) or None


class Chunk(NamedTuple):
    """A part of a text, and where in the text it stands."""

    content: str
    metadata: Mapping[str, Any]

    @property
    def content_hash(self) -> str:
        """The hash that identifies its content."""
        return sha256(self.content)


def chunks(blocks: Iterable[Block], longest: int = LONGEST, *, page: int | None = None) -> Iterator[Chunk]:
    """Packs blocks into chunks, all with one page number if given; a heading begins a chunk with what follows it."""
    packing = _Packing(longest, page)
    for block in blocks:
        yield from packing.add(block)
    yield from packing.close()


class _Packing:
    """The chunk that is being filled, and the one before it in the same section."""

    def __init__(self, longest: int, page: int | None) -> None:
        self._longest = longest
        self._page = {} if page is None else {"page": page}
        self._full: Chunk | None = None
        self._heading: str | None = None
        self._pieces: list[str] = []
        self._size = 0
        self._sections = 0
        self._has_body = False

    def add(self, block: Block) -> Iterator[Chunk]:
        """Adds a block; yields the chunks that are complete."""
        if block.title and self._sections < MOST_SECTIONS and (self._has_body or self._full):
            self._sections += 1
            yield from self.close()
        for piece in self._cut(block):
            if self._size + len(piece) > self._longest:
                yield from self._turn()
            self._put(piece, block)
            if self._has_body and self._size >= EARLIEST * self._longest and _ends_here(piece):
                yield from self._turn()

    def close(self) -> Iterator[Chunk]:
        """Yields the last chunks of a section."""
        full, rest = self._full, self._taken()
        self._full = None
        if full and rest and len(rest.content) <= min(LEFTOVER * self._longest, self._longest - len(full.content)):
            yield Chunk(full.content + rest.content, full.metadata)
        else:
            yield from (chunk for chunk in (full, rest) if chunk)

    def _turn(self) -> Iterator[Chunk]:
        """Begins another chunk of the section."""
        if self._full:
            yield self._full
        self._full = self._taken()

    def _taken(self) -> Chunk | None:
        metadata = self._page if self._heading is None else {**self._page, "heading": self._heading}
        taken = Chunk("".join(self._pieces), metadata) if self._pieces else None
        self._pieces, self._size, self._has_body = [], 0, False
        return taken

    def _put(self, piece: str, block: Block) -> None:
        if not self._has_body:
            self._heading = block.heading
        self._pieces.append(piece)
        self._size += len(piece)
        self._has_body = self._has_body or not (block.title or piece.isspace())

    def _cut(self, block: Block) -> Iterable[str]:
        """Returns the block whole if it fits. Prose is also cut if its heading would otherwise be left alone."""
        alone = self._has_body or block.rows
        room = self._longest - (0 if alone else self._size)
        return _fitting(block.text, room, self._longest, ROWS if block.rows else PROSE)


def _fitting(text: str, room: int, longest: int, ends: Sequence[re.Pattern[str]]) -> Iterator[str]:
    if len(text) <= room:
        if text:
            yield text
    elif ends:
        for piece in cut(text, ends[0]):
            yield from _fitting(piece, longest, longest, ends[1:])
    else:
        for start in range(0, len(text), longest):
            yield text[start : start + longest]


def _ends_here(piece: str) -> bool:
    """Returns whether a chunk ends here. The words of the piece decide, so the same words end a chunk anywhere."""
    return zlib.crc32(piece.strip().encode()) % SPREAD < len(piece)
