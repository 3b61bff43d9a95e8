"""Finds the facts that answer a question, by the key it asks for, and their former values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ltst.agents import wording
from ltst.agents.evidence import past
from ltst.agents.intents import FORMERLY
from ltst.agents.parts import LONGEST_TEXT
from ltst.agents.passages import FILLERS, UserQuestion, words
from ltst.agents.people import Person, is_naming, kinds
from ltst.handles import viewing
from ltst.memory import AsyncUser
from ltst.recall.temporal import intervals
from ltst.records import ME, ConversationMessage, Fact
from ltst.support.tables import Table

# How many keys are told, each with all of its values.
MOST = 3
SEARCHED = 5
CHANGES = 1000
# A fact this relevant answers even if it shares no word with the question.
LEAST_RELEVANCE = 0.23
ABOUT_ME = re.compile(
    r"\b(?:i|i['’]m|my|me|mine|we|our|us|ich|mein\w{0,2}|mir|mich|wir|unser\w{0,2}|uns)\b", re.IGNORECASE
)
HOW_MANY = re.compile(r"\b(?:how\s+many|wie\s*viele?)\b", re.IGNORECASE)
JANUARY = re.compile(r"\bjan(?:uary|uar|\b)|\b0?1[./-]|-01\b|new\s+year|neujahr|jahreswechsel", re.IGNORECASE)
# The words that questions use for each key.
CALLED = Table("ltst.agents", "known.txt")


async def regarding(user: AsyncUser, question: UserQuestion, now: datetime) -> UserQuestion:
    """Returns a question with the names of the user's relatives it asks about, as far as they are known."""
    question = replace(question, personal=_is_personal(_timeless(question, now)))
    if not question.people:
        return question
    facts = await user.facts.list(about=ME)
    mine = [each.value for each in facts if each.key == "name"]
    others = [each for each in question.people if each.relation or not any(map(each.is_in, mine))]
    people = tuple(each.also(fact.value for fact in facts if _is_relative(each, fact)) for each in others)
    return replace(question, people=people)


async def asked_for(user: AsyncUser, question: UserQuestion, now: datetime) -> list[Fact]:
    """Returns the facts that a question asks for, as they were at the time it is about.

    If none holds, what the user said to be over is told instead.
    """
    until, question = past(question.text, now), _timeless(question, now)
    hits = await user.search(question.text, kinds=("fact",), limit=SEARCHED)
    near = [hit.id for hit in hits if hit.score >= LEAST_RELEVANCE]
    asked = _choose_asked(question, await user.facts.list(as_of=until), near)
    if until is None and (not asked or FORMERLY.search(question.text)):
        over = _choose_asked(question, [each for each in await _changes(user) if _is_ended(each)], ())
        asked += [each for each in over if not asked or not each.single_valued]
    labels = [*dict.fromkeys(each.label for each in asked)][:MOST]
    return await as_said(user, [each for label in labels for each in asked if each.label == label])


async def as_said(user: AsyncUser, facts: Sequence[Fact]) -> list[Fact]:
    """Returns facts with the values of each key in the order in which they were said.

    Those of whose beginning only the year was said are marked: they are stored as if they began on 1 January.
    """
    messages = await viewing.messages_by_id(user._desk, [each.source_message_id for each in facts])
    said = {each.fact_id: messages.get(each.source_message_id or "") for each in facts}
    labels = [*dict.fromkeys(each.label for each in facts)]

    def place(fact: Fact) -> tuple[int, datetime, int]:
        source = said[fact.fact_id]
        at = (source.timestamp if source else None) or fact.valid_from
        return labels.index(fact.label), at, source.content.lower().find(fact.value.lower()) if source else 0

    marked = [_mark_vague_start(each, said[each.fact_id]) for each in facts]
    return sorted(marked, key=place)


def _mark_vague_start(fact: Fact, source: ConversationMessage | None) -> Fact:
    """Returns a fact that begins on 1 January marked if its source does not speak of January."""
    began = fact.valid_from
    is_new_year = (began.month, began.day, began.hour, began.minute, began.second) == (1, 1, 0, 0, 0)
    if source is None or not is_new_year or JANUARY.search(source.content[:LONGEST_TEXT]):
        return fact
    return replace(fact, metadata={**fact.metadata, wording.ONLY_YEAR: True})


def _choose_asked(question: UserQuestion, known: Sequence[Fact], near: Sequence[str]) -> list[Fact]:
    people = [each for each in known if _names(question, each.about)]
    return _of_people(question, people, near) if people else _of_user(question, known, near)


def _is_ended(fact: Fact) -> bool:
    """Returns whether a fact was said to be over; one that was replaced or corrected is not."""
    held = fact.valid_to is not None and fact.valid_to > fact.valid_from
    return held and fact.superseded_by is None and wording.is_over(fact)


async def _changes(user: AsyncUser) -> list[Fact]:
    """Returns every value of every key that was not rejected, the oldest first."""
    found = await viewing.changes(user._desk, limit=CHANGES)
    return [each for each in reversed(found) if each.rejected_at is None]


async def sentences(
    user: AsyncUser, facts: Sequence[Fact], question: UserQuestion, now: datetime, quotes: bool
) -> list[str]:
    """Returns sentences for the facts that a question asks for; `quotes` tells whether quotes follow them."""
    until = past(question.text, now)
    told = wording.fact_sentences(facts, then=until is not None)
    if len(told) == 1 and not facts[0].single_valued and HOW_MANY.search(question.text):
        return [wording.counted(told[0][0], len(facts))]
    found = [await _sentence(user, said, of, question, until=until, quotes=quotes) for said, of in told]
    return [each for each in found if each]


def _of_user(question: UserQuestion, known: Sequence[Fact], near: Sequence[str]) -> list[Fact]:
    """Returns the user's own facts that answer a question in which no other known person is named."""
    mine, own = bool(ABOUT_ME.search(question.text)), [each for each in known if each.about == ME]
    if question.people:
        return [each for each in own if is_about(question, each) and _tells_who(question, each)]
    asked = [each for each in own if _is_key_alone(question, each) or (mine and is_about(question, each))]
    return asked or [each for each in own if each.fact_id in near and _may_answer(question, each)]


def _may_answer(question: UserQuestion, fact: Fact) -> bool:
    """Returns whether a fact may answer by similarity: the question holds a word of its value, or is about the user.

    A key like "name" alone fits too many questions about others, and so do all for "What did I give Ann?".
    """
    if not question.terms.isdisjoint(words(fact.value)):
        return True
    is_own = bool(ABOUT_ME.search(question.text)) and not is_naming(question.text)
    return is_own and not FILLERS.issuperset(words(fact.key))


def _of_people(question: UserQuestion, known: Sequence[Fact], near: Sequence[str]) -> list[Fact]:
    """Returns facts about the people that a question names: those it asks for, else the nearest one."""
    asked = [each for each in known if is_about(question, each)]
    nearest = sorted((each for each in known if each.fact_id in near), key=lambda each: near.index(each.fact_id))
    return asked or nearest[:1]


def _timeless(question: UserQuestion, now: datetime) -> UserQuestion:
    """Returns the question without terms that only say when."""
    said = [*(each.text for each in intervals(question.text, now)), *FORMERLY.findall(question.text)]
    return replace(question, terms=question.terms - {term for each in said for term in words(each)})


def _is_personal(question: UserQuestion) -> bool:
    """Returns whether a question asks for one of the known keys, of the user or of the people it is about."""
    if not question.people and not ABOUT_ME.search(question.text):
        return False
    asked = question.asked_of_people if question.people else question.terms
    return bool(question.terms) and any(asked <= _words_for(key) for key in CALLED.lines)


def _words_of(people: Sequence[Person]) -> frozenset[str]:
    return words(" ".join(word for each in people for word in each.called))


def _words_for(key: str) -> frozenset[str]:
    return words(f"{wording.spoken(key)} {' '.join(CALLED.lines.get(key, ()))}")


def _is_relative(person: Person, fact: Fact) -> bool:
    """Returns whether one of the user's facts names this relative."""
    said = fact.metadata.get("relation") or fact.metadata.get("species") or ""
    return any(person.relation.intersection(line.split()) for line in CALLED.lines.get(fact.key, ())) and person.is_a(
        str(said)
    )


def _is_another_kind(question: UserQuestion, fact: Fact) -> bool:
    """Returns whether a question is about a dog and the fact about a cat, a son and a daughter, and so on."""
    calling = [line.split() for line in CALLED.lines.get(fact.key, ())]
    asked = [each for each in kinds(question.text) if any(map(each.relation.intersection, calling))]
    said = str(fact.metadata.get("relation") or fact.metadata.get("species") or "")
    return bool(asked) and not any(each.is_a(said) or each.is_in(fact.value) for each in asked)


def _tells_who(question: UserQuestion, fact: Fact) -> bool:
    """Returns whether one of the user's facts says who a person in the question is."""
    return any(_is_relative(each, fact) or (not each.relation and each.is_in(fact.value)) for each in question.people)


def _is_key_alone(question: UserQuestion, fact: Fact) -> bool:
    """Returns whether a question consists of the fact's key and nothing else."""
    return bool(question.terms) and question.terms == words(wording.spoken(fact.key))


def _names(question: UserQuestion, about: str) -> bool:
    """Returns whether a question names this person, who is not the user."""
    if about == ME:
        return False
    return any(each.is_in(about) for each in question.people) or not question.terms.isdisjoint(words(about))


def is_about(question: UserQuestion, fact: Fact) -> bool:
    """Returns whether all terms of a question stand for this fact's key, value or person, whom it must name."""
    if (fact.about != ME and not _names(question, fact.about)) or _is_another_kind(question, fact):
        return False
    person = _words_of([each for each in question.people if each.is_in(fact.about)])
    named = _words_for(fact.key) | words(f"{wording.spoken(fact.label)} {fact.value}") | person
    return bool(question.terms) and question.terms <= named


async def _sentence(
    user: AsyncUser, said: str, facts: Sequence[Fact], question: UserQuestion, *, until: datetime | None, quotes: bool
) -> str:
    """Returns the sentence, with the former value if the key has one value at a time."""
    fact = facts[0]
    if not fact.single_valued or until is not None or wording.is_over(fact):
        return said
    before = _previous_value(fact, await user.facts.history(fact.key, about=fact.about))
    if before is None and FORMERLY.search(question.text):
        return "" if quotes else wording.no_former_sentence(fact)
    if before is None:
        return said
    if FORMERLY.search(question.text):
        return f"{wording.former_sentence(before)} {said}"
    return f"{said} Before that it was {wording.quotable(before.value)}."


def _previous_value(fact: Fact, history: Sequence[Fact]) -> Fact | None:
    """Returns the last value that was valid before the current one, ignoring values that were corrected.

    A value told before "I moved last week" was valid until then: it began no later than it was told.
    """
    closed = [
        each
        for each in history
        if each.valid_to is not None
        and (each.valid_to > each.valid_from or each.valid_from > fact.valid_from)
        and each.rejected_at is None
        and each.value != fact.value
    ]
    return max(closed, key=lambda each: each.valid_to or each.valid_from, default=None)
