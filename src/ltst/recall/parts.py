"""The parts of a score, in plain words for people to read."""

from __future__ import annotations

from collections.abc import Mapping

SLIGHT = 0.0005  # a smaller part would be shown as zero
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
    """Returns the parts of a score with their values, without those near zero. A part without words keeps its name."""
    return [(PARTS.get(name, name), value) for name, value in scores.items() if abs(value) >= SLIGHT]
