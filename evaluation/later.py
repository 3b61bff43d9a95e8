"""Trains the weights that tell, of two hits, whether the later one took the place of the other.

By the training lives: each is kept by the product and asked its questions. Two hits of a question are an example where
the lives say which of them holds; every life is judged by weights that were trained without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from unittest.mock import patch

import numpy as np

from evaluation import training
from evaluation.benchmark import Benchmark, Question
from evaluation.logistic import Bools, Floats, likelihood, solved
from evaluation.product import Tenant
from evaluation.run import own_home
from evaluation.vectors import CachedEmbedder
from ltst.doors.cli import show
from ltst.memory import AsyncMemory
from ltst.recall import later
from ltst.records import Hit
from ltst.settings import Settings
from ltst.support.terms import terms

NAMES = (
    *("bias", "newer near", "older near", "older outdated", "shared of older", "shared of newer"),
    *("newer scored higher", "older by words", "newer by words"),
)
PENALTY = 1.0
THRESHOLDS = (later.LEAST_NOW, later.LEAST, 0.3, 0.5, 0.7)


@dataclass(frozen=True, slots=True)
class Example:
    """Two hits of a question: what is seen of them, and whether the later one took the place of the other."""

    life: str
    seen: tuple[float, ...]
    takes: bool


@dataclass(frozen=True, slots=True)
class Score:
    """What is moved from one likelihood on: how much of it rightly, and how much of what should be."""

    least: float
    precision: float | None
    recall: float


async def examples(
    lives: Sequence[training.Life], embedder: CachedEmbedder, settings: Settings, tick: Callable[[int], None]
) -> list[Example]:
    """Return the examples of all lives, each kept in a database for this run; `tick` hears of each life."""
    found = list[Example]()
    benchmark = Benchmark("training", training.FILE, "", (), tuple(life.history for life in lives))
    with own_home(settings) as own, patch.multiple(later, LEAST=2.0, LEAST_NOW=2.0):  # nothing is moved meanwhile
        async with AsyncMemory(settings=own, embedder=embedder) as memory:
            for history in benchmark.histories:
                async with Tenant(memory, benchmark, history, embedder) as tenant:
                    await tenant.ingest()
                    for question in (each for each in history.questions if each.stale):
                        hits = await tenant.user.search(question.text, now=question.asked_at, floor=0.0)
                        shown = [tenant.results([hit])[0].ids for hit in hits]
                        found += _pairs(history.id, question, hits, shown)
                tick(1)
    return found


def _pairs(life: str, question: Question, hits: Sequence[Hit], shown: Sequence[Sequence[str]]) -> Iterator[Example]:
    """The pairs of hits of which it is known whether the later one holds and the other does not."""
    told = [(hit, {*ids}) for hit, ids in zip(hits, shown, strict=True) if later.tells(hit)]
    told.sort(key=lambda each: each[0].occurred_at)  # type: ignore[arg-type, return-value]
    for (older, before), (newer, after) in combinations(told, 2):
        takes = bool(before & question.stale and after & question.turns)
        if takes or before & question.turns:
            words = [{*terms(each.content)} for each in (older, newer)]
            yield Example(life, later.features(older, newer, *words), takes)


def trained(read: Sequence[Example]) -> Floats:
    """Return the weight of each feature."""
    places = {name: place for place, name in enumerate(NAMES)}
    seen = [dict(zip(NAMES, each.seen, strict=True)) for each in read]
    return solved(seen, [each.takes for each in read], places, PENALTY, free=("bias",))


def scored(read: Sequence[Example]) -> list[Score]:
    """Return the scores from each threshold on, each life judged by weights that were trained without it."""
    likely = np.zeros(len(read))
    for life in {each.life for each in read}:
        weights = trained([each for each in read if each.life != life])
        for place, each in enumerate(read):
            if each.life == life:
                likely[place] = likelihood(np.array(each.seen) @ weights)
    takes = np.array([each.takes for each in read])
    return [_score(least, takes, likely >= least) for least in THRESHOLDS]


def _score(least: float, takes: Bools, moved: Bools) -> Score:
    right = int((takes & moved).sum())
    return Score(least, right / int(moved.sum()) if moved.any() else None, right / max(int(takes.sum()), 1))


def run(embedder: CachedEmbedder, settings: Settings, tick: Callable[[int], None]) -> tuple[list[Score], Floats]:
    """Return how well the pairs of the training lives are told, and the weights by all of them."""
    read = asyncio.run(examples(training.read(), embedder, settings, tick))
    return scored(read), trained(read)


def present(scores: Sequence[Score]) -> None:
    """Show a table on standard output."""
    title = "Of two hits the later one holds, each life by weights trained without it"
    columns: show.Columns = {
        "from": "least",
        "precision": lambda row: None if row.precision is None else f"{row.precision:.2f}",
        "recall": lambda row: f"{row.recall:.2f}",
    }
    show.records(False, scores, columns, title=title, empty="There are no pairs.")
