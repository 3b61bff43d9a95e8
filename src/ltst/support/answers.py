"""Answers: what kind of thing a question asks for, and which kinds a text holds; by rules, in English."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A kind is found again as a term among the terms of a text; no word is written like this.
MARK = "="
# What is asked for stands early, if at all; a text of megabytes holds every kind anyway.
LONGEST = 100_000

_UNIT = r"(?:second|minute|hour|day|week|month|year|decade)s?"
_NUMBER = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
_QUANTITY = rf"(?:\d[\d,.]{{0,11}}|an?|half|couple|few|several|{_NUMBER})"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of answer: its term, the questions that ask for it, and what holds it."""

    term: str
    asked: re.Pattern[str]
    held: re.Pattern[str]
    own: bool = False  # whether only the user's own words count: assistants speak of such things all the time
    computed: re.Pattern[str] | None = None  # questions whose answer nobody has said: it follows from two dates


KINDS = (
    Kind(
        f"{MARK}age",
        re.compile(r"\bhow old\b|\bwhat age\b", re.I),
        re.compile(
            r"\b(?:turn(?:ed|ing|s)? \d{1,3}|\d{1,3}[- ]years?[- ]olds?|\d{1,3}(?:st|nd|rd|th)? birthday|aged? \d{1,3}"
            r"|in my (?:twenties|thirties|forties|fifties|sixties)|i['’]?m \d{2}|born in)\b",
            re.I,
        ),
    ),
    Kind(
        f"{MARK}duration",
        re.compile(rf"\bhow long\b|\bhow much time\b|\bhow many (?:\w{{1,20}} )?{_UNIT}\b", re.I),
        re.compile(
            rf"\b{_QUANTITY}(?: (?:of|and a half|more|full|long|straight))? ?-?{_UNIT}\b|\bsince\b"
            r"|\bfor (?:a while|ages|years|months|weeks)\b",
            re.I,
        ),
        own=True,
        computed=re.compile(r"\b(?:passed|elapsed|between|before|after|since|ago)\b", re.I),
    ),
    Kind(
        f"{MARK}money",
        re.compile(r"\bhow much\b|\bwhat (?:was|is) the (?:price|cost)\b|\bcosts?\b", re.I),
        re.compile(r"[$€£]\s?\d|\d ?(?:dollars|euros|pounds|bucks|usd|eur)\b", re.I),
    ),
    Kind(
        f"{MARK}number",
        re.compile(r"\bhow (?:many|often|far)\b|\btotal\b|\bnumber of\b", re.I),
        re.compile(rf"\b(?:\d[\d,.]{{0,11}}|dozen|couple|several|{_NUMBER})\b", re.I),  # but not 12th or B2B
    ),
)


def wanted(question: str) -> Kind | None:
    """Returns what a question asks for, if that can be told and may have been said."""
    question = question[:LONGEST]
    kind = next((kind for kind in KINDS if kind.asked.search(question)), None)
    return None if kind and kind.computed and kind.computed.search(question) else kind


def held(text: str) -> list[str]:
    """Returns the terms of the kinds that stand in a text."""
    return [kind.term for kind in KINDS if kind.held.search(text[:LONGEST])]
