"""Finds, in the messages of a client's request, those that a chat does not hold yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltst.records import ConversationMessage
from ltst.support.text import mended, sha256

LEADING = ("system", "developer")
STORED_AS = {"user": "human", "assistant": "ai", "tool": "tool", "function": "tool"}
ANSWER = "ai"
TEXTS = ("text", "input_text", "output_text")
MOST_COMPARED = 1000

Request = Mapping[str, Any]
Message = Mapping[str, Any]
NewMessage = dict[str, Any]
Utterance = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PlacedRequest:
    """A request and its chat. `continued`: whether earlier turns must come from the memory (None: messages tell)."""

    body: Request
    chat_id: str | None
    continued: bool | None = None


def lead(messages: Sequence[Message]) -> int:
    """Returns the number of system messages before the conversation begins."""
    return next((at for at, each in enumerate(messages) if each["role"] not in LEADING), len(messages))


def turn(message: Message) -> NewMessage | None:
    """Converts a client's message into the arguments of `chat.add`; returns None if there is nothing to store."""
    role = STORED_AS.get(message["role"])
    text, others = parts(message.get("content"))
    calls = tool_calls(message) if role == ANSWER else []
    if role is None or not (text.strip() or others or calls):
        return None
    noted = {
        "parts": others,
        "tool_calls": calls,
        "tool_call_id": message.get("tool_call_id"),
        "name": message.get("name"),
    }
    return {
        "role": role,
        "content": text if text.strip() else _describe(others, calls),
        "metadata": {name: value for name, value in noted.items() if value and _is_plain(value)},
    }


def parts(content: object) -> tuple[str, list[str]]:
    """Returns the text of a message content, which may come in parts, and the types of its other parts."""
    if isinstance(content, str):
        return mended(content), []
    given = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    texts = [part["text"] for part in given if part.get("type") in TEXTS and isinstance(part.get("text"), str)]
    others = [mended(str(part.get("type"))) for part in given if part.get("type") not in TEXTS]
    return mended("\n".join(texts)), others


def spoken(message: ConversationMessage) -> Message:
    """Returns a stored message in the form a client sends, with its tool calls or the id of the call it answers."""
    calls = message.metadata.get("tool_calls") or []
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.metadata.get("tool_call_id") or "", "content": message.content}
    if message.role != ANSWER or not calls:
        return {"role": "assistant" if message.role == ANSWER else "user", "content": message.content}
    named = _describe(message.metadata.get("parts") or [], calls)
    return {
        "role": "assistant",
        "content": None if message.content == named else message.content,
        "tool_calls": [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": each["arguments"]}}
            for each in calls
        ],
    }


def tool_calls(message: Message) -> list[dict[str, str]]:
    """Returns the tool calls of an assistant message, each as id, name and arguments in JSON."""
    given = message.get("tool_calls")
    calls = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []
    if isinstance(message.get("function_call"), Mapping):
        calls.append({"function": message["function_call"]})
    return [_call(each) for each in calls]


def _call(given: Mapping[str, Any]) -> dict[str, str]:
    function = given.get("function") or given.get("custom")
    wanted = function if isinstance(function, Mapping) else {}
    arguments = wanted.get("arguments", wanted.get("input", ""))
    call = {
        "id": given.get("id") or "",
        "name": wanted.get("name") or "",
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }
    return {name: mended(str(value)) for name, value in call.items()}


def _describe(others: Sequence[str], calls: Sequence[Mapping[str, str]]) -> str:
    """Returns a description of a message without text, such as a picture or a tool call, to store in its place."""
    return "\n".join(
        [
            *([" ".join(f"[{kind}]" for kind in others)] if others else []),
            *(f"{c['name']}({c['arguments']})" for c in calls),
        ]
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and mended(value) == value)


def fresh(
    messages: Iterable[Message], stored: Sequence[ConversationMessage], *, whole: bool = True
) -> list[NewMessage]:
    """Returns the messages of a request that a chat lacks; `whole` if `stored` is the whole chat, not only its end."""
    turns = [each for each in map(turn, messages) if each is not None]
    if not stored:
        return turns
    said, held = [(each["role"], each["content"]) for each in turns], [(each.role, each.content) for each in stored]
    known = _count_stored(said, held, whole)
    if known is not None:
        return turns[known:]
    start = max(0, len(turns) - MOST_COMPARED)
    places = _places(said[start:], held)
    new = _unstored(said[start:], held, places, whole)
    return [turns[start + at] for at in new]


def keyed(turns: Sequence[NewMessage], stored: Sequence[ConversationMessage]) -> list[NewMessage]:
    """Adds keys to the messages, so that a request sent twice at once is stored once."""
    after = str(stored[-1].message_id) if stored else ""
    return [
        {**each, "key": f"turn:{sha256(json.dumps([after, at, each['role'], each['content']]))}"}
        for at, each in enumerate(turns)
    ]


def _count_stored(said: Sequence[Utterance], held: Sequence[Utterance], whole: bool) -> int | None:
    """Returns how many turns are stored, if the chat ends with the whole request or with the answer it continues."""
    for count in range(len(said), 0, -1):
        seen = min(count, len(held))
        if count > len(held) and whole:
            continue
        ends = said[count - 1][0] == ANSWER or count == len(said)
        if ends and [*said[count - seen : count]] == [*held[len(held) - seen :]]:
            return count
    return None


def _places(said: Sequence[Utterance], held: Sequence[Utterance]) -> list[int | None]:
    """Returns the stored position of each turn by longest common subsequence, as late in the chat as possible."""
    rows = [[0] * (len(held) + 1)]
    for each in said:
        before, row = rows[-1], [0]
        for at, other in enumerate(held):
            row.append(before[at] + 1 if each == other else max(before[at + 1], row[at]))
        rows.append(row)
    places: list[int | None] = [None] * len(said)
    here, there = len(said), len(held)
    while here and there:
        if rows[here - 1][there] == rows[here][there]:
            here -= 1
        elif said[here - 1] == held[there - 1]:
            here, there = here - 1, there - 1
            places[here] = there
        else:
            there -= 1
    return places


def _unstored(
    said: Sequence[Utterance], held: Sequence[Utterance], places: Sequence[int | None], whole: bool
) -> list[int]:
    """Returns the indexes of the turns to store."""
    asked_from = max((at for at, each in enumerate(said) if each[0] == ANSWER), default=-1) + 1
    # Of a long chat only the end is compared; anything before it was stored when it was said.
    first = 0 if whole else next((at for at, place in enumerate(places) if place is not None), asked_from)
    return [
        at
        for at in range(first, len(said))
        if (
            _is_said_again(at, places, held, asked_from)
            if places[at] is not None
            else not _has_answer(at, said, held, places)
        )
    ]


def _is_said_again(at: int, places: Sequence[int | None], held: Sequence[Utterance], asked_from: int) -> bool:
    """Returns whether an answered question is asked again: no matched turn before it shows that it is the old one."""
    place = places[at]
    assert place is not None, "only what is held can be said again"
    follows = at > 0 and places[at - 1] is not None
    return at >= asked_from and not follows and any(role == ANSWER for role, _ in held[place + 1 :])


def _has_answer(at: int, said: Sequence[Utterance], held: Sequence[Utterance], places: Sequence[int | None]) -> bool:
    """Returns whether an answer is stored in other words, because clients trim and edit what they show."""
    before = places[at - 1] if at else None
    if said[at][0] != ANSWER or before is None or before + 1 >= len(held):
        return False
    return held[before + 1][0] == ANSWER and before + 1 not in places
