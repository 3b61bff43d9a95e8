"""Reads a short value from the words after a verb: each reader knows one kind of value and refuses everything else."""

from __future__ import annotations

import re
from collections.abc import Callable

from ltst.learn.keys import NUMBERS
from ltst.support.tables import Table

PACKAGE = "ltst.learn.extract"
_WORDS = Table(PACKAGE, "words.txt")
# Word lists that tell a job from a mood and a cat from a car.
LISTS = {name: _WORDS.phrases(name) for name in _WORDS.lines}
_TABLE = Table(PACKAGE, "values.txt", LISTS)

Reader = Callable[[str], list[str]]

LONGEST = 80
MOST_LISTED = 8

_STOP = _TABLE.pattern("stop")
_AGE = re.compile(r" \(\d{1,2}\)")
_ARTICLE = re.compile(r"(?:a|an|the|my|our|some|any|another|this|own|new|brand[- ]new)\s+", re.I)
_JUNK = " .,;:!?'\"-–—*_()[]~"
_CAPITAL = r"(?:[^\W\d_a-zß-öø-ÿ][\w'’.&-]*)"
_NAME_WORD = r"(?:[^\W\d_a-zß-öø-ÿ][\w'’-]*)"
# "Stratford on Avon" is a place, "Ulm on Sunday" and "Paris March 3" are a place and a date.
_DATE = rf"(?:{_TABLE.lines['weekday'][0]}|{_TABLE.lines['month'][0]})\b"
_PLACE = re.compile(
    rf"(?:the )?((?:St\. |San |The )?{_CAPITAL}(?: (?!on {_DATE}|{_TABLE.lines['month'][0]}\.? \d|I\b)"
    rf"(?:(?:de|of|upon|la|las|los|le|del|do|da|dos|di|am|an der|aan|den|el|al|on|sur|and the)(?: the)? )?"
    rf"{_CAPITAL})*)"
)
_WITHIN = _TABLE.pattern("within", flags=0)
_CALLED = re.compile(r"\b(?:called|named|outside(?: of)?|near|in|of) (?=(?:the )?[^\W\d_a-zß-öø-ÿ])")
_NAME = re.compile(
    rf"((?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_NAME_WORD}(?:(?: (?:de|da|van|von|der|del|la|bin|al))* {_NAME_WORD}){{0,3}})"
)
_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof)\.? ")
_AND = re.compile(r",? (?:and|&|or|plus|as well as) |, ?")
_HOW_WELL = _TABLE.pattern("how_well", "(?:", " )+")
_NAMED_OTHERWISE = frozenset[str]().union(
    *(LISTS[name] for name in ("not_names", "programming", "software", "clouds", "languages", "demonyms"))
)
# "My name is Arabic" tells where it comes from.
_UNNAMED = (LISTS["not_names"] | LISTS["demonyms"] | LISTS["languages"]) - LISTS["first_names"] - LISTS["odd_names"]
_CLAUSE = _TABLE.pattern("clause", after=r"\b")
_NO_NAME_AFTER = _TABLE.pattern("no_name_after", " ", r"\b")


def cut(text: str) -> str:
    """Returns the text up to where the value ends, without leading articles."""
    text = text[: LONGEST * 2].strip()
    if found := _STOP.search(f" {text}"):
        text = text[: max(found.start() - 1, 0)]
    return bare(text)


def bare(text: str) -> str:
    """Returns the text without leading articles and outer punctuation."""
    text = text.strip(_JUNK)
    for _ in range(3):
        if not (article := _ARTICLE.match(text)):
            break
        text = text[article.end() :]
    return text.strip(_JUNK)


def verbatim(text: str) -> list[str]:
    """Returns the words as they are, without outer punctuation and leading articles."""
    value = bare(text)
    return [value] if 0 < len(value) <= LONGEST else []


def members(name: str) -> Reader:
    """Returns a reader for enumerations of words from a list, in the singular or the plural."""
    known = frozenset(entry.lower() for entry in LISTS[name])

    def one(text: str) -> list[str]:
        tokens = re.split(r" |(?<=\w)[,;:!?)]", bare(text[:LONGEST]))[:4]
        for size in range(len(tokens), 0, -1):
            entry = " ".join(tokens[:size]).strip(_JUNK)
            if entry.lower() in known or entry.lower().removesuffix("s") in known:
                return [entry]
        return []

    def read(text: str) -> list[str]:
        found: list[str] = []
        for part in _AND.split(text[: LONGEST * 3])[:MOST_LISTED]:
            value = one(_HOW_WELL.sub("", part, count=1) if _HOW_WELL.match(part) else part)
            if not value:
                break
            found += value
        return found

    return read


def member(name: str) -> Reader:
    """Returns a reader for the first item of such an enumeration."""
    read = members(name)
    return lambda text: read(text)[:1]


def place(text: str) -> list[str]:
    """Returns a place that has a name of its own."""
    text = text[:LONGEST].strip()
    called = _CALLED.search(text) if _WITHIN.match(text) else None
    found = _PLACE.match(text[called.end() :] if called else text)
    if not found:
        value = cut(text)
        return [value] if value in LISTS["cities"] else []
    value = found[1].strip(_JUNK)
    return [] if value in LISTS["nowhere"] or value.lower() in _NAMED_OTHERWISE else [value]


def person(text: str) -> list[str]:
    """Returns a person's name; a word that means something else only if it is a usual first name, such as Ruby."""
    found = apposed(text)
    return [] if found and found[0].lower() in _NAMED_OTHERWISE - LISTS["first_names"] else found


def apposed(text: str) -> list[str]:
    """Returns the name beside somebody, who may be called like a product, but not like a day: "two cats, Sunday"."""
    return [each for each in called(text) if _first(each) not in LISTS["odd_names"] - LISTS["first_names"]]


def called(text: str) -> list[str]:
    """Returns the name after words that announce one, such as "called": there nearly everything is a name."""
    text = text[:LONGEST].strip()
    found = _NAME.match(text)
    if not found:
        return []
    value = re.sub(r"'s$", "", found[1].strip(_JUNK))
    # "June 3", "Will be there".
    if is_ambiguous(value) and _NO_NAME_AFTER.match(text[len(value) :]):
        return []
    return [] if value.lower() in LISTS["jokes"] or _first(value) in _UNNAMED else [value]


def _first(name: str) -> str:
    return _TITLE.sub("", name).split(" ")[0].lower()


def is_ambiguous(name: str) -> bool:
    """Returns whether a name begins with a first name that also means something else."""
    return _first(name) in LISTS["first_names"]


def names(text: str) -> list[str]:
    """Returns one or several names that were announced: "called Mia, Leo (4) and Tom"."""
    return _read_list(text, called)


def names_beside(text: str) -> list[str]:
    """Returns one or several names that stand beside whom they name: "two kids, Mia and Leo".

    In "I have a cat, Germany is cold", the capital begins another clause.
    """
    return _read_list(text, lambda part: [each for each in apposed(part) if not _CLAUSE.match(part[len(each) :])])


def _read_list(text: str, read: Reader) -> list[str]:
    found: list[str] = []
    for part in re.split(r",? (?:and|&) |, ", _AGE.sub("", text[: LONGEST * 2]))[:MOST_LISTED]:
        value = read(part)
        found += value
        # A word that is no name does not end the list, unless more than a name stands there.
        if len(part.strip(_JUNK)) > len(value[0] if value else part.split(" ")[0]) or not _NAME.match(part.strip()):
            break
    return found


def organisation(text: str) -> list[str]:
    """Returns a company by its name, or by its kind: "hospital"."""
    text = text[:LONGEST].strip()
    if found := _PLACE.match(text):
        value = found[1].strip(_JUNK)
        return [] if value.lower() in LISTS["not_names"] or value in LISTS["nowhere"] else [value]
    if not re.match(r"(?:an?|the|my|our|this)\b", text):
        return []
    if called := re.search(r" (?:called|named) (?=[A-Z])", text):
        return organisation(text[called.end() :])
    value = re.split(r" (?:in|near|that|for|outside|on|of) ", cut(text))[0]
    tokens = value.lower().split()
    known = " ".join(tokens[-2:]) in LISTS["organisations"] or (tokens and tokens[-1] in LISTS["organisations"])
    return [value] if known else []


_ROLE_END = _TABLE.pattern("role_end", " ", r"\b")
_DESCRIBED = re.compile(
    r"^(?:\d{1,3}[- ]years?[- ]old |(?:first|second|third|fourth|final)[- ]year |very |really |fairly |pretty |big "
    r"|huge |proud |humble |simple |professional |full[- ]time |part[- ]time |certified |licensed |qualified )+",
    re.I,
)
_HEAD = re.compile(
    r"(?:deputy |assistant )?(?:head|director|vp|chief|manager|professor|editor|vice president) of [\w &]{2,40}", re.I
)
_NOT_REALLY = _TABLE.pattern("not_really")


def occupation(text: str) -> list[str]:
    """Returns a job: its last word is on the list of jobs, and the whole is not another thing that one can be."""
    value = bare(_DESCRIBED.sub("", bare(cut(_DESCRIBED.sub("", bare(text[: LONGEST * 2]))))))
    if head := _HEAD.match(value):
        return [head[0]]
    if _NOT_REALLY.search(text[:LONGEST]):
        return []
    value = _ROLE_END.split(value)[0].strip(_JUNK)
    tokens = value.lower().split()
    if len(tokens) > 1 and tokens[0] in LISTS["demonyms"] and tokens[-1] not in LISTS["teachers"]:
        value, tokens = value.partition(" ")[2], tokens[1:]
    return [value] if 0 < len(tokens) <= 5 and _is_job(tokens) else []


def _is_job(tokens: list[str]) -> bool:
    phrase, last, two = " ".join(tokens), tokens[-1], " ".join(tokens[-2:])
    if last == "student":
        return phrase in LISTS["students"]
    if phrase in LISTS["never_alone"] or tokens[0] in LISTS["would_be"] or {phrase, two} & LISTS["not_jobs"]:
        return False
    if last in LISTS["not_jobs"] and not tokens[0].startswith("stay-at-home"):
        return False
    return bool({phrase, last, two} & LISTS["occupations"]) or last.endswith(("ologist", "ographer", "surgeon"))


_ANIMAL = _TABLE.pattern("animal")


def pets(text: str) -> list[str]:
    """Returns animals by what they are: "cat", "two rabbits and a parrot"."""
    found: list[str] = []
    parts = re.split(r"(?:,| and|, and) (?=(?:an?|one|two|three|four|five|six|\d+|another)\b)", text[:LONGEST])
    for part in parts[:MOST_LISTED]:
        animal = _ANIMAL.match(part)
        if not animal:
            break
        whole = animal[0].strip()
        found.append(re.sub(r"^(?:(?:an?|one|another|my|our) )?(?:(?:new|lovely|cute|beloved|old) )?", "", whole))
    return found


def number(text: str) -> list[str]:
    """Returns an age in digits."""
    found = re.match(r"(\d{1,3}|[a-z]+(?:-[a-z]+)?)\b", text.strip(), re.I)
    if not found:
        return []
    years = int(found[1]) if found[1].isdecimal() else _SPELLED.get(found[1].lower(), 0)
    return [str(years)] if 3 <= years <= 110 else []


_ONES = {word: number for word, number in NUMBERS.items() if number < 10}
_TENS = {word: number for word, number in NUMBERS.items() if 20 <= number < 100}
_SPELLED = {word: number for word, number in NUMBERS.items() if 10 <= number < 100} | {
    f"{ten}-{one}": value + more for ten, value in _TENS.items() for one, more in _ONES.items()
}
