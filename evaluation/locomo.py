"""LoCoMo: long conversations of two people; one conversation is one user's history, evidence is single turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation import files
from evaluation.benchmark import Benchmark, History, Question, Session, Table, Turn

NAME = "locomo"
ACCEPTED = "a list of objects with conversation (session_1, session_1_date_time, …) and qa, as LoCoMo has them"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TABLES = (
    Table("Turns", "turn", ("any@5", "all@5", "rec@10", "all@10", "ndcg@10", "rec@2k")),
    Table("Turns, more or fewer of them", "turn", ("rec@5", "any@10", "any@25", "rec@25", "all@25")),
    Table("Sessions", "session", ("any@5", "all@5", "rec@10")),
)
SESSION = re.compile(r"session_(\d+)")
# Some ids are written "D8:6; D9:17", "D:11:26" or "D30:05".
TURN = re.compile(r"D:?(\d+):(\d+)")


def read(path: Path) -> Benchmark:
    """The conversations of a file, each with its questions."""
    file = files.find(path, NAME)
    given, digest = files.load(file)
    with files.shaped(file, ACCEPTED):
        if not isinstance(given, list) or not given:
            raise ValueError("this is not LoCoMo")
        histories = tuple(_history(number, each) for number, each in enumerate(given, start=1))
    return Benchmark(NAME, file, digest, TABLES, histories)


def moment(written: str) -> datetime:
    """A date like "1:56 pm on 8 May, 2023"."""
    return datetime.strptime(written.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def repaired(evidence: Sequence[str]) -> list[str]:
    """The ids of turns in what is given as evidence, each once and written in one way."""
    found = [_turn_id(*numbers) for given in evidence for numbers in TURN.findall(given)]
    return [*dict.fromkeys(found)]


def _turn_id(session: str, turn: str) -> str:
    return f"D{int(session)}:{int(turn)}"


def _history(number: int, given: Mapping[str, Any]) -> History:
    name = given.get("sample_id", f"conversation-{number}")
    sessions = tuple(_sessions(given["conversation"]))
    known = {turn.id: session.id for session in sessions for turn in session.turns}
    asked_at = max(session.at for session in sessions)
    questions = (_question(f"{name}/{place}", each, asked_at, known) for place, each in enumerate(given["qa"], start=1))
    return History(name, sessions, tuple(questions))


def _sessions(conversation: Mapping[str, Any]) -> Iterator[Session]:
    """In the order of their numbers; a date may stand there without its session."""
    numbers = sorted(int(found[1]) for key in conversation if (found := SESSION.fullmatch(key)))
    for number in numbers:
        turns = tuple(_turns(conversation[f"session_{number}"], conversation["speaker_a"]))
        if turns:
            yield Session(f"D{number}", moment(conversation[f"session_{number}_date_time"]), turns)


def _turns(given: Sequence[Mapping[str, Any]], first_speaker: str) -> Iterator[Turn]:
    for each in given:
        (id,) = repaired([each["dia_id"]])
        caption = each.get("blip_caption")
        text = each.get("text", "") + (f" [shares {caption}]" if caption else "")
        role = "user" if each["speaker"] == first_speaker else "assistant"
        if text.strip():
            yield Turn(id, role, text, each["speaker"])


def _question(id: str, given: Mapping[str, Any], asked_at: datetime, known: Mapping[str, str]) -> Question:
    turns = [turn for turn in repaired(given.get("evidence", [])) if turn in known]
    category = CATEGORIES.get(given["category"], f"category {given['category']}")
    return Question(
        id, given["question"], category, asked_at, frozenset(turns), frozenset(known[turn] for turn in turns)
    )
