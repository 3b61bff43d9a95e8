"""Transcripts: the turns of a conversation as a language model sees them, in a prompt that fits its window."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ltst.learn import pasted
from ltst.records import ConversationMessage
from ltst.support.text import shortened

# In characters: fits a window of 8,000 tokens beside the prompt, with room for the answer.
LONGEST_INPUT = 10_000
LONGEST_TURN = 4_000
LONGEST_REPLY = 600  # of an assistant's turn, which is shown only to understand the user's

SPEAKERS = {"human": "user", "ai": "assistant"}
THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)
FENCE = re.compile(r"\A```\w*+|```\Z")


class ShownTurn(NamedTuple):
    """A turn as the model sees it: with a short number, and cut to its longest length."""

    number: int
    message: ConversationMessage
    text: str

    def as_data(self) -> dict[str, Any]:
        """Returns the turn as the prompt shows it."""
        data: dict[str, Any] = {"id": self.number, "by": SPEAKERS[self.message.role]}
        if self.message.timestamp is not None:
            data["on"] = f"{self.message.timestamp:%Y-%m-%d}"
        return {**data, "text": self.text}


def batches(turns: Iterable[ConversationMessage]) -> list[list[ConversationMessage]]:
    """Returns the turns in batches, each short enough for one prompt."""
    found: list[list[ConversationMessage]] = []
    room = 0
    for turn in turns:
        size = min(len(turn.content), _limit(turn)) if turn.role in SPEAKERS else 0
        if not found or size > room:
            found.append([])
            room = LONGEST_INPUT
        found[-1].append(turn)
        room -= size
    return found


def shown_turns(turns: Sequence[ConversationMessage]) -> list[ShownTurn]:
    """Returns what a model is shown: the user's own words, the assistant's cut short, and no tool output."""
    said = [(turn, text) for turn in turns if turn.role in SPEAKERS and turn.message_id and (text := _words(turn))]
    return latest([ShownTurn(at, turn, shortened(text, _limit(turn))) for at, (turn, text) in enumerate(said, 1)])


def _words(turn: ConversationMessage) -> str:
    """Returns what the speaker of a turn says themself."""
    return pasted.own_words(turn.content).strip() if turn.role == "human" else turn.content.strip()


def messages(package: str, prompt: str, data: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the messages of a request: the prompt, read from a package's file, and the data as JSON.

    The first message never changes, so that endpoints can cache it.
    """
    quoted = json.dumps(data, ensure_ascii=False)
    return [{"role": "system", "content": _prompt(package, prompt)}, {"role": "user", "content": quoted}]


@cache
def _prompt(package: str, name: str) -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8").strip()


def latest(shown: Sequence[ShownTurn]) -> list[ShownTurn]:
    """Returns the latest turns that together fit one prompt."""
    room, kept = LONGEST_INPUT, list[ShownTurn]()
    for each in reversed(shown):
        room -= len(each.text)
        if room < 0:
            break
        kept.append(each)
    return kept[::-1]


def _limit(turn: ConversationMessage) -> int:
    return LONGEST_TURN if turn.role == "human" else LONGEST_REPLY


def bare_answer(answer: str) -> str:
    """Returns an answer without the model's thoughts and the code fence around it."""
    return FENCE.sub("", THOUGHT.sub("", answer).strip()).strip()
