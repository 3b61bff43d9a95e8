"""Exports to import: as many conversations as wanted, in ChatGPT's shape, the same for the same number."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SENTENCE = (
    "the garden plan needs a smaller pond and two apple trees before autumn while the budget stays what it was when we "
    "spoke about the fence with the neighbours who prefer a hedge of beech that grows slowly but lasts for decades and "
    "keeps the wind away from the beds where tomatoes and beans are meant to stand next year after the frost"
)
WORDS = SENTENCE.split()
FIRST_MOMENT = 1_700_000_000.0


def conversation(number: int, turns: int = 10) -> dict[str, Any]:
    """One conversation; every tenth was asked anew in the middle, so that it has a branch that is not shown."""
    dice = random.Random(number)
    begun = FIRST_MOMENT + 3600 * number
    root = f"root-{number}"
    mapping: dict[str, Any] = {root: {"id": root, "message": None, "parent": None, "children": []}}
    last = root
    for turn in range(turns):
        last = _say(mapping, dice, last, turn, begun)
        if turn == turns // 2 and number % 10 == 0:
            _say(mapping, dice, mapping[last]["parent"], turn, begun + 1)
    return {
        "id": f"conversation-{number}",
        "conversation_id": f"conversation-{number}",
        "title": f"Conversation {number}",
        "create_time": begun,
        "update_time": begun + 60 * turns,
        "current_node": last,
        "mapping": mapping,
        "moderation_results": [],
        "plugin_ids": None,
        "is_archived": False,
        "default_model_slug": "gpt-4o",
    }


def write(file: Path, conversations: int, turns: int = 10) -> int:
    """An export of so many conversations, written one by one; how many messages it has on the branches shown."""
    with file.open("w", encoding="utf-8") as target:
        target.write("[")
        for number in range(conversations):
            target.write((",\n" if number else "") + json.dumps(conversation(number, turns)))
        target.write("]\n")
    return conversations * turns


def said(number: int, turns: int = 10) -> Iterator[dict[str, Any]]:
    """What is said on the branch that is shown, as arguments of `add`."""
    given = conversation(number, turns)
    path, node = [], given["current_node"]
    while node is not None:
        path.append(given["mapping"][node])
        node = path[-1]["parent"]
    for each in reversed(path):
        if (message := each["message"]) is not None:
            yield {
                "role": message["author"]["role"],
                "content": message["content"]["parts"][0],
                "key": each["id"],
            }


def _say(mapping: dict[str, Any], dice: random.Random, parent: str, turn: int, begun: float) -> str:
    own = str(uuid.UUID(int=dice.getrandbits(128), version=4))
    text = " ".join(dice.choices(WORDS, k=dice.randint(10, 70)))
    mapping[parent]["children"].append(own)
    mapping[own] = {
        "id": own,
        "parent": parent,
        "children": [],
        "message": {
            "id": own,
            "author": {"role": "assistant" if turn % 2 else "user", "name": None, "metadata": {}},
            "create_time": begun + 60 * turn,
            "update_time": None,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "end_turn": True,
            "weight": 1.0,
            "metadata": {"model_slug": "gpt-4o", "timestamp_": "absolute", "message_type": None} if turn % 2 else {},
            "recipient": "all",
            "channel": None,
        },
    }
    return own
