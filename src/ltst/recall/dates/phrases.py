"""The types of the date grammar: the query, a position in it, and a period that was read up to another position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ltst.recall.dates.spans import DAY, Cycle, Span


@dataclass(frozen=True, slots=True)
class Query:
    """The query as written, the same in lower case with plain quotes and dashes, and the local time."""

    query: str
    text: str
    now: datetime
    rules: Rules

    @property
    def today(self) -> datetime:
        """The midnight at which today began."""
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)

    def capital(self, at: int) -> bool:
        """Returns whether there is a capital at a position."""
        return self.query[at].isupper()

    def before(self, at: int) -> str:
        """Returns the word before a position."""
        words = self.text[max(0, at - 24) : at].split()
        return words[-1] if words else ""

    def titled(self, at: int) -> bool:
        """Returns whether a word is capitalised although it does not begin a sentence."""
        before = self.before(at)
        return self.query[at : at + 2].istitle() and before != "" and before[-1] not in ".?!:\"'("


class Spot(NamedTuple):
    """Where to read on, and the words before it that make an ambiguous name a date: "in" May, "the" May trip."""

    at: int
    cue: str = ""
    the: bool = False
    depth: int = 0

    def inner(self, at: int, cue: str) -> Spot:
        """Returns the position of a period nested in this one."""
        return Spot(at, cue, False, self.depth + 1)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A period as read so far, up to `stop`; its cycle is kept until a year, a month or a week settles it."""

    stop: int
    start: datetime
    end: datetime
    unit: str = "vague"
    cycle: Cycle | None = None
    sure: bool = True
    year: int | None = None

    @property
    def anchor(self) -> Span:
        """The span that "before" and "after" refer to: for the days around Christmas, Christmas Day itself."""
        return (self.start + DAY, self.start + 2 * DAY) if self.unit == "holiday" else (self.start, self.end)

    def settled(self, span: Span, stop: int | None = None) -> Phrase:
        """Returns the phrase with its span decided."""
        return Phrase(self.stop if stop is None else stop, span[0], span[1], self.unit)


Rule = Callable[[Query, Spot], Phrase | None]


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules read a period, by its first word, and the other words that may come before one."""

    by_word: Mapping[str, tuple[Rule, ...]]
    by_number: tuple[Rule, ...]
    leading: frozenset[str]

    def of(self, word: str) -> tuple[Rule, ...]:
        """Returns the rules to try on a period that begins with this word."""
        return self.by_word.get(word) or (self.by_number if word[0] in "0123456789" else ())

    def may_begin(self, word: str) -> bool:
        """Returns whether something about time may begin with this word."""
        return word in self.leading or bool(self.of(word))
