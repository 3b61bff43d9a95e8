"""When something became so or is planned for, as a clause says it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ltst.recall.temporal import Interval, intervals

# A clause is short; this bounds the work on one that is not.
LONGEST = 300

_NUMBERS = {
    **{
        word: n
        for n, word in enumerate(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
        )
    },
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "couple of": 2,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}
_COUNT = (
    r"(?P<n>\d{1,3}|a couple of|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|fifteen|twenty|thirty)"
)
_BARE = re.compile(
    r"\bfor (?=(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|spring|summer|autumn|fall|winter)\b)",
    re.I,
)
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_AGO = re.compile(rf"\b{_COUNT} {_UNIT} ago\b", re.I)
_FOR = re.compile(rf"\bfor (?:about |almost |nearly |over |more than |the (?:last|past) )?{_COUNT} {_UNIT}", re.I)
_IN = re.compile(rf"\bin (?:about )?{_COUNT} {_UNIT}(?:' time|'s time)?", re.I)
_CUES = re.compile(
    r"\d|ago|yesterday|today|tomorrow|tonight|night|morning|week|month|year|day\b|spring|summer|autumn"
    r"|fall\b|winter|christmas|easter"
    r"|january|february|march|april|may\b|june|july|august|september|october|november|december",
    re.I,
)
_PAST = re.compile(r"\b(?:last \w+|yesterday|\w+ (?:days|weeks|months|years) ago|a \w+ ago)\b", re.I)
_FIRST_OF = re.compile(r"\bthe first of (?=[A-Z])", re.I)


def since(text: str, said_at: datetime) -> datetime | None:
    """From when on, if the words name a moment that is not in the future."""
    text = _FIRST_OF.sub("the 1st of ", text[:LONGEST])
    if (ago := _AGO.search(text)) or (ago := _FOR.search(text)):
        return _shifted(said_at, -_number(ago["n"]), ago["unit"].lower())
    if not _CUES.search(text):
        return None
    return next(
        (each.start for each in intervals(text, said_at) if each.start <= said_at and each.start.year > 1000), None
    )


def planned(text: str, said_at: datetime) -> str | None:
    """The day, month or year that a plan is for, as `2026-06-01`, `2026-06` or `2026`."""
    text = _BARE.sub("in ", _PAST.sub("", text[:LONGEST]))
    if ahead := _IN.search(text):
        start = _shifted(said_at, _number(ahead["n"]), ahead["unit"].lower())
        return start.strftime("%Y-%m" if ahead["unit"].lower() == "month" else "%Y-%m-%d") if start else None
    if not _CUES.search(text):
        return None
    # A month or a weekday without more is the latest one for whoever asks; of a plan it is the next.
    for ahead_by in (timedelta(), timedelta(days=7), timedelta(days=31), timedelta(days=365)):
        for each in intervals(text, said_at + ahead_by):
            if each.end > said_at and each.start.year > 1000:
                return _written(each)
    return None


def _written(interval: Interval) -> str:
    width = interval.end - interval.start
    if width <= timedelta(days=8):
        return interval.start.strftime("%Y-%m-%d")
    return interval.start.strftime("%Y-%m" if width <= timedelta(days=100) else "%Y")


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _shifted(moment: datetime, count: int, unit: str) -> datetime | None:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if unit in ("day", "week"):
            return start + timedelta(days=count * (7 if unit == "week" else 1))
        months = start.year * 12 + start.month - 1 + count * (12 if unit == "year" else 1)
        return start.replace(
            year=months // 12, month=months % 12 + 1, day=min(start.day, 28) if start.day > 28 else start.day
        )
    except (ValueError, OverflowError):
        return None
