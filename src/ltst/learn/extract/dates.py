"""When something became so, as a clause says it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ltst.recall.temporal import intervals

# A clause is short; this bounds the work on one that is not.
LONGEST = 300

_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {word: n for n, word in enumerate(_WORDS, 1)} | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_NUMBERS |= {"fifteen": 15, "twenty": 20, "thirty": 30}
_COUNT = rf"(?P<n>\d{{1,3}}|a couple of|couple of|an?|{'|'.join(_WORDS)}|fifteen|twenty|thirty)"
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_AGO = re.compile(rf"\b{_COUNT} {_UNIT} ago\b", re.I)
_FOR = re.compile(rf"\bfor (?:about |almost |nearly |over |more than |the (?:last|past) )?{_COUNT} {_UNIT}", re.I)
_CUES = re.compile(
    r"\d|ago|yesterday|today|night|morning|week|month|year|day\b|spring|summer|autumn|fall\b|winter|christmas|easter"
    r"|january|february|march|april|may\b|june|july|august|september|october|november|december",
    re.I,
)
_FIRST_OF = re.compile(r"\bthe first of (?=[A-Z])", re.I)


def since(text: str, said_at: datetime) -> datetime | None:
    """From when on, if the words name a moment that is not in the future."""
    text = _FIRST_OF.sub("the 1st of ", text[:LONGEST])
    if (ago := _AGO.search(text)) or (ago := _FOR.search(text)):
        return _before(said_at, _number(ago["n"]), ago["unit"].lower())
    if not _CUES.search(text):
        return None
    named = (each.start for each in intervals(text, said_at))
    return next((start for start in named if start <= said_at and start.year > 1000), None)


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _before(moment: datetime, count: int, unit: str) -> datetime | None:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if unit in ("day", "week"):
            return start - timedelta(days=count * (7 if unit == "week" else 1))
        months = start.year * 12 + start.month - 1 - count * (12 if unit == "year" else 1)
        return start.replace(year=months // 12, month=months % 12 + 1, day=min(start.day, 28))
    except (ValueError, OverflowError):
        return None
