"""Answers: recognises by rules, in English, what kind of thing a question asks for, and which kinds a text holds."""

from __future__ import annotations

import re
from typing import NamedTuple

from ltst.support.tables import Table

# A kind is indexed as a term among the terms of a text; no word is written like this.
MARK = "="
# The answer comes early, if at all; a text of megabytes holds every kind anyway.
LONGEST = 100_000

_TABLE = Table("ltst.support", "answers.txt")


class AnswerKind(NamedTuple):
    """A kind of answer: its term, the questions that ask for it, and the texts that hold it."""

    term: str
    asked: re.Pattern[str]
    held: re.Pattern[str]
    own: bool = False  # only the user's own words count, since assistants mention such things all the time
    computed: re.Pattern[str] | None = None  # questions whose answer nobody said, since it follows from two dates


def _kind(name: str, *, own: bool = False, computed: re.Pattern[str] | None = None) -> AnswerKind:
    return AnswerKind(f"{MARK}{name}", _TABLE.pattern(f"asks_{name}"), _TABLE.pattern(f"holds_{name}"), own, computed)


KINDS = (
    _kind("age"),
    _kind("duration", own=True, computed=_TABLE.pattern("computes_duration")),
    _kind("money"),
    _kind("number"),
)


def wanted(question: str) -> AnswerKind | None:
    """Returns the kind of answer that a question asks for, if it can be told and may have been said."""
    question = question[:LONGEST]
    kind = next((kind for kind in KINDS if kind.asked.search(question)), None)
    return None if kind and kind.computed and kind.computed.search(question) else kind


def held(text: str) -> list[str]:
    """Returns the terms of the kinds that a text holds."""
    return [kind.term for kind in KINDS if kind.held.search(text[:LONGEST])]
