"""The training lives: made-up people that the small models are fitted to; README.md tells what they are."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation import files
from evaluation.benchmark import History
from evaluation.lives import data

FILE = Path(__file__).with_name("lives.jsonl.gz")
ACCEPTED = f"a line for each life: {data.ACCEPTED}, with also in each question, and replaced"

Pair = tuple[str, str]  # ids of turns: of the newer one, and of the one whose place it takes


@dataclass(frozen=True, slots=True)
class Life:
    """A life, its questions in other words by their ids, and which turn takes the place of which before it."""

    history: History
    reworded: Mapping[str, tuple[str, ...]]
    replaced: frozenset[Pair]


def read(file: Path = FILE) -> list[Life]:
    """Return the lives of a file, one of a line."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [_life(file, json.loads(line)) for line in lines]


def _life(file: Path, given: Mapping[str, Any]) -> Life:
    history = data.life(file, given)
    with files.shaped(file, ACCEPTED):
        asked = zip(history.questions, given["questions"], strict=True)
        reworded = {question.id: tuple(each["also"]) for question, each in asked}
        pairs = (tuple(data.turn_id(*place) for place in pair) for pair in given["replaced"])
        replaced = frozenset((newer, older) for newer, older in pairs)
        if unknown := {turn for pair in replaced for turn in pair} - {*history.session_of}:
            raise ValueError(f"there is no turn {min(unknown)}")
    return Life(history, reworded, replaced)
