"""Dates that have names or numbers of their own: May 5, 2023-05-05, Tuesday, summer, Christmas."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from ltst.recall.dates import english
from ltst.recall.dates.grammar import base
from ltst.recall.dates.phrases import Phrase, Query, Spot
from ltst.recall.dates.spans import (
    DAY,
    MONTH_CYCLES,
    QUARTER_CYCLES,
    WEEKDAY_CYCLES,
    Cycle,
    day_cycle,
    days_of,
    full_year,
    months_from,
    new_year,
    shifted,
    thanksgiving,
    years_from,
)


def read_month(asked: Query, spot: Spot) -> Phrase | None:
    """Reads May, or May 5."""
    found = english.MONTH.match(asked.text, spot.at)
    if found is None:
        return None
    if dated := _month_day(asked, spot, found):
        return dated
    month = english.MONTHS[found[1]]
    return _make_recurring(asked, found.end(), MONTH_CYCLES[month], "month", _is_month(asked, spot, found))


def _month_day(asked: Query, spot: Spot, month: re.Match[str]) -> Phrase | None:
    """Reads May 5, May 5th, May 5-10."""
    found = english.DAYS_AFTER.match(asked.text, month.end()) or english.DAY_AFTER.match(asked.text, month.end())
    if found is None or (month[1] == "may" and english.VERB.match(asked.text, found.end())):
        return None
    # "May 5 people come?", "march 5 miles": a verb and a count, not a date.
    verbal = month[1] in ("may", "march") and not asked.titled(spot.at)
    things = (
        english.COUNTED.match(asked.query, found.end()) if verbal else english.MEASURED.match(asked.text, found.end())
    )
    if things and not found[2]:
        return None
    days = [int(each) for each in found.groups()[::2] if each]
    return _make_recurring(asked, found.end(), days_of(english.MONTHS[month[1]], days[0], days[-1]), "day", True)


def read_day_month(asked: Query, spot: Spot) -> Phrase | None:
    """Reads 5 May, 5th of May, 5-10 May, the fourth of July."""
    found = english.DAY_MONTH.match(asked.text, spot.at)
    if found is None:
        return None
    small, plain = not asked.capital(found.start(5)), not (found[2] or found[4])
    if plain and found[1] in english.ORDINALS:
        return None
    if small and found[5] == "may" and english.VERB.match(asked.text, found.end()):
        return None
    if small and plain and found[5] == "march" and not english.CLAUSE.match(asked.text, found.end()):
        return None
    first = english.ORDINALS.get(found[1]) or int(found[1])
    cycle = days_of(english.MONTHS[found[5]], first, int(found[3] or first))
    return _make_recurring(asked, found.end(), cycle, "day", True)


def read_day_alone(asked: Query, spot: Spot) -> Phrase | None:
    """Reads on the 5th; but not on the 5th floor."""
    found = english.NTH.match(asked.text, spot.at)
    if found is None or not spot.the:
        return None
    sure = spot.cue in english.DAY_CUES and english.CLAUSE.match(asked.text, found.end()) is not None
    return _make_recurring(asked, found.end(), day_cycle(int(found[1])), "day", sure)


def read_numeric(asked: Query, spot: Spot) -> Phrase | None:
    """Reads 2023-05-05, 2023/05, 05/05/2023, 5.5.2023."""
    if found := english.YEAR_FIRST.match(asked.text, spot.at):
        return _date(found.end(), int(found[1]), int(found[3]), int(found[4]))
    if found := english.YEAR_MONTH.match(asked.text, spot.at):
        start = datetime(int(found[1]), int(found[2]), 1)
        return Phrase(found.end(), start, shifted(start, 1, "month"), "month")
    if found := english.YEAR_LAST.match(asked.text, spot.at):
        month, day = int(found[1]), int(found[3])
        # Where the numbers are ambiguous, slashes are read as in the United States, dots as in Europe.
        if month > 12 or (found[2] == "." and day <= 12):
            month, day = day, month
        return _date(found.end(), full_year(int(found[4]), asked.now), month, day)
    found = english.SLASHED.match(asked.text, spot.at)
    if found is None or spot.cue not in ("on", "since", "until"):
        return None
    return _make_recurring(asked, found.end(), days_of(int(found[1]), int(found[2]), int(found[2])), "day", True)


def _date(stop: int, year: int, month: int, day: int) -> Phrase:
    start = datetime(year, month, day)
    return Phrase(stop, start, start + DAY, "day")


def read_year(asked: Query, spot: Spot) -> Phrase | None:
    """Reads in 2022, summer of '22, in the 1990s; but not 2000 people."""
    found = english.YEAR.match(asked.text, spot.at)
    if found is None:
        return None
    number, stop = full_year(int(found[1] or found[3]), asked.now), found.end()
    if found[2]:
        return Phrase(stop, *years_from(number, 10), "decade") if number % 10 == 0 else None
    # A round number is as often a count of things as a year.
    things = english.MEASURED.match(asked.text, stop) or (
        number % 100 == 0 and english.COUNTED.match(asked.query, stop)
    )
    sure = spot.cue in english.YEAR_CUES and not things
    return Phrase(stop, *years_from(number, 1), "year", sure=sure, year=number)


def read_the_year(asked: Query, spot: Spot) -> Phrase | None:
    """Reads "the year 2022"."""
    found = english.THE_YEAR.match(asked.text, spot.at)
    return Phrase(found.end(), *years_from(int(found[1]), 1), "year", year=int(found[1])) if found else None


def read_weekday(asked: Query, spot: Spot) -> Phrase | None:
    """Reads Tuesday, or Tuesday, May 5."""
    found = english.WEEKDAY.match(asked.text, spot.at)
    if found is None or asked.before(spot.at) in english.NO_WEEKDAY:
        return None
    comma = english.BEFORE_DATE.match(asked.text, found.end())
    dated = base(asked, spot.inner(comma.end(), "on")) if comma else None
    if dated and dated.unit == "day" and dated.sure and not (dated.cycle and dated.cycle.inside == "week"):
        return dated
    name, cycle = found[1], WEEKDAY_CYCLES[english.WEEKDAYS[found[1]]]
    # Short names need a word before them, and "sat" and "sun", which are words of their own, also a capital.
    short = spot.cue in english.WEEKDAY_CUES and (name not in ("sat", "sun") or asked.capital(spot.at))
    sure = len(name) > 5 or short
    return Phrase(found.end(), *cycle.latest(asked.today, finished=True), "day", cycle, sure)


def read_season(asked: Query, spot: Spot) -> Phrase | None:
    """Reads summer, or the fall of 2022."""
    found = english.SEASON.match(asked.text, spot.at)
    if found is None:
        return None
    sure = spot.cue in english.SEASON_CUES and _is_season(asked, spot, found)
    return _make_recurring(asked, found.end(), SEASONS[found[1]], "season", sure)


def _is_season(asked: Query, spot: Spot, found: re.Match[str]) -> bool:
    """Returns whether it is a season: not the spring of a mattress, his winter coat, or what came after the fall."""
    if found[1] == "fall" and spot.the and spot.cue in english.MOMENTS:
        return False
    word = found[1] in english.DOUBTFUL and spot.cue not in ("in", "last", "next", "part", "range")
    return not (spot.the or word) or english.CLAUSE.match(asked.text, found.end()) is not None


def read_holiday(asked: Query, spot: Spot) -> Phrase | None:
    """Reads Christmas, or New Year's Eve."""
    for pattern, cycle, plain in HOLIDAYS:
        if found := pattern.match(asked.text, spot.at):
            # "Christmas" or "Halloween" alone may be an adjective (movies, costumes); "Christmas Eve" is a date.
            phrase = _make_recurring(asked, found.end(), cycle, "day", plain or spot.cue in english.HOLIDAY_CUES)
            return phrase if phrase.end - phrase.start == DAY else replace(phrase, unit="holiday")
    return None


def read_quarter(asked: Query, spot: Spot) -> Phrase | None:
    """Reads Q1."""
    found = english.QUARTER.match(asked.text, spot.at)
    if found is None:
        return None
    cycle = QUARTER_CYCLES[int(found[1])]
    return _make_recurring(asked, found.end(), cycle, "quarter", spot.cue in english.YEAR_CUES | english.WHICH_CUES)


def _make_recurring(asked: Query, stop: int, cycle: Cycle, unit: str, sure: bool) -> Phrase:
    return Phrase(stop, *cycle.latest(asked.now), unit, cycle, sure)


def _is_month(asked: Query, spot: Spot, found: re.Match[str]) -> bool:
    """Returns whether the word alone is a month: not the person May, not the verb march."""
    name, small, stop = found[1], not asked.capital(spot.at), found.end()
    if name in english.SURE_MONTHS:
        return asked.before(spot.at) not in english.EVERY
    if asked.text.startswith("'s", stop):
        return spot.cue in english.WHICH_CUES
    if small and ((spot.the and name in english.DOUBTFUL) or (name == "may" and english.VERB.match(asked.text, stop))):
        return False
    clause = english.CLAUSE.match(asked.text, stop) is not None
    if spot.cue in english.MONTH_CUES:
        return clause or not (small and spot.cue == "in" and name in ("august", "march"))
    if spot.cue == "this":
        return not small or english.END.match(asked.text, stop) is not None
    return clause if spot.cue in english.MOMENTS else _is_bare_month(asked, spot, name, small, stop)


def _is_bare_month(asked: Query, spot: Spot, name: str, small: bool, stop: int) -> bool:
    """Returns whether a month without a cue is meant: "the April meeting", but not "what did April say"."""
    clause = english.CLAUSE.match(asked.text, stop) is not None
    if spot.the:
        return not clause and english.NOUN.match(asked.text, stop) is not None
    plain = small and name in ("april", "june") and spot.cue == ""
    return plain and clause and asked.before(spot.at) not in english.BEFORE_PERSON


SEASONS = {
    "spring": months_from(3, 3),
    "summer": months_from(6, 3),
    "autumn": months_from(9, 3),
    "fall": months_from(9, 3),
    "winter": months_from(12, 3),
}
# The words, how the holiday falls in a year, and whether the name alone is a date.
HOLIDAYS = [
    (re.compile(words + r"\b"), cycle, plain)
    for words, cycle, plain in (
        (r"(?:christmas|xmas)\s+eve", days_of(12, 24, 24), True),
        (r"(?:christmas|xmas)\s+day", days_of(12, 25, 25), True),
        (r"(?:christmas|xmas)", days_of(12, 24, 26), False),
        (r"new\s+year'?s?'?\s+eve", days_of(12, 31, 31), True),
        (r"new\s+year'?s?'?\s+day", days_of(1, 1, 1), True),
        (r"new\s+year'?s", Cycle("year", new_year), False),
        (r"hallowe'?en", days_of(10, 31, 31), False),
        (r"valentine'?s?'?\s+day", days_of(2, 14, 14), True),
        (r"(?:st\.?|saint)\s+patrick'?s\s+day", days_of(3, 17, 17), True),
        (r"independence\s+day", days_of(7, 4, 4), True),
        (r"boxing\s+day", days_of(12, 26, 26), True),
        (r"thanksgiving(?:\s+day)?", Cycle("year", thanksgiving), False),
    )
]
