"""Later: among the first hits of a question about now, puts what no longer holds behind what replaced it.

When a message is indexed, nobody knows what will be asked. Here two hits are known to answer the same question, which
tells more: the later one likely replaced the earlier if it answers the question nearly as well and shares words with
it, and more so if the earlier was found by its words. `evaluation/later.py` fitted the weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from ltst.records import Hit
from ltst.support.questions import only_asks
from ltst.support.terms import terms

# Only the first COMPARED hits are compared. A message longer than LONGEST tells several things, and another message
# seldom replaces all of them.
COMPARED = 10
LONGEST = 220
# The earlier hit is put behind the later one from this likelihood on; it stays in the results in case of doubt.
LEAST = 0.2
# A question that asks for now in so many words leaves less doubt about which of the two is meant.
LEAST_NOW = 0.1
NOW = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|present(?:ly)?|these days|at the moment|today|still|any ?more|latest"
    r"|jetzt|derzeit|aktuell|heute|momentan|inzwischen|ahora|actualmente|hoy|maintenant|actuellement|aujourd['’]hui)\b",
    re.IGNORECASE,
)
WEIGHTS = (-7.21, 9.05, -3.51, 0.33, 6.45, 4.29, 11.55, 1.81, -1.3)


def holding_first(question: str, found: Sequence[Hit]) -> list[Hit]:
    """Returns the hits with each replaced one moved behind its replacement, whose score it then takes."""
    order = [*found]
    least = LEAST_NOW if NOW.search(question) else LEAST
    for _, older, newer in sorted(_find_replaced(found[:COMPARED], least), key=lambda each: -each[0]):
        # Earlier moves may have changed both places.
        places = {each.id: place for place, each in enumerate(order)}
        before, after = places[older.id], places[newer.id]
        if before < after:
            score = order[after].score
            moved = replace(order[before], score=score, scores={**older.scores, "later": score - older.score})
            order[before : after + 1] = [*order[before + 1 : after + 1], moved]
    return order


def _find_replaced(found: Sequence[Hit], least: float) -> Iterator[tuple[float, Hit, Hit]]:
    """Yields pairs of an older hit and a newer one that likely replaced it, each with that likelihood."""
    told = [each for each in found if tells(each)]
    words = {each.id: {*terms(each.content)} for each in told} if len(told) > 1 else {}
    for older, newer in combinations(told, 2):
        # What alone holds the code or number that was asked for is replaced by nothing that lacks it.
        if older.scores.get("identifier", 0.0) > newer.scores.get("identifier", 0.0):
            continue
        if older.occurred_at < newer.occurred_at:  # type: ignore[operator]
            likely = likelihood(features(older, newer, words[older.id], words[newer.id]))
            if likely >= least:
                yield likely, older, newer


def tells(hit: Hit) -> bool:
    """Returns whether a hit is a short message by a person, found for a question about what holds now."""
    return (
        "recent" in hit.scores
        and hit.kind == "message"
        and hit.role == "human"
        and hit.occurred_at is not None
        and len(hit.content) <= LONGEST
        and not only_asks(hit.content)
    )


def features(older: Hit, newer: Hit, earlier: set[str], later: set[str]) -> tuple[float, ...]:
    """Returns the features of two hits: how near each is, how many words they share, and how search scored them."""
    shared = len(earlier & later)
    return (
        1.0,
        newer.scores.get("dense", 0.0),
        older.scores.get("dense", 0.0),
        -older.scores.get("outdated", 0.0),
        shared / max(len(earlier), 1),
        shared / max(len(later), 1),
        newer.score - older.score,
        older.scores.get("lexical", 0.0),
        newer.scores.get("lexical", 0.0),
    )


def likelihood(seen: Sequence[float]) -> float:
    """Returns how likely it is that the later of two hits replaced the earlier."""
    return 1 / (1 + math.exp(-sum(weight * value for weight, value in zip(WEIGHTS, seen, strict=True))))
