"""Evidence: which of the memories that a search found answer a question, in the order in which they are told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ltst.agents.intents import ABOUT_ASKING, ABOUT_THE_ASSISTANT, FORMERLY, is_question
from ltst.agents.passages import Question, answering, covered, rarity
from ltst.recall.temporal import intervals
from ltst.records import Hit
from ltst.support.terms import terms

MOST = 3
# Below this relevance the best is only the least far-fetched: better nothing than that.
LEAST_RELEVANCE = 0.28
# What a memory counts by, beside the score of the search: the question's words in it, its kind of answer, its meaning.
WORDS, SHAPE, MEANING = 0.3, 0.1, 1.0
# How near to the best the others must come to be told at all, and to be told as the newer or older word on the same.
NEAR, SAME, EQUAL = 0.5, 0.6, 0.9
# What assistants said, and what asks for something to be done, tells less of a user than what the user says.
ASSISTANT, REQUEST, TERSE = 0.6, 0.7, 0.6
TERSE_WORDS = 3

REQUESTING = re.compile(
    r"(?:(?:please|pls|bitte|now|ok|okay)[\s,]{1,9}){0,2}(?:explain|help|write|draft|compare|review|translate|summari[sz]e|check"
    r"|practi[cs]e|erklär|schreib|hilf|gib|übersetz|rechne)\w{0,2}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory that may answer, the words of it that do, how strong it is, and the terms it shares with the question."""

    hit: Hit
    passage: str
    strength: float
    shared: frozenset[str]

    @property
    def date(self) -> float:
        """When it was said, to compare."""
        return self.hit.occurred_at.timestamp() if self.hit.occurred_at else 0.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is told: first the word that holds, then others on the same, then what else may matter."""

    same: tuple[Evidence, ...] = ()
    others: tuple[Evidence, ...] = ()

    @property
    def all(self) -> tuple[Evidence, ...]:
        """All of it, in the order of telling."""
        return (*self.same, *self.others)


def past(question: str, now: datetime) -> datetime | None:
    """Return the end of the period in the past that a question names; None if it is about the present."""
    ends = [each.end for each in intervals(question, now) if each.end < now]
    return max(ends, default=None)


def choose(question: Question, found: Sequence[Hit], now: datetime) -> Chosen:
    """Choose what answers; nothing where even the best is too far from the question."""
    best = sorted(_weighed(question, found), key=lambda each: -each.strength)[:MOST]
    if not best or max(each.hit.score for each in best) < LEAST_RELEVANCE:
        return Chosen()
    first, until = best[0], past(question.text, now)
    near = [each for each in best if each.strength >= NEAR * first.strength]
    same = [each for each in near if _on_the_same(first, each)]
    if until is not None:
        # What was said by then held then, the latest of it; what was said later tells of another time.
        limit = until.timestamp()
        same.sort(key=lambda each: (each.date >= limit, abs(limit - each.date)))
    elif not FORMERLY.search(question.text):
        same.sort(key=lambda each: -each.date)
    return Chosen(tuple(same), tuple(each for each in near if each not in same))


def _weighed(question: Question, found: Sequence[Hit]) -> list[Evidence]:
    top = max((hit.score for hit in found), default=0.0)
    weights = rarity(question, [hit.content for hit in found])
    usable = [hit for hit in found if _quotable(hit, question.text)]
    return [
        Evidence(
            hit,
            answering(question, hit.content, weights),
            _strength(question, hit, top, covered(question, hit.content, weights)),
            question.terms & frozenset(terms(hit.content)),
        )
        for hit in usable
    ]


def _strength(question: Question, hit: Hit, top: float, words: float) -> float:
    shaped = any(shape.search(hit.content) for shape in question.shapes)
    strength = hit.score / (top or 1.0) + WORDS * words + SHAPE * shaped + MEANING * max(hit.scores.get("dense", 0.0), 0.0)
    if hit.role == "ai" and not ABOUT_THE_ASSISTANT.search(question.text):
        strength *= ASSISTANT
    if hit.role == "human" and REQUESTING.match(hit.content):
        strength *= REQUEST
    return strength * (TERSE if len(hit.content.split()) < TERSE_WORDS else 1.0)


def _on_the_same(first: Evidence, other: Evidence) -> bool:
    """Whether two tell of the same thing: they share a word of the question, or are about as strong."""
    if other.hit.kind != first.hit.kind or other.hit.role != first.hit.role:
        return other is first
    near = other.strength >= SAME * first.strength and bool(first.shared & other.shared)
    return near or other.strength >= EQUAL * first.strength


def _quotable(hit: Hit, question: str) -> bool:
    """Whether this can answer: what retells others cannot, and a question only where it is asked what was asked."""
    if hit.scores.get("retold") or (hit.kind == "entry" and hit.sources):
        return False
    if hit.kind != "message" or hit.role != "human":
        return True
    return not is_question(hit.content) or bool(ABOUT_ASKING.search(question))
