"""Facts that answer a question: what is known under the key that it asks for, and what held before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ltst.agents import wording
from ltst.agents.evidence import past
from ltst.agents.intents import FORMERLY
from ltst.agents.passages import Question
from ltst.memory import AsyncUser
from ltst.recall.temporal import intervals
from ltst.records import ME, Fact
from ltst.support.tables import Table
from ltst.support.terms import terms

MOST = 3
SEARCHED = 5
# So relevant a fact answers although it has no word of the question.
LEAST_RELEVANCE = 0.23
ABOUT_ME = re.compile(
    r"\b(?:i|i['’]m|my|me|mine|we|our|us|ich|mein\w{0,2}|mir|mich|wir|unser\w{0,2}|uns)\b", re.IGNORECASE
)
# What a question calls the thing that a key stands for.
CALLED = Table("ltst.agents", "known.txt")


async def told(user: AsyncUser, asked_for: Question, now: datetime) -> tuple[list[str], list[Fact]]:
    """Returns the facts that a question asks for, as they held at the time it is about, and the sentences for them."""
    until, question = past(asked_for.text, now), _timeless(asked_for, now)
    hits = await user.search(question.text, kinds=("fact",), limit=SEARCHED)
    near = [hit.id for hit in hits if hit.score >= LEAST_RELEVANCE]
    known = await user.facts.list(as_of=until)
    people = [each for each in known if _names(question, each.about)]
    asked = _of_people(question, people, near) if people else _of_user(question, known, near)
    asked = asked[:MOST]
    keys = [each.label for each in asked]
    sentences = [
        await _sentence(user, each, question, alone=each.single_valued and keys.count(each.label) == 1, until=until)
        for each in asked
    ]
    return sentences, asked


def _of_user(question: Question, known: Sequence[Fact], near: Sequence[str]) -> list[Fact]:
    """Returns the user's own facts that a question asks for, which names nobody else that is known."""
    mine, own = bool(ABOUT_ME.search(question.text)), [each for each in known if each.about == ME]
    return [
        each for each in own if _named(question, each) or (mine and is_about(question, each)) or each.fact_id in near
    ]


def _of_people(question: Question, known: Sequence[Fact], near: Sequence[str]) -> list[Fact]:
    """Returns the facts about the people whom a question names: those that it asks for, else the nearest one."""
    asked = [each for each in known if is_about(question, each)]
    nearest = sorted((each for each in known if each.fact_id in near), key=lambda each: near.index(each.fact_id))
    return asked or nearest[:1]


def _timeless(question: Question, now: datetime) -> Question:
    """Returns the question without the words that say when."""
    when = {term for each in intervals(question.text, now) for term in terms(each.text)}
    return replace(question, terms=question.terms - when)


def _named(question: Question, fact: Fact) -> bool:
    """Returns whether a question is the key itself, and nothing else."""
    return bool(question.terms) and question.terms == {*terms(wording.spoken(fact.key))}


def _names(question: Question, about: str) -> bool:
    """Returns whether a question names this person, who is not the user."""
    return about != ME and not question.terms.isdisjoint(terms(about))


def is_about(question: Question, fact: Fact) -> bool:
    """Returns whether a question has no words but those for this key, its value and its person, whom it must name."""
    if fact.about != ME and not _names(question, fact.about):
        return False
    named = f"{wording.spoken(fact.label)} {' '.join(CALLED.lines.get(fact.key, ()))} {fact.value}"
    return bool(question.terms) and question.terms <= {*terms(named)}


async def _sentence(user: AsyncUser, fact: Fact, question: Question, *, alone: bool, until: datetime | None) -> str:
    now = wording.fact_sentence(fact, alone=alone)
    if not alone or until is not None:
        return now
    before = _before(fact, await user.facts.history(fact.key, about=fact.about))
    if before is None:
        return now
    if FORMERLY.search(question.text):
        return f"{wording.former_sentence(before)} {now}"
    return f"{now} Before that it was {wording.quotable(before.value)}."


def _before(fact: Fact, history: Sequence[Fact]) -> Fact | None:
    """Returns the last value that held before the one that holds."""
    closed = [
        each for each in history if each.valid_to is not None and each.rejected_at is None and each.value != fact.value
    ]
    return max(closed, key=lambda each: each.valid_to or each.valid_from, default=None)
