"""The report of a run: means by category and overall, as tables for people and as JSON for programs."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from evaluation.benchmark import Benchmark, Question, Table
from evaluation.floor import Floor
from evaluation.metrics import mean, percentile
from evaluation.product import CONTEXT_TOKENS, LIMIT, Answer, Ingested
from evaluation.scores import Scores
from ltst.doors.cli import show

OVERALL = "all"

FLOOR: show.Columns = {
    "Recall lost by the floor (rec@10)": lambda floor: _share(floor.recall_lost),
    "Answerable, yet nothing returned": lambda floor: _share(floor.false_empties),
    "Asked of a stranger: nothing returned": lambda floor: _share(floor.strangers_empty, floor.strangers),
    "Known to be absent: nothing returned": lambda floor: _share(floor.absent_empty, floor.absent),
    "AUROC of the best score": lambda floor: _figure(floor.auroc),
}
COST: show.Columns = {
    "Search": lambda cost: f"p50 {cost.search_p50_ms:,.1f} ms, p95 {cost.search_p95_ms:,.1f} ms, limit {LIMIT}",
    "Context": lambda cost: f"{cost.context_tokens:,.0f} tokens on average, of {CONTEXT_TOKENS:,}",
    "Ingestion": lambda cost: f"{cost.messages_per_second:,.0f} messages per second, {cost.messages:,} in all",
    "Vectors": lambda cost: f"{cost.vectors_found:,} from the cache, {cost.vectors_computed:,} computed",
}


@dataclass(frozen=True, slots=True)
class Row:
    """The means over the questions of one category."""

    name: str
    questions: int
    scores: Scores


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking and storing took."""

    search_p50_ms: float
    search_p95_ms: float
    context_tokens: float
    messages: int
    messages_per_second: float
    vectors_found: int
    vectors_computed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run found; the last of `rows` is overall."""

    benchmark: Benchmark
    model: str
    code: str
    rows: Sequence[Row]
    baselines: Mapping[str, Sequence[Row]]
    floor: Floor
    cost: Cost
    answers: Mapping[str, Answer]

    def show(self) -> None:
        """Tables on standard output."""
        for table in self.benchmark.tables:
            columns: show.Columns = {"Category": "name", "Questions": "questions", **_columns(table)}
            title = f"{table.title}: ltst on {self.benchmark.file.name}"
            show.records(False, self.rows, columns, title=title)
        for table in self.benchmark.tables if self.baselines else ():
            columns = {"Ranked by": "name", **_columns(table)}
            show.records(False, self._beside(), columns, title=f"{table.title}: beside the baselines")
        show.say("The relevance floor", "bold")
        show.record(False, self.floor, FLOOR)
        show.say("The cost", "bold")
        show.record(False, self.cost, COST)

    def document(self) -> dict[str, Any]:
        """The same for programs, with the ranks of every question's evidence."""
        return {
            "benchmark": self.benchmark.name,
            "data": {"file": self.benchmark.file.name, "sha256": self.benchmark.digest},
            "settings": {
                "questions": len(self.benchmark.questions),
                "limit": LIMIT,
                "context_tokens": CONTEXT_TOKENS,
                "model": self.model,
            },
            "versions": {"ltst": version("ltst"), "python": platform.python_version(), "code": self.code},
            **_by_category(self.rows),
            "baselines": {name: _by_category(found) for name, found in self.baselines.items()},
            "floor": asdict(self.floor),
            "cost": asdict(self.cost),
            "questions": [self._question(question) for question in self.benchmark.questions],
        }

    def _beside(self) -> list[Row]:
        overall = {"ltst": self.rows[-1], **{name: found[-1] for name, found in self.baselines.items()}}
        return [Row(name, row.questions, row.scores) for name, row in overall.items()]

    def _question(self, question: Question) -> dict[str, Any]:
        return {"id": question.id, "category": question.category, **asdict(self.answers[question.id])}


def rows(benchmark: Benchmark, scores: Mapping[str, Scores]) -> list[Row]:
    """The means of each category and, last, of all questions that have evidence."""
    asked = [question for question in benchmark.questions if question.scored]
    groups = {name: [each for each in asked if each.category == name] for name in sorted({q.category for q in asked})}
    return [
        _row(benchmark, name, [scores[each.id] for each in group])
        for name, group in [*groups.items(), (OVERALL, asked)]
    ]


def cost(answers: Sequence[Answer], ingested: Sequence[Ingested]) -> Cost:
    """What the answers and the ingestions took, together."""
    waits = [answer.milliseconds for answer in answers]
    messages, seconds = sum(each.messages for each in ingested), sum(each.seconds for each in ingested)
    return Cost(
        search_p50_ms=percentile(waits, 0.5) or 0.0,
        search_p95_ms=percentile(waits, 0.95) or 0.0,
        context_tokens=mean([answer.context_tokens for answer in answers]) or 0.0,
        messages=messages,
        messages_per_second=messages / seconds if seconds else 0.0,
        vectors_found=sum(each.vectors_found for each in ingested),
        vectors_computed=sum(each.vectors_computed for each in ingested),
    )


def _row(benchmark: Benchmark, name: str, scores: Sequence[Scores]) -> Row:
    keys = [table.key(metric) for table in benchmark.tables for metric in table.metrics]
    means = {key: mean([each[key] for each in scores]) for key in keys}
    return Row(name, len(scores), {key: value for key, value in means.items() if value is not None})


def _by_category(found: Sequence[Row]) -> dict[str, Any]:
    means = {row.name: {"questions": row.questions, **row.scores} for row in found}
    return {"overall": means.pop(OVERALL), "categories": means}


def _columns(table: Table) -> dict[str, show.Column]:
    return {metric: _column(table.key(metric)) for metric in table.metrics}


def _column(key: str) -> show.Column:
    return lambda row: _figure(row.scores.get(key))


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _share(value: float | None, of: int | None = None) -> str | None:
    if value is None:
        return None
    return f"{value:.1%}" if of is None else f"{value:.1%} of {of:,}"
