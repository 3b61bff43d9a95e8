"""What a rule for a fact is, and how rules are applied to a clause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ltst.learn import keys
from ltst.learn.extract import dates, words
from ltst.learn.extract.clauses import Clause
from ltst.learn.extract.values import Reader
from ltst.records import Claim

# Said of today only these are no facts: "I'm working at a café today".
STEADY = words.listed("""
    home, employer, diet, car, tool, hobby, like, phone, school
""")
_FLEETING = re.compile(
    r"\b(?:today|tonight|this (?:week|weekend|morning|afternoon|evening)|for the (?:week|weekend|day|night))\b", re.I
)
LASTING = words.listed("""
    home, employer, job, diet, relationship_status, instrument, sport, tool, partner
""")
_EXPERIENCE = re.compile(
    r"(?:lived|worked|played|used|practi[sc]ed|been (?!living|working|learning|playing|using|studying"
    r"|doing|training|practi|taking|getting|eating|dating|seeing|promoted|appointed|hired|made"
    r"|offered|diagnosed|into|obsessed|hooked))",
    re.I,
)
_SINCE = re.compile(r"\b(?:since|for|now|lately|all my life|my whole life|ever|until now|so far)\b", re.I)
# Said of several people these tell nothing of one of them.
PERSONAL = words.listed("""
    goal, learning,
    name, nickname, age, birthday, nationality, job, employer, school, studies, health, phone, email
""")


@dataclass(frozen=True, slots=True)
class Rule:
    """How one key is said: the clause's opener, what follows it, and how the group `v` is read into values.

    Groups that are named `relation` and `species` become details. With `dated`, a date in the clause is when it began.
    """

    key: str
    openers: tuple[str, ...]
    pattern: re.Pattern[str]
    reader: Reader
    change: str = "holds"
    dated: bool = False
    confidence: float = 0.8
    fixed: str | None = None

    def values(self, found: re.Match[str]) -> list[str]:
        """The values that the match holds."""
        if self.fixed is not None:
            return [self.fixed]
        return self.reader(found["v"] or "")


def rule(
    key: str,
    openers: str,
    pattern: str,
    reader: Reader = lambda text: [text],
    *,
    change: str = "holds",
    dated: bool = False,
    confidence: float = 0.8,
    fixed: str | None = None,
) -> Rule:
    """A rule as the tables write it; openers are separated by commas."""
    # Names begin with capitals of other alphabets too.
    compiled = re.compile(pattern.replace("[A-Z]", "[A-ZÀ-ÖØ-ÞĀ-Ž]"), re.I)
    return Rule(key, tuple(openers.split(",")), compiled, reader, change, dated, confidence, fixed)


def by_opener(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """The rules under each opener, in their order."""
    found: dict[str, list[Rule]] = {}
    for each in rules:
        for opener in each.openers:
            found.setdefault(opener, []).append(each)
    return found


def apply(rules: dict[str, list[Rule]], clause: Clause, said_at: datetime) -> Iterator[Claim]:
    """What the rules read in a clause; of each key and change, the first rule that reads something."""
    done: set[tuple[str, str]] = set()
    # "I've lived in Rome" is over, unless it says since when.
    past_only = clause.opener == "have" and _EXPERIENCE.match(clause.rest) and not _SINCE.search(clause.whole)
    skipped = STEADY if clause.opener == "am" and _FLEETING.search(clause.whole) else frozenset()
    for each in rules.get(clause.opener, ()):
        if each.key in skipped or (clause.plural and each.key in PERSONAL):
            continue
        if past_only and each.key in LASTING:
            continue
        found = each.pattern.match(clause.rest)
        change = "ends" if clause.change == "ends" else each.change
        if not found or (each.key, change) in done or (clause.change == "ends" and each.change == "ends"):
            continue
        values = each.values(found)
        if each.key == "possession" and ("home", "holds") in done:
            continue
        if values:
            done.add((each.key, change))
            yield from _claims(each, found, values, change, clause, said_at)


def _claims(
    used: Rule, found: re.Match[str], values: list[str], change: str, clause: Clause, said_at: datetime
) -> Iterator[Claim]:
    groups = found.groupdict()
    details: dict[str, object] = {name: groups[name].lower() for name in ("relation", "species") if groups.get(name)}
    start = None
    if used.key == "plan":
        if date := dates.planned(clause.whole, said_at):
            details["date"] = date
    elif used.dated:
        start = dates.since(clause.whole.replace(values[0], "it", 1), said_at)
    for value in values:
        yield fact(used.key, value, change, start, details, used.confidence)


def fact(
    key: str,
    value: str,
    change: str = "holds",
    start: datetime | None = None,
    details: dict[str, object] | None = None,
    confidence: float = 0.8,
) -> Claim:
    """A claim about the user."""
    return Claim("fact", key, value, change, key in keys.SINGLE_VALUED, confidence, start, None, details or {})
