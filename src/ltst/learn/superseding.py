"""Superseding: decides whether a later text replaces an earlier one; pure functions of the two.

In doubt both stay: it takes a word that says so (a correction, a change, an end) and the same subject. Otherwise a
logistic model over `features`, whose weights `evaluation/superseding.py` fitted, says how likely it is, and search
ranks what may be outdated lower. All of it runs in a child process, as everything that reads messages by rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from ltst.learn.gate import telling

WEIGHTS = "superseding_weights.tsv"
PRECISION = 100  # weights are written as hundredths

# How near two sentences must be, by their vectors, to be about the same.
CORRECTED, CHANGED, ENDED, MOVED_FROM = 0.35, 0.38, 0.4, 0.3
REPEATED = 0.95  # from this nearness on it says the same again

_CORRECTS = re.compile(
    r"\b(?:correction|scratch that|i meant|i misspoke|i was wrong|typo|korrektur|corrección)\b|\bnot \d"
    r"|\bnot (?:the |a )?\w{1,30},? but\b",
    re.I,
)
_CHANGES = re.compile(
    r"\b(?:moved|switched|swapped|changed|raised?|lowered|went up|goes up|going up|putting .{1,30} up"
    r"|(?:up|down|back|slips?|slipped|pushed|extended|reduced|cut|increased) to|postponed|rescheduled|update|instead"
    r"|no more|retired|replaced|from now on|as of|jetzt|ahora|stattdessen"
    # Not "for a while now", nor "now that".
    r"|(?<!right )(?<!while )(?<!days )(?<!weeks )(?<!months )(?<!years )now(?! that))\b",
    re.I,
)
_ENDS = re.compile(
    r"\b(?:no longer|not .{1,60} any ?more|gave up|given up|giving up|quit|stopped \w{2,20}ing"
    r"|sold (?:my|our|the)|cancell?ed|called off|turned .{1,30} down|broke up|died|passed away|put down"
    r"|drop(?:ped)? the|nicht mehr|kein\w{0,2} .{1,40} mehr|aufgegeben|geb ich auf|ya no|ne .{1,30} plus)\b"
    r"|n't .{1,60} any ?more\b",
    re.I,
)
_MOVES = re.compile(r"\b(?:moved|moving|relocated) (?:back )?(?:from .{1,30} )?(?:to|into) (?:the )?([A-Z]\w{1,30})")
_LIVES = re.compile(r"\b(?:live|living|lives|based|moved) (?:in|to|at) (?:the )?([A-Z]\w{1,30})")
_NUMBER = re.compile(r"\d[\d.,:]{0,20}")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[?!]")
_DAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.I)


def says_so(text: str) -> bool:
    """Returns whether a sentence holds a word of correction, change or end."""
    return any(pattern.search(text) for pattern in (_CORRECTS, _CHANGES, _ENDS, _MOVES))


def takes_place(older: str, kind: str, newer: str, nearness: float, shared: Collection[str]) -> bool:
    """Returns whether a sentence replaces an older one of this kind; `shared` are the rare words that both hold."""
    if nearness >= REPEATED:
        return False
    differs = _has_other_numbers(older, newer)
    if _CORRECTS.search(newer) and nearness >= CORRECTED and (shared or differs):
        return True
    moved, lived = _MOVES.search(newer), _LIVES.search(older)
    if moved and lived and moved[1] != lived[1] and nearness >= MOVED_FROM:
        return True
    if kind == "event" or not shared:
        return False  # what happened stays true
    changed = differs and nearness >= CHANGED and _CHANGES.search(newer) is not None
    return changed or (nearness >= ENDED and _ENDS.search(newer) is not None and _ENDS.search(older) is None)


def _has_other_numbers(older: str, newer: str) -> bool:
    """Returns whether both name numbers (or weekdays), and the newer one names others than the older."""
    numbers = [{each.rstrip(".,:") for each in _NUMBER.findall(text)} for text in (older, newer)]
    days = [{each.lower() for each in _DAY.findall(text)} for text in (older, newer)]
    return any(before and after - before for before, after in (numbers, days))


@dataclass(frozen=True, slots=True)
class Pair:
    """A message with an earlier one: how near they are, and which words they share."""

    newer: str
    older: str
    nearness: float
    place: int  # of the older one among the nearest, from 0
    ahead: float  # how much nearer it is than the nearest of the others
    shared: Sequence[float]  # the rarity of each word that both hold
    rarity: tuple[float, float]  # summed over all words of the newer one, and of the older one
    days: float
    together: bool  # whether in one conversation


def likelihood(pair: Pair) -> float:
    """Returns how likely a message replaces what an earlier one states."""
    known = weights()
    score = sum(known.get(name, 0.0) * value for name, value in features(pair))
    return 1 / (1 + math.exp(-score))


@cache
def weights() -> dict[str, float]:
    """Returns the weight of each feature."""
    lines = files("ltst.learn").joinpath(WEIGHTS).read_text("utf-8").splitlines()
    return {name: int(value) / PRECISION for name, value in (line.split("\t") for line in lines)}


def features(pair: Pair) -> Iterator[tuple[str, float]]:
    """Yields the named features of a pair."""
    newer, older, near, shared = pair.newer, pair.older, pair.nearness, sum(pair.shared)
    yield from (("bias", 1.0), ("near", near), ("very near", max(0.0, near - 0.4)), ("ahead", pair.ahead))
    yield from (("place", pair.place / 10), ("shared words", min(len(pair.shared), 9) / 3))
    yield from (("shared of newer", shared / pair.rarity[0]), ("shared of older", shared / pair.rarity[1]))
    yield from (("same conversation", float(pair.together)), ("days", math.log1p(max(pair.days, 0.0)) / 6))
    much = min(shared, 20.0) / 5
    yield "shared", much
    numbers = [{each.rstrip(".,:") for each in _NUMBER.findall(text)} for text in (older, newer)]
    signs = {
        "other numbers": all(numbers) and bool(numbers[1] - numbers[0]),
        "corrects": _CORRECTS.search(newer) is not None,
        "changes": _CHANGES.search(newer) is not None,
        "ends": _ENDS.search(newer) is not None,
    }
    for name in (name for name, seen in signs.items() if seen):
        yield from ((name, 1.0), (f"{name} near", near), (f"{name} shared", much))
    yield "same numbers", float(bool(numbers[0] & numbers[1]))
    for name, text in (("newer", newer), ("older", older)):
        yield f"{name} tells", _cached_telling(text)
        yield f"{name} asks", float(text.rstrip().endswith("?"))
        yield f"{name} length", min(len(text), 400) / 400
    words = _WORD.findall(newer.lower().replace("’", "'"))
    yield from ((f":{word}", 0.5) for word in {*words, *map(" ".join, pairwise(words))})


@lru_cache(maxsize=128)  # a message is compared with several others
def _cached_telling(text: str) -> float:
    return telling(text)
