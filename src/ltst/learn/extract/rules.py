"""Defines a rule for a fact, and applies rules to a clause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from ltst.learn import keys, when
from ltst.learn.extract.clauses import Clause
from ltst.learn.extract.values import LISTS, PACKAGE, Reader
from ltst.records import Claim
from ltst.support.tables import Table, read_sections
from ltst.support.timeline import ANY

_TABLE = Table(PACKAGE, "rules.txt")
CONFIDENCE = 0.9
# These are no facts if said only of today: "I'm working at a café today".
_STEADY = frozenset(("home", "employer", "diet", "cloud_provider"))
_FLEETING = _TABLE.pattern("fleeting", r"\b", r"\b")
# "I'm at Acme" may be a visit; "I'm now at Acme" is a job.
_NOW = re.compile(r"(?:I'm|im|I am) now\b", re.I)
# "I'll be working at a café tomorrow" is no new job; "from May on I'll be working at Acme" is one.
_FROM = re.compile(r"\b(?:from|as of|starting|beginning) (?:(?:on|in|the) ){0,2}(?:next|tomorrow|\d|(?-i:[A-Z]))", re.I)
# "I've lived in Rome" is over, unless it says since when.
_EXPERIENCE = re.compile(
    r"(?:lived|worked|used|been (?!living|working|using|based|eating|dating|seeing|promoted|appointed|hired|made))",
    re.I,
)
_SINCE = re.compile(r"\b(?:since|for|now|lately|all my life|my whole life|ever|until now|so far)\b", re.I)
_LASTING = frozenset(("home", "employer", "job", "diet", "partner"))
# Said of several people ("we"), these say nothing about any one of them.
_PERSONAL = frozenset(("name", "age", "birthday", "job", "employer"))


class Rule(NamedTuple):
    """How one key is said: the clause's opener, what follows it, and how the group `v` is read into values.

    Groups named `relation` and `species` become details. If `dated`, a date in the clause is when it began; if
    `planned`, it holds from a day to come, which the clause must name.
    """

    key: str
    openers: tuple[str, ...]
    pattern: re.Pattern[str]
    reader: Reader
    change: str = "holds"
    dated: bool = True
    planned: bool = False

    def values(self, found: re.Match[str]) -> list[str]:
        """Returns the values in the match; a pattern without the group `v` means whatever is known."""
        return self.reader(found["v"] or "") if "v" in self.pattern.groupindex else [ANY]


def ways(readers: Mapping[str, Reader]) -> Iterator[Rule]:
    """Yields the rules of the table `ways.txt`, whose headings name these readers."""
    for (key, reader, *marks), lines in read_sections(PACKAGE, "ways.txt", LISTS):
        for line in lines:
            openers, pattern = line.split(" ", 1)
            pattern = pattern.replace("<any>", "(?P<v>.+)").replace("<name>", "(?P<v>(?-i:[A-Z]|the [A-Z]).+)")
            # Names may also begin with accented capitals.
            compiled = re.compile(pattern.replace("[A-Z]", "[A-ZÀ-ÖØ-ÞĀ-Ž]"), re.I)
            change = "ends" if "ends" in marks else "holds"
            times = "undated" not in marks, "planned" in marks
            yield Rule(key, tuple(openers.split(",")), compiled, readers[reader], change, *times)


def by_opener(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Returns the rules grouped by opener, in their order."""
    found: dict[str, list[Rule]] = {}
    for each in rules:
        for opener in each.openers:
            found.setdefault(opener, []).append(each)
    return found


def apply(rules: dict[str, list[Rule]], clause: Clause, said_at: datetime) -> Iterator[Claim]:
    """Yields the claims that rules read in a clause: for each key and change, those of the first rule that matches."""
    done: set[tuple[str, str]] = set()
    past_only = clause.opener == "have" and _EXPERIENCE.match(clause.rest) and not _SINCE.search(clause.whole)
    skipped = (_LASTING if past_only else frozenset()) | (_PERSONAL if clause.plural else frozenset())
    if clause.opener == "am" and _FLEETING.search(clause.whole):
        skipped |= _STEADY
    also = "now" if clause.opener == "am" and _NOW.match(clause.whole) else ""
    also = "from" if clause.opener == "will" and _FROM.search(clause.whole) else also
    for each in [*rules.get(clause.opener, ()), *rules.get(also, ())]:
        found = None if each.key in skipped else each.pattern.match(clause.rest)
        change = "ends" if clause.change == "ends" else each.change
        if not found or (each.key, change) in done or (clause.change == "ends" and each.change == "ends"):
            continue
        if values := each.values(found):
            done.add((each.key, change))
            yield from _claims(each, found, values, change, clause, said_at)


def _claims(
    used: Rule, found: re.Match[str], values: list[str], change: str, clause: Clause, said_at: datetime
) -> Iterator[Claim]:
    groups = found.groupdict()
    details: dict[str, object] = {name: groups[name].lower() for name in ("relation", "species") if groups.get(name)}
    told = clause.whole.replace(values[0], "it", 1)
    start = when.starts(told, said_at) if used.planned else when.since(told, said_at) if used.dated else None
    if used.planned and start is None:
        return
    for value in values:
        yield fact(used.key, value, change, start, details)


def fact(
    key: str, value: str, change: str = "holds", start: datetime | None = None, details: dict[str, object] | None = None
) -> Claim:
    """Returns a claim about the user."""
    return Claim("fact", key, value, change, key in keys.SINGLE_VALUED, CONFIDENCE, start, None, details or {})
