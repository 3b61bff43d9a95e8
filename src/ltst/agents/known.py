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
from ltst.records import Fact
from ltst.support.terms import terms

MOST = 3
SEARCHED = 5
# So relevant a fact answers although it has no word of the question.
LEAST_RELEVANCE = 0.3
ABOUT_ME = re.compile(
    r"\b(?:i|i['’]m|my|me|mine|we|our|us|ich|mein\w{0,2}|mir|mich|wir|unser\w{0,2}|uns)\b", re.IGNORECASE
)
# What a question calls the thing that a key stands for.
CALLED = {
    "home": "live living reside city town address based wohnen wohne wohnort adresse zuhause stadt",
    "job": "work job profession occupation career beruf arbeite arbeiten",
    "employer": "work company employer boss firm arbeite firma",
    "name": "name called heiße heißen",
    "age": "old age alt",
    "birthday": "birthday born geburtstag geboren",
    "partner": "partner wife husband girlfriend boyfriend spouse married frau mann",
    "pet": "pet dog cat animal haustier hund katze",
    "child": "child children kid kids son daughter kind kinder sohn tochter",
    "sibling": "sibling brother sister bruder schwester",
    "allergy": "allergic allergy allergies allergisch",
    "car": "car drive auto fahre wagen",
    "phone": "phone mobile telefon handy",
    "language": "language languages speak sprache sprachen spreche",
    "hobby": "hobby hobbies free time fun",
    "diet": "diet eat vegetarian vegan essen",
    "hometown": "hometown grow grew from aufgewachsen",
    "commute": "commute get work",
    "instrument": "instrument play",
    "sport": "sport sports play train",
}


async def told(user: AsyncUser, asked_for: Question, now: datetime) -> tuple[list[str], list[Fact]]:
    """Return the sentences of the facts that a question asks for, as they held when it is about; and the facts."""
    until, question = past(asked_for.text, now), _timeless(asked_for, now)
    hits = await user.search(question.text, kinds=("fact",), limit=SEARCHED)
    near = {hit.id for hit in hits if hit.score >= LEAST_RELEVANCE}
    known = await user.facts.list(as_of=until)
    mine = bool(ABOUT_ME.search(question.text))
    asked = [
        each for each in known if _named(question, each) or (mine and is_about(question, each)) or each.fact_id in near
    ]
    asked = asked[:MOST]
    keys = [each.key for each in asked]
    sentences = [
        await _sentence(user, each, question, alone=each.single_valued and keys.count(each.key) == 1, until=until)
        for each in asked
    ]
    return sentences, asked


def _timeless(question: Question, now: datetime) -> Question:
    """The question without the words that say when."""
    when = {term for each in intervals(question.text, now) for term in terms(each.text)}
    return replace(question, terms=question.terms - when)


def _named(question: Question, fact: Fact) -> bool:
    """Whether a question is the key itself, and nothing else."""
    return bool(question.terms) and question.terms == {*terms(wording.spoken(fact.key))}


def is_about(question: Question, fact: Fact) -> bool:
    """Whether a question has no words but those for this key and its value."""
    named = f"{wording.spoken(fact.key)} {CALLED.get(fact.key, '')} {fact.value}"
    return bool(question.terms) and question.terms <= {*terms(named)}


async def _sentence(user: AsyncUser, fact: Fact, question: Question, *, alone: bool, until: datetime | None) -> str:
    now = wording.fact_sentence(fact.key, fact.value, fact.valid_from, alone=alone)
    if not alone or until is not None:
        return now
    before = _before(fact, await user.facts.history(fact.key))
    if before is None:
        return now
    if FORMERLY.search(question.text):
        return f"Your {wording.spoken(fact.key)} was {before.value} before. {now}"
    return f"{now} Before that it was {wording.quotable(before.value)}."


def _before(fact: Fact, history: Sequence[Fact]) -> Fact | None:
    """The last value that held before the one that holds."""
    closed = [
        each for each in history if each.valid_to is not None and each.rejected_at is None and each.value != fact.value
    ]
    return max(closed, key=lambda each: each.valid_to or each.valid_from, default=None)
