"""What an evaluation is made of: histories, the questions about them, and where in them the answers are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

Level = Literal["turn", "session"]


class Turn(NamedTuple):
    """One message of a history, under the id that evidence knows it by; its time is its session's where it has none."""

    id: str
    role: str
    text: str
    speaker: str | None = None
    at: datetime | None = None


class Session(NamedTuple):
    """One conversation of a history; an id may come twice, when the same was held on two days."""

    id: str
    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, when, and the turns and sessions that answer it; one without any is not scored.

    `absent` says that the history is known not to hold the answer. `gold` are strings that an answer must hold ("a|b"
    are alternatives), `stale` the turns that answer wrongly or no longer.
    """

    id: str
    text: str
    category: str
    asked_at: datetime
    turns: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    absent: bool = False
    answer: str = ""
    gold: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()

    @property
    def scored(self) -> bool:
        """Whether recall can be measured by it."""
        return bool(self.turns or self.sessions)

    def evidence(self, level: Level) -> frozenset[str]:
        """The ids that answer it, of turns or of sessions."""
        return self.turns if level == "turn" else self.sessions


@dataclass(frozen=True)
class History:
    """Everything that one user ever said, and the questions about it."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @cached_property
    def session_of(self) -> dict[str, str]:
        """The session in which each turn stands."""
        return {turn.id: session.id for session in self.sessions for turn in session.turns}


class Table(NamedTuple):
    """Metrics that are shown side by side, all of one level."""

    title: str
    level: Level
    metrics: tuple[str, ...]

    def key(self, metric: str) -> str:
        """A metric's name among those of all levels."""
        return f"{self.level} {metric}"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A data set as it was read from a file or a folder, which `digest` tells from any other."""

    name: str
    file: Path
    digest: str
    tables: tuple[Table, ...]
    histories: tuple[History, ...]

    @property
    def questions(self) -> list[Question]:
        """All questions, in the order of the data."""
        return [question for history in self.histories for question in history.questions]

    def sample(self, count: int) -> Benchmark:
        """So many questions, spread evenly over the data, and the histories that they are about."""
        questions = self.questions
        if count >= len(questions):
            return self
        chosen = {questions[len(questions) * number // count].id for number in range(count)}
        return replace(self, histories=tuple(_kept(self.histories, chosen)))

    def with_strangers(self) -> Iterator[tuple[History, Sequence[Question]]]:
        """Each history with the questions about the one before it, whose answers are not its own."""
        for number, history in enumerate(self.histories):
            before = self.histories[number - 1]
            yield history, () if before is history else before.questions


def _kept(histories: Sequence[History], chosen: set[str]) -> Iterator[History]:
    for history in histories:
        questions = tuple(each for each in history.questions if each.id in chosen)
        if questions:
            yield replace(history, questions=questions)
