"""HTML: reads what a page says as blocks with the headings above them, without what only browsers need."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltst.support.reading.chunks import Block, Headings
from ltst.support.reading.tags import Tag, parts

SKIPPED = frozenset(
    {"audio", "button", "canvas", "datalist", "iframe", "math", "nav", "noscript", "object", "script", "select"}
    | {"style", "svg", "template", "textarea", "video"}
)
NAVIGATION = re.compile(r"\brole\s*=\s*[\"']?navigation\b", re.IGNORECASE)
# A page may forget to close its navigation; it ends here in any case.
CONTENT = frozenset({"body", "main", "article"})
TITLES = {f"h{level}": level for level in range(1, 7)}
CELLS = frozenset({"td", "th"})
TABLE = frozenset({"table", "thead", "tbody", "tfoot", "tr", "caption"})
LISTS = frozenset({"ul", "ol", "menu"})
PARAGRAPHS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "head", "header", "hgroup", "hr", "html", "legend"}
    | {"main", "p", "section", "summary"}
)
DEEPEST = 8


def read(page: str) -> tuple[str | None, list[Block]]:
    """Returns the title of a page and its blocks, each including the white space after it."""
    reader = _Reader()
    for part in parts(page.replace("\x00", "")):
        if isinstance(part, Tag):
            reader.tag(part)
        else:
            reader.text(part)
    reader.finish()
    return reader.title, [*_spaced(reader.blocks)]


def _spaced(blocks: list[Block]) -> Iterator[Block]:
    for number, block in enumerate(blocks, 1):
        between = "\n\n" if number < len(blocks) else "\n"
        yield Block(block.text + between, block.heading, block.title, block.rows)


class _Reader:
    """Collects the text of a block until a tag ends it. It builds no tree, so nothing can be too deep or unbalanced."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.blocks: list[Block] = []
        self._headings = Headings()
        self._said: list[str] = []
        self._lines: list[str] = []  # the lines of the open list or table
        self._cells: list[str] | None = None
        self._level = 0  # of the open heading, else 0
        self._lists: list[int | None] = []  # the number of the last item, or None without numbers
        self._item: str | None = None
        self._preformatted = False
        self._in_title = False
        self._skipped: tuple[str, int] | None = None

    def text(self, text: str) -> None:
        """Adds text to the current block."""
        if self._skipped is None:
            self._said.append(text)

    def tag(self, tag: Tag) -> None:
        """Handles a tag, which may end a block or begin one."""
        if self._skips(tag):
            return
        name = tag.name
        if name == "title":
            self._end_block()
            self._in_title = not tag.ends
        elif name in TITLES:
            self._end_rows()
            self._level = 0 if tag.ends else TITLES[name]
        elif name == "pre":
            self._end_rows()
            self._preformatted = not tag.ends
        elif name in LISTS:
            self._list(tag)
        elif name == "li":
            self._end_row()
            self._item = None if tag.ends else self._mark()
        elif name in CELLS or name in TABLE:
            self._table(tag)
        elif name == "br":
            self._said.append("\n")
        elif name in PARAGRAPHS:
            self._paragraph()

    def finish(self) -> None:
        """Ends all blocks at the end of the page."""
        self._end_rows()

    def _skips(self, tag: Tag) -> bool:
        if self._skipped is None:
            skips = not tag.ends and (tag.name in SKIPPED or NAVIGATION.search(tag.attributes) is not None)
            if skips and not tag.attributes.endswith("/"):
                self._skipped = tag.name, 1
            return skips
        name, depth = self._skipped
        if tag.name in CONTENT and not tag.ends and name == "nav":
            self._skipped = None
            return False
        if tag.name == name:
            depth += -1 if tag.ends else 1
            self._skipped = (name, depth) if depth else None
        return True

    def _list(self, tag: Tag) -> None:
        self._end_row()
        if not tag.ends:
            self._lists.append(0 if tag.name == "ol" else None)
        elif self._lists:
            self._lists.pop()
        if not self._lists:
            self._end_rows()

    def _mark(self) -> str:
        """Returns the bullet or number of an item."""
        indent = "  " * (min(len(self._lists) or 1, DEEPEST) - 1)
        last = self._lists[-1] if self._lists else None
        if last is None:
            return f"{indent}- "
        self._lists[-1] = last + 1
        return f"{indent}{last + 1}. "

    def _table(self, tag: Tag) -> None:
        if tag.name in CELLS:
            self._end_cell()
            if self._cells is None:
                self._cells = []
        else:
            self._end_row()
            if tag.name in ("table", "caption"):
                self._end_rows()

    def _paragraph(self) -> None:
        """Ends a paragraph; inside a row it stays part of the row."""
        if self._cells is not None or self._item is not None:
            self._said.append("\n")
        else:
            self._end_rows()

    def _end_cell(self) -> None:
        said = self._taken()
        if self._cells is not None and said:
            self._cells.append(said)
        elif said:
            self._lines.append(said)

    def _end_row(self) -> None:
        """Ends a line of a list or a table, or a block between them."""
        if self._cells is not None:
            self._end_cell()
            if self._cells:
                self._lines.append(" | ".join(self._cells))
            self._cells = None
        elif self._item is not None:
            said = self._taken()
            if said:
                self._lines.append(self._item + said)
                self._item = " " * len(self._item)
        else:
            self._end_block()

    def _end_rows(self) -> None:
        if self._cells is not None or self._item is not None:
            self._end_row()
        self._end_lines()
        self._item = None
        self._end_block()

    def _end_block(self) -> None:
        if self._preformatted:
            self._end_preformatted()
            return
        said = self._taken()
        if not said:
            return
        if self._in_title:
            self.title = self.title or said
        elif self._level:
            self._end_lines()
            self._headings.enter(self._level, said)
            self.blocks.append(Block(said, self._headings.path, title=True))
            self._level = 0
        else:
            self._end_lines()
            self.blocks.append(Block(said, self._headings.path))

    def _end_lines(self) -> None:
        if self._lines:
            self.blocks.append(Block("\n".join(self._lines), self._headings.path, rows=True))
            self._lines = []

    def _end_preformatted(self) -> None:
        said = "".join(self._said).replace("\r\n", "\n").strip("\r\n")
        self._said = []
        if said.strip():
            self.blocks.append(Block(said, self._headings.path, rows=True))

    def _taken(self) -> str:
        """Returns the text collected since the last call, with white space as browsers show it."""
        said = " ".join("".join(self._said).split())
        self._said = []
        return said
