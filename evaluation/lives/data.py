"""Reading lives: a file is one person's conversations over a year, and the questions that are asked at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evaluation import files
from evaluation.benchmark import Benchmark, History, Question, Session, Turn
from ltst.errors import Invalid

NAME = "lives"
FILES = "*.json"
ACCEPTED = (
    "an object with id, today, sessions (id, at, turns of [role, text]) and questions (q, kind, answer, evidence, "
    "gold, stale)"
)
BETWEEN_TURNS = timedelta(seconds=40)
ABSENT = "absent"


def read(path: Path) -> Benchmark:
    """The lives of a folder, or of one file."""
    loaded = [(file, *files.load(file)) for file in files.several(path, FILES)]
    lives = tuple(life(file, given) for file, given, _ in loaded)
    often = Counter(life.id for life in lives)
    if twice := [id for id, times in often.items() if times > 1]:
        raise Invalid(f"{path} holds the life {', '.join(twice)} more than once")
    return Benchmark(NAME, path, files.digest_of(digest for *_, digest in loaded), (), lives)


def turn_id(session: str, turn: int) -> str:
    """The id of a turn among all of a life."""
    return f"{session}/{turn}"


def life(file: Path, given: Mapping[str, Any]) -> History:
    """The life that a file holds, or a part of one."""
    with files.shaped(file, ACCEPTED):
        sessions = tuple(_session(each) for each in given["sessions"])
        if not sessions:
            raise ValueError("this is no life")
        known = {turn.id: session.id for session in sessions for turn in session.turns}
        today = _moment(given["today"])
        questions = tuple(
            _question(f"{given['id']}/{place}", each, today, known)
            for place, each in enumerate(given["questions"], start=1)
        )
        return History(str(given["id"]), sessions, questions)


def _moment(written: str) -> datetime:
    """A moment in ISO 8601; without a zone it is UTC."""
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _session(given: Mapping[str, Any]) -> Session:
    return Session(given["id"], _moment(given["at"]), tuple(_turns(given)))


def _turns(session: Mapping[str, Any]) -> Iterator[Turn]:
    began = _moment(session["at"])
    for place, (role, text) in enumerate(session["turns"]):
        yield Turn(turn_id(session["id"], place), role, text, at=began + place * BETWEEN_TURNS)


def _question(id: str, given: Mapping[str, Any], today: datetime, known: Mapping[str, str]) -> Question:
    evidence = _places(given["evidence"], known)
    return Question(
        id,
        given["q"],
        given["kind"],
        today,
        evidence,
        frozenset(known[turn] for turn in evidence),
        absent=not evidence,
        answer=str(given["answer"]),
        gold=tuple(given["gold"]),
        stale=_places(given["stale"], known),
    )


def _places(given: Sequence[tuple[str, int]], known: Mapping[str, str]) -> frozenset[str]:
    named = [turn_id(session, turn) for session, turn in given]
    if missing := [turn for turn in named if turn not in known]:
        raise ValueError(f"there is no turn {missing[0]}")
    return frozenset(named)
