"""Chooses which search hits answer a question, in the order in which an agent tells them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ltst.agents import wording
from ltst.agents.intents import (
    ABOUT_ASKING,
    ABOUT_THE_ASSISTANT,
    FORMERLY,
    SEVERAL,
    capabilities,
    to_forget,
)
from ltst.agents.parts import LONGEST_TEXT, parts
from ltst.agents.passages import FILLERS, UserQuestion, answering, covered, rarity, sentences, words
from ltst.agents.people import owned
from ltst.learn.statements import candidates, plain
from ltst.recall.temporal import Interval, intervals
from ltst.records import ConversationMessage, Hit
from ltst.support.questions import is_marked

MOST = 3
# If even the best hit scores lower, nothing is told.
LEAST_RELEVANCE = 0.23
# Weights beside the search score: words shared with the question, the kind of answer asked for, similarity of meaning.
WORDS, SHAPE, MEANING = 0.3, 0.1, 0.7
# Shares of the best strength that others must reach: to be told at all, to count as a newer or older version of the
# same thing, and to be told although they are about something else.
NEAR, SAME, ALSO = 0.45, 0.5, 0.7
# A later memory that says less of what is asked comes before the best one only if it is nearly as strong.
AS_STRONG = 0.65
# Memories about the same thing at different times share at least this many words.
ALIKE = 2
# Factors for assistants' words, for requests and for very short messages, which tell less about a user.
ASSISTANT, REQUEST, TERSE = 0.6, 0.7, 0.6
# Added for a memory that certainly no longer holds, because the search already lowered its score for that.
VERSION = 0.3
# Bonus for a memory said later that names the time in question.
THEN = 0.3
TERSE_WORDS = 3
# Share of a question that an assistant's question must contain to count as the same question.
ASKED = 0.7

# Words for what was before the time that a sentence names.
EARLIER = re.compile(
    r"\b(?:until|till|before|from|used\s+to|previously|formerly|bis|von|aus|vorher|früher)\b", re.IGNORECASE
)
REQUESTING = re.compile(
    r"(?:(?:please|pls|bitte|now|ok|okay)[\s,]{1,9}){0,2}(?:explain|help|write|draft|compare|review|translate|summari[sz]e|check"
    r"|practi[cs]e|erklär|schreib|hilf|gib|übersetz|rechne)\w{0,2}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory that may answer a question: the passage that does, its strength, and the question's terms in it.

    `pasted` tells that the passage is from a text that the user pasted, so that somebody else may have written it;
    `corrected` that the user corrected it a moment later.
    """

    hit: Hit
    passage: str
    strength: float
    shared: frozenset[str]
    pasted: bool = False
    corrected: bool = False

    @property
    def date(self) -> float:
        """Returns the time it was said as a timestamp, for comparisons; 0 if unknown."""
        return self.hit.occurred_at.timestamp() if self.hit.occurred_at else 0.0


def past(question: str, now: datetime) -> datetime | None:
    """Returns the last moment of the past period that a question names, or None if it is about the present."""
    return max((each.end - timedelta(microseconds=1) for each in _past_periods(question, now)), default=None)


def _past_periods(question: str, now: datetime) -> list[Interval]:
    return [each for each in intervals(question, now) if each.end < now]


def _tells_of(each: Evidence, periods: Sequence[Interval], now: datetime) -> bool:
    """Returns whether something said later names the time in question, as "until 2022" does for 2020."""
    said_at = each.hit.occurred_at or now
    if not any(said_at >= period.end for period in periods):
        return False
    named = intervals(each.passage, said_at)
    return any(period.start < other.end and other.start < period.end for period in periods for other in named)


def _begins_later(each: Evidence, periods: Sequence[Interval], now: datetime) -> bool:
    """Returns whether something said later only tells of times after those in question, as "in 2020" does for 2019."""
    said_at = each.hit.occurred_at or now
    limit = max((period.end for period in periods), default=now)
    if not periods or said_at < limit or EARLIER.search(each.passage):
        return False
    named = intervals(each.passage, said_at)
    return bool(named) and all(other.start >= limit for other in named)


def choose(question: UserQuestion, found: Sequence[Hit], now: datetime) -> list[Evidence]:
    """Returns the hits that answer, in the order to tell them; none if even the best is too far from the question."""
    if max((hit.score for hit in found), default=0.0) < LEAST_RELEVANCE and not any(
        _is_all(question, hit) for hit in found
    ):
        return []
    periods = _past_periods(question.text, now)
    weighed = [each for each in _weigh(question, found) if not _begins_later(each, periods, now)]
    told = {each.hit.id for each in weighed if _tells_of(each, periods, now)}
    best = sorted(weighed, key=lambda each: -each.strength - THEN * (each.hit.id in told))[:MOST]
    near = [each for each in best if each.strength >= NEAR * best[0].strength]
    same = [each for each in near if _on_the_same(question, best[0], each)]
    if periods:
        # What was said by then held then, latest first; later words are about another time unless they name this one.
        limit = max(each.end for each in periods).timestamp()
        if not told.isdisjoint(each.hit.id for each in near):
            same, near = ([each for each in some if each.date < limit or each.hit.id in told] for some in (same, near))
        same.sort(key=lambda each: (each.date >= limit and each.hit.id not in told, abs(limit - each.date)))
    elif not FORMERLY.search(question.text):
        same.sort(key=lambda each: (0, -each.date) if _says_as_much(question, best[0], each) else (1, -each.strength))
    others = [each for each in near if each not in same]
    least = NEAR if SEVERAL.search(question.text) else ALSO
    return [*same, *(each for each in others if each.strength >= least * best[0].strength)]


def _is_all(question: UserQuestion, hit: Hit) -> bool:
    """Returns whether a hit contains all that is asked about a person it may call by another word: "mum", "mother"."""
    asked = question.asked_of_people
    return bool(asked) and asked <= words(hit.content)


def distinct_words(chosen: Sequence[Evidence]) -> list[Evidence]:
    """Returns the evidence without repeated passages, keeping the first of each."""
    return [*{" ".join(each.passage.lower().split()): each for each in reversed(chosen)}.values()][::-1]


def asked_already(question: UserQuestion, found: Sequence[Hit]) -> Hit | None:
    """Returns the turn in which an assistant asked the user the same question, if any; the next turn answers it."""
    weights = rarity(question, [hit.content for hit in found])
    asking = [hit for hit in found if hit.role == "ai" and is_marked(hit.content) and not wording.is_own(hit)]
    return next((hit for hit in asking if covered(question, sentences(hit.content)[-1], weights) >= ASKED), None)


def replied(question: UserQuestion, asked: Hit, reply: ConversationMessage) -> Evidence:
    """Returns the user's reply to an assistant's question as evidence with the score of that question."""
    evidence = resting_on(question, reply)
    return replace(evidence, hit=replace(evidence.hit, score=asked.score))


def resting_on(question: UserQuestion, said: ConversationMessage) -> Evidence:
    """Returns a message that no search found as evidence."""
    said_id, text = str(said.message_id), said.content
    hit = Hit(
        "message", said_id, text, 0.0, {}, said.timestamp, said.session_id, said.role, (said_id,), trusted=said.trusted
    )
    shared = question.terms & words(text)
    told = parts(text).told or text
    return Evidence(hit, answering(question, told, dict.fromkeys(question.terms, 1.0)), math.inf, shared)


def is_version(question: UserQuestion, first: Evidence, other: Evidence) -> bool:
    """Returns whether two memories describe the same thing at different times, judged by the words they share."""
    shared, also = first.shared & question.topic, other.shared & question.topic
    held = bool(shared) and also >= shared and 2 * len(also) >= len(question.topic)
    return other.date != first.date and (held or _share_words(question, first, other))


def _share_words(question: UserQuestion, first: Evidence, other: Evidence) -> bool:
    """Returns whether two memories share several meaningful words besides the names of the people asked about."""
    said, also = (words(each.hit.content) - FILLERS for each in (first, other))
    return len((said & also) - (question.names - question.topic)) >= ALIKE


def _weigh(question: UserQuestion, found: Sequence[Hit]) -> list[Evidence]:
    top = max((hit.score for hit in found), default=0.0)
    weights = rarity(question, [hit.content for hit in found])
    weighed = []
    for hit in found:
        said, pasted = _quotable(question, hit, weights)
        if said:
            strength = _strength(question, hit, top, covered(question, said, weights))
            shared = question.terms & words(said)
            weighed.append(Evidence(hit, answering(question, said, weights), strength, shared, pasted))
    return weighed


def _strength(question: UserQuestion, hit: Hit, top: float, share: float) -> float:
    from ltst.recall.rank import surely_outdated  # imports numpy, which a program that never searches need not load

    strength = (
        hit.score / (top or 1.0)
        + VERSION * surely_outdated(hit.scores)
        + WORDS * share
        + SHAPE * question.is_answered_by(hit.content[:LONGEST_TEXT])
        + MEANING * max(hit.scores.get("dense", 0.0), 0.0)
    )
    if hit.role == "ai" and not ABOUT_THE_ASSISTANT.search(question.text):
        strength *= ASSISTANT
    if hit.role == "human" and REQUESTING.match(hit.content):
        strength *= REQUEST
    return strength * (TERSE if len(hit.content[:200].split()) < TERSE_WORDS else 1.0)


def _on_the_same(question: UserQuestion, first: Evidence, other: Evidence) -> bool:
    """Returns whether two memories are about the same thing: they share words of the question, or others.

    Naming the same person is not enough: "Leila moved" says nothing about whom Leila married.
    """
    if other is first or other.hit.kind != first.hit.kind or other.hit.role != first.hit.role:
        return other is first
    shared, also = first.shared & question.topic, other.shared & question.topic
    near = other.strength >= SAME * first.strength and bool(shared & also)
    return near or (bool(shared) and also >= shared) or _share_words(question, first, other)


def _says_as_much(question: UserQuestion, first: Evidence, other: Evidence) -> bool:
    """Returns whether a memory says as much of what is asked as the best one, and so may take its place."""
    if question.shapes and question.is_answered_by(first.passage):
        return question.is_answered_by(other.passage)
    shared, also = first.shared & question.topic, other.shared & question.topic
    return also >= shared or other.strength >= AS_STRONG * first.strength


def _is_not_earnest(question: UserQuestion, told: str, weights: Mapping[str, float]) -> bool:
    """Returns whether what best answers in a text is supposed ("if I won, I'd move to Rome"), quoted or taken back."""
    passage = answering(question, told, weights)
    earnest = [passage[start:end] for start, end in candidates(plain(passage))]
    said = " ".join(earnest)
    if question.is_answered_by(passage) and not question.is_answered_by(said):
        return True
    return not said or covered(question, said, weights) < covered(question, passage, weights)


def _quotable(question: UserQuestion, hit: Hit, weights: Mapping[str, float]) -> tuple[str, bool]:
    """Returns the words of a hit that may be quoted, and whether they were pasted; no words if it only retells or asks.

    A pasted text says nothing of the user, so it does not answer "Where do I live?", nor who "my
    assistant" is where its writer speaks of theirs.
    """
    if wording.is_own(hit) or (hit.kind == "entry" and hit.sources):
        return "", False
    if hit.kind != "message" or hit.role != "human" or ABOUT_ASKING.search(question.text):
        return hit.content, False
    if to_forget(hit.content) is not None or capabilities(hit.content) is not None:
        return "", False
    said = parts(hit.content)
    own = covered(question, said.told, weights) if said.told else -1.0
    theirs = question.of_user or not owned(question.text).isdisjoint(owned(said.pasted))
    if not said.pasted or theirs or own >= covered(question, said.pasted, weights):
        return ("" if question.of_user and _is_not_earnest(question, said.told, weights) else said.told), False
    return said.pasted, True
