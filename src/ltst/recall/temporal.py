"""Dates and periods that a question names, read with rules into intervals relative to the moment of asking."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ltst.recall.date_words import Tongue
from ltst.recall.dates.english import PLAIN
from ltst.recall.dates.grammar import phrases_in
from ltst.recall.dates.phrases import Asked
from ltst.recall.dates.rules import RULES
from ltst.recall.dates.spans import DAY, EARLIEST, LATEST, Span
from ltst.recall.translated import tongue, translated
from ltst.support import validate

# A question is short; of a pasted text, only the beginning is read.
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time from `start` up to, not including, `end`, and the words that named it."""

    start: datetime
    end: datetime
    text: str


def intervals(query: str, now: datetime) -> list[Interval]:
    """What the query says about when, in the order and the time zone of asking; nothing if it names no date.

    A month, a season or a holiday without a year is the latest that has begun, a weekday the latest before today.
    Weeks begin on Monday, seasons are those of the north, 04/05/2023 is April 5 and 25/04/2023 can only be April 25.
    Vague words give wide intervals; "before" and "after" are open as far as the calendar goes.
    Words that may be something else (May the person, to march) count only in the company that makes them a date.
    German, Spanish and French are read too, where the words of the query tell that it is in one of them.
    """
    validate.moment(now, "now")
    query = query[:LONGEST]
    spoken, sure = tongue(query)
    if spoken is None:
        return _intervals(query, now)
    # A word or two that only look like another language leave English as it is.
    first, second = (_of_tongue, _of_english) if sure else (_of_english, _of_tongue)
    return first(query, now, spoken) or second(query, now, spoken)


def _of_english(query: str, now: datetime, _spoken: Tongue) -> list[Interval]:
    return _intervals(query, now)


def _of_tongue(query: str, now: datetime, spoken: Tongue) -> list[Interval]:
    """What the query says in another language, with the words as they stand in it."""
    english = translated(query, spoken)
    found = []
    for each, start, stop in _placed(english.text, now):
        first, last = english.origin(start, stop)
        found.append(replace(each, text=query[first:last].strip()))
    return found


def _intervals(query: str, now: datetime) -> list[Interval]:
    return [interval for interval, _, _ in _placed(query, now)]


def _placed(query: str, now: datetime) -> list[tuple[Interval, int, int]]:
    """The intervals of an English text, each once, and where they stand."""
    asked = Asked(query, query.translate(PLAIN), now.replace(tzinfo=None, fold=0), RULES)
    found: dict[Span, tuple[Interval, int, int]] = {}
    for at, phrase in phrases_in(asked):
        start, end = max(phrase.start, EARLIEST), min(phrase.end, LATEST)
        if start < end and (start, end) not in found:
            words = query[at : phrase.stop]
            interval = Interval(start.replace(tzinfo=now.tzinfo), end.replace(tzinfo=now.tzinfo), words)
            found[start, end] = interval, at, phrase.stop
    return [*found.values()]


def distance(found: Iterable[Interval], moment: datetime) -> float:
    """Days from the moment to the nearest interval: 0 inside one, infinite where there is none."""
    moment = validate.moment(moment, "moment")
    return min((_apart(each, moment) for each in found), default=math.inf)


def mentions_time(query: str) -> bool:
    """Whether the query names a date or a period."""
    return bool(intervals(query, datetime(2024, 2, 29, 12, tzinfo=UTC)))


def _apart(interval: Interval, moment: datetime) -> float:
    # Two times of one zone would be subtracted by the clock on the wall, which jumps twice a year.
    early = (interval.start.astimezone(UTC) - moment) / DAY
    late = (moment - interval.end.astimezone(UTC)) / DAY
    return max(early, late, 0.0)
