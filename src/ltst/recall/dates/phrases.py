"""What is read of a question about time: its text, a place in it, and a period up to another place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ltst.recall.dates.spans import DAY, Cycle, Span


@dataclass(frozen=True, slots=True)
class Query:
    """The query as written, the same in small letters with plain quotes and dashes, and the time on the wall."""

    query: str
    text: str
    now: datetime
    rules: Rules

    @property
    def today(self) -> datetime:
        """The midnight that today began with."""
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)

    def capital(self, at: int) -> bool:
        """Return whether a capital stands at a place."""
        return self.query[at].isupper()

    def before(self, at: int) -> str:
        """Return the word before a place."""
        words = self.text[max(0, at - 24) : at].split()
        return words[-1] if words else ""

    def titled(self, at: int) -> bool:
        """Return whether a word has a capital that its place in the sentence does not explain."""
        before = self.before(at)
        return self.query[at : at + 2].istitle() and before != "" and before[-1] not in ".?!:\"'("


class Spot(NamedTuple):
    """Where to read on, and the words before it that make a doubtful name a date: "in" May, "the" May trip."""

    at: int
    cue: str = ""
    the: bool = False
    depth: int = 0

    def inner(self, at: int, cue: str) -> Spot:
        """Return the place of a period that another one is named by."""
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
        """What is before and after it: of the days around Christmas, the day itself."""
        return (self.start + DAY, self.start + 2 * DAY) if self.unit == "holiday" else (self.start, self.end)

    def settled(self, span: Span, stop: int | None = None) -> Phrase:
        """Return the phrase with its stretch of time decided."""
        return Phrase(self.stop if stop is None else stop, span[0], span[1], self.unit)


Rule = Callable[[Query, Spot], Phrase | None]


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules read a period, by its first word, and the other words that may stand before one."""

    by_word: Mapping[str, tuple[Rule, ...]]
    by_number: tuple[Rule, ...]
    leading: frozenset[str]

    def of(self, word: str) -> tuple[Rule, ...]:
        """Return the rules to try on a period that begins with this word."""
        return self.by_word.get(word) or (self.by_number if word[0] in "0123456789" else ())

    def may_begin(self, word: str) -> bool:
        """Return whether something about time may begin with this word."""
        return word in self.leading or bool(self.of(word))
