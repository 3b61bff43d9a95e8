"""How well a life is given back: where the evidence stands, what a context holds, what a reply says. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluation.benchmark import Question
from evaluation.metrics import Result
from ltst.recall.lines import parse

if TYPE_CHECKING:
    from ltst.recall.context import Context

DEPTH = 10
TAG = re.compile(r"</?[a-z_]++[^<>]*+>")
QUOTED = 40  # characters of a turn that tell that it is quoted
# Sections of a context that are not told line by line: instructions as they were written, and the question itself.
AS_WRITTEN = "instructions"
ASKED = "query"


@dataclass(frozen=True, slots=True)
class Placing:
    """Where the evidence stands among the first ten: `place` is that of its first piece, counted from 1."""

    place: int | None
    whole: bool
    stale_above: bool

    def within(self, depth: int) -> bool:
        """Whether a piece of the evidence is among so many."""
        return self.place is not None and self.place <= depth


@dataclass(frozen=True, slots=True)
class Packed:
    """A context of so many tokens: whether it holds the answer, and how many of its characters are not the words.

    `markup` are the headings, references, dates and speakers; `frame` is what stands outside of all sections: the
    sentence that calls it data, and today's date. `tags` are those of XML.
    """

    size: int
    holds: bool
    characters: int
    markup: int
    frame: int
    tags: int


def placed(results: Sequence[Result], question: Question) -> Placing:
    """Where the evidence of a question stands, and whether what is outdated stands above it."""
    shown = [set(result.ids) for result in results[:DEPTH]]
    place = next((number for number, ids in enumerate(shown, start=1) if ids & question.turns), None)
    above = shown if place is None else shown[: place - 1]
    stale_above = any(ids & question.stale for ids in above)
    return Placing(place, question.turns <= set().union(*shown), stale_above)


def lost(kept: Sequence[Result], possible: Sequence[Result], question: Question) -> bool:
    """Whether evidence that stands among the first ten without a floor is not there with it."""
    return not _shown(possible) & question.turns <= _shown(kept)


def packed(context: Context, question: Question, size: int) -> Packed:
    """What a context is worth."""
    text = context.text
    markup = sum(len(each.text) - _words(each.name, each.text, question) for each in context.sections)
    frame = len(text) - sum(len(each.text) for each in context.sections)
    return Packed(size, holds(text, question.gold), len(text), markup, frame, sum(map(len, TAG.findall(text))))


def holds(text: str, gold: Iterable[str]) -> bool:
    """Whether a text has each of the strings, or one of its alternatives, whatever the case."""
    return all(_first(text, each) is not None for each in gold)


def replied(reply: str, question: Question, stale: Iterable[str]) -> bool:
    """Whether a reply holds the answer, and quotes none of the stale turns before it."""
    places = [_first(reply, each) for each in question.gold]
    known = [place for place in places if place is not None]
    before = reply[: min(known)] if known and len(known) == len(places) else reply
    return len(known) == len(places) and not any(turn[:QUOTED] in before for turn in stale)


def _shown(results: Sequence[Result]) -> set[str]:
    return {id for result in results[:DEPTH] for id in result.ids}


def _words(section: str, text: str, question: Question) -> int:
    """How many characters of a section were said or asked."""
    if section == ASKED:
        return len(question.text)
    return len(text) if section == AS_WRITTEN else sum(len(line.content) for line in parse(text))


def _first(text: str, alternatives: str) -> int | None:
    """The first place of one of the alternatives in a text."""
    lower = text.lower()
    places = [lower.find(each.lower()) for each in alternatives.split("|")]
    return min((place for place in places if place >= 0), default=None)
