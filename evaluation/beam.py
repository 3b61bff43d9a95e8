"""BEAM: long working conversations of a user with an assistant; one is one user's history, evidence is single turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation import files
from evaluation.benchmark import Benchmark, History, Question, Session, Turn
from evaluation.locomo import TABLES as OF_LOCOMO

NAME = "beam"
CHAT = "chat.json"
QUESTIONS = Path("probing_questions", "probing_questions.json")
ACCEPTED = "a list of batches with turns, lists of messages with id, role and content, as BEAM has them"
ACCEPTED_QUESTIONS = "an object with lists of questions by their kind, each with question and source_chat_ids"
ABSENT = "abstention"
TABLES = tuple(table for table in OF_LOCOMO if table.level == "turn")  # of three sessions none is hard to find
# At the end of a message the data notes which point of its plan it carries out.
MARK = re.compile(r" ->-> \d+,\d+$")


def read(path: Path) -> Benchmark:
    """The conversations of a folder that holds one folder for each, or of one such folder."""
    chats = files.several(path, CHAT if (path / CHAT).is_file() else f"*/{CHAT}")
    loaded = [(file, *files.load(file), *files.load(file.parent / QUESTIONS)) for file in chats]
    histories = tuple(_history(file, said, asked) for file, said, _, asked, _ in loaded)
    digests = (digest for _, _, first, _, second in loaded for digest in (first, second))
    return Benchmark(NAME, path, files.digest_of(digests), TABLES, histories)


def moment(written: str) -> datetime:
    """A date like "March-15-2024"."""
    return datetime.strptime(written.strip(), "%B-%d-%Y").replace(tzinfo=UTC)


def _history(file: Path, said: Any, asked: Any) -> History:
    name = file.parent.name
    with files.shaped(file, ACCEPTED):
        sessions = tuple(_session(number, batch) for number, batch in enumerate(said, start=1))
        if not sessions:
            raise ValueError("this is not BEAM")
    known = {turn.id: session.id for session in sessions for turn in session.turns}
    asked_at = max(session.at for session in sessions)
    with files.shaped(file.parent / QUESTIONS, ACCEPTED_QUESTIONS):
        questions = tuple(
            _question(f"{name}/{kind}/{place}", kind, each, asked_at, known)
            for kind, several in asked.items()
            for place, each in enumerate(several, start=1)
        )
    return History(name, sessions, questions)


def _session(number: int, batch: Mapping[str, Any]) -> Session:
    """A batch was held on one day, which its first message names."""
    messages = [message for turn in batch["turns"] for message in turn]
    days = [message["time_anchor"] for message in messages if message.get("time_anchor")]
    if not days:
        raise ValueError("no message names a day")
    return Session(f"batch {number}", moment(days[0]), tuple(_turns(messages)))


def _turns(messages: list[Mapping[str, Any]]) -> Iterator[Turn]:
    for each in messages:
        text = MARK.sub("", each["content"])
        if text.strip():
            yield Turn(str(each["id"]), each["role"], text)


def _question(id: str, kind: str, given: Mapping[str, Any], asked_at: datetime, known: Mapping[str, str]) -> Question:
    turns = [turn for turn in _named(given.get("source_chat_ids")) if turn in known]
    sessions = frozenset(known[turn] for turn in turns)
    category = kind.replace("_", " ")
    return Question(id, given["question"], category, asked_at, frozenset(turns), sessions, absent=kind == ABSENT)


def _named(given: Any) -> list[str]:
    """The ids of messages: in a list, or in lists by what each is for ("original_info", "updated_info")."""
    if isinstance(given, Mapping):
        return [id for each in given.values() for id in _named(each)]
    if isinstance(given, list):
        return [id for each in given for id in _named(each)]
    return [] if given is None else [str(given)]
