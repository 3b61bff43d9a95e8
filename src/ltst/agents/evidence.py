"""Evidence: which of the memories that a search found answer a question, in the order in which they are told."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ltst.agents import wording
from ltst.agents.intents import ABOUT_ASKING, ABOUT_THE_ASSISTANT, FORMERLY, QUESTION_MARK, is_question, to_forget
from ltst.agents.passages import FILLERS, LONGEST_TEXT, Question, answering, covered, rarity, sentences
from ltst.recall.temporal import intervals
from ltst.records import ConversationMessage, Hit
from ltst.support.terms import terms

MOST = 3
# Below this relevance the best is only the least far-fetched: better nothing than that.
LEAST_RELEVANCE = 0.23
# What a memory counts by, beside the score of the search: the question's words in it, its kind of answer, its meaning.
WORDS, SHAPE, MEANING = 0.3, 0.1, 0.7
# How near to the best the others must come to be told at all, and to be told as the newer or older word on the same.
NEAR, SAME = 0.45, 0.5
# What took the place of something is found by its words, so relevant at least, and has so many words in common with it.
RENEWED, ALIKE = 0.4, 2
# What assistants said, and what asks for something to be done, tells less of a user than what the user says.
ASSISTANT, REQUEST, TERSE = 0.6, 0.7, 0.6
# What certainly no longer holds is told behind what does: the search has put it back for that.
VERSION = 0.3
TERSE_WORDS = 3
# So much of a question must stand in what an assistant asked for it to have been the same.
ASKED = 0.7

REQUESTING = re.compile(
    r"(?:(?:please|pls|bitte|now|ok|okay)[\s,]{1,9}){0,2}(?:explain|help|write|draft|compare|review|translate|summari[sz]e|check"
    r"|practi[cs]e|erklär|schreib|hilf|gib|übersetz|rechne)\w{0,2}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory that may answer, the words of it that do, its strength, and the terms of the question in it."""

    hit: Hit
    passage: str
    strength: float
    shared: frozenset[str]

    @property
    def date(self) -> float:
        """When it was said, to compare."""
        return self.hit.occurred_at.timestamp() if self.hit.occurred_at else 0.0


def past(question: str, now: datetime) -> datetime | None:
    """Returns the end of the period in the past that a question names; None if it is about the present."""
    ends = [each.end for each in intervals(question, now) if each.end < now]
    return max(ends, default=None)


def choose(question: Question, found: Sequence[Hit], now: datetime) -> list[Evidence]:
    """Returns what answers, in the order of telling; nothing where even the best is too far from the question."""
    if max((hit.score for hit in found), default=0.0) < LEAST_RELEVANCE:
        return []
    best = sorted(_weighed(question, found), key=lambda each: -each.strength)[:MOST]
    near = [each for each in best if each.strength >= NEAR * best[0].strength]
    same = [each for each in near if _on_the_same(best[0], each)]
    until = past(question.text, now)
    if until is not None:
        # What was said by then held then, the latest of it; what was said later tells of another time.
        limit = until.timestamp()
        same.sort(key=lambda each: (each.date >= limit, abs(limit - each.date)))
    elif not FORMERLY.search(question.text):
        same.sort(key=lambda each: -each.date)
    return [*same, *(each for each in near if each not in same)]


def asked_already(question: Question, found: Sequence[Hit]) -> Hit | None:
    """Returns the turn in which an assistant asked the user the same, if there is one: the next turn answers it."""
    weights = rarity(question, [hit.content for hit in found])
    asking = [
        hit for hit in found if hit.role == "ai" and QUESTION_MARK.search(hit.content) and not wording.is_own(hit)
    ]
    return next((hit for hit in asking if covered(question, sentences(hit.content)[-1], weights) >= ASKED), None)


def replied(question: Question, asked: Hit, reply: ConversationMessage) -> Evidence:
    """Returns what the user replied to an assistant's question as evidence, as relevant as the question was."""
    evidence = resting_on(question, reply)
    return replace(evidence, hit=replace(evidence.hit, score=asked.score))


def resting_on(question: Question, said: ConversationMessage) -> Evidence:
    """Returns a message that was not searched for as evidence."""
    said_id, words = str(said.message_id), said.content
    hit = Hit(
        "message", said_id, words, 0.0, {}, said.timestamp, said.session_id, said.role, (said_id,), trusted=said.trusted
    )
    shared = question.terms & frozenset(terms(words[:LONGEST_TEXT]))
    return Evidence(hit, answering(question, words, dict.fromkeys(question.terms, 1.0)), math.inf, shared)


def renewed(question: Question, chosen: Sequence[Evidence], found: Sequence[Hit]) -> list[Evidence]:
    """Returns what answers with the word that took the place of the strongest, if one was `found` by its words."""
    strongest = max(chosen, key=lambda each: each.strength)
    later = [
        each
        for each in _weighed(question, found)
        if each.date > strongest.date
        and each.hit.role == strongest.hit.role
        and each.hit.score >= RENEWED
        and _alike(strongest, each)
    ]
    if not later:
        return [*chosen]
    newer = max(later, key=lambda each: each.hit.score)
    return [newer, *(each for each in chosen if each.hit.id != newer.hit.id)][:MOST]


def is_version(question: Question, first: Evidence, other: Evidence) -> bool:
    """Returns whether two tell of the same thing at different times, by shared words of the question or others."""
    held = bool(first.shared) and other.shared >= first.shared and 2 * len(other.shared) >= len(question.terms)
    return other.date != first.date and (held or _alike(first, other))


def _alike(first: Evidence, other: Evidence) -> bool:
    """Returns whether two have several words in common that tell something."""
    said, also = (set(terms(each.hit.content[:LONGEST_TEXT])) - FILLERS for each in (first, other))
    return len(said & also) >= ALIKE


def _weighed(question: Question, found: Sequence[Hit]) -> list[Evidence]:
    top = max((hit.score for hit in found), default=0.0)
    weights = rarity(question, [hit.content for hit in found])
    usable = [hit for hit in found if _quotable(hit, question.text)]
    return [
        Evidence(
            hit,
            answering(question, hit.content, weights),
            _strength(question, hit, top, covered(question, hit.content, weights)),
            question.terms & frozenset(terms(hit.content[:LONGEST_TEXT])),
        )
        for hit in usable
    ]


def _strength(question: Question, hit: Hit, top: float, words: float) -> float:
    from ltst.recall.rank import OUTDATED  # brings numpy, which a program that asks nothing need not load

    shaped = any(shape.search(hit.content[:LONGEST_TEXT]) for shape in question.shapes)
    strength = (
        hit.score / (top or 1.0)
        + VERSION * (hit.scores.get("outdated", 0.0) <= -OUTDATED)
        + WORDS * words
        + SHAPE * shaped
        + MEANING * max(hit.scores.get("dense", 0.0), 0.0)
    )
    if hit.role == "ai" and not ABOUT_THE_ASSISTANT.search(question.text):
        strength *= ASSISTANT
    if hit.role == "human" and REQUESTING.match(hit.content):
        strength *= REQUEST
    return strength * (TERSE if len(hit.content[:200].split()) < TERSE_WORDS else 1.0)


def _on_the_same(first: Evidence, other: Evidence) -> bool:
    """Returns whether two tell of the same thing: they have words of the question in common, or others."""
    if other.hit.kind != first.hit.kind or other.hit.role != first.hit.role:
        return other is first
    near = other.strength >= SAME * first.strength and bool(first.shared & other.shared)
    return near or (bool(first.shared) and other.shared >= first.shared) or _alike(first, other)


def _quotable(hit: Hit, question: str) -> bool:
    """Returns whether a hit can be quoted: no retold words, and no question unless past questions are asked for."""
    if wording.is_own(hit) or (hit.kind == "entry" and hit.sources):
        return False
    if hit.kind != "message" or hit.role != "human":
        return True
    asks = is_question(hit.content) or to_forget(hit.content) is not None
    return not asks or bool(ABOUT_ASKING.search(question))
