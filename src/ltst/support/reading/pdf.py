"""PDF: the text of each page, read by pypdf, which is imported when a PDF is first read."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ltst.errors import Invalid
from ltst.support.reading.chunks import Block, Chunk, chunks
from ltst.support.text import PARAGRAPH_END, cut

if TYPE_CHECKING:
    from pypdf import PdfReader

# A word that is broken at the end of a line.
BROKEN_WORD = re.compile(r"(?<=[a-zß-öø-ÿ])(?:-|\u00ad|\u2010)\n(?=[a-zß-öø-ÿ])")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Pdf:
    """An open PDF."""

    def __init__(self, data: bytes, name: str, most_pages: int, most_unpacked: int) -> None:
        """Opens it; raises Invalid if that fails, or if its pages are too many or unpack to too many bytes."""
        self._name = name
        with self._readable():
            self._reader = _open(data)
            if self._reader.is_encrypted and not self._reader.decrypt(""):
                raise Invalid(f"{name} is locked with a password: give an unlocked copy")
            self.pages = len(self._reader.pages)
        if self.pages > most_pages:
            raise Invalid(f"{name} has {self.pages:,} pages; up to {most_pages:,} can be read (LTST_DOCUMENT_PAGES)")
        if any(unpacked > most_unpacked for unpacked in self._unpacked()):
            raise Invalid(
                f"the pages of {name} unpack to more than {most_unpacked:,} bytes (LTST_DOCUMENT_UNPACKED_BYTES)"
            )

    def chunks(self) -> Iterator[list[Chunk]]:
        """Yields the chunks of each page, in order."""
        said = False
        for number in range(self.pages):
            text = self._page(number)
            said = said or bool(text)
            yield [*chunks(map(Block, cut(text, PARAGRAPH_END)), page=number + 1)]
        if not said:
            raise Invalid(f"{self._name} holds no text: if it is a scan, let a program recognise its letters first")

    def _unpacked(self) -> Iterator[int]:
        """Yields the unpacked size up to and including each page. Pages may share data that is packed once."""
        unpacked = 0
        for number in range(self.pages):
            with self._readable():
                contents = self._reader.pages[number].get_contents()
                unpacked += len(contents.get_data()) if contents is not None else 0
            yield unpacked

    def _page(self, number: int) -> str:
        with self._readable():
            text = self._reader.pages[number].extract_text()
        lines = (line.rstrip() for line in UNSTORABLE.sub("\ufffd", text).splitlines())
        joined = BROKEN_WORD.sub("", "\n".join(lines)).strip()
        return f"{joined}\n\n" if joined else ""

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turns any error that a broken file causes in the library into one that blames the file."""
        try:
            yield
        except (Invalid, MemoryError):
            raise
        except Exception as problem:  # noqa: BLE001 - it may be any error at all
            said = str(problem) or type(problem).__name__
            raise Invalid(f"{self._name} is no PDF that can be read: {said}") from None


def _open(data: bytes) -> PdfReader:
    from pypdf import PdfReader  # imported late: it takes long

    # Its warnings about a file are of no use to whoever adds one; they can still be listened to.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
    return PdfReader(io.BytesIO(data))
