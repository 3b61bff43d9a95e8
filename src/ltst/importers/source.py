"""The state of an import while a file is read: its name for errors, the caller's options, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from ltst.errors import Invalid
from ltst.importers.shapes import mapping, name
from ltst.importers.words import MessageText, clean, session_id, title
from ltst.records import ImportedConversation, ImportedMessage, MemoryEntry
from ltst.support import validate

T = TypeVar("T")

MOST_NOTES = 20
LONGEST_WORD = 200


class PlacedValue(NamedTuple):
    """A value in a file and its place: in a list, on a line, or alone."""

    place: str
    value: Any


class LtstExport(NamedTuple):
    """A whole export of ltst."""

    rows: Mapping[str, Any]


Found = ImportedConversation | MemoryEntry | LtstExport


class ReadMessage(NamedTuple):
    """A message as it was read; its time may be missing."""

    role: str
    content: str
    at: datetime | None
    metadata: dict[str, Any]


@dataclass(slots=True)
class ImportOptions:
    """The options and the state shared by all files of an import."""

    now: datetime
    largest: int
    of: str | None = None
    skip_invalid: bool = False
    user: str | None = None
    """The user whose data this is: the first one named in it."""
    named_at: str = ""
    copies: int = 0
    """How many messages the branches have repeated so far."""
    passed_over: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SourceFile:
    """A file being read."""

    name: str
    stem: str
    options: ImportOptions
    _where: str = ""

    def pass_over(self, what: str) -> None:
        """Counts something that is left out."""
        self.options.passed_over[what] += 1

    def attempt(self, place: str, convert: Callable[[], T]) -> T | None:
        """Converts a value; a failure is reported with its file and place: raised, or noted if it may be skipped."""
        self._where = f"{self.name}: {place}" if place else self.name
        try:
            return convert()
        except Invalid as problem:
            fault = clean(f"{self._where}: {problem}")
        except RecursionError:
            fault = f"{self._where}: this is nested too deeply"
        self.leave_out(fault)
        return None

    def leave_out(self, fault: str) -> None:
        """Raises a fault, or notes it if invalid values may be skipped."""
        if not self.options.skip_invalid:
            raise Invalid(fault) from None
        self.pass_over("invalid ones")
        if len(self.options.faults) < MOST_NOTES:
            self.options.faults.append(fault)

    def readable(self, items: Iterator[PlacedValue]) -> Iterator[PlacedValue]:
        """Yields the values of a file up to the first that cannot be read."""
        try:
            yield from items
        except Invalid as problem:
            self.leave_out(str(problem))

    def each(self, items: Iterator[PlacedValue], convert: Callable[[PlacedValue], Found | None]) -> Iterator[Found]:
        """Converts each value and yields the results."""
        for item in items:
            found = self.attempt(item.place, lambda item=item: convert(item))  # type: ignore[misc]
            if found is not None:
                yield found

    def each_conversation(
        self,
        items: Iterator[PlacedValue],
        ids: Sequence[str],
        convert: Callable[[dict[str, Any], str | None, SourceFile], Found | None],
    ) -> Iterator[Found]:
        """Converts each value to a conversation; an error names it by the first of its `ids`."""

        def one(item: PlacedValue) -> Found | None:
            given = mapping(item.value, "it")
            foreign = next((known for each in ids if (known := name(given.get(each), each))), None)
            try:
                return convert(given, foreign, self)
            except Invalid as problem:
                raise Invalid(f"conversation {foreign or f'without {ids[0]}'}: {problem}") from None

        return self.each(items, one)

    def is_wanted(self, user: object, what: str = "rows") -> bool:
        """Returns whether this user's rows are wanted. An import is for one user; a second one is an error."""
        whose = name(user, "user_id")
        if self.options.of is not None:
            if whose != self.options.of:
                self.pass_over(f"{what} without a user" if whose is None else f"{what} of other users")
            return whose == self.options.of
        if whose is None:
            return True
        if self.options.user is None:
            self.options.user, self.options.named_at = whose, self._where
        if whose != self.options.user:
            raise Invalid(
                f"it belongs to {whose!r}, what stands before ({self.options.named_at}) to {self.options.user!r}; "
                "say whose is wanted: --of ID"
            )
        return True

    def said(
        self, role: str, words: MessageText, at: datetime | None, path: str, metadata: dict[str, Any] | None = None
    ) -> ReadMessage | None:
        """Returns a message, or None if it is empty."""
        if not words:
            self.pass_over("empty messages")
            return None
        text, kept = words.text, metadata or {}
        content = clean(text)
        if content != text:
            kept["mended"] = True
        if len(content) * 4 > self.options.largest and len(content.encode()) > self.options.largest:
            size = len(content.encode())
            raise Invalid(f"{path} has {size:,} bytes of text; a message may have up to {self.options.largest:,}")
        if words.parts:
            kept["parts"] = words.parts
        if kept:
            self._check(kept, path)
        return ReadMessage(role, content, at, kept)

    def conversation(
        self,
        format: str,
        foreign: str,
        messages: Sequence[ImportedMessage],
        *,
        name: str | None = None,
        began: datetime | None = None,
        current: str | None = None,
        **about: str,
    ) -> ImportedConversation:
        """Returns a conversation with its origin in the metadata and an id derived from the original one."""
        imported = {"format": format, "id": clean(foreign), "file": self.name}
        kept = {name: clean(value)[:LONGEST_WORD] for name, value in about.items() if value}
        metadata = {"imported": imported, **kept}
        own = session_id(format, foreign)
        return ImportedConversation(own, messages, title(name), began or messages[0].at, current, metadata)

    def _check(self, metadata: dict[str, Any], path: str) -> None:
        """Checks that metadata can be stored, including the mark for a missing time that may be added later."""
        try:
            validate.metadata({**metadata, "undated": True}, self.options.largest)
        except Invalid as problem:
            raise Invalid(f"{path}: {problem}") from None
