"""Finds the sentence of a text that answers a question, by shared words and by the kind of answer asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile

from ltst.agents.parts import LONGEST_TEXT, pieces
from ltst.agents.people import Person, asked_about, is_of_others
from ltst.support.questions import is_marked
from ltst.support.tables import Table
from ltst.support.terms import terms

_TABLE = Table("ltst.agents", "passages.txt")

LONGEST_QUOTE = 200
# Fewer words do not form a sentence: "FIRST.".
FRAGMENT = 4
# Weight of a sentence that has the kind of answer asked for, and penalty of one that asks, relative to a shared word.
KIND, ASKS = 0.6, 0.5

# What one does for a living is no home.
_FOR_A_LIVING = re.compile(r"\bfor a living\b", re.IGNORECASE)
_GOES_ON = _TABLE.pattern("goes_on", after=r"\b")

# Pairs of a question pattern and a pattern of its answers; only names of people and places depend on capitals.
SHAPES = tuple(
    (_TABLE.pattern(f"asks_{kind}"), _TABLE.pattern(f"holds_{kind}", flags=0 if kind in ("where", "who") else re.I))
    for kind in ("when", "age", "money", "number", "where", "who")
)
FILLERS = _TABLE.words("fillers")
FORMS = {form: line[0] for line in map(terms, _TABLE.lines["forms"]) for form in line}


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A question: its meaningful terms, patterns of possible answers, and the people it is about.

    `personal` means that it asks for something everybody has: a name, a home, an age.
    """

    text: str
    terms: frozenset[str]
    shapes: tuple[re.Pattern[str], ...]
    people: tuple[Person, ...] = ()
    personal: bool = False

    @classmethod
    def of(cls, text: str) -> UserQuestion:
        """Parses a question."""
        said = words(_FOR_A_LIVING.sub("work", text[:LONGEST_TEXT]))
        return cls(text, said - FILLERS or said, _shapes(text[:LONGEST_TEXT]), asked_about(text[:LONGEST_TEXT]))

    @property
    def of_user(self) -> bool:
        """Whether it asks for the user's own name, home or age."""
        return self.personal and not self.people

    @property
    def asked_of_people(self) -> frozenset[str]:
        """The terms of a question about people that are not words for them; empty if it is about nobody."""
        return self.terms - self.names if self.people else frozenset()

    @property
    def topic(self) -> frozenset[str]:
        """The terms that say what is asked for; words for people only count if there are no others."""
        return self.asked_of_people if self.people and (self.asked_of_people or self.shapes) else self.terms

    @property
    def names(self) -> frozenset[str]:
        """The terms that stand for the people the question is about."""
        return words(" ".join(word for person in self.people for word in person.called))

    def is_answered_by(self, text: str) -> bool:
        """Returns whether a text holds the kind of answer asked for."""
        return any(shape.search(text) for shape in self.shapes)

    def concerns(self, text: str) -> bool:
        """Returns whether a text is about the people in the question, or may be about the user if there are none."""
        if self.people:
            return any(person.is_in(text) for person in self.people)
        return not self.personal or not all(map(is_of_others, sentences(text)))


def _shapes(question: str) -> tuple[re.Pattern[str], ...]:
    """Returns the pattern of the answers that a question asks for first: a number in "How far was it when I left?"."""
    asked = ((found.start(), held) for asks, held in SHAPES if (found := asks.search(question)))
    return tuple(held for _, held in sorted(asked, key=lambda each: each[0]))[:1]


def words(text: str) -> frozenset[str]:
    """Returns the terms of a text, those of irregular forms as the term of the word itself: "broke" as "break"."""
    return frozenset(FORMS.get(term, term) for term in terms(text[:LONGEST_TEXT]))


def rarity(question: UserQuestion, texts: Iterable[str]) -> dict[str, float]:
    """Returns the weight of each term of a question: the rarer in the texts, the heavier."""
    held = [question.terms & words(text) for text in texts]
    total = len(held) + 1
    return {term: math.log1p(total / (1 + sum(term in each for each in held))) for term in question.terms}


def covered(question: UserQuestion, text: str, weights: Mapping[str, float]) -> float:
    """Returns how much of a question's weight a text covers, from 0 to 1."""
    held = question.terms & words(text)
    return sum(weights[term] for term in held) / (sum(weights.values()) or 1.0)


def answering(question: UserQuestion, text: str, weights: Mapping[str, float]) -> str:
    """Returns the one or two sentences of a text that best answer the question."""
    said = [each for each in sentences(text) if not (question.of_user and is_of_others(each))] or sentences(text)
    if len(said) <= 2 and sum(map(len, said)) <= LONGEST_QUOTE:
        return " ".join(said)
    scores = [_score(question, each, weights) for each in said]
    best = max(range(len(said)), key=lambda place: scores[place])
    if scores[best] <= 0:
        return _first_sentences(said)
    return " ".join(said[place] for place in _with_neighbour(question, said, scores, best))


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text, each on one line; a fragment of a few words joins the sentence before it."""
    found: list[str] = []
    for line in pieces(text[:LONGEST_TEXT]):
        if found and (_is_fragment(line) or _is_fragment(found[-1])):
            found[-1] += f" {line}"
        else:
            found.append(line)
    return found


def _is_fragment(line: str) -> bool:
    return len(line) < LONGEST_QUOTE and len(line.split()) < FRAGMENT


def _score(question: UserQuestion, sentence: str, weights: Mapping[str, float]) -> float:
    shared = sum(weights[term] for term in question.terms & words(sentence))
    held = KIND * question.is_answered_by(sentence)
    return shared + held - ASKS * is_marked(sentence)


def _with_neighbour(question: UserQuestion, said: Sequence[str], scores: Sequence[float], best: int) -> list[int]:
    """Returns the position of the best sentence, and of those around it that belong to it.

    If it lacks the kind of answer asked for, they go on to the last that has it: "He got in! He trains on Mondays."
    """
    after, before = best + 1, best - 1
    goes_on = after < len(said) and _GOES_ON.match(said[after]) is not None
    if question.shapes and not question.is_answered_by(said[best]) and not goes_on:
        lengths = accumulate(map(len, islice(said, best, None)))
        near = [place for place, _ in takewhile(lambda each: each[1] <= LONGEST_QUOTE, enumerate(lengths, best))]
        ends = [place for place in near if place > best and question.is_answered_by(said[place])]
        if ends:
            return [*range(best, ends[-1] + 1)]
    if goes_on or (after < len(said) and scores[after] >= scores[best] / 2):
        return [best, after]
    if before >= 0 and _GOES_ON.match(said[best]):
        return [before, best]
    return [best]


def _first_sentences(said: Sequence[str]) -> str:
    """Returns the first sentence and as many more as fit into a quote."""
    kept = said[0]
    for each in said[1:]:
        if len(kept) + len(each) >= LONGEST_QUOTE:
            break
        kept += f" {each}"
    return kept
