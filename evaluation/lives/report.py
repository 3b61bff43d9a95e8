"""The report of a run over lives: figures of all, of each life and of each kind of question, and what failed."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from evaluation.benchmark import Benchmark, Question
from evaluation.lives.product import SIZES, Answer
from evaluation.lives.scores import Placing
from evaluation.metrics import mean
from ltst.doors.cli import show

OVERALL = "all"
ENOUGH = 1_000  # tokens of a context that should hold the answer


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares of questions; None where there are none to take them of. Counts say of how many."""

    name: str
    questions: int
    top1: float | None
    top3: float | None
    all10: float | None
    stale: int
    stale_above: float | None


@dataclass(frozen=True, slots=True)
class LifeFigures(Figures):
    """What only the product can be measured by."""

    absent: int
    absent_empty: float | None
    lost_by_floor: float | None
    contexts: Mapping[int, float | None]
    markup: Mapping[int, float | None]
    frame: Mapping[int, float | None]
    tags: Mapping[int, float | None]
    reply: float | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A question of which something came out wrong."""

    life: str
    kind: str
    question: str
    answer: str
    failed: tuple[str, ...]
    first: tuple[str, ...]
    reply: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that one run found."""

    benchmark: Benchmark
    model: str
    code: str
    answers: Mapping[str, Answer]
    baselines: Mapping[str, Mapping[str, Placing]]

    @cached_property
    def overall(self) -> LifeFigures:
        """The figures of all questions."""
        return self._figures(OVERALL, self.benchmark.questions)

    @property
    def by_life(self) -> list[LifeFigures]:
        """The figures of each life."""
        return [self._figures(life.id, life.questions) for life in self.benchmark.histories]

    @property
    def by_kind(self) -> list[LifeFigures]:
        """The figures of each kind of question."""
        asked = self.benchmark.questions
        kinds = sorted({question.category for question in asked})
        return [self._figures(kind, [each for each in asked if each.category == kind]) for kind in kinds]

    @property
    def beside(self) -> list[Figures]:
        """The product, then each baseline, by what all of them can be measured by."""
        asked = self.benchmark.questions
        return [
            _placings(name, asked, placings) for name, placings in {"ltst": self._placings, **self.baselines}.items()
        ]

    def worst(self, count: int) -> list[Failure]:
        """The questions of which most came out wrong; among equals the earlier."""
        return sorted(self._failures(), key=lambda failure: -len(failure.failed))[:count]

    def show(self, *, by_kind: bool = False, worst: int = 0) -> None:
        """Tables on standard output."""
        name = self.benchmark.file.name
        show.records(False, self.beside, SEARCH, title=f"Search in {name}: beside the baselines")
        show.records(False, [*self.by_life, self.overall], WHOLE, title="By life")
        if by_kind:
            show.records(False, self.by_kind, WHOLE, title="By kind of question")
        show.record(False, self.overall, REST)
        if worst:
            show.records(False, self.worst(worst), FAILURES, title="Failures", empty="There are no failures.")

    def document(self) -> dict[str, Any]:
        """The same for programs, with what came of every question."""
        return {
            "benchmark": self.benchmark.name,
            "data": {"file": self.benchmark.file.name, "sha256": self.benchmark.digest},
            "settings": {"questions": len(self.benchmark.questions), "model": self.model},
            "versions": {"ltst": version("ltst"), "python": platform.python_version(), "code": self.code},
            "overall": asdict(self.overall),
            "lives": {each.name: asdict(each) for each in self.by_life},
            "kinds": {each.name: asdict(each) for each in self.by_kind},
            "baselines": {each.name: asdict(each) for each in self.beside[1:]},
            "questions": [
                {"id": each.id, "kind": each.category, **asdict(self.answers[each.id])}
                for each in self.benchmark.questions
            ],
        }

    @property
    def _placings(self) -> dict[str, Placing]:
        return {id: answer.placing for id, answer in self.answers.items()}

    def _figures(self, name: str, asked: Sequence[Question]) -> LifeFigures:
        own = [self.answers[each.id] for each in asked if not each.absent]
        absent = [self.answers[each.id] for each in asked if each.absent]
        return LifeFigures(
            **asdict(_placings(name, asked, self._placings)),
            absent=len(absent),
            absent_empty=_share(answer.empty for answer in absent),
            lost_by_floor=_share(answer.lost for answer in own),
            contexts={size: _share(answer.holds(size) for answer in own) for size in SIZES},
            markup={size: _part(own, size, "markup") for size in SIZES},
            frame={size: _part(own, size, "frame") for size in SIZES},
            tags={size: _part(own, size, "tags") for size in SIZES},
            reply=_share(answer.replied for answer in own),
        )

    def _failures(self) -> Iterator[Failure]:
        for life in self.benchmark.histories:
            for question in life.questions:
                answer = self.answers[question.id]
                failed = tuple(_failed(question, answer))
                if failed:
                    told = (life.id, question.category, question.text, question.answer)
                    yield Failure(*told, failed, answer.first, answer.reply)


def _placings(name: str, asked: Sequence[Question], placings: Mapping[str, Placing]) -> Figures:
    found = [(each, placings[each.id]) for each in asked if not each.absent]
    stale = [placing.stale_above for question, placing in found if question.stale]
    return Figures(
        name,
        len(found),
        _share(placing.within(1) for _, placing in found),
        _share(placing.within(3) for _, placing in found),
        _share(placing.whole for _, placing in found),
        len(stale),
        _share(stale),
    )


def _failed(question: Question, answer: Answer) -> Iterator[str]:
    """What came out wrong of one question, in a few words each."""
    if question.absent:
        if not answer.empty:
            yield "something returned"
        return
    place = answer.placing.place
    if not answer.placing.within(3):
        yield "not found" if place is None else f"place {place}"
    if answer.placing.stale_above:
        yield "stale above"
    if answer.lost:
        yield "lost by the floor"
    if not answer.holds(ENOUGH):
        yield f"not in {ENOUGH:,} tokens"
    if not answer.replied:
        yield "reply"


def _share(values: Iterator[bool] | Sequence[bool]) -> float | None:
    return mean([float(value) for value in values])


def _part(answers: Sequence[Answer], size: int, what: str) -> float | None:
    """The part of all characters of the contexts of one size that is markup, frame or tags."""
    packed = [each for answer in answers for each in answer.contexts if each.size == size]
    characters = sum(each.characters for each in packed)
    return sum(getattr(each, what) for each in packed) / characters if characters else None


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _of(share: float | None, count: int) -> str | None:
    return None if share is None else f"{round(share * count)} of {count}"


def _sizes(values: Mapping[int, float | None]) -> str:
    return ", ".join(f"{size:,} tokens {_figure(value) or '–'}" for size, value in values.items())


SEARCH: show.Columns = {
    "Ranked by": "name",
    "Questions": "questions",
    "top1": lambda row: _figure(row.top1),
    "top3": lambda row: _figure(row.top3),
    "all@10": lambda row: _figure(row.all10),
    "stale above": lambda row: _of(row.stale_above, row.stale),
}
WHOLE: show.Columns = {
    "": "name",
    "n": "questions",
    "top1": lambda row: _figure(row.top1),
    "top3": lambda row: _figure(row.top3),
    "all@10": lambda row: _figure(row.all10),
    "stale above": lambda row: _of(row.stale_above, row.stale),
    "absent empty": lambda row: _of(row.absent_empty, row.absent),
    "ctx500": lambda row: _figure(row.contexts[500]),
    "ctx1000": lambda row: _figure(row.contexts[1_000]),
    "ctx2000": lambda row: _figure(row.contexts[2_000]),
    "reply": lambda row: _figure(row.reply),
}
REST: show.Columns = {
    "Lost by the floor": lambda row: _of(row.lost_by_floor, row.questions),
    "Never said: nothing returned": lambda row: _of(row.absent_empty, row.absent),
    "Markup of a context": lambda row: _sizes(row.markup),
    "Its frame": lambda row: _sizes(row.frame),
    "Its tags": lambda row: _sizes(row.tags),
}
FAILURES: show.Columns = {
    "Life": "life",
    "Kind": "kind",
    "Question": "question",
    "Answer": "answer",
    "Failed": lambda failure: ", ".join(failure.failed),
    "Found first": lambda failure: "\n".join(content[:60] for content in failure.first),
}
