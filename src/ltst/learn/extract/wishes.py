"""Reads how the user wants to be answered: only what is asked of the assistant explicitly and for good.

A wish about something everybody has (length, language, tone of answers) is a preference under a key of its own, so that
a later one replaces it. Any other standing order, and every conditional one, is an instruction in the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltst.learn.extract import values
from ltst.learn.extract.values import LISTS, PACKAGE
from ltst.learn.keys import PREFERENCES
from ltst.records import Claim
from ltst.support.tables import Table

LONGEST = 300
SHORTEST = 3  # fewest words of an instruction
MOST_WORDS = 18  # most words of a sentence that is a preference and nothing else
CONFIDENCE = 0.9

_TABLE = Table(PACKAGE, "wishes.txt", LISTS)
_TOPICS = [(key, re.compile(line, re.I)) for key in PREFERENCES for line in _TABLE.lines.get(key, ())]


_LEAD = _TABLE.pattern("leads", after=r"(?![\w'])[,:]? ?")
_CONDITION, _UNDER = _TABLE.pattern("conditions"), _TABLE.pattern("under", r"\b", r" \w")
_VERB = _TABLE.pattern("verbs", f"(?:(?:{'|'.join(_TABLE.lines['orders'])}) )?(?:ever )?", r"\b")
_STRONG, _LASTING = _TABLE.pattern("strong", after=r"\b"), _TABLE.pattern("lasting", r"\b", r"\b")
_ANY_VERB = _TABLE.pattern("subjects", "(?!", r"\b)\w")
_ALWAYS, _GENERAL = _TABLE.pattern("always", after=r"\b"), _TABLE.pattern("general")
_PREFERS = _TABLE.pattern("prefers", r"(?:(?:oh|and|but|so|plus|well|also|for \w+),? ){0,2}", r"\b")
_SHORT = re.compile(rf"{_TABLE.lines['answer_length'][0]}(?: only)?,? (?:please|from now on|always)\b", re.I)
_ONCE, _NO_NAME = _TABLE.pattern("once", r"\b", r"\b"), _TABLE.pattern("no_names", after=r"\b")
_SAYING = _TABLE.pattern("sayings", "(?:(?:please|and|but|so|ok|okay) ){0,2}", r"\b")
_NAMING = _TABLE.pattern("naming")
_CALL_BY_OTHERS = _TABLE.pattern("call_by_others")


def wishes(text: str) -> Iterator[Claim]:
    """Yields the preferences or the instruction in a sentence; a wish for this once is neither."""
    if len(text) > LONGEST or _ONCE.search(text) or _SAYING.match(text):
        return
    asks = text.endswith("?")
    text = text.strip(" .!?…")
    if name := _name(text):
        yield _preference("address_as", name)
    elif asks and not re.match(r"(?:please |and )?(?:can|could|would|will) you\b", text, re.I):
        return
    elif _PREFERS.match(text) or _SHORT.match(text):
        yield from _preferences(text)
    elif _asks_for_something(text):
        yield from _read_order(text)


def _read_order(text: str) -> Iterator[Claim]:
    lasting = bool(_LASTING.search(text)) or any(_ALWAYS.match(each) for each in _strip_leads(text))
    found = [*_preferences(text)] if lasting or _GENERAL.search(text) else []
    conditional = bool(_UNDER.search(text) or _CONDITION.search(text))
    if found and not conditional and len(text.split()) <= MOST_WORDS:
        yield from found
    elif len(text.split()) >= SHORTEST and (lasting or (found and conditional)):
        matter = "/".join([*sorted(each.key for each in found), *_condition(text)]) if found else ""
        yield Claim("instruction", "", text, confidence=CONFIDENCE, details={"matter": matter} if matter else {})


def _condition(text: str) -> list[str]:
    """Returns the condition under which an order holds, normalised so that two can be compared; empty if none."""
    found = _CONDITION.search(text) or _UNDER.search(text)
    if found is None:
        return []
    end = found.end() if found.re is _CONDITION else len(text)
    _, *compared = re.findall(r"\w+", text[found.start() : end].lower().replace("from now on", ""))
    return [" ".join(compared)]


def _strip_leads(text: str) -> Iterator[str]:
    """Yields the sentence, and what remains of it after each phrase that leads up to the wish."""
    yield text
    for _ in range(8):
        if not (lead := _LEAD.match(text) or _CONDITION.match(text)):
            break
        text = text[lead.end() :]
        yield text


def _asks_for_something(text: str) -> bool:
    """Returns whether something is asked for; "from now on I sleep more" asks for nothing."""
    *leads, order = _strip_leads(text)
    strong = any(_STRONG.match(each) for each in leads)
    return bool(_VERB.match(order) or (strong and _ANY_VERB.match(order)))


def _preferences(text: str) -> Iterator[Claim]:
    done: set[str] = set()
    for key, pattern in _TOPICS:
        found = None if key in done else pattern.search(text)
        if not found or (key == "programming_language" and len(found["v"]) < 3 and not found["v"][0].isupper()):
            continue
        done.add(key)
        no = found["no"] if "no" in pattern.groupindex else None
        yield _preference(key, f"{'not' if key == 'tone' else 'no'} {found['v'].lower()}" if no else found["v"])


def _name(text: str) -> str | None:
    """Returns the name that the user wants to be called by."""
    found = _NAMING.match(text)
    if found is None:
        return None
    if found["by"]:
        return next(iter(values.person(found["by"])), None)
    before = text[: found.start("v")]
    if _CALL_BY_OTHERS.search(before):
        rest = re.search(r"\bcall me (?P<v>.{1,60})$", text[found.start("v") :], re.I)
        return _read_name(rest["v"]) if rest else None
    return _read_name(found["v"])


def _read_name(text: str) -> str | None:
    if found := values.person(text):
        return None if _NO_NAME.match(found[0]) else found[0]
    value = values.cut(text)
    good = value.isalpha() and len(value.split()) == 1 and not _NO_NAME.match(text)
    return value if good and value.lower() not in LISTS["not_names"] else None


def _preference(key: str, value: str) -> Claim:
    value = re.sub(r"^(?:as|nice and|a bit|quite|fairly) ", "", value, flags=re.I)
    details = {"type": PREFERENCES[key], "explicit": True}
    return Claim("preference", key, value, confidence=CONFIDENCE, details=details)
