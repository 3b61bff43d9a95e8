"""The parts of a score, in the plain words that people are shown."""

from __future__ import annotations

from collections.abc import Mapping

SLIGHT = 0.0005  # a part that is shown as nothing
PARTS = {
    "lexical": "its own words",
    "window": "words around it",
    "dense": "its meaning",
    "session_lexical": "words of its conversation",
    "session_dense": "meaning of its conversation",
    "speaker": "who said it",
    "answer": "the kind of answer asked for",
    "identifier": "a number or code in common",
    "strength": "important or used of late",
    "retold": "drawn from what was said, which comes first",
    "tells": "about somebody's life",
    "temporal": "the time asked for",
    "outdated": "no longer so",
    "recent": "said of late",
    "later": "something newer holds",
}


def in_words(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return what a score is made of, without what adds nothing; a part that has no words goes by its name."""
    return [(PARTS.get(name, name), value) for name, value in scores.items() if abs(value) >= SLIGHT]
