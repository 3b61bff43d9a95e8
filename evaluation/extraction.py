"""How well statements are told from everything else, on labelled messages of real people and of lives.

The labels name messages by their ids; the texts are the evaluation data. Each sentence is judged by weights that were
trained without its conversation, by the script that trains those of the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evaluation import gate
from ltst.doors.cli import show
from ltst.errors import Invalid, NotFound
from ltst.learn.statements import LEAST

OVERALL = "all"
ENOUGH = 0.75  # the recall at which precisions are compared

Level = Literal["sentence", "message"]


class Judged(NamedTuple):
    """A sentence, or a message as its surest sentence: how likely it states something, and whether readers say so."""

    message: str
    probability: float
    states: bool

    @property
    def data(self) -> str:
        """The data set that it is of."""
        return self.message.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Score:
    """What was found at one level in one data set; None where there is nothing to take a share of."""

    level: Level
    data: str
    judged: int
    statements: int
    precision: float | None
    recall: float | None
    precision_at_recall: float | None


def judge(data: Path) -> tuple[list[Judged], float]:
    """Every labelled sentence, and the probability from which on one is a statement."""
    if not data.is_dir():
        raise NotFound(f"there is no folder {data}: name the one that holds the evaluation data")
    try:
        found = [Judged(each.message, likely, each.states) for each, likely in gate.judged(data)]
    except KeyError as problem:
        raise Invalid(f"{data} lacks {problem}, which is labelled: name the folder with the evaluation data") from None
    return found, LEAST


def evaluate(sentences: Sequence[Judged], least: float) -> list[Score]:
    """The scores by sentence and by message: of all, then of each data set."""
    levels: dict[Level, list[Judged]] = {"sentence": [*sentences], "message": by_message(sentences)}
    return [
        _score(level, data, [each for each in judged if data in (OVERALL, each.data)], least)
        for level, judged in levels.items()
        for data in (OVERALL, *sorted({each.data for each in judged}))
    ]


def by_message(sentences: Iterable[Judged]) -> list[Judged]:
    """A message states something if one of its sentences does, and is as likely to as the surest of them."""
    best: dict[str, Judged] = {}
    for each in sentences:
        known = best.get(each.message, each)
        best[each.message] = Judged(each.message, max(known.probability, each.probability), known.states or each.states)
    return [*best.values()]


def precision_at(judged: Iterable[Judged], recall: float) -> float | None:
    """The best precision that any threshold gives at this recall or more."""
    ordered = sorted(judged, key=lambda each: -each.probability)
    statements = sum(each.states for each in ordered)
    return max((right / taken for taken, right in _taken(ordered) if right >= recall * statements), default=None)


def document(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """For programs."""
    return [asdict(score) for score in scores]


def present(scores: Sequence[Score], least: float) -> None:
    """A table on standard output."""
    title = f"Statements, from a probability of {least} on, each conversation by weights trained without it"
    show.records(False, scores, COLUMNS, title=title, empty="There are no labels.")


def _taken(ordered: Sequence[Judged]) -> Iterator[tuple[int, int]]:
    """For each threshold: how many are taken, and how many of them rightly. Equally likely ones go together."""
    right = 0
    for taken, each in enumerate(ordered, start=1):
        right += each.states
        if taken == len(ordered) or ordered[taken].probability < each.probability:
            yield taken, right


def _score(level: Level, data: str, judged: Sequence[Judged], least: float) -> Score:
    taken = [each.states for each in judged if each.probability >= least]
    statements = sum(each.states for each in judged)
    return Score(
        level,
        data,
        len(judged),
        statements,
        sum(taken) / len(taken) if taken else None,
        sum(taken) / statements if statements else None,
        precision_at(judged, ENOUGH) if statements else None,
    )


def _figure(share: float | None) -> str | None:
    return None if share is None else f"{share:.3f}"


COLUMNS: show.Columns = {
    "By": "level",
    "Data": "data",
    "Judged": "judged",
    "Statements": "statements",
    "Precision": lambda score: _figure(score.precision),
    "Recall": lambda score: _figure(score.recall),
    f"Precision at recall {ENOUGH}": lambda score: _figure(score.precision_at_recall),
}
