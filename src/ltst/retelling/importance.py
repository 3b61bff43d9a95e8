"""Importance: scores how much a text is worth remembering by what can be seen in it, without a model."""

from __future__ import annotations

import re

from ltst.support.tables import Table

_TABLE = Table("ltst.retelling", "importance.txt")

# The weight of each sign; the score is capped at 1.
NAMES, NUMBERS, DATES, DECISION, SELF, ASKED = 0.2, 0.15, 0.15, 0.2, 0.25, -0.1
LEAST = 0.05
MIDDLING = 0.5
SPOKEN = {"human": 0.1, "ai": 0.0, "system": 0.0, "tool": 0.0}
SHORT_WORDS = 4
# Only the beginning of a long text is read: an important text is important from the first page on.
READ = 4_000

NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-zA-Z'’-]+")
NUMBER = re.compile(r"\d")
DATE = _TABLE.pattern("date", r"\b", r"\b")
DECIDED = _TABLE.pattern("decided", r"\b", r"\b")
ABOUT_SELF = _TABLE.pattern("about_self", r"\b", r"\b")
QUESTION = re.compile(r"\?\s*$")


def importance(text: str, role: str | None = None) -> float:
    """Returns a score from 0 to 1, raised by names, numbers, dates, decisions and what people say about themselves."""
    read = text[:READ]
    score = SPOKEN.get(role or "", 0.1)
    score += min(2, len(NAME.findall(read))) * NAMES / 2
    score += NUMBERS * bool(NUMBER.search(read)) + DATES * bool(DATE.search(read))
    score += DECISION * bool(DECIDED.search(read)) + SELF * bool(ABOUT_SELF.search(read)) * (role != "ai")
    score += ASKED * bool(QUESTION.search(read))
    if len(read.split()) < SHORT_WORDS:
        score /= 2
    return round(max(LEAST, min(1.0, score)), 3)


def kept(text: str) -> float:
    """Returns the importance of a text that somebody chose to keep: at least middling."""
    return round(MIDDLING + (1 - MIDDLING) * importance(text), 3)


def decided(sentence: str) -> bool:
    """Returns whether a sentence states a decision."""
    return bool(DECIDED.search(sentence)) and not QUESTION.search(sentence)
