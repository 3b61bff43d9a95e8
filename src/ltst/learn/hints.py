"""Hints: requests of the moment that, when they are made again and again, tell how the user wants things."""

from __future__ import annotations

import re

from ltst.learn.extract.reading import own_words
from ltst.records import Claim

# A hint is a short request: in a long message such words mean other things.
LONGEST = 200
CONFIDENCE = 0.4

HINTS: tuple[tuple[re.Pattern[str], str, str, str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), key, value, type)
    for pattern, key, value, type in (
        (
            r"\b(?:shorter|more concise|too long|tl;?dr|in brief|briefly|keep it short)\b",
            "answer_length",
            "short",
            "communication",
        ),
        (
            r"\b(?:more detail|longer answer|elaborate|in depth|tell me more)\b",
            "answer_length",
            "detailed",
            "communication",
        ),
        (r"\b(?:bullet points?|as a list)\b", "format", "bullet points", "communication"),
        (r"\bas a table\b", "format", "tables", "communication"),
        (r"\bstep[- ]by[- ]step\b", "detail", "step by step", "communication"),
        (r"\b(?:simpler|in simple(?:r)? (?:terms|words)|eli5)\b", "detail", "simple", "communication"),
        (r"\bin python\b", "programming_language", "Python", "coding"),
        (r"\bin javascript\b", "programming_language", "JavaScript", "coding"),
        (r"\bin typescript\b", "programming_language", "TypeScript", "coding"),
        (r"\bin rust\b", "programming_language", "Rust", "coding"),
        (r"\bin (?:go|golang)\b(?! (?:on|to))", "programming_language", "Go", "coding"),
        (r"\bwith type hints\b", "code_style", "type hints", "coding"),
    )
)
NEGATED = re.compile(r"\b(?:not|don['’]t|no|never|without|less|stop)\b", re.IGNORECASE)


def hints(text: str) -> list[Claim]:
    """What a short request hints at; it counts only when it is repeated."""
    said = own_words(text) if len(text) <= LONGEST else ""
    if NEGATED.search(said):
        return []
    found: dict[str, Claim] = {}
    for pattern, key, value, type in HINTS:
        if pattern.search(said):
            details = {"type": type, "explicit": False, "hint": True}
            found.setdefault(key, Claim("preference", key, value, confidence=CONFIDENCE, details=details))
    return [*found.values()]
