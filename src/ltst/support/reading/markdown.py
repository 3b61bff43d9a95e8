"""Splits Markdown and plain text, kept letter by letter, into blocks with the headings above them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ltst.support.reading.chunks import Block, Headings
from ltst.support.text import PARAGRAPH_END, cut

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t\r\n]|\Z)")
UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*[\r\n]*\Z")
RULER = re.compile(r"[ \t]*+\|?+[ \t]*+:?+-++:?+[ \t]*+\|[ \t:|-]*+[\r\n]*+\Z")
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]| {4}|\t|[ \t]*\|")
LOOKS_WRITTEN = re.compile(r"^(?:#{2,6} \S|```|~~~)", re.MULTILINE)


def is_markdown(text: str) -> bool:
    """Returns whether a text of unknown kind looks like Markdown."""
    return text.lstrip().startswith("# ") or LOOKS_WRITTEN.search(text) is not None


def paragraphs(text: str) -> Iterator[Block]:
    """Yields the blocks of a plain text."""
    for paragraph in cut(text, PARAGRAPH_END):
        yield Block(paragraph)


def blocks(text: str) -> Iterator[Block]:
    """Yields the blocks of a Markdown text, each including the blank lines after it."""
    headings, lines = Headings(), _Lines(text)
    if lines.peek().rstrip() == "---":
        lines.take()
        lines.take_until(lambda line: line.rstrip() in ("---", "..."))
        yield Block(lines.taken(), rows=True)
    while line := lines.take():
        yield _block(line, lines, headings)


def _block(line: str, lines: _Lines, headings: Headings) -> Block:
    if fence := FENCE.match(line):
        lines.take_until(lambda each: _closes(each, fence[1]))
        return Block(lines.taken(), headings.path, rows=True)
    if mark := HEADING.match(line):
        headings.enter(len(mark[1]), _title(line[mark.end() :]))
        return Block(lines.taken(), headings.path, title=True)
    if line.strip() and UNDERLINE.match(lines.peek()) and not ITEM.match(line):
        headings.enter(1 if "=" in lines.take() else 2, line.strip())
        return Block(lines.taken(), headings.path, title=True)
    rows = ITEM.match(line) is not None or RULER.match(lines.peek()) is not None
    lines.take_while(_continues)
    return Block(lines.taken(), headings.path, rows=rows)


def _continues(line: str) -> bool:
    """Returns whether a line belongs to the paragraph above it."""
    return bool(line.strip()) and not FENCE.match(line) and not HEADING.match(line)


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _title(rest: str) -> str:
    """Returns the words of a heading, without closing marks."""
    title = rest.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


class _Lines:
    """The lines of a text, read one at a time, since a text may have millions of them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = 0
        self._end = 0
        self._next = LINE.match(text, 0)

    def peek(self) -> str:
        """Returns the next line, or "" at the end."""
        return self._next[0] if self._next else ""

    def take(self) -> str:
        """Takes and returns the next line."""
        line = self.peek()
        self._end += len(line)
        self._next = LINE.match(self._text, self._end)
        return line

    def take_while(self, wanted: Callable[[str], bool]) -> None:
        """Takes lines as long as they are wanted."""
        while (line := self.peek()) and wanted(line):
            self.take()

    def take_until(self, last: Callable[[str], bool]) -> None:
        """Takes lines up to and including the last one, or to the end."""
        while (line := self.take()) and not last(line):
            continue

    def taken(self) -> str:
        """Returns all lines taken since the last call, with the blank lines after them."""
        self.take_while(str.isspace)
        start, self._start = self._start, self._end
        return self._text[start : self._end]
