"""LongMemEval: each question is a user of its own, whose history is its haystack; evidence is whole sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation import files
from evaluation.benchmark import Benchmark, History, Question, Session, Table, Turn

NAME = "longmemeval"
ACCEPTED = (
    "a list of questions with haystack_sessions, as LongMemEval has them, or an object with sessions by their ids and "
    "questions with haystack_session_ids"
)
TABLES = (Table("Sessions", "session", ("any@5", "all@5", "rec@10", "all@10", "ndcg@10")),)
ABSENT = "_abs"
WEEKDAY = re.compile(r"\s{0,9}\(\w{1,9}\)\s{0,9}")

Said = Sequence[Mapping[str, Any]]


def read(path: Path) -> Benchmark:
    """The questions of a file, each with its haystack."""
    file = files.find(path, NAME)
    given, digest = files.load(file)
    with files.shaped(file, ACCEPTED):
        shared, questions = (given["sessions"], given["questions"]) if isinstance(given, dict) else ({}, given)
        if not isinstance(questions, list) or not questions:
            raise ValueError("this is not LongMemEval")
        histories = tuple(_history(each, _haystack(each, shared)) for each in questions)
    return Benchmark(NAME, file, digest, TABLES, histories)


def moment(written: str) -> datetime:
    """A date like "2023/05/20 (Sat) 02:21"."""
    return datetime.strptime(WEEKDAY.sub(" ", written.strip()), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def _haystack(question: Mapping[str, Any], shared: Mapping[str, Said]) -> Sequence[Said]:
    """The conversations of one question: in it, as published, or by their ids where the file has them once for all."""
    own: Sequence[Said] | None = question.get("haystack_sessions")
    return [shared[id] for id in question["haystack_session_ids"]] if own is None else own


def _history(given: Mapping[str, Any], haystack: Sequence[Said]) -> History:
    named = zip(given["haystack_session_ids"], given["haystack_dates"], haystack, strict=True)
    sessions = (
        Session(id, moment(date), tuple(_turns(number, said))) for number, (id, date, said) in enumerate(named, start=1)
    )
    kept = tuple(session for session in sessions if session.turns)
    return History(given["question_id"], kept, (_question(given, {session.id for session in kept}),))


def _turns(number: int, said: Said) -> Iterator[Turn]:
    for place, each in enumerate(said, start=1):
        if each["content"].strip():
            yield Turn(f"{number}:{place}", each["role"], each["content"])


def _question(given: Mapping[str, Any], known: set[str]) -> Question:
    absent = given["question_id"].endswith(ABSENT)
    return Question(
        given["question_id"],
        given["question"],
        given["question_type"],
        moment(given["question_date"]),
        sessions=frozenset() if absent else frozenset(given["answer_session_ids"]) & known,
        absent=absent,
    )
