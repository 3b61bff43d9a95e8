"""Shared by the routes: ids in paths, headers, event streams, problems, and answers without a body."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Header, Response
from starlette.convertors import Convertor, register_url_convertor

from ltst.doors.http.problems import MEDIA_TYPE
from ltst.errors import NotFound

EVENT_STREAM = "text/event-stream"
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Sent again with the same key, the request has its effect once.",
    ),
]
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


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("The request cannot be read"),
    401: _problem("No key, or one that opens nothing"),
    403: _problem("This caller may not do that"),
    404: _problem("There is no such thing for this user"),
    409: _problem("The request contradicts what is stored"),
    413: _problem("The request is too large"),
    421: _problem("The request is meant for another host"),
    422: _problem("The request says something that is not accepted"),
    502: _problem("A model did not answer"),
    503: _problem("The database is not there; try again"),
}


def event(data: Any, *, name: str | None = None, id: str | None = None) -> str:
    """Return one event. Its data is one line of JSON, so nothing in it can end the event."""
    head = "".join(f"{field}: {value}\n" for field, value in (("id", id), ("event", name)) if value is not None)
    return f"{head}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def gone(done: bool, what: str) -> Response:
    """Return an empty answer once something was removed; raise NotFound if there was nothing."""
    if not done:
        raise NotFound(f"there is no {what}")
    return Response(status_code=204)


class Segment(Convertor[str]):
    """An id or key in a path: any characters, percent-encoded, decoded once the route is found."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Decode a segment."""
        return unquote(value, errors="strict")

    def to_string(self, value: str) -> str:
        """Encode a value as a segment."""
        return quote(value, safe="")


register_url_convertor("segment", Segment())
