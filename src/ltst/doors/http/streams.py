"""Server-sent events: how a stream is written."""

from __future__ import annotations

import json
from typing import Any

EVENT_STREAM = "text/event-stream"
STREAMED: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {
            "type": "object",
            "description": "Each event of the stream; its data is JSON.",
            "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}},
            "required": ["data"],
        }
    }
}


def event(data: Any, *, name: str | None = None, id: str | None = None) -> str:
    """One event; its data is one line of JSON, so that nothing in it can end the event or begin another."""
    head = "".join(f"{field}: {value}\n" for field, value in (("id", id), ("event", name)) if value is not None)
    return f"{head}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
