"""Asks a language model for an answer: one streamed request, or several if the model uses tools in between."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ltst.agents.tools import Outcome, Toolbox
from ltst.providers.endpoint import Endpoint, choices
from ltst.support.text import mended

ROUNDS = 4  # rounds of tool use before the model must answer
CALLS = 8  # tool calls in one round
LONGEST_RESULT = 20_000


@dataclass(slots=True)
class ModelAnswer:
    """One answer of a model, assembled from its chunks: a text and the tool calls it asks for."""

    text: str = ""
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Adds a chunk and returns the text in it."""
        said = ""
        for choice in choices(chunk)[:1]:
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                said += _text(delta.get("content"))
                self._take_calls(delta.get("tool_calls"))
        said = mended(said)
        self.text += said
        return said

    def _take_calls(self, given: object) -> None:
        for part in given if isinstance(given, list) else []:
            function = (part.get("function") or part.get("custom")) if isinstance(part, Mapping) else None
            if not isinstance(function, Mapping):
                continue
            number = self._call_number(part)
            call = self.calls.setdefault(number, {"id": "", "name": "", "arguments": ""})
            call["id"] = part.get("id") or call["id"] or f"call_{number}"
            name = _text(function.get("name"))
            call["name"] += name if name != call["name"] else ""  # some servers repeat it with every part
            call["arguments"] += _text(function.get("arguments")) or _text(function.get("input"))

    def _call_number(self, part: Mapping[str, Any]) -> int:
        """Returns the number of the call that a part belongs to; servers that do not number calls give each an id."""
        if isinstance(part.get("index"), int):
            return int(part["index"])
        known = [number for number, call in self.calls.items() if part.get("id") in (None, call["id"])]
        return known[-1] if known else len(self.calls)

    def message(self, most: int = CALLS) -> dict[str, Any]:
        """Returns the answer as an assistant message, which must precede the results of its tool calls."""
        calls = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in self.wanted(most)
        ]
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls}

    def wanted(self, most: int = CALLS) -> list[dict[str, Any]]:
        """Returns at most `most` of the tool calls, in order."""
        return [self.calls[number] for number in sorted(self.calls)][:most]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


async def ask(endpoint: Endpoint, request: Mapping[str, Any], tools: Toolbox) -> AsyncIterator[str | Outcome]:
    """Yields the text of the answer as it arrives, and the outcome of each tool call in between."""
    messages, said = [*request["messages"]], False
    for number in range(ROUNDS + 1):
        heard = ModelAnswer()
        async for chunk in endpoint.stream({**request, "messages": messages, **_tool_fields(tools, number)}):
            if text := heard.take(chunk):
                # Text after a tool call starts a new paragraph.
                yield ("\n\n" if said and heard.text == text else "") + text
        said = said or bool(heard.text)
        if not heard.calls or not tools.allowed or number == ROUNDS:
            return
        messages.append(heard.message())
        for call in heard.wanted():
            outcome = await tools.use(call["name"], call["arguments"])
            messages.append(_result(call["id"], outcome))
            yield outcome


def _tool_fields(tools: Toolbox, number: int) -> dict[str, Any]:
    """Returns the tool fields of a request; the last round forbids tool use because an answer is due."""
    if not tools.allowed:
        return {}
    return {"tools": tools.specs()} | ({"tool_choice": "none"} if number == ROUNDS else {})


def _result(call_id: str, outcome: Outcome) -> dict[str, Any]:
    content = json.dumps(outcome.answer, ensure_ascii=False)[:LONGEST_RESULT]
    return {"role": "tool", "tool_call_id": call_id, "content": content}
