"""The scores of one question: every metric that its benchmark shows, of whatever was ranked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation import metrics
from evaluation.benchmark import Benchmark, History, Level, Question
from evaluation.metrics import Result

Scores = Mapping[str, float]


def scored(benchmark: Benchmark, history: History, question: Question, results: Sequence[Result]) -> Scores:
    """Each metric by its level and name; none for a question without evidence."""
    if not question.scored:
        return {}
    return {
        table.key(metric): metrics.measure(metric, seen, question.evidence(table.level))
        for table in benchmark.tables
        for seen in [_seen(history, results, table.level)]
        for metric in table.metrics
    }


def ranks(
    benchmark: Benchmark, history: History, question: Question, results: Sequence[Result]
) -> dict[str, int | None]:
    """The place of each piece of evidence, at the level that the benchmark is about."""
    level = benchmark.tables[0].level
    seen = _seen(history, results, level)
    return {id: metrics.rank(seen, id) for id in sorted(question.evidence(level))}


def _seen(history: History, results: Sequence[Result], level: Level) -> list[Result]:
    """At the level of sessions a result counts as its session, where it appears first."""
    return metrics.distinct(results if level == "turn" else metrics.lifted(results, history.session_of))
