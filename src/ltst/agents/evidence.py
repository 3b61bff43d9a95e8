"""Evidence: which of the memories that a search found answer a question, in the order in which they are told."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ltst.agents import wording
from ltst.agents.intents import (
    ABOUT_ASKING,
    ABOUT_THE_ASSISTANT,
    FORMERLY,
    QUESTION_MARK,
    capabilities,
    is_question,
    to_forget,
)
from ltst.agents.passages import FILLERS, LONGEST_TEXT, Question, answering, covered, rarity, sentences
from ltst.recall.temporal import Interval, intervals
from ltst.records import ConversationMessage, Hit
from ltst.support.terms import terms

MOST = 3
# Below this relevance the best is only the least far-fetched: better nothing than that.
LEAST_RELEVANCE = 0.23
# What a memory counts by, beside the score of the search: the question's words in it, its kind of answer, its meaning.
WORDS, SHAPE, MEANING = 0.3, 0.1, 0.7
# How near to the best the others must come to be told at all, to be told as the newer or older word on the same, and
# to be told although they speak of something else.
NEAR, SAME, ALSO = 0.45, 0.5, 0.7
# What tells of the same thing at another time has so many words in common with it.
ALIKE = 2
# What assistants said, and what asks for something to be done, tells less of a user than what the user says.
ASSISTANT, REQUEST, TERSE = 0.6, 0.7, 0.6
# What certainly no longer holds is told behind what does: the search has put it back for that.
VERSION = 0.3
# What was said later and names the time that is asked about.
THEN = 0.3
TERSE_WORDS = 3
# So much of a question must stand in what an assistant asked for it to have been the same.
ASKED = 0.7

MENDED_WITHIN = 600  # seconds
MENDING = re.compile(r"(?:sorry|no|wait|actually|oops|correction|i mean|i meant|nein|doch|moment)\b", re.IGNORECASE)
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
    return max((each.end for each in _past_periods(question, now)), default=None)


def _past_periods(question: str, now: datetime) -> list[Interval]:
    return [each for each in intervals(question, now) if each.end < now]


def _tells_of(each: Evidence, periods: Sequence[Interval], now: datetime) -> bool:
    """Returns whether words of later name the time that is asked about: "until 2022" that of 2020."""
    said_at = each.hit.occurred_at or now
    if not any(said_at >= period.end for period in periods):
        return False
    named = intervals(each.passage, said_at)
    return any(period.start < other.end and other.start < period.end for period in periods for other in named)


def choose(question: Question, found: Sequence[Hit], now: datetime) -> list[Evidence]:
    """Returns what answers, in the order of telling; nothing where even the best is too far from the question."""
    if max((hit.score for hit in found), default=0.0) < LEAST_RELEVANCE and not any(
        _is_all(question, hit) for hit in found
    ):
        return []
    weighed, periods = _weighed(question, found), _past_periods(question.text, now)
    told = {each.hit.id for each in weighed if _tells_of(each, periods, now)}
    best = sorted(weighed, key=lambda each: -each.strength - THEN * (each.hit.id in told))[:MOST]
    near = [each for each in best if each.strength >= NEAR * best[0].strength]
    same = [each for each in near if _on_the_same(question, best[0], each)]
    if periods:
        # What was said by then held then, the latest of it; what was said later tells of another time, or names it.
        limit = max(each.end for each in periods).timestamp()
        if not told.isdisjoint(each.hit.id for each in near):
            same, near = ([each for each in some if each.date < limit or each.hit.id in told] for some in (same, near))
        same.sort(key=lambda each: (each.date >= limit and each.hit.id not in told, abs(limit - each.date)))
    elif not FORMERLY.search(question.text):
        same.sort(key=lambda each: -each.date)
    others = [each for each in near if each not in same]
    return [*same, *(each for each in others if each.strength >= ALSO * best[0].strength or _mends(best[0], each))]


def _is_all(question: Question, hit: Hit) -> bool:
    """Returns whether a hit has all that is asked of somebody whom it may call otherwise: "mum" for "mother"."""
    asked = question.asked_of_people
    return bool(asked) and asked <= {*terms(hit.content[:LONGEST_TEXT])}


def distinct_words(chosen: Sequence[Evidence]) -> list[Evidence]:
    """Returns what is told, the same words once."""
    return [*{" ".join(each.passage.lower().split()): each for each in reversed(chosen)}.values()][::-1]


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


def is_version(question: Question, first: Evidence, other: Evidence) -> bool:
    """Returns whether two tell of the same thing at different times, by shared words of the question or others."""
    shared, also = first.shared & question.topic, other.shared & question.topic
    held = bool(shared) and also >= shared and 2 * len(also) >= len(question.topic)
    return other.date != first.date and (held or _alike(question, first, other))


def _alike(question: Question, first: Evidence, other: Evidence) -> bool:
    """Returns whether two have several words in common that tell something, beside the names of who is asked about."""
    said, also = (set(terms(each.hit.content[:LONGEST_TEXT])) - FILLERS for each in (first, other))
    return len((said & also) - (question.names - question.topic)) >= ALIKE


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
    from ltst.recall.rank import surely_outdated  # brings numpy, which a program that asks nothing need not load

    shaped = any(shape.search(hit.content[:LONGEST_TEXT]) for shape in question.shapes)
    strength = (
        hit.score / (top or 1.0)
        + VERSION * surely_outdated(hit.scores)
        + WORDS * words
        + SHAPE * shaped
        + MEANING * max(hit.scores.get("dense", 0.0), 0.0)
    )
    if hit.role == "ai" and not ABOUT_THE_ASSISTANT.search(question.text):
        strength *= ASSISTANT
    if hit.role == "human" and REQUESTING.match(hit.content):
        strength *= REQUEST
    return strength * (TERSE if len(hit.content[:200].split()) < TERSE_WORDS else 1.0)


def _on_the_same(question: Question, first: Evidence, other: Evidence) -> bool:
    """Returns whether two tell of the same thing: they have words of the question in common, or others.

    That both name who is asked about is not enough: "Leila moved" is no newer word on whom Leila married.
    """
    if other is first or other.hit.kind != first.hit.kind or other.hit.role != first.hit.role:
        return other is first
    shared, also = first.shared & question.topic, other.shared & question.topic
    near = other.strength >= SAME * first.strength and bool(shared & also)
    return near or (bool(shared) and also >= shared) or _alike(question, first, other)


def _mends(first: Evidence, other: Evidence) -> bool:
    """Returns whether one takes back a part of the other soon after it, in the same chat: "Sorry, I meant Friday"."""
    soon = 0 < other.date - first.date < MENDED_WITHIN and other.hit.session_id == first.hit.session_id
    return soon and bool(MENDING.match(other.hit.content))


def _quotable(hit: Hit, question: str) -> bool:
    """Returns whether a hit can be quoted: no retold words, and no question unless past questions are asked for."""
    if wording.is_own(hit) or (hit.kind == "entry" and hit.sources):
        return False
    if hit.kind != "message" or hit.role != "human":
        return True
    asks = is_question(hit.content) or to_forget(hit.content) is not None or capabilities(hit.content) is not None
    return not asks or bool(ABOUT_ASKING.search(question))
