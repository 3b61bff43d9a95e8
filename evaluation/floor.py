"""The relevance floor: what it costs those who can be answered, and how often it says nothing to those who cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.benchmark import Benchmark
from evaluation.metrics import auroc, mean
from evaluation.product import LOST_BY_FLOOR, Answer, Refusal


@dataclass(frozen=True, slots=True)
class Floor:
    """Shares of questions; None where there were none to take them of.

    `recall_lost` is the share of rec@10 that is there without a floor and not with it; `false_empties` are questions
    with evidence that got nothing. `auroc` tells how well the best score alone tells own questions from strangers'.
    """

    recall: float | None
    recall_without_floor: float | None
    recall_lost: float | None
    false_empties: float | None
    strangers: int
    strangers_empty: float | None
    absent: int
    absent_empty: float | None
    auroc: float | None


def floor(benchmark: Benchmark, answers: Mapping[str, Answer], refusals: Sequence[Refusal]) -> Floor:
    """What the answers, by the id of their question, and the refusals say about the floor."""
    own = [answers[question.id] for question in benchmark.questions if question.scored]
    absent = [answers[question.id] for question in benchmark.questions if question.absent]
    kept = mean([answer.scores[benchmark.tables[0].key(LOST_BY_FLOOR)] for answer in own])
    possible = mean([answer.recall_without_floor or 0.0 for answer in own])
    return Floor(
        recall=kept,
        recall_without_floor=possible,
        recall_lost=1 - (kept or 0.0) / possible if possible else None,
        false_empties=_empty(own),
        strangers=len(refusals),
        strangers_empty=_empty(refusals),
        absent=len(absent),
        absent_empty=_empty(absent),
        auroc=auroc([answer.best_score for answer in own], [each.best_score for each in refusals]),
    )


def _empty(asked: Iterable[Answer | Refusal]) -> float | None:
    return mean([float(each.empty) for each in asked])
