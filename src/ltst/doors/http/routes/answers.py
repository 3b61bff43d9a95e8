"""Answers that routes have in common: what is missing, what is gone, and the problems that a page of docs tells of."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from ltst.doors.http.problems import MEDIA_TYPE
from ltst.errors import NotFound


def _told(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _told("The request cannot be read"),
    401: _told("No key, or one that opens nothing"),
    403: _told("This caller may not do that"),
    404: _told("There is no such thing for this user"),
    409: _told("The request contradicts what is stored"),
    413: _told("The request is too large"),
    421: _told("The request is meant for another host"),
    422: _told("The request says something that is not accepted"),
    502: _told("A model did not answer"),
    503: _told("The database is not there; try again"),
}


def gone(done: bool, what: str) -> Response:
    """Nothing, once something was removed."""
    if not done:
        raise NotFound(f"there is no {what}")
    return Response(status_code=204)
