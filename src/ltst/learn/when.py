"""When: reads from a sentence since when something holds or when it happened, and when a plan is over."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ltst.learn.keys import NUMBERS
from ltst.recall.temporal import Interval, intervals
from ltst.support.tables import Table

_TABLE = Table("ltst.learn", "when.txt")

# Sentences are short; this bounds the work on one that is not.
LONGEST = 300
# Intervals that are open to the past begin before the first year, those open to the future end after the last.
EARLIEST_YEAR, LATEST_YEAR = 1000, 9000
NEXT_ONES = (timedelta(), timedelta(days=7), timedelta(days=31), timedelta(days=365))
# A weekday named on that very day means the one before it, and a day later the day itself.
NEXT_STARTS = (*NEXT_ONES[:2], timedelta(days=8), *NEXT_ONES[2:], timedelta(days=366))

_WORDS = [*NUMBERS][:12]
_NUMBERS = NUMBERS | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_COUNT = rf"(?P<n>\d{{1,3}}|a couple of|couple of|an?|{'|'.join(_WORDS)}|fifteen|twenty|thirty)"
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_AGO = re.compile(rf"\b{_COUNT} {_UNIT} ago\b", re.I)
_FOR = re.compile(rf"\bfor (?:about |almost |nearly |over |more than |the (?:last|past) )?{_COUNT} {_UNIT}", re.I)
_CUES = _TABLE.pattern("cues")
_FIRST_OF = re.compile(r"\bthe first of (?=[A-Z])", re.I)
_FOREIGN = _TABLE.pattern("foreign")
_OPENS = re.compile(r"(?:ever )?(?:since|starting|beginning|seit|desde|depuis)\b", re.I)
_SINCE = re.compile(r"(?:ever )?since\b", re.I)
_UNTIL = re.compile(r"\b(?:until|till|through|for (?:an?|one|two|three|\d{1,2}) (?:day|week|month)s?)\b", re.I)
_GONE = _TABLE.pattern("gone", r"\b", r"\b")
_PAST = _TABLE.pattern("past", r"\b", r"\b")
_UNSURE = _TABLE.pattern("unsure")
_RELATIVE = _TABLE.pattern("relative", r"\b", r"\b")
# What speaks of the past hardly means the next June, and what does not hardly the last one: it counts as farther away.
UNLIKELY, FARTHER = 2, timedelta(days=10)
_GOES_ON = re.compile(
    r"(?:\bhave|\bhas|'ve|'s)(?: \w{1,12}){0,2} (?:been|had|known|gone|done|kept|taught|worn|\w{2,30}ed)\b", re.I
)


def began(sentence: str, said_at: datetime) -> datetime | None:
    """Returns when something began or happened, if the sentence names exactly one moment and it is in the past."""
    text = _FIRST_OF.sub("the 1st of ", sentence[:LONGEST].replace("’", "'"))
    if _UNSURE.search(text) or not (_CUES.search(text) or _FOREIGN.search(text)):
        return None
    if (lasting := _FOR.search(text)) and _GOES_ON.search(text):
        others = intervals(text[: lasting.start()] + text[lasting.end() :], said_at)
        return None if others else _ago(lasting, said_at)
    named = intervals(text, said_at)
    if len(named) != 1 or not (_OPENS.match(named[0].text) or _GONE.search(named[0].text) or _PAST.search(text)):
        return None
    if ago := _AGO.search(named[0].text):
        return _ago(ago, said_at)
    start, end = named[0].start, named[0].end
    if " ago" in named[0].text:  # "a few weeks ago": the middle of the interval
        start = (start + (end - start) / 2).replace(hour=0, minute=0, second=0, microsecond=0)
    # "After Christmas" and "until May" give only one end, and it is not when something began.
    return start if start.year > EARLIEST_YEAR and start <= said_at and end.year < LATEST_YEAR else None


def over(sentence: str, said_at: datetime) -> datetime | None:
    """Returns when the day of a plan is over, if the sentence names one."""
    if not _CUES.search(sentence):
        return None
    # In a question, a weekday or month without more means the latest one; in a plan it means the next.
    for ahead in NEXT_ONES:
        for each in intervals(sentence[:LONGEST], said_at + ahead):
            # "Since January" is no day to come.
            if each.end > said_at and each.start.year > EARLIEST_YEAR and not _SINCE.match(each.text):
                return each.end
    return None


def named(sentence: str, said_at: datetime) -> list[Interval]:
    """Returns the times that a sentence names, of a day or a month without a year the one that is meant.

    That is the nearest: "the 2nd of June" is to come if it was said in May. Open times, such as "since May", are none.
    """
    text = sentence[:LONGEST]
    if not (_CUES.search(text) or _FOREIGN.search(text)):
        return []
    past = _PAST.search(text) is not None and not _UNSURE.search(text)
    meant: dict[str, tuple[timedelta, Interval]] = {}
    for ahead in NEXT_ONES:
        for each in intervals(text, said_at + ahead):
            is_open = each.start.year <= EARLIEST_YEAR or each.end.year >= LATEST_YEAR
            if is_open or _OPENS.match(each.text) or (ahead and _RELATIVE.search(each.text)):
                continue
            away = max(each.start - said_at, said_at - each.end, timedelta())
            if past == (each.start > said_at):
                away = away * UNLIKELY + FARTHER
            if each.text not in meant or away < meant[each.text][0]:
                meant[each.text] = away, each
    return [each for _, each in meant.values()]


def starts(text: str, said_at: datetime) -> datetime | None:
    """Returns the moment to come from which a plan holds, if the words name exactly one."""
    text = _FIRST_OF.sub("the 1st of ", text[:LONGEST])
    if not _CUES.search(text) or _UNTIL.search(text):
        return None
    for ahead in NEXT_STARTS:
        named = intervals(text, said_at + ahead)
        if len(named) != 1 or named[0].start.year <= EARLIEST_YEAR:
            return None
        if named[0].start > said_at:
            return named[0].start
    return None


def since(text: str, said_at: datetime) -> datetime | None:
    """Returns the moment since when something holds, if the words name one that is not in the future."""
    text = _FIRST_OF.sub("the 1st of ", text[:LONGEST])
    if (ago := _AGO.search(text)) or (ago := _FOR.search(text)):
        return _ago(ago, said_at)
    if not _CUES.search(text):
        return None
    named = (each.start for each in intervals(text, said_at))
    return next((start for start in named if start <= said_at and start.year > EARLIEST_YEAR), None)


def _ago(found: re.Match[str], said_at: datetime) -> datetime | None:
    count = found["n"]
    return _subtract(said_at, int(count) if count.isdecimal() else _NUMBERS[count.lower()], found["unit"].lower())


def _subtract(moment: datetime, count: int, unit: str) -> datetime | None:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if unit in ("day", "week"):
            return start - timedelta(days=count * (7 if unit == "week" else 1))
        months = start.year * 12 + start.month - 1 - count * (12 if unit == "year" else 1)
        return start.replace(year=months // 12, month=months % 12 + 1, day=min(start.day, 28))
    except (ValueError, OverflowError):
        return None
