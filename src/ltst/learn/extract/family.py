"""Readers for partners, children and pets, who are known by their name or by what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from ltst.learn import when
from ltst.learn.extract import values
from ltst.learn.extract.rules import fact
from ltst.records import Claim
from ltst.support.tables import Table

_TABLE = Table(values.PACKAGE, "family.txt", values.LISTS)
_RELATIVE = _TABLE.pattern("relative")
_APPOSED = _TABLE.pattern("apposed", flags=0)
_REVERSED = _TABLE.pattern("reversed")
_GONE = _TABLE.pattern("gone")
_DIED = _TABLE.pattern("died")
_LOST = _TABLE.pattern("lost", r"\b", " $")
_LEFT = _TABLE.pattern("left", r"\b", " $")
_OTHERS = re.compile(
    r"\b(?:ex|friend|cousin|colleague|first|former|says?|said|thinks?|thought|wish|hope|pretend|whether|if)[- ]$", re.I
)
_KEYS = ("partner", "child", "pet")
_TOGETHER = _TABLE.pattern("together")
_PRONAMED = _TABLE.pattern("pronamed")


def named(text: str, said_at: datetime) -> Iterator[Claim]:
    """Yields relatives and pets that the sentence names anywhere: "my daughter Mia starts school"."""
    for found in _RELATIVE.finditer(text):
        # "Is my dog called Rex?" asks for the name; "food for my dog Rex?" knows it.
        if text.endswith("?") and re.search(r"\b(?:called|named|name|is|are)\b", found[0], re.I):
            continue
        announced = "nam" in found[0] or "called" in found[0]
        # A name must stand alone or be announced, so that "my mom Sunday" is not read as one.
        if found["many"] or announced or _APPOSED.match(found["names"]):
            many, one = (values.names, values.called) if announced else (values.names_beside, values.person)
            given = (many if found["many"] else one)(found["names"])
            yield from _relatives(found, given, text, said_at)
    for found in _REVERSED.finditer(text):
        yield from _relatives(found, values.person(found["names"]), text, said_at)


def _relatives(found: re.Match[str], names: list[str], text: str, said_at: datetime) -> Iterator[Claim]:
    key = next(key for key in _KEYS if found[key])
    details: dict[str, object] = {"species" if key == "pet" else "relation": found[key].lower()}
    before = text[: found.start()]
    for name in names:
        after = text[text.find(name, found.start("names")) + len(name) :]
        # "My wife, Liam's mom" names the son, not the wife.
        if after.startswith("'s") and text[: found.start("names")].endswith(", "):
            continue
        lost = _LEFT if key == "partner" else _LOST
        gone = bool(_GONE.match(after) or lost.search(before) or re.search(r"\blate\b", found[0], re.I))
        start = when.since(text[found.start() :], said_at) if gone or re.match(r",? was born\b", after) else None
        yield fact(key, name, "ends" if gone else "holds", start, dict(details))


def together(text: str, said_at: datetime) -> Iterator[Claim]:
    """Yields the partner whom the user marries or parts from: "Nadia and I got married in May"."""
    found = _TOGETHER.search(text)
    name = values.person(found["name"]) if found and not _OTHERS.search(text[: found.start()]) else []
    if found and name:
        yield fact("partner", name[0], "holds" if found["met"] else "ends", when.since(text, said_at))


def died(text: str, said_at: datetime) -> Iterator[Claim]:
    """Yields the end of somebody known only by name, without a key: who it is depends on whom the user has."""
    if found := _DIED.search(text):
        for name in values.called(found["a"] or found["b"])[:1]:
            yield fact("", name, "ends", when.since(text, said_at))


def pronamed(text: str) -> list[str]:
    """Returns the names that a follow-up sentence gives: "We got a puppy! His name is Fig."."""
    found = _PRONAMED.match(text)
    return values.names(found["a"] or found["b"] or found["c"]) if found else []


def _children(text: str) -> list[str]:
    return [re.sub(r"^(?:two|three|four|five|six|\d)$", r"\g<0> children", values.bare(text))]


READERS: dict[str, values.Reader] = {
    "names": values.names,
    "names_beside": values.names_beside,
    "children": _children,
    "pets": values.pets,
}
