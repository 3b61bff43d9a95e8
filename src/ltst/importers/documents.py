"""Reads JSON files value by value (a list, lines or an object), so that only one value is in memory, and CSV files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Generator, Iterator
from typing import Any, NoReturn

from ltst.errors import Invalid
from ltst.importers.files import FileText
from ltst.importers.source import PlacedValue

CHUNK = 256 * 1024
LARGEST_VALUE = 64 * 1024**2
# An export of ltst is restored as a whole, so it is read as a whole.
LARGEST_EXPORT = 2 * 1024**3
# Names of lists that hold the wanted values, in an object that has nothing else of interest.
WRAPPERS = frozenset({"conversations", "results", "memories"})
BLANK = re.compile(r"[ \t\n\r]*")
# A syntax error this close to the end of the buffer may just mean that more must be read.
NEAR = 20
LARGEST_CELL = 4 * 1024**2


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


DECODER = json.JSONDecoder(parse_constant=_no_number)


class JsonValues:
    """The values of a JSON file."""

    def __init__(self, text: FileText, leave_out: Callable[[str], None]) -> None:
        """Reads from the beginning of a text. `leave_out` is called with each bad line, and may raise."""
        self._text = text
        self._leave_out = leave_out
        self._buffer = ""
        self._at = 0
        # Lines are counted up to here and never again, because a buffer may have very many.
        self._counted = 0
        self._line = 1
        self._column = 0
        self._ended = False

    def items(self) -> Iterator[PlacedValue]:
        """Yields the values of the file, each with its place."""
        begin = self._peek()
        if begin == "[":
            yield from self._list("")
            self._end()
        elif begin == "{":
            yield from self._objects()
        elif begin:
            self._fault("Expecting a list or an object", self._at)

    def _objects(self) -> Iterator[PlacedValue]:
        """Yields one object, or one object per line."""
        head: dict[str, Any] = {}
        wrapped = yield from self._object(head)
        if wrapped:
            self._end()
            return
        several = self._peek() != ""
        yield PlacedValue("line 1" if several else "", head)
        while self._peek():
            self._count()
            place = f"line {self._line}"
            try:
                if self._buffer[self._at] != "{":
                    self._fault("Expecting an object", self._at)
                value = self._value(LARGEST_VALUE)
            except Invalid as problem:
                self._leave_out(str(problem))
                self._skip_line()
            else:
                yield PlacedValue(place, value)

    def _skip_line(self) -> None:
        """Continues with the next line; an interrupted program leaves its last line unfinished and goes on after it."""
        while (end := self._buffer.find("\n", self._at)) < 0 and not self._ended:
            self._at = len(self._buffer)
            self._more()
        self._at = len(self._buffer) if end < 0 else end + 1

    def _object(self, head: dict[str, Any]) -> Generator[PlacedValue, None, bool]:
        """Fills `head` with an object's fields, yields the items of a wanted list, returns whether there was one."""
        wrapped = False
        self._at += 1
        more = self._peek() != "}"
        while more:
            if self._peek() != '"':
                self._fault("Expecting a name in double quotes", self._at)
            name = self._value(LARGEST_VALUE)
            self._take(":")
            if name in WRAPPERS and self._peek() == "[":
                wrapped = True
                yield from self._list(name)
            else:
                self._peek()
                head[name] = self._value(LARGEST_EXPORT if head.get("format") == "ltst" else LARGEST_VALUE)
            more = self._separated("}")
        self._take("}")
        return wrapped

    def _list(self, name: str) -> Iterator[PlacedValue]:
        self._at += 1
        place = 0
        more = self._peek() != "]"
        while more:
            self._peek()
            yield PlacedValue(f"{name}[{place}]", self._value(LARGEST_VALUE))
            place += 1
            more = self._separated("]")
        self._take("]")

    def _separated(self, end: str) -> bool:
        """Returns whether another value follows."""
        found = self._peek()
        if found == ",":
            self._at += 1
            return True
        if found != end:
            self._fault("Expecting ',' delimiter", self._at)
        return False

    def _take(self, expected: str) -> None:
        if self._peek() != expected:
            self._fault(f"Expecting '{expected}'", self._at)
        self._at += 1

    def _end(self) -> None:
        if self._peek():
            self._fault("Extra data", self._at)

    def _peek(self) -> str:
        """Returns the next character that is not blank, or "" at the end."""
        while True:
            found = BLANK.match(self._buffer, self._at)
            assert found is not None, "nothing at all matches too"
            self._at = found.end()
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if self._ended:
                return ""
            self._more()

    def _value(self, largest: int) -> Any:
        """Returns the value that begins here, reading as much as it needs."""
        while True:
            try:
                found, end = DECODER.raw_decode(self._buffer, self._at)
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    return found
            except json.JSONDecodeError as problem:
                if self._ended or self._is_certain(problem):
                    self._fault(problem.msg, problem.pos)
            except RecursionError:
                self._fault("it is nested too deeply", self._at)
            except ValueError as problem:  # a number with thousands of digits, or NaN
                self._fault(str(problem).partition(";")[0], self._at)
            if len(self._buffer) - self._at > largest:
                self._fault(f"one value is larger than {largest:,} characters", self._at)
            self._more()

    def _is_certain(self, problem: json.JSONDecodeError) -> bool:
        """Returns whether reading more cannot fix the error."""
        return not problem.msg.startswith("Unterminated string") and problem.pos < len(self._buffer) - NEAR

    def _more(self) -> None:
        """Reads more and drops what was used; the longer a value is, the more is read at once."""
        self._count()
        left = self._buffer[self._at :]
        read = self._text.read(max(CHUNK, len(left)))
        self._buffer, self._at, self._counted, self._ended = left + read, 0, 0, not read

    def _count(self) -> None:
        self._line, self._column = self._place(self._at)
        self._counted = self._at

    def _place(self, position: int) -> tuple[int, int]:
        """Returns line and column, the line counted from 1 and the column from 0."""
        lines = self._buffer.count("\n", self._counted, position)
        if not lines:
            return self._line, self._column + position - self._counted
        return self._line + lines, position - self._buffer.rfind("\n", self._counted, position) - 1

    def _fault(self, message: str, position: int) -> NoReturn:
        line, column = self._place(min(position, len(self._buffer)))
        place = f"line {line}, column {column + 1}"
        raise Invalid(f"{self._text.name}: this is not JSON at {place}: {message}")


def rows(text: FileText) -> Iterator[PlacedValue]:
    """Yields the rows of a CSV file whose first line names the columns."""
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.DictReader(_lines(text), strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise Invalid(f"{text.name}: line {reader.line_num} has not as many columns as the first line")
            yield PlacedValue(f"line {reader.line_num}", {name: value or None for name, value in row.items()})
    except csv.Error as problem:
        raise Invalid(f"{text.name}: this is not CSV at line {reader.line_num}: {problem}") from None


def _lines(text: FileText) -> Iterator[str]:
    """Yields lines with their line breaks, because a quoted value may span several."""
    left = ""
    while read := text.read(CHUNK):
        *lines, left = (left + read).split("\n")
        if len(left) > LARGEST_CELL:
            raise Invalid(f"{text.name}: a line is longer than {LARGEST_CELL:,} characters")
        yield from (f"{line}\n" for line in lines)
    if left:
        yield left
