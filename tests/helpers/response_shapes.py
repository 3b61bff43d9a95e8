"""Answers of the Responses API as an endpoint gives them: whole, and as a stream of events."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from typing import Any


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def call(number: int, name: str, given: Any) -> dict[str, Any]:
    arguments = given if isinstance(given, str) else json.dumps(given)
    named = {"call_id": f"call_{number}", "name": name, "arguments": arguments}
    return {"id": f"fc_{number}", "type": "function_call", "status": "completed", **named}


def response(output: Sequence[dict[str, Any]], status: str = "completed") -> dict[str, Any]:
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "scripted",
        "output": [*output],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120,
        },
    }


def events(whole: dict[str, Any]) -> list[bytes]:
    """The stream of a response: its texts word by word, the arguments of its calls cut in two."""
    told: list[dict[str, Any]] = [{"type": "response.created", "response": {**whole, "output": []}}]
    for at, item in enumerate(whole["output"]):
        told.append({"type": "response.output_item.added", "output_index": at, "item": _begun(item)})
        told.extend(_parts(at, item))
        told.append({"type": "response.output_item.done", "output_index": at, "item": item})
    told.append({"type": f"response.{whole['status']}", "response": whole})
    return [event({**each, "sequence_number": number}) for number, each in enumerate(told)]


def event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {**item, "status": "in_progress", **empty}


def _parts(at: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    place: dict[str, Any] = {"item_id": item["id"], "output_index": at}
    if item["type"] == "function_call":
        given, kind = item["arguments"], "response.function_call_arguments"
        return [
            {"type": f"{kind}.delta", **place, "delta": given[:3]},
            {"type": f"{kind}.delta", **place, "delta": given[3:]},
            {"type": f"{kind}.done", **place, "name": item["name"], "arguments": given},
        ]
    inside, (part,) = {**place, "content_index": 0}, item["content"]
    words = re.findall(r"\S+\s*|\s+", part["text"])
    return [
        {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **inside, "delta": word, "logprobs": []} for word in words),
        {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **inside, "part": part},
    ]
