"""Readers for partners, children and animals, who are known by name or by what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from ltst.learn import when
from ltst.learn.extract import values
from ltst.learn.extract.rules import fact
from ltst.learn.extract.words import alternatives
from ltst.records import Claim

_SPECIES = alternatives("species")
_PARTNERS = (
    "wife|husband|spouse|partner|girlfriend|boyfriend|fiancée|fiancee|fiancé|fiance|better half"
    "|other half|hubby|significant other"
)
_CHILDREN = "daughter|son|stepson|stepdaughter|baby girl|baby boy|little girl|little boy|boy|baby|toddler|kid|child"
_ADJECTIVES = (
    r"(?:(?:two|three|four|five|little|older|elder|younger|big|oldest|eldest|youngest|middle|new|beloved|dear|late"
    r"|lovely|sweet|old|twin|only|other|adopted|rescue|\d{1,2}[- ](?:year|month|week)[- ]old|black|white|orange|ginger"
    r"|tabby|fluffy|tiny|cute) ){0,4}"
)
_NAME = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž])[\w'-]*"
_KIND = rf"(?:(?P<partner>{_PARTNERS})|(?P<child>{_CHILDREN})|(?P<pet>{_SPECIES}))"
_RELATIVE = re.compile(
    rf"\b(?:my|our) {_ADJECTIVES}{_KIND}(?P<many>s|ies|ren)?(?:'s? name(?:s)?(?: is| are|'s)|'s? (?:called|named)"
    rf"|,? (?:is|are)?,? ?(?:called|named)| are|, (?!I\b)|: | \(| )(?: )?(?P<names>{_NAME}.{{0,80}})",
    re.I,
)
_APPOSED = re.compile(rf"{_NAME}(?:,| is\b| was\b|\)|'s\b| (?!and\b)[a-z]|$|[.!?;]| and\b)")
_REVERSED = re.compile(
    rf"(?<![\w'-])(?P<names>{_NAME})(?: is|(?P<apposed>,)) (?:my|our) {_ADJECTIVES}{_KIND}\b(?!'s)(?(apposed),)", re.I
)
_GONE = re.compile(
    r"^[,)]?(?: (?:just|sadly|unexpectedly|finally|suddenly|recently)){0,3} (?:died|passed away|passed|ran away"
    r"|crossed the rainbow bridge|was put down|was put to sleep|is gone|is no longer with us|has died|has passed)\b",
    re.I,
)
_LOST = re.compile(
    r"\b(?:put|lost|buried|rehomed|gave away|said goodbye to|say goodbye to|put down|euthani[sz]e) $", re.I
)
_LEFT = re.compile(r"\b(?:broke up with|split (?:up )?(?:with|from)|divorced|left|separated from) $", re.I)
_OTHERS = re.compile(r"\b(?:ex|friend|cousin|colleague|first|former)[- ]$", re.I)
_KEYS = ("partner", "child", "pet")
_TOGETHER = re.compile(
    rf"(?<![\w'-])(?P<name>{_NAME}) and I(?:'ve| have)?(?: just| finally| recently)? (?:(?P<met>got married|got engaged"
    rf"|are married|are engaged|tied the knot|are dating|started dating|have been together|are together)"
    rf"|broke up|split up|separated|got divorced|divorced|are getting divorced)",
    re.I,
)
_PRONAMED = re.compile(
    rf"(?:his|her|its|their|the (?:puppy|kitten|dog|cat|baby)'s) names?(?: is| are|'s) (?P<a>{_NAME}.*)"
    rf"|(?:he|she|it|they)(?:'s| is|'re| are) (?:called|named) (?P<b>{_NAME}.*)|(?:we|I) (?:named"
    rf"|called) (?:him|her|it|them) (?P<c>{_NAME}.*)",
    re.I,
)


def named(text: str, said_at: datetime) -> Iterator[Claim]:
    """Relatives and animals that the sentence names, wherever it does: "my daughter Mia starts school"."""
    for found in _RELATIVE.finditer(text):
        led = found[0][: found.start("names") - found.start()]
        # "Is my dog called Rex?" asks for what "food for my dog Rex?" knows.
        if text.endswith("?") and re.search(r"\b(?:called|named|name|is|are)\b", led, re.I):
            continue
        # "My sister Rome" does not exist, but "my mom Sunday" does: a name stands alone, or is announced.
        if found["many"] or "nam" in found[0] or "called" in found[0] or _APPOSED.match(found["names"]):
            read = values.names if found["many"] else values.person
            yield from _relatives(found, read(found["names"]), text, said_at)
    for found in _REVERSED.finditer(text):
        yield from _relatives(found, values.person(found["names"]), text, said_at)


def _relatives(found: re.Match[str], names: list[str], text: str, said_at: datetime) -> Iterator[Claim]:
    key = next(key for key in _KEYS if found[key])
    details: dict[str, object] = {"species" if key == "pet" else "relation": found[key].lower()}
    before = text[: found.start()]
    for name in names:
        after = text[text.find(name, found.start("names")) + len(name) :]
        # "My wife, Liam's mom" names the son.
        if after.startswith("'s") and text[: found.start("names")].endswith(", "):
            continue
        lost = _LEFT if key == "partner" else _LOST
        gone = bool(_GONE.match(after) or lost.search(before) or re.search(r"\blate\b", found[0], re.I))
        start = when.since(text[found.start() :], said_at) if gone or re.match(r",? was born\b", after) else None
        yield fact(key, name, "ends" if gone else "holds", start, dict(details))


def together(text: str, said_at: datetime) -> Iterator[Claim]:
    """Two people who marry or part: "Nadia and I got married in May"."""
    found = _TOGETHER.search(text)
    name = values.person(found["name"]) if found and not _OTHERS.search(text[: found.start()]) else []
    if found and name:
        yield fact("partner", name[0], "holds" if found["met"] else "ends", when.since(text, said_at))


def pronamed(text: str) -> list[str]:
    """The name that a following sentence gives: "We got a puppy! His name is Fig."."""
    found = _PRONAMED.match(text)
    return values.names(found["a"] or found["b"] or found["c"]) if found else []


def _children(text: str) -> list[str]:
    return [re.sub(r"^(?:two|three|four|five|six|\d)$", r"\g<0> children", values.bare(text))]


READERS: dict[str, values.Reader] = {"names": values.names, "children": _children, "pets": values.pets}
