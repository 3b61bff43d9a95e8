"""Reads periods relative to now or to another period: yesterday, two weeks ago, the end of last year."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from ltst.recall.dates import english
from ltst.recall.dates.grammar import base, period
from ltst.recall.dates.phrases import Phrase, Query, Spot
from ltst.recall.dates.spans import (
    DAY,
    HOURS,
    days_back,
    hours_ago,
    hours_of,
    occurrence,
    shifted,
    slice_of,
    unit_around,
    vagueness,
)

HALF_A_YEAR = 6  # months


def read_today(asked: Query, spot: Spot) -> Phrase | None:
    """Reads today, yesterday or tonight."""
    found = english.TODAY.match(asked.text, spot.at)
    # A capital inside a sentence marks a title: USA Today, Yesterday by the Beatles.
    if found is None or asked.titled(spot.at) or (found[1] in ("now", "present") and spot.cue not in english.ENDS):
        return None
    if found[1] == "tonight":
        evening = asked.today - DAY if asked.now.hour < 4 else asked.today
        return Phrase(found.end(), *hours_of(evening, "night"), "hours")
    start = asked.today + english.TODAYS[found[1]] * DAY
    return Phrase(found.end(), start, start + DAY, "day")


def read_this_morning(asked: Query, spot: Spot) -> Phrase | None:
    """Reads this morning, or last night."""
    found = english.MORNING.match(asked.text, spot.at)
    if found is None or spot.the:
        return None
    day = asked.today - DAY if found[1] == "last" else asked.today
    return Phrase(found.end(), *hours_of(day, found[2]), "hours")


def read_ago(asked: Query, spot: Spot) -> Phrase | None:
    """Reads two weeks ago, or a few hours back."""
    found = english.QUANTITY.match(asked.text, spot.at)
    tail = found and english.AGO.match(asked.text, found.end())
    if not found or not tail:
        return None
    least, most, unit = _quantity(found)
    if unit in ("minute", "hour"):
        return Phrase(tail.end(), *hours_ago(asked.now, least, most, unit))
    # "A year ago today" is one day, "about a year ago" is very vague.
    vague = (found[1] and found[1] != "half") or spot.cue == "around"
    slack = vagueness(most, unit) * (0 if tail[1] else 2 if vague else 1)
    start, end = shifted(asked.today, -most, unit), shifted(asked.today, -least, unit)
    return Phrase(tail.end(), start - slack, min(end + slack, asked.today) + DAY)


def read_away(asked: Query, spot: Spot) -> Phrase | None:
    """Reads two weeks before Christmas, three days after May 5, a week from today."""
    found = english.QUANTITY.match(asked.text, spot.at)
    tail = found and english.AWAY.match(asked.text, found.end())
    if not found or not tail or found[4] in ("minute", "hour"):
        return None
    back = tail[1] == "before"
    from_ = period(asked, spot.inner(tail.end(), "before" if back else "after"))
    if from_ is None:
        return None
    least, most, unit = _quantity(found)
    slack = vagueness(most, unit)
    first, end = from_.anchor
    if back:
        start, end = shifted(first, -most, unit), shifted(first, -least, unit)
    else:
        start, end = shifted(end - DAY, least, unit), shifted(end - DAY, most, unit)
    return Phrase(from_.stop, start - slack, end + slack + DAY)


def read_which(asked: Query, spot: Spot) -> Phrase | None:
    """Reads last week, the next few days, or this summer."""
    found = english.WHICH.match(asked.text, spot.at)
    if found is None:
        return None
    which = english.WHICHES[found[2] or found[3]]
    if units := english.UNITS.match(asked.text, found.end()):
        return _read_rolling(asked, spot, which, units)
    if unit := english.UNIT.match(asked.text, found.end()):
        rolling = found[2] == "past" or (found[2] == "last" and (found[1] or spot.the))
        return _which_unit(asked, spot, "past" if rolling else which, unit)
    # "Past" alone is as often a place: "we walked past May's house".
    if found[2] == "past" and not found[1] and not spot.the:
        return None
    return _which_named(asked, spot, which, found.end())


def _which_named(asked: Query, spot: Spot, which: str, at: int) -> Phrase | None:
    """Reads last May, next Monday, this summer; but not "my last fall from a ladder"."""
    named = base(asked, spot.inner(at, which))
    if named is None or not named.sure or named.cycle is None:
        return None
    doubtful = spot.the and not asked.capital(at) and asked.text[at : named.stop] in english.DOUBTFUL
    return None if doubtful else named.settled(occurrence(named.cycle, which, asked.today))


def _read_rolling(asked: Query, spot: Spot, which: str, found: re.Match[str]) -> Phrase | None:
    """Reads the last two weeks, the next few days; but not "it may last two weeks"."""
    if (
        which == "this"
        or english.NOT_ROLLING.match(asked.text, found.end())
        or asked.before(spot.at) in english.BEFORE_VERB
    ):
        return None
    count, unit = _counts(found[1])[1], found[2]
    if unit in ("minute", "hour"):
        count, unit = math.ceil(count / (24 if unit == "hour" else 1440)), "day"
    ahead = shifted(asked.today, count, unit) + DAY
    return Phrase(found.end(), *((asked.today, ahead) if which == "next" else days_back(asked.today, count, unit)))


def _which_unit(asked: Query, spot: Spot, which: str, found: re.Match[str]) -> Phrase | None:
    """Reads last week, this month; but not "the last week of school", nor "my last year at college"."""
    owned = asked.before(spot.at) in english.OWNERS and english.PLACE.match(asked.text, found.end())
    if owned or english.OF.match(asked.text, found.end()):
        return None
    unit = found[1]
    if which == "past" and unit in ("week", "month", "year"):
        return Phrase(found.end(), *days_back(asked.today, 1, unit))
    step = {"this": 0, "next": 1}.get(which, -1)
    return Phrase(found.end(), *unit_around(shifted(unit_around(asked.today, unit)[0], step, unit), unit), unit)


def read_beside(asked: Query, spot: Spot) -> Phrase | None:
    """Reads the week of May 5, the day after Christmas, the morning of the 5th."""
    found = english.BESIDE.match(asked.text, spot.at)
    if found is None:
        return None
    unit, where = found[1], found[2]
    beside = period(asked, spot.inner(found.end(), "part" if where == "of" else where))
    if beside is None:
        return None
    if where == "of":
        return _widen(unit, beside)
    start, end = beside.anchor
    if unit in HOURS:
        return Phrase(beside.stop, *hours_of(start - DAY if where == "before" else end, unit), "hours")
    if where == "before":
        return Phrase(beside.stop, shifted(start, -1, unit), start, unit)
    return Phrase(beside.stop, end, shifted(end, 1, unit), unit)


def _widen(unit: str, inner: Phrase) -> Phrase:
    if inner.unit not in ("day", "holiday") or unit in ("day", "month", "year"):
        return inner
    day = inner.anchor[0]
    span = hours_of(day, unit) if unit in HOURS else unit_around(day, unit)
    return Phrase(inner.stop, *span, unit)


def read_before_last(asked: Query, spot: Spot) -> Phrase | None:
    """Reads the week before last."""
    found = english.BEFORE_LAST.match(asked.text, spot.at)
    if found is None:
        return None
    unit = found[1]
    return Phrase(found.end(), *unit_around(shifted(unit_around(asked.today, unit)[0], -2, unit), unit), unit)


def read_weekend(asked: Query, spot: Spot) -> Phrase | None:
    """Reads "the weekend": the current one, or else the latest."""
    found = english.WEEKEND.match(asked.text, spot.at)
    if (
        found is None
        or not spot.the
        or not (spot.cue in english.SEASON_CUES or english.CLAUSE.match(asked.text, found.end()))
    ):
        return None
    start, end = unit_around(asked.today, "weekend")
    back = timedelta(days=7) if start > asked.today else timedelta()
    return Phrase(found.end(), start - back, end - back, "weekend")


def read_part(asked: Query, spot: Spot) -> Phrase | None:
    """Reads early May, the end of last year."""
    found = english.PART.match(asked.text, spot.at)
    whole = period(asked, spot.inner(found.end(), "part")) if found else None
    if found is None or whole is None:
        return None
    days = (whole.end - whole.start).days
    if days < 3:
        return whole
    # The parts overlap, since nobody can say where the early days of a month end.
    low, high = english.PARTS[found[1] or found[2]]
    start, end = whole.start + int(days * low) * DAY, whole.start + math.ceil(days * high) * DAY
    return Phrase(whole.stop, start, end, "part")


def read_ordinal(asked: Query, spot: Spot) -> Phrase | None:
    """Reads the first week of May, the last Friday in March, the second half of 2022."""
    found = english.ORDINAL.match(asked.text, spot.at)
    whole = period(asked, spot.inner(found.end(), "part")) if found else None
    if found is None or whole is None or whole.unit not in english.WHOLES:
        return None
    place = english.PLACES[found[1]]
    count = _counts(found[2])[1] if found[2] else 1
    start, end = slice_of((whole.start, whole.end), place, count, found[3])
    return Phrase(whole.stop, start, end, "day" if (end - start) == DAY else "part") if start < whole.end else None


def _quantity(found: re.Match[str]) -> tuple[int, int, str]:
    """Returns the least and the most of a quantity, and its unit; half a year counts as six months."""
    if found[1] == "half" and found[4] == "year":
        return HALF_A_YEAR, HALF_A_YEAR, "month"
    return _counts(found[2])[0], _counts(found[3] or found[2])[1], found[4]


def _counts(words: str) -> tuple[int, int]:
    """Returns the least and the most that a count may mean: "a few" is two to five."""
    vague = next((english.VAGUE[word] for word in words.split() if word in english.VAGUE), None)
    number = english.NUMBERS.get(words) or (0 if vague else int(words))
    return vague or (number, number)
