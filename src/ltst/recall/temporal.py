"""Dates and periods that a question names, read with rules into intervals relative to the moment of asking."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ltst.recall.date_words import Tongue
from ltst.recall.translated import tongue, translated
from ltst.support import validate

_Span = tuple[datetime, datetime]

DAY = timedelta(days=1)
# Open ends stay a year inside the calendar, so that no time zone can push them out of it.
EARLIEST = datetime(2, 1, 1)
LATEST = datetime(9998, 12, 31)
# A period is named through a few others at most ("the end of the first week of last month").
DEEPEST = 4
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
    asked = _Asked(query, query.translate(_PLAIN), now.replace(tzinfo=None, fold=0))
    found: dict[_Span, tuple[Interval, int, int]] = {}
    for at, phrase in _phrases(asked):
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """The query as written, the same in small letters with plain quotes and dashes, and the time on the wall."""

    query: str
    text: str
    now: datetime

    @property
    def today(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)

    def capital(self, at: int) -> bool:
        return self.query[at].isupper()

    def before(self, at: int) -> str:
        """The word before a place."""
        words = self.text[max(0, at - 24) : at].split()
        return words[-1] if words else ""

    def titled(self, at: int) -> bool:
        """Whether a word has a capital that its place in the sentence does not explain."""
        before = self.before(at)
        return self.query[at : at + 2].istitle() and before != "" and before[-1] not in ".?!:\"'("


@dataclass(frozen=True, slots=True)
class _Cycle:
    """What comes again every year, month or week: how it falls in the nth of them, if it does."""

    inside: str
    fall: Callable[[int], _Span]

    def nth(self, number: int) -> _Span | None:
        try:
            return self.fall(number)
        except ValueError:  # February 29 in most years
            return None

    def number(self, day: datetime) -> int:
        if self.inside == "year":
            return day.year
        return day.year * 12 + day.month - 1 if self.inside == "month" else (day.toordinal() - 1) // 7

    def latest(self, limit: datetime, *, finished: bool = False) -> _Span:
        """The last that has begun, or is over, by a moment."""
        number = self.number(limit)
        for each in range(number + 1, number - 9, -1):
            span = self.nth(each)
            if span and span[1 if finished else 0] <= limit:
                return span
        raise ValueError("never")

    def first(self, limit: datetime) -> _Span:
        """The first that begins at a moment or later."""
        number = self.number(limit)
        for each in range(number - 1, number + 9):
            span = self.nth(each)
            if span and span[0] >= limit:
                return span
        raise ValueError("never")

    def within(self, parent: datetime, now: datetime) -> _Span:
        """The one of a named year, month or week."""
        number = self.number(parent)
        span = self.nth(number)
        if span is None:
            raise ValueError("never")
        # "Winter 2023" asked in that year's May is the winter that ended in it.
        straddles = self.inside == "year" and (span[1] - DAY).year > number
        return self.nth(number - 1) or span if straddles and span[0] > now else span


class _Spot(NamedTuple):
    """Where to read on, and the words before it that make a doubtful name a date: "in" May, "the" May trip."""

    at: int
    cue: str = ""
    the: bool = False
    depth: int = 0

    def inner(self, at: int, cue: str) -> _Spot:
        return _Spot(at, cue, False, self.depth + 1)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A period as read so far, up to `stop`; its cycle is kept until a year, a month or a week settles it."""

    stop: int
    start: datetime
    end: datetime
    unit: str = "vague"
    cycle: _Cycle | None = None
    sure: bool = True
    year: int | None = None

    @property
    def anchor(self) -> _Span:
        """What is before and after it: of the days around Christmas, the day itself."""
        return (self.start + DAY, self.start + 2 * DAY) if self.unit == "holiday" else (self.start, self.end)

    def settled(self, span: _Span, stop: int | None = None) -> _Phrase:
        return _Phrase(self.stop if stop is None else stop, span[0], span[1], self.unit)


_Rule = Callable[[_Asked, _Spot], _Phrase | None]


def _phrases(asked: _Asked) -> Iterator[tuple[int, _Phrase]]:
    reached, listed = 0, -1
    for word in _WORD.finditer(asked.text):
        at = word.start()
        if at < reached or not (word[0] in _FIRST or word[0][0] in "0123456789"):
            continue
        phrase = _attempt(asked, _Spot(at, "list" if at == listed else ""))
        if phrase:
            yield at, phrase
            reached = phrase.stop
            also = _ALSO.match(asked.text, reached) if phrase.unit in _WHOLES else None
            listed = also.end() if also else -1


def _attempt(asked: _Asked, spot: _Spot) -> _Phrase | None:
    try:
        return _expression(asked, spot)
    except (ValueError, OverflowError):  # June 31, a million years ago: words like a date that no calendar has
        return None


def _expression(asked: _Asked, spot: _Spot) -> _Phrase | None:
    if edge := _EDGE.match(asked.text, spot.at):
        return _half_open(asked, _EDGES[edge[1]], spot.inner(edge.end(), _EDGES[edge[1]]))
    if between := _BETWEEN.match(asked.text, spot.at):
        spot = spot.inner(between.end(), "range")
        return _range(asked, spot, _period(asked, spot), _AND)
    if lead := _LEAD.match(asked.text, spot.at):
        spot = _Spot(lead.end(), lead[1])
    phrase = _read(asked, spot)
    if phrase is None:
        return None
    first = phrase if phrase.sure else _period(asked, spot._replace(cue="range"))
    stretch = _range(asked, spot, first, _TO) or (_onward(asked, first) if spot.cue == "from" else None)
    return stretch or (_single(asked, spot, phrase) if phrase.sure else None)


def _half_open(asked: _Asked, edge: str, spot: _Spot) -> _Phrase | None:
    phrase = _period(asked, spot)
    if phrase is None:
        return None
    start, end = phrase.anchor
    spans = {
        "since": (start, max(end, asked.today + DAY)),
        "before": (EARLIEST, start),
        "after": (end, LATEST),
        "until": (EARLIEST, end),
    }
    return phrase.settled(spans[edge])


def _range(asked: _Asked, spot: _Spot, first: _Phrase | None, joint: re.Pattern[str]) -> _Phrase | None:
    link = first and joint.match(asked.text, first.stop)
    if not first or not link:
        return None
    # A dash may as well end a clause, so it makes no doubtful name a date.
    second = _period(asked, spot.inner(link.end(), "" if " -" in link[0] else "range"))
    if second is None:
        return None
    if first.cycle:
        first = first.settled(first.cycle.latest(second.start))
    elif second.cycle:
        second = second.settled(second.cycle.first(first.start))
    return second.settled((min(first.start, second.start), max(first.end, second.end)))


def _onward(asked: _Asked, phrase: _Phrase | None) -> _Phrase | None:
    """From March on."""
    onward = phrase and _ONWARD.match(asked.text, phrase.stop)
    if not phrase or not onward:
        return None
    return phrase.settled((phrase.start, max(phrase.end, asked.today + DAY)), onward.end())


def _single(asked: _Asked, spot: _Spot, phrase: _Phrase) -> _Phrase:
    """As read; of "March and April 2022", March takes the year of the other."""
    also = _ALSO.match(asked.text, phrase.stop) if phrase.cycle else None
    other = _period(asked, spot.inner(also.end(), "list")) if also else None
    if phrase.cycle and other and other.year and phrase.cycle.inside == "year":
        return phrase.settled(phrase.cycle.within(datetime(other.year, 1, 1), asked.now))
    return phrase


def _period(asked: _Asked, spot: _Spot) -> _Phrase | None:
    phrase = _read(asked, spot)
    return phrase if phrase and phrase.sure else None


def _read(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """A period with all that belongs to it, sure or not."""
    phrase = _base(asked, spot)
    if phrase and phrase.cycle:
        phrase = _in_parent(asked, spot, phrase)
    elif phrase and phrase.unit in _PARENTS:
        phrase = _with_child(asked, spot, phrase)
    if phrase and phrase.unit == "day":
        phrase = _at_hours(asked, phrase)
    return phrase


def _base(asked: _Asked, spot: _Spot) -> _Phrase | None:
    if spot.depth > DEEPEST:
        return None
    the = _THE.match(asked.text, spot.at)
    at = the.end() if the else spot.at
    word = _WORD.match(asked.text, at)
    if word is None:
        return None
    rules = _RULES.get(word[0]) or (_NUMBER_RULES if word[0][0] in "0123456789" else ())
    if not rules:
        return None
    spot = spot._replace(at=at, the=asked.before(at) in _DETERMINERS)
    return next((phrase for rule in rules if (phrase := rule(asked, spot))), None)


def _in_parent(asked: _Asked, spot: _Spot, phrase: _Phrase) -> _Phrase:
    """May 2023, Tuesday of last week."""
    link = _LINK.match(asked.text, phrase.stop)
    parent = _base(asked, spot.inner(link.end(), "parent")) if link else None
    if not (link and parent and parent.sure and phrase.cycle and phrase.cycle.inside == parent.unit):
        return phrase
    number = asked.text[parent.stop - 1].isdigit()
    # "May 2023" is no person, but "prices fall in 2023" names no season, nor "it may last a year" a month.
    if not phrase.sure and (link[1] == "in" or not (number or link[1] or asked.capital(spot.at))):
        return phrase
    closed = "(" in link[0] and asked.text.startswith(")", parent.stop)
    settled = phrase.settled(phrase.cycle.within(parent.start, asked.now), parent.stop + closed)
    return replace(settled, year=parent.start.year)


def _with_child(asked: _Asked, spot: _Spot, phrase: _Phrase) -> _Phrase:
    """Last year in May, last week on Tuesday."""
    link = _INSIDE.match(asked.text, phrase.stop)
    child = _base(asked, spot.inner(link.end(), link[1])) if link else None
    if child and child.sure and child.cycle and child.cycle.inside == phrase.unit:
        return child.settled(child.cycle.within(phrase.start, asked.now))
    return phrase


def _at_hours(asked: _Asked, phrase: _Phrase) -> _Phrase:
    """Monday morning, yesterday evening."""
    hours = _HOURS_AFTER.match(asked.text, phrase.stop)
    if hours is None or not phrase.sure:
        return phrase
    return _Phrase(hours.end(), *_hours(phrase.start, hours[1]), "hours")


def _today(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _TODAY.match(asked.text, spot.at)
    # A capital in the middle of a sentence is a title: USA Today, Yesterday by the Beatles.
    if found is None or asked.titled(spot.at) or (found[1] in ("now", "present") and spot.cue not in _ENDS):
        return None
    if found[1] == "tonight":
        evening = asked.today - DAY if asked.now.hour < 4 else asked.today
        return _Phrase(found.end(), *_hours(evening, "night"), "hours")
    start = asked.today + _TODAYS[found[1]] * DAY
    return _Phrase(found.end(), start, start + DAY, "day")


def _this_morning(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _MORNING.match(asked.text, spot.at)
    if found is None or spot.the:
        return None
    day = asked.today - DAY if found[1] == "last" else asked.today
    return _Phrase(found.end(), *_hours(day, found[2]), "hours")


def _ago(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _QUANTITY.match(asked.text, spot.at)
    tail = found and _AGO.match(asked.text, found.end())
    if not found or not tail:
        return None
    least, most, unit = _counts(found[2])[0], _counts(found[3] or found[2])[1], found[4]
    if unit in ("minute", "hour"):
        return _Phrase(tail.end(), *_hours_ago(asked.now, least, most, unit))
    # "A year ago today" is a day, "about a year ago" is anything.
    slack = _slack(most, unit) * (0 if tail[1] else 2 if found[1] or spot.cue == "around" else 1)
    start, end = _shift(asked.today, -most, unit), _shift(asked.today, -least, unit)
    return _Phrase(tail.end(), start - slack, min(end + slack, asked.today) + DAY)


def _away(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """Two weeks before Christmas, three days after May 5, a week from today."""
    found = _QUANTITY.match(asked.text, spot.at)
    tail = found and _AWAY.match(asked.text, found.end())
    if not found or not tail or found[4] in ("minute", "hour"):
        return None
    back = tail[1] == "before"
    from_ = _period(asked, spot.inner(tail.end(), "before" if back else "after"))
    if from_ is None:
        return None
    least, most = _counts(found[2])[0], _counts(found[3] or found[2])[1]
    slack = _slack(most, found[4])
    first, end = from_.anchor
    if back:
        start, end = _shift(first, -most, found[4]), _shift(first, -least, found[4])
    else:
        start, end = _shift(end - DAY, least, found[4]), _shift(end - DAY, most, found[4])
    return _Phrase(from_.stop, start - slack, end + slack + DAY)


def _which(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _WHICH.match(asked.text, spot.at)
    if found is None:
        return None
    which = _WHICHES[found[2] or found[3]]
    if units := _UNITS.match(asked.text, found.end()):
        return _rolling(asked, spot, which, units)
    if unit := _UNIT.match(asked.text, found.end()):
        rolling = found[2] == "past" or (found[2] == "last" and (found[1] or spot.the))
        return _which_unit(asked, spot, "past" if rolling else which, unit)
    # "Past" alone is as often a place: we walked past May's house.
    if found[2] == "past" and not found[1] and not spot.the:
        return None
    return _which_named(asked, spot, which, found.end())


def _which_named(asked: _Asked, spot: _Spot, which: str, at: int) -> _Phrase | None:
    """Last May, next Monday, this summer; but not my last fall from a ladder."""
    named = _base(asked, spot.inner(at, which))
    if named is None or not named.sure or named.cycle is None:
        return None
    doubtful = spot.the and not asked.capital(at) and asked.text[at : named.stop] in _WORDS
    return None if doubtful else named.settled(_occurrence(named.cycle, which, asked.today))


def _rolling(asked: _Asked, spot: _Spot, which: str, found: re.Match[str]) -> _Phrase | None:
    """The last two weeks, the next few days; but not "it may last two weeks"."""
    if which == "this" or _NOT_ROLLING.match(asked.text, found.end()) or asked.before(spot.at) in _BEFORE_VERB:
        return None
    count, unit = _counts(found[1])[1], found[2]
    if unit in ("minute", "hour"):
        count, unit = math.ceil(count / (24 if unit == "hour" else 1440)), "day"
    ahead = _shift(asked.today, count, unit) + DAY
    return _Phrase(found.end(), *((asked.today, ahead) if which == "next" else _back(asked.today, count, unit)))


def _which_unit(asked: _Asked, spot: _Spot, which: str, found: re.Match[str]) -> _Phrase | None:
    """Last week, this month; but not the last week of school, nor my last year at college."""
    owned = asked.before(spot.at) in _OWNERS and _PLACE.match(asked.text, found.end())
    if owned or _OF.match(asked.text, found.end()):
        return None
    unit = found[1]
    if which == "past" and unit in ("week", "month", "year"):
        return _Phrase(found.end(), *_back(asked.today, 1, unit))
    step = {"this": 0, "next": 1}.get(which, -1)
    return _Phrase(found.end(), *_unit(_shift(_unit(asked.today, unit)[0], step, unit), unit), unit)


def _beside(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """The week of May 5, the day after Christmas, the morning of the 5th."""
    found = _BESIDE.match(asked.text, spot.at)
    if found is None:
        return None
    unit, where = found[1], found[2]
    beside = _period(asked, spot.inner(found.end(), "part" if where == "of" else where))
    if beside is None:
        return None
    if where == "of":
        return _covering(unit, beside)
    start, end = beside.anchor
    if unit in _HOURS:
        return _Phrase(beside.stop, *_hours(start - DAY if where == "before" else end, unit), "hours")
    if where == "before":
        return _Phrase(beside.stop, _shift(start, -1, unit), start, unit)
    return _Phrase(beside.stop, end, _shift(end, 1, unit), unit)


def _covering(unit: str, inner: _Phrase) -> _Phrase:
    if inner.unit != "day" or unit in ("day", "month", "year"):
        return inner
    span = _hours(inner.start, unit) if unit in _HOURS else _unit(inner.start, unit)
    return _Phrase(inner.stop, *span, unit)


def _before_last(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _BEFORE_LAST.match(asked.text, spot.at)
    if found is None:
        return None
    unit = found[1]
    return _Phrase(found.end(), *_unit(_shift(_unit(asked.today, unit)[0], -2, unit), unit), unit)


def _weekend(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """Over the weekend: the present one, or else the latest."""
    found = _WEEKEND.match(asked.text, spot.at)
    if found is None or not spot.the or not (spot.cue in _SEASON_CUES or _CLAUSE.match(asked.text, found.end())):
        return None
    start, end = _unit(asked.today, "weekend")
    back = timedelta(days=7) if start > asked.today else timedelta()
    return _Phrase(found.end(), start - back, end - back, "weekend")


def _part(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """Early May, the end of last year."""
    found = _PART.match(asked.text, spot.at)
    whole = _period(asked, spot.inner(found.end(), "part")) if found else None
    if found is None or whole is None:
        return None
    days = (whole.end - whole.start).days
    if days < 3:
        return whole
    # The parts overlap: where the early days of a month end is for nobody to say.
    low, high = _PARTS[found[1] or found[2]]
    start, end = whole.start + int(days * low) * DAY, whole.start + math.ceil(days * high) * DAY
    return _Phrase(whole.stop, start, end, "part")


def _ordinal(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """The first week of May, the last Friday in March, the second half of 2022."""
    found = _ORDINAL.match(asked.text, spot.at)
    whole = _period(asked, spot.inner(found.end(), "part")) if found else None
    if found is None or whole is None or whole.unit not in _WHOLES:
        return None
    place = _PLACES[found[1]]
    count = _counts(found[2])[1] if found[2] else 1
    start, end = _slice((whole.start, whole.end), place, count, found[3])
    return _Phrase(whole.stop, start, end, "day" if (end - start) == DAY else "part") if start < whole.end else None


def _slice(whole: _Span, place: int, count: int, unit: str) -> _Span:
    start, end = whole
    if unit == "half":
        middle = start + (end - start).days // 2 * DAY
        return (start, middle) if place == 0 else (middle, end)
    if unit in _SHIFTS:
        if place < 0:
            return _shift(end, -count, unit), end
        return _shift(start, place, unit), _shift(start, place + count, unit)
    weekday, length = (5, 2) if unit == "weekend" else (_WEEKDAYS[unit], 1)
    if place < 0:
        day = end - DAY
        day -= (day.weekday() - weekday) % 7 * DAY
    else:
        day = start + ((weekday - start.weekday()) % 7 + 7 * place) * DAY
    return day, day + length * DAY


def _month(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _MONTH.match(asked.text, spot.at)
    if found is None:
        return None
    if dated := _month_day(asked, spot, found):
        return dated
    month = _MONTHS[found[1]]
    return _recurring(asked, found.end(), _MONTH_CYCLES[month], "month", _is_month(asked, spot, found))


def _month_day(asked: _Asked, spot: _Spot, month: re.Match[str]) -> _Phrase | None:
    """May 5, May 5th, May 5-10."""
    found = _DAYS_AFTER.match(asked.text, month.end()) or _DAY_AFTER.match(asked.text, month.end())
    if found is None or (month[1] == "may" and _VERB.match(asked.text, found.end())):
        return None
    # "May 5 people come?", "march 5 miles": a verb and a number of things.
    verbal = month[1] in ("may", "march") and not asked.titled(spot.at)
    things = _COUNTED.match(asked.query, found.end()) if verbal else _MEASURED.match(asked.text, found.end())
    if things and not found[2]:
        return None
    days = [int(each) for each in found.groups()[::2] if each]
    return _recurring(asked, found.end(), _days_of(_MONTHS[month[1]], days[0], days[-1]), "day", True)


def _day_month(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """5 May, 5th of May, 5-10 May, the fourth of July."""
    found = _DAY_MONTH.match(asked.text, spot.at)
    if found is None:
        return None
    small, plain = not asked.capital(found.start(5)), not (found[2] or found[4])
    if plain and found[1] in _ORDINALS:
        return None
    if small and found[5] == "may" and _VERB.match(asked.text, found.end()):
        return None
    if small and plain and found[5] == "march" and not _CLAUSE.match(asked.text, found.end()):
        return None
    first = _ORDINALS.get(found[1]) or int(found[1])
    cycle = _days_of(_MONTHS[found[5]], first, int(found[3] or first))
    return _recurring(asked, found.end(), cycle, "day", True)


def _day_alone(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """On the 5th; but not on the 5th floor."""
    found = _NTH.match(asked.text, spot.at)
    if found is None or not spot.the:
        return None
    sure = spot.cue in _DAY_CUES and _CLAUSE.match(asked.text, found.end()) is not None
    return _recurring(asked, found.end(), _day_cycle(int(found[1])), "day", sure)


def _numeric(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """2023-05-05, 2023/05, 05/05/2023, 5.5.2023."""
    if found := _YEAR_FIRST.match(asked.text, spot.at):
        return _date(found.end(), int(found[1]), int(found[3]), int(found[4]))
    if found := _YEAR_MONTH.match(asked.text, spot.at):
        start = datetime(int(found[1]), int(found[2]), 1)
        return _Phrase(found.end(), start, _shift(start, 1, "month"), "month")
    if found := _YEAR_LAST.match(asked.text, spot.at):
        month, day = int(found[1]), int(found[3])
        # Slashes are read as in the United States, dots as in Europe, where the number leaves a choice.
        if month > 12 or (found[2] == "." and day <= 12):
            month, day = day, month
        return _date(found.end(), _century(int(found[4]), asked.now), month, day)
    found = _SLASHED.match(asked.text, spot.at)
    if found is None or spot.cue not in ("on", "since", "until"):
        return None
    return _recurring(asked, found.end(), _days_of(int(found[1]), int(found[2]), int(found[2])), "day", True)


def _date(stop: int, year: int, month: int, day: int) -> _Phrase:
    start = datetime(year, month, day)
    return _Phrase(stop, start, start + DAY, "day")


def _year(asked: _Asked, spot: _Spot) -> _Phrase | None:
    """In 2022, summer of '22, in the 1990s; but not 2000 people."""
    found = _YEAR.match(asked.text, spot.at)
    if found is None:
        return None
    number, stop = _century(int(found[1] or found[3]), asked.now), found.end()
    if found[2]:
        return _Phrase(stop, *_years(number, 10), "decade") if number % 10 == 0 else None
    # A round number is as often a number of things as a year.
    things = _MEASURED.match(asked.text, stop) or (number % 100 == 0 and _COUNTED.match(asked.query, stop))
    sure = spot.cue in _YEAR_CUES and not things
    return _Phrase(stop, *_years(number, 1), "year", sure=sure, year=number)


def _the_year(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _THE_YEAR.match(asked.text, spot.at)
    return _Phrase(found.end(), *_years(int(found[1]), 1), "year", year=int(found[1])) if found else None


def _weekday(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _WEEKDAY.match(asked.text, spot.at)
    if found is None or asked.before(spot.at) in _NO_WEEKDAY:
        return None
    comma = _BEFORE_DATE.match(asked.text, found.end())
    dated = _base(asked, spot.inner(comma.end(), "on")) if comma else None
    if dated and dated.unit == "day" and dated.sure and not (dated.cycle and dated.cycle.inside == "week"):
        return dated
    name, cycle = found[1], _WEEKDAY_CYCLES[_WEEKDAYS[found[1]]]
    # "Sat" and "sun" are words of their own, so a short name needs a word before it, and these two a capital.
    short = spot.cue in _WEEKDAY_CUES and (name not in ("sat", "sun") or asked.capital(spot.at))
    sure = len(name) > 5 or short
    return _Phrase(found.end(), *cycle.latest(asked.today, finished=True), "day", cycle, sure)


def _season(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _SEASON.match(asked.text, spot.at)
    if found is None:
        return None
    sure = spot.cue in _SEASON_CUES and _is_season(asked, spot, found)
    return _recurring(asked, found.end(), _SEASONS[found[1]], "season", sure)


def _is_season(asked: _Asked, spot: _Spot, found: re.Match[str]) -> bool:
    """Not the spring of a mattress, his winter coat, or what happened after the fall."""
    if found[1] == "fall" and spot.the and spot.cue in _MOMENTS:
        return False
    word = found[1] in _WORDS and spot.cue not in ("in", "last", "next", "part", "range")
    return not (spot.the or word) or _CLAUSE.match(asked.text, found.end()) is not None


def _holiday(asked: _Asked, spot: _Spot) -> _Phrase | None:
    for pattern, cycle, plain in _HOLIDAYS:
        if found := pattern.match(asked.text, spot.at):
            # Christmas movies and Halloween costumes are no dates, Christmas Eve is.
            phrase = _recurring(asked, found.end(), cycle, "day", plain or spot.cue in _HOLIDAY_CUES)
            return phrase if phrase.end - phrase.start == DAY else replace(phrase, unit="holiday")
    return None


def _quarter(asked: _Asked, spot: _Spot) -> _Phrase | None:
    found = _QUARTER.match(asked.text, spot.at)
    if found is None:
        return None
    cycle = _QUARTER_CYCLES[int(found[1])]
    return _recurring(asked, found.end(), cycle, "quarter", spot.cue in _YEAR_CUES | _WHICH_CUES)


def _recurring(asked: _Asked, stop: int, cycle: _Cycle, unit: str, sure: bool) -> _Phrase:
    return _Phrase(stop, *cycle.latest(asked.now), unit, cycle, sure)


def _is_month(asked: _Asked, spot: _Spot, found: re.Match[str]) -> bool:
    """Whether a name alone is the month: not the person May, not the verb march."""
    name, small, stop = found[1], not asked.capital(spot.at), found.end()
    if name in _SURE_MONTHS:
        return asked.before(spot.at) not in _EVERY
    if asked.text.startswith("'s", stop):
        return spot.cue in _WHICH_CUES
    if small and ((spot.the and name in _WORDS) or (name == "may" and _VERB.match(asked.text, stop))):
        return False
    clause = _CLAUSE.match(asked.text, stop) is not None
    if spot.cue in _MONTH_CUES:
        return clause or not (small and spot.cue == "in" and name in ("august", "march"))
    if spot.cue == "this":
        return not small or _END.match(asked.text, stop) is not None
    return clause if spot.cue in _MOMENTS else _is_bare_month(asked, spot, name, small, stop)


def _is_bare_month(asked: _Asked, spot: _Spot, name: str, small: bool, stop: int) -> bool:
    """The April meeting, "what happened april"; but not "what did April say"."""
    clause = _CLAUSE.match(asked.text, stop) is not None
    if spot.the:
        return not clause and _NOUN.match(asked.text, stop) is not None
    plain = small and name in ("april", "june") and spot.cue == ""
    return plain and clause and asked.before(spot.at) not in _BEFORE_PERSON


def _occurrence(cycle: _Cycle, which: str, today: datetime) -> _Span:
    if which == "last":
        return cycle.latest(today, finished=True)
    if which == "next":
        return cycle.first(today + DAY)
    present = cycle.latest(today)
    return present if today < present[1] else cycle.nth(cycle.number(today)) or present


def _counts(words: str) -> tuple[int, int]:
    """At least and at most: a few are two to five."""
    vague = next((_VAGUE[word] for word in words.split() if word in _VAGUE), None)
    number = _NUMBERS.get(words) or (0 if vague else int(words))
    return vague or (number, number)


def _slack(count: int, unit: str) -> timedelta:
    """How far off people are when they count back: little for days, a season for years."""
    days = {
        "day": (count + 2) // 5,
        "week": 3 + count // 3,
        "fortnight": 3 + count // 2,
        "month": 12 + 3 * count,
        "year": 120 + 60 * count,
        "decade": 1000 * count,
    }
    return timedelta(days=days[unit])


def _hours_ago(now: datetime, low: int, high: int, unit: str) -> _Span:
    """The days of it: an hour ago may have been yesterday."""
    size = timedelta(hours=1) if unit == "hour" else timedelta(minutes=1)
    start, end = now - high * 1.5 * size, now - low * 0.5 * size
    return _unit(start, "day")[0], _unit(end, "day")[1]


def _hours(day: datetime, part: str) -> _Span:
    start, end = _HOURS[part]
    return day + timedelta(hours=start), day + timedelta(hours=end)


def _back(today: datetime, count: int, unit: str) -> _Span:
    return _shift(today, -count, unit), today + DAY


def _shift(day: datetime, count: int, unit: str) -> datetime:
    """The day some units later; the month's last day where it has none of that number."""
    size, of = _SHIFTS.get(unit, (7, "day"))
    if of == "day":
        return day + timedelta(days=count * size)
    year, month = divmod(day.year * 12 + day.month - 1 + count * size, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def _unit(day: datetime, unit: str) -> _Span:
    """The day, week, weekend, month, quarter or year that a time falls in."""
    day = day.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = day - day.weekday() * DAY
    if unit == "weekend":
        return monday + 5 * DAY, monday + 7 * DAY
    if unit == "week":
        return monday, monday + 7 * DAY
    if unit == "day":
        return day, day + DAY
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    start = day.replace(month=month, day=1)
    return start, _shift(start, 1, unit)


def _years(year: int, count: int) -> _Span:
    return datetime(year, 1, 1), datetime(year + count, 1, 1)


def _century(year: int, now: datetime) -> int:
    """Of '23 and 5/5/23: this century up to next year, else the last one."""
    if year > 99:
        return year
    return year + (now.year // 100 - (year > now.year % 100 + 1)) * 100


def _days_of(month: int, first: int, last: int) -> _Cycle:
    def fall(year: int) -> _Span:
        return datetime(year, month, first), datetime(year, month, last) + DAY

    return _Cycle("year", fall)


def _months_from(month: int, count: int) -> _Cycle:
    def fall(year: int) -> _Span:
        start = datetime(year, month, 1)
        return start, _shift(start, count, "month")

    return _Cycle("year", fall)


def _day_cycle(day: int) -> _Cycle:
    def fall(number: int) -> _Span:
        start = datetime(number // 12, number % 12 + 1, day)
        return start, start + DAY

    return _Cycle("month", fall)


def _weekday_cycle(weekday: int) -> _Cycle:
    def fall(number: int) -> _Span:
        start = datetime.fromordinal(number * 7 + 1 + weekday)
        return start, start + DAY

    return _Cycle("week", fall)


def _new_year(year: int) -> _Span:
    return datetime(year - 1, 12, 31), datetime(year, 1, 2)


def _thanksgiving(year: int) -> _Span:
    first = datetime(year, 11, 1)
    day = first + ((3 - first.weekday()) % 7 + 21) * DAY
    return day, day + DAY


def _any(words: Iterable[str]) -> str:
    # The longest first: "sept" would end at "sep".
    return "|".join(sorted(words, key=len, reverse=True))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _numbered(text: str, first: int = 1) -> dict[str, int]:
    return {name: number for number, names in enumerate(text.split(), first) for name in names.split("/")}


# One character for one, so that places in the plain text are places in the query.
_PLAIN = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ’‘–—−", "abcdefghijklmnopqrstuvwxyz''---")
_WORD = re.compile(r"\b(?:[a-z]+|[0-9]+)")

_SURE_MONTHS = _words("january february july september october november december")
_WORDS = _words("may march august spring fall")
_MONTHS = _numbered(
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sept/sep october/oct"
    " november/nov december/dec"
)
_WEEKDAYS = _numbered(
    "monday/mon tuesday/tues/tue wednesday/wed thursday/thurs/thur/thu friday/fri saturday/sat sunday/sun", first=0
)
_NUMBERS = _numbered(
    "a/an/one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_NUMBERS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_VAGUE = {"couple": (2, 3), "few": (2, 5), "several": (3, 8)}
_ORDINALS = _numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth"
)
_PLACES = _numbered("first/1st second/2nd third/3rd fourth/4th fifth/5th", first=0) | {"last": -1, "final": -1}
_PARTS = {"early": (0.0, 0.4), "mid": (0.3, 0.7), "late": (0.6, 1.0)}
_PARTS |= {"beginning": (0.0, 0.25), "start": (0.0, 0.25), "middle": (0.3, 0.7), "end": (0.75, 1.0)}
_TODAYS = {"today": 0, "now": 0, "present": 0, "yesterday": -1, "tomorrow": 1}
_HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_SHIFTS = {
    "day": (1, "day"),
    "week": (7, "day"),
    "fortnight": (14, "day"),
    "month": (1, "month"),
    "quarter": (3, "month"),
    "year": (12, "month"),
    "decade": (120, "month"),
}
_PARENTS = _words("week month year")
_WHOLES = _words("week month quarter season year decade")
_WHICHES = {"last": "last", "past": "last", "previous": "last", "this": "this", "current": "this"}
_WHICHES |= {"next": "next", "coming": "next", "upcoming": "next"}
_EDGES = {"since": "since", "starting": "since", "beginning": "since", "before": "before", "prior": "before"}
_EDGES |= {"after": "after", "until": "until", "till": "until", "by": "until"}

_DETERMINERS = _words("the my our his her their your")
_OWNERS = _DETERMINERS - {"the"}
_EVERY = _words("every each")
_NO_WEEKDAY = _EVERY | _words("other black good cyber ash easter palm holy fat giving super ruby freaky casual taco")
_BEFORE_PERSON = _words(
    "did does do is was are were has had have will would can could should with for to about and or ask asked tell told"
    " meet met call called named name love like see saw know from of by aunt sister mom friend"
)
_BEFORE_VERB = _words("may might will would can could should must to did does it")
_WHICH_CUES = _words("last this next")
_MOMENTS = _words("since before after until around list")
_MONTH_CUES = _words("in during throughout last next part range")
_SEASON_CUES = _MONTH_CUES | _MOMENTS | _words("over this")
_HOLIDAY_CUES = _SEASON_CUES | _words("on at for from")
_YEAR_CUES = _words("in of during throughout from since before after until part range list parent")
_WEEKDAY_CUES = _WHICH_CUES | _words("on since before after until")
_DAY_CUES = _words("on since before after until part range")
_ENDS = _words("range after")

_UNIT_NAMES = "minute|hour|day|week|fortnight|month|year|decade"
_COUNT = rf"(?:[0-9]{{1,4}}|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several|{_any(_NUMBERS)})"
_SUFFIX = "(?:st|nd|rd|th)"
_START = r"(?<![\w.,:/$€£#-])"
_YEAR_NUMBER = "(?:19|20)[0-9]{2}"

_LEAD = re.compile(r"(in|on|during|over|throughout|around|at|for|of|from)\s+")
_EDGE = re.compile(
    r"(?:ever\s+)?(since|starting|beginning(?=\s+(?:in|on|from)\b)|before|prior(?=\s+to\b)|after|until|till|by)"
    r"(?:\s+(?:to|in|on|from|at|around|about))?\s+"
)
_BETWEEN = re.compile(r"between\s+")
_AND = re.compile(r"\s+(?:and|to)\s+|\s*-\s*")
_TO = re.compile(r"\s+(?:to|through|thru|until|till)\s+|\s*-\s*")
_ALSO = re.compile(r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or)\s+(?:in\s+)?")
_ONWARD = re.compile(r"\s+(?:onwards?|forward|on(?=\s*(?:$|[?.!,;])))")
_THE = re.compile(rf"(?:{_any(_DETERMINERS)})\s+")
_LINK = re.compile(r"(?:\s*,\s*|\s+\(?|-)(?:(of|in)\s+)?'?")
_INSIDE = re.compile(r",?\s+(in|on|at|around|during|over)\s+")
_HOURS_AFTER = re.compile(r"\s+(morning|afternoon|evening|night)\b")
_OF = re.compile(r"\s+of\b")
_NOT_ROLLING = re.compile(r"\s+(?:of|ago)\b")
_PLACE = re.compile(r"\s+(?:at|in|as|with)\b")

_TODAY = re.compile(r"(today|tonight|yesterday|tomorrow|now|present)\b")
_MORNING = re.compile(r"(this|last)\s+(morning|afternoon|evening|night)\b(?!\s+of\b)")
_QUANTITY = re.compile(
    rf"(?:(about|roughly|approximately|nearly|almost|maybe)\s+)?{_START}({_COUNT})(?:(?:\s*-\s*|\s+(?:or|to)\s+)({_COUNT}))?"
    rf"\s+({_UNIT_NAMES})s?\b"
)
_AGO = re.compile(r"\s+(?:ago(?:\s+(today))?|back(?=\s*(?:$|[?.!,;])))\b")
_AWAY = re.compile(r"\s+(before|after|from(?=\s+(?:now|today|tomorrow)\b))\s+")
_WHICH = re.compile(r"(?:(this\s+|these\s+)?(last|past|previous|next|coming|upcoming)|(this|current))\s+")
_UNITS = re.compile(rf"(?!an?\s)({_COUNT})\s+({_UNIT_NAMES})s?\b")
_UNIT = re.compile(r"(weekend|week|month|quarter|year)\b")
_BESIDE = re.compile(
    r"(?:last\s+(?=\w+\s+before\b))?(day|night|morning|afternoon|evening|weekend|week|month|year)\s+(before|after|of)\s+"
)
_BEFORE_LAST = re.compile(r"(weekend|week|month|quarter|year)\s+before\s+last\b")
_WEEKEND = re.compile(r"weekend\b")
_PART = re.compile(r"(early|mid|late)(?:\s+(?:in|on|part\s+of))?[\s-]\s*|(beginning|start|middle|end)\s+of\s+")
_ORDINAL = re.compile(
    rf"({_any(_PLACES)})\s+(?:({_COUNT})\s+)?(day|weekend|week|month|quarter|half|"
    rf"{_any(name for name in _WEEKDAYS if name.endswith('day'))})s?\s+(?:of|in)\s+"
)
_MONTH = re.compile(rf"({_any(_MONTHS)})\b(?:\.(?=\s*[0-9]))?")
_MONTH_WORDS = _any(_MONTHS)
_WEEKDAY = re.compile(rf"({_any(_WEEKDAYS)})\b(?!\s+(?:mornings|afternoons|evenings|nights)\b)")
_BEFORE_DATE = re.compile(r",?\s+")
_SEASON = re.compile(r"(spring|summer|autumn|fall|winter)\b(?!\s+of\s+(?!['0-9]|(?:last|this|next)\s+year\b))")
_QUARTER = re.compile(r"q([1-4])\b")
_NTH = re.compile(rf"{_START}([0-9]{{1,2}}){_SUFFIX}\b")
_YEAR_FIRST = re.compile(rf"{_START}({_YEAR_NUMBER})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}})(?![0-9]|[-/.][0-9])")
_YEAR_MONTH = re.compile(rf"{_START}({_YEAR_NUMBER})[-/]([0-9]{{1,2}})(?![0-9]|[-/.][0-9])")
_YEAR_LAST = re.compile(
    rf"{_START}([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2({_YEAR_NUMBER}|(?<=/)[0-9]{{2}})(?![0-9]|[-/.][0-9])"
)
_SLASHED = re.compile(rf"{_START}([0-9]{{1,2}})/([0-9]{{1,2}})(?![0-9]|[-/.][0-9])")
_YEAR = re.compile(
    rf"(?<![\w.:/$€£#])(?:({_YEAR_NUMBER})(s)?|(?<=')([0-9]{{2}}))(?!\w|[.,:/][0-9]|-[0-9]{{1,2}}\b|\s*%)"
)
_THE_YEAR = re.compile(rf"year\s+({_YEAR_NUMBER})\b")

_CLAUSE = re.compile(
    r"\s*(?:$|[?.!,;:)\]\"…])|\s+(?:-|and(?!\s+(?:i|me|my|her|his)\b)|or|but|i|i'm|i've|we|he|she|they|you|it|the|my|our|his"
    r"|her|their|your|a|an|that|this|when|where|what|who|why|how|which|while|because|so|if|then|for|with|at|on|in|from"
    r"|about|as|last|until)(?![\w'])"
)
_END = re.compile(r"\s*(?:$|[?.!,;:)])")
_NOUN = re.compile(r"\s+[a-z]{3}")
_VERB = re.compile(
    r"\s+(?:be|have|not|also|well|even|still|never|or|only|need|want|seem|help|cause|take|make|get|go|come|look|lead"
    r"|affect|contain|include|require|become|happen|know|say|think|like|feel|work|find|use|end|start|change)\b"
)
# Read in the query as written: a name with a capital is no number of things.
_COUNTED = re.compile(
    r"\s+(?:people|(?!(?:is|was|has|does|as|this|his|its|us|vs|versus|plus|always|perhaps|across|towards)\b)[a-z]+s)\b"
)
_MEASURED = re.compile(
    r"\s+(?:people|dollars|euros|pounds|usd|eur|percent|km|miles|meters|metres|feet|kg|grams|calories|kcal|steps|words|points"
    r"|pieces|copies|users|followers|votes|units|pages|photos|minutes|hours|days|weeks|months|years|pixels|bits|bytes|mb|gb)\b"
)
_DAY_AFTER = re.compile(rf"\s+(?:the\s+)?([0-9]{{1,2}})({_SUFFIX})?(?![\w:/%]|\.[0-9]|,[0-9]{{3}}\b|-[0-9])")
_DAYS_AFTER = re.compile(
    rf"\s+([0-9]{{1,2}})({_SUFFIX})?(?:\s*-\s*|\s+(?:to|through|and)\s+)([0-9]{{1,2}})({_SUFFIX})?"
    rf"(?=,?\s*{_YEAR_NUMBER}\b|{_CLAUSE.pattern})"
)
_DAY_MONTH = re.compile(
    rf"{_START}([0-9]{{1,2}}|{_any(_ORDINALS)})({_SUFFIX})?(?:(?:\s*-\s*|\s+(?:to|and)\s+)([0-9]{{1,2}}){_SUFFIX}?)?"
    rf"(?:\s+|-)(of\s+)?({_MONTH_WORDS})\b"
)

_MONTH_CYCLES = {month: _months_from(month, 1) for month in range(1, 13)}
_QUARTER_CYCLES = {quarter: _months_from(quarter * 3 - 2, 3) for quarter in range(1, 5)}
_WEEKDAY_CYCLES = [_weekday_cycle(weekday) for weekday in range(7)]
_SEASONS = {
    "spring": _months_from(3, 3),
    "summer": _months_from(6, 3),
    "autumn": _months_from(9, 3),
    "fall": _months_from(9, 3),
    "winter": _months_from(12, 3),
}
# With the words, how it falls in a year, and whether the name alone is a date.
_HOLIDAYS = [
    (re.compile(words + r"\b"), cycle, plain)
    for words, cycle, plain in (
        (r"(?:christmas|xmas)\s+eve", _days_of(12, 24, 24), True),
        (r"(?:christmas|xmas)\s+day", _days_of(12, 25, 25), True),
        (r"(?:christmas|xmas)", _days_of(12, 24, 26), False),
        (r"new\s+year'?s?'?\s+eve", _days_of(12, 31, 31), True),
        (r"new\s+year'?s?'?\s+day", _days_of(1, 1, 1), True),
        (r"new\s+year'?s", _Cycle("year", _new_year), False),
        (r"hallowe'?en", _days_of(10, 31, 31), False),
        (r"valentine'?s?'?\s+day", _days_of(2, 14, 14), True),
        (r"(?:st\.?|saint)\s+patrick'?s\s+day", _days_of(3, 17, 17), True),
        (r"independence\s+day", _days_of(7, 4, 4), True),
        (r"boxing\s+day", _days_of(12, 26, 26), True),
        (r"thanksgiving(?:\s+day)?", _Cycle("year", _thanksgiving), False),
    )
]

_NUMBER_RULES: tuple[_Rule, ...] = (_numeric, _ordinal, _day_month, _ago, _away, _day_alone, _year)
_RULES: dict[str, tuple[_Rule, ...]] = {}
for _first, _rules in (
    (_TODAYS.keys() | {"tonight"}, (_today,)),
    (_NUMBERS.keys() | _VAGUE.keys() | _words("about roughly approximately nearly almost maybe"), (_ago, _away)),
    (_ORDINALS.keys() | {"final"}, (_ordinal, _day_month)),
    (_words("last"), (_ordinal, _beside, _this_morning, _which)),
    (_words("this"), (_this_morning, _which)),
    (_words("these past previous current next coming upcoming"), (_which,)),
    (_words("day night morning afternoon evening"), (_beside,)),
    (_words("week month"), (_beside, _before_last)),
    (_words("year"), (_beside, _before_last, _the_year)),
    (_words("quarter"), (_before_last,)),
    (_words("weekend"), (_beside, _before_last, _weekend)),
    (_words("early mid late beginning start middle end"), (_part,)),
    (_MONTHS.keys(), (_month,)),
    (_WEEKDAYS.keys(), (_weekday,)),
    (_SEASONS.keys(), (_season,)),
    (
        _words("christmas xmas new hallowe halloween valentine valentines st saint independence boxing thanksgiving"),
        (_holiday,),
    ),
    (_words("q"), (_quarter,)),
):
    _RULES |= dict.fromkeys(_first, _rules)
_FIRST = (
    _RULES.keys()
    | _EDGES.keys()
    | _DETERMINERS
    | _words("in on during over throughout around at for of from ever between")
)
