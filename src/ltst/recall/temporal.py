"""Reads the dates and periods that a question names, by rules, as intervals relative to the time of asking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ltst.recall.date_words import Tongue
from ltst.recall.dates.english import PLAIN
from ltst.recall.dates.grammar import phrases_in
from ltst.recall.dates.phrases import Query
from ltst.recall.dates.rules import RULES
from ltst.recall.dates.spans import EARLIEST, LATEST, Span
from ltst.recall.translated import tongue, translated
from ltst.support import validate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A question is short; of a pasted text only the beginning is read.
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time from `start` up to, not including, `end`, and the words that named it."""

    start: datetime
    end: datetime
    text: str


def intervals(query: str, now: datetime) -> list[Interval]:
    """Returns the intervals that the query names, in order and in the time zone of `now`; empty if it names none.

    A month, a season or a holiday without a year is the latest that has begun, a weekday the latest before today. Weeks
    begin on Monday, seasons are those of the north, 04/05/2023 is April 5 and 25/04/2023 can only be 25 April. Vague
    words give wide intervals; "before" and "after" are open as far as the calendar goes. Words with another meaning
    (May the person, to march) count only where the words around them make them a date. German, Spanish and French are
    read too, where the words of the query show that it is in one of them.
    """
    validate.moment(now, "now")
    query = query[:LONGEST]
    spoken, sure = tongue(query)
    if spoken is None:
        return _intervals(query, now)
    # One word that merely looks like another language does not stop the query from being read as English.
    first, second = (_of_tongue, _of_english) if sure else (_of_english, _of_tongue)
    return first(query, now, spoken) or second(query, now, spoken)


def _of_english(query: str, now: datetime, _spoken: Tongue) -> list[Interval]:
    return _intervals(query, now)


def _of_tongue(query: str, now: datetime, spoken: Tongue) -> list[Interval]:
    """Returns the intervals of a query in another language, each with its words as they stand in the query."""
    english = translated(query, spoken)
    found = []
    for each, start, stop in _find_intervals(english.text, now):
        first, last = english.origin(start, stop)
        found.append(replace(each, text=query[first:last].strip()))
    return found


def _intervals(query: str, now: datetime) -> list[Interval]:
    return [interval for interval, _, _ in _find_intervals(query, now)]


def _find_intervals(query: str, now: datetime) -> list[tuple[Interval, int, int]]:
    """Returns the intervals of an English text without duplicates, each with where its words begin and end."""
    asked = Query(query, query.translate(PLAIN), now.replace(tzinfo=None, fold=0), RULES)
    found: dict[Span, tuple[Interval, int, int]] = {}
    for at, phrase in phrases_in(asked):
        start, end = max(phrase.start, EARLIEST), min(phrase.end, LATEST)
        if start < end and (start, end) not in found:
            words = query[at : phrase.stop]
            interval = Interval(start.replace(tzinfo=now.tzinfo), end.replace(tzinfo=now.tzinfo), words)
            found[start, end] = interval, at, phrase.stop
    return [*found.values()]


def days_apart(found: Sequence[Interval], moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the days from each moment (in seconds since 1970) to the nearest interval; 0 inside one."""
    import numpy as np  # imported late, because reading dates alone does not need it

    early = [each.start.timestamp() - moments for each in found]
    late = [moments - each.end.timestamp() for each in found]
    apart: NDArray[np.float64] = np.min([np.maximum(*pair) for pair in zip(early, late, strict=True)], axis=0)
    return np.maximum(apart, 0.0) / 86_400
