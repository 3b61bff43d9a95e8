"""Questions about histories as numbers: the vectors of all messages, and which of them answer each question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluation import benchmark, stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ltst.protocols import Embedder

    Vectors = NDArray[np.float32]

SHOWN = 10


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question, its vector by the plain model, and the places of the messages that answer it."""

    text: str
    vector: Vectors
    evidence: list[int]
    reworded: bool


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """The vectors of what people said, a row each, and what is asked about it."""

    vectors: Vectors
    questions: list[Asked]


@dataclass(frozen=True, slots=True)
class Placing:
    """How the cosine alone places the evidence: the share of questions, and of the evidence."""

    questions: int
    first: float
    first_three: float
    recall: float


def remembered(
    given: benchmark.History, embedder: Embedder, reworded: Mapping[str, Sequence[str]] | None = None
) -> Remembered:
    """Return a history with the questions that a person's words answer, each also in its other words."""
    said = stored.messages(given, embedder)
    places = {each.turn.id: place for place, each in enumerate(said)}
    found = [
        (text, sorted(places[turn] for turn in question.turns if turn in places), number > 0)
        for question in given.questions
        for number, text in enumerate((question.text, *(reworded or {}).get(question.id, ())))
    ]
    asked = [each for each in found if each[1]]
    vectors = embedder.embed([text for text, _, _ in asked])
    questions = [
        Asked(text, vector, evidence, other) for (text, evidence, other), vector in zip(asked, vectors, strict=True)
    ]
    return Remembered(np.stack([each.vector for each in said]), questions)


def placing(histories: Sequence[Remembered], embed: Callable[[Sequence[str]], Vectors]) -> Placing:
    """Return how questions, in their own words alone, find their evidence by the vectors that `embed` gives them."""
    return placing_of([place for each in histories for place in _placed(each, embed)])


def placing_of(found: Sequence[tuple[float, float, float]]) -> Placing:
    """Return the means over all questions."""
    first, first_three, recall = np.mean(found, axis=0) if found else (0.0, 0.0, 0.0)
    return Placing(len(found), float(first), float(first_three), float(recall))


def placed(near: Vectors, evidence: Sequence[Sequence[int]]) -> list[tuple[float, float, float]]:
    """Return for each question whether evidence is first, among the first three, and how much of it among ten."""
    orders = np.argsort(-near, axis=1, kind="stable")[:, :SHOWN]
    return [_place(order.tolist(), {*each}) for order, each in zip(orders, evidence, strict=True)]


def _placed(given: Remembered, embed: Callable[[Sequence[str]], Vectors]) -> list[tuple[float, float, float]]:
    questions = [each for each in given.questions if not each.reworded]
    if not questions:
        return []
    near = embed([each.text for each in questions]) @ given.vectors.T
    return placed(near, [each.evidence for each in questions])


def _place(order: list[int], evidence: set[int]) -> tuple[float, float, float]:
    found = [place in evidence for place in order]
    return float(any(found[:1])), float(any(found[:3])), sum(found) / len(evidence)
