"""Readers for who somebody is (name, birthday, work, food), and for what is said of it outside of clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltst.learn.extract import values
from ltst.learn.extract.values import LISTS
from ltst.support.tables import Table

_TABLE = Table(values.PACKAGE, "identity.txt")
_DAY = _TABLE.pattern("day")
_ENDS_NAME = _TABLE.pattern("ends_name", flags=0)
# After "I'm Ruby": more than one word must not turn it into the language, or into a text about Claude.
_INTRODUCES = _TABLE.pattern("introduces")
_RANKED = re.compile(r"(?:Captain|Queen|King|Miss|Lord|Lady|Master|Agent|Team|Chief|President|Professor)\b")
_INTRODUCED = _TABLE.pattern("introduced")
_HERE_IS = _TABLE.pattern("here_is")
_AS_A = re.compile(r"as an? (?P<v>[\w' -]{3,40}?),? (?:I|I'm|I've|my|we)\b", re.I)

_diet = values.member("diets")


def own_name(text: str) -> list[str]:
    """Returns the name after "I'm"; nothing that merely has a capital, such as a language, city or job."""
    found = values.person(text)
    if not found or len(found[0].split()) > 3 or not _ENDS_NAME.match(text[text.find(found[0]) + len(found[0]) :]):
        return []
    # "I'm Christian" tells a faith.
    if found[0] == "Christian" or (values.is_ambiguous(found[0]) and not _INTRODUCES.match(text[len(found[0]) :])):
        return []
    lowered = found[0].lower()
    otherwise = lowered in LISTS["languages"] | LISTS["diets"] | LISTS["cities"] or lowered.isdigit()
    if otherwise or found[0].isupper() or _RANKED.match(found[0]) or values.occupation(lowered):
        return []
    return found


def introduced(text: str) -> list[str]:
    """Returns the name in a message that begins with "Hello, this is Ana"."""
    found = _INTRODUCED.match(text)
    return own_name(re.split(r"[\n!?.,]", found["v"])[0]) if found else []


def described(text: str) -> Iterator[tuple[str, str]]:
    """Yields the key and value that "vegan here" and "as a nurse, I ..." state."""
    for pattern in (_HERE_IS, _AS_A):
        if found := pattern.match(text):
            value = found["v"]
            if diet := _diet(value):
                yield "diet", diet[0]
            elif job := values.occupation(value):
                yield "job", job[0]
            elif pattern is _HERE_IS and (name := own_name(value)):
                yield "name", name[0]


def _date(text: str) -> list[str]:
    found = _DAY.match(text)
    return [re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", re.sub(r"^the | of\b", "", found[1], flags=re.I))] if found else []


def _job(text: str) -> list[str]:
    return values.occupation(text) if re.match(r"(?:an? |freelance |self-employed )", text, re.I) else []


def _title(text: str) -> list[str]:
    found = re.match(
        r"(?:the |an? )?((?:deputy |assistant |vice |acting |co-?)*(?:ceo|cto|cfo|coo|cmo|cio|founder"
        r"|head of [\w ]{2,30}|director of [\w ]{2,30}|manager|principal|president|headteacher|editor))"
        r"(?= of (?:(?-i:[A-Z])|an?\b|the\b|my\b|our\b)| (?:at|for|in)\b|$|[,.!])",
        text,
        re.I,
    )
    return [found[1]] if found and not re.search(r" of (?:bad|nothing|my own|chaos)\b", text, re.I) else []


def _employer(text: str) -> list[str]:
    if re.match(r"(?:an?|the) (?:[\w-]+ )?(?:gym|club|choir|band)\b", text, re.I):
        return []
    return [
        each
        for each in values.organisation(text)
        if not re.match(
            r"(?:home|night|christmas|mondays?|gate|level|terminal|platform|page|chapter|step|stage)\b", each, re.I
        )
    ]


def _with_role(text: str) -> list[str]:
    """Returns the company in "I'm a nurse at Mercy Hospital"."""
    found = re.match(r"((?:an? |the )[\w' -]{2,50}?) (?:at|for|with) ((?-i:[A-Z]|the [A-Z]|an? ).+)", text, re.I)
    known = found and "student" not in found[1] and (values.occupation(found[1]) or _title(found[1]))
    return _employer(found[2]) if found and known else []


def _allergens(text: str) -> list[str]:
    """Returns what somebody is allergic to, but not work or Mondays."""
    found: list[str] = []
    text = re.sub(r"^(?:both|all|most|certain|some kinds of|all kinds of) ", "", text, flags=re.I)
    for part in re.split(r",? (?:and|&|or) |, ", text[: values.LONGEST])[: values.MOST_LISTED]:
        value = "" if re.match(r"(?:my|your|his|her|their) ", part) else values.cut(part)
        if not value or len(value.split()) > 3 or _NO_ALLERGEN.match(value):
            break
        found.append(value)
    return found


_NO_ALLERGEN = _TABLE.pattern("no_allergen", after=r"\b")
READERS: dict[str, values.Reader] = {
    "person": values.person,
    "called": values.called,
    "own_name": own_name,
    "number": values.number,
    "date": _date,
    "place": values.place,
    "job": _job,
    "title": _title,
    "called_job": lambda text: values.occupation(text) or _title(text),
    "occupation": values.occupation,
    "employer": _employer,
    "with_role": _with_role,
    "diet": _diet,
    "allergens": _allergens,
    "words": values.verbatim,
    "languages": values.members("languages"),
    "programming": values.members("programming"),
    "clouds": values.member("clouds"),
}
