"""REALTALK: chats of real people over weeks; one chat is one user's history, evidence is single turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation import files
from evaluation.benchmark import Benchmark, History, Question, Session, Turn
from evaluation.locomo import TABLES, repaired

NAME = "realtalk"
FILES = "Chat_*.json"
ACCEPTED = "an object with name, session_1, session_2, … and qa, as REALTALK has them"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
SESSION = re.compile(r"session_(\d+)")


def read(path: Path) -> Benchmark:
    """The chats of a folder, or of one file, each with its questions."""
    found = files.several(path, FILES)
    loaded = [(file, *files.load(file)) for file in found]
    histories = tuple(_history(file, given) for file, given, _ in loaded)
    return Benchmark(NAME, path, files.digest_of(digest for *_, digest in loaded), TABLES, histories)


def moment(written: str) -> datetime:
    """A date like "29.12.2023, 22:42:04"."""
    return datetime.strptime(written.strip(), "%d.%m.%Y, %H:%M:%S").replace(tzinfo=UTC)


def _history(file: Path, given: Mapping[str, Any]) -> History:
    with files.shaped(file, ACCEPTED):
        sessions = tuple(_sessions(given))
        if not sessions:
            raise ValueError("this is not REALTALK")
        known = {turn.id: session.id for session in sessions for turn in session.turns}
        asked_at = max(turn.at or session.at for session in sessions for turn in session.turns)
        questions = tuple(
            _question(f"{file.stem}/{place}", each, asked_at, known) for place, each in enumerate(given["qa"], start=1)
        )
    return History(file.stem, sessions, questions)


def _sessions(given: Mapping[str, Any]) -> Iterator[Session]:
    """In the order of their numbers; each begins with its first turn."""
    first_speaker = given["name"]["speaker_1"]
    for number in sorted(int(found[1]) for key in given if (found := SESSION.fullmatch(key))):
        turns = tuple(_turns(given[f"session_{number}"], first_speaker))
        if turns:
            yield Session(f"D{number}", min(turn.at for turn in turns if turn.at), turns)


def _turns(given: Sequence[Mapping[str, Any]], first_speaker: str) -> Iterator[Turn]:
    for each in given:
        (id,) = repaired([each["dia_id"]])
        caption = each.get("blip_caption")
        text = each["clean_text"] + (f" [shares {caption}]" if caption else "")
        role = "user" if each["speaker"] == first_speaker else "assistant"
        if text.strip():
            yield Turn(id, role, text, each["speaker"], moment(each["date_time"]))


def _question(id: str, given: Mapping[str, Any], asked_at: datetime, known: Mapping[str, str]) -> Question:
    turns = [turn for turn in repaired(given["evidence"]) if turn in known]
    category = CATEGORIES.get(given["category"], f"category {given['category']}")
    return Question(
        id, given["question"], category, asked_at, frozenset(turns), frozenset(known[turn] for turn in turns)
    )
