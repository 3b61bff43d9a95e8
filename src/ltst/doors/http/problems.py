"""Converts errors to problem documents (RFC 9457), with one table from error classes to statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route

from ltst.errors import (
    Conflict,
    DatabaseUnavailable,
    Denied,
    ForeignCursor,
    Invalid,
    LtstError,
    ModelUnavailable,
    NotFound,
    Unanswered,
    Unavailable,
)
from ltst.handles.callers import Unknown
from ltst.support.logs import LOGGER

MEDIA_TYPE = "application/problem+json"
STATUSES: Mapping[type[LtstError], int] = {
    NotFound: 404,
    Conflict: 409,
    Invalid: 422,
    Denied: 403,
    DatabaseUnavailable: 503,
    ModelUnavailable: 502,
    Unavailable: 503,
    LtstError: 500,
}
# Attributes of errors that programs need besides the message.
NAMED: Mapping[type[LtstError], Sequence[str]] = {Unanswered: ("chat_id", "message_id"), ForeignCursor: ("go_on",)}
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
FEW = 5
NO_JSON = 'the body is read as JSON only with the header "Content-Type: application/json"'
NOTHING_HERE = "there is nothing at this path; /docs describes every path"
OPAQUE = "something went wrong here; the log of the server tells what"


class TooLarge(LtstError):
    """The request is larger than allowed."""


class Misdirected(LtstError):
    """The request is for another host, or from a page that may not call this server."""


class TooDeep(LtstError):
    """The request nests lists or objects too deeply to be read."""

    def __init__(self, reason: str = "the request nests too deeply: a hundred levels are read") -> None:
        """Says how deep they may be."""
        super().__init__(reason)


OWN_STATUSES: Mapping[type[LtstError], int] = {Unknown: 401, TooDeep: 400, TooLarge: 413, Misdirected: 421}
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}


class Problem(BaseModel):
    """What went wrong, and what would be accepted."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="What kind of problem it is.", examples=["urn:ltst:not-found"])
    title: str
    status: int
    detail: str
    request_id: str


def status_of(problem: LtstError) -> int:
    """Return the status of an error's class, or of its nearest base class."""
    for kind in type(problem).__mro__:
        if (status := {**STATUSES, **OWN_STATUSES}.get(kind)) is not None:
            return status
    return 500


def title(status: int) -> str:
    """Return what a status is called."""
    return TITLES.get(status) or HTTPStatus(status).phrase


def document(status: int, detail: str, request_id: str, **more: Any) -> dict[str, Any]:
    """Return a problem, ready for JSON."""
    named = "urn:ltst:" + title(status).lower().replace(" ", "-")
    return {"type": named, "title": title(status), "status": status, "detail": detail, "request_id": request_id, **more}


def of_error(problem: LtstError, request_id: str) -> dict[str, Any]:
    """Return the problem for one of ltst's errors, with the ids that a client needs to go on."""
    named = {name: getattr(problem, name) for name in NAMED.get(type(problem), ())}
    return document(status_of(problem), str(problem), request_id, **named)


def _methods(routes: Sequence[BaseRoute], path: str) -> list[str]:
    """Returns the methods of all routes that match a path, because the route that refused knows only its own."""
    found = [route for route in routes if isinstance(route, Route) and route.path_regex.match(path)]
    # A literal segment takes precedence over one that could be an id.
    nearest = min((len(route.param_convertors) for route in found), default=0)
    return sorted(
        {method for route in found if len(route.param_convertors) == nearest for method in route.methods or ()}
    )


def response(body: Mapping[str, Any]) -> JSONResponse:
    """Return a problem as a response."""
    headers = {"X-Request-Id": body["request_id"], **HEADERS.get(body["status"], {})}
    return JSONResponse(body, body["status"], headers=headers, media_type=MEDIA_TYPE)


def faults(problem: RequestValidationError) -> list[tuple[str, str]]:
    """Return what is wrong with a request: where, and why."""
    return [(".".join(map(str, each["loc"])), str(each["msg"])) for each in problem.errors()]


def sentence(problem: RequestValidationError) -> str:
    """Returns what is wrong with a request as one line."""
    for each in problem.errors():
        if each["type"] == "json_invalid":
            return f"the body is not JSON: {each['ctx']['error']}, at character {each['loc'][-1] + 1}"
    return "; ".join(f"{where}: {said}" for where, said in faults(problem)[:FEW])


def _is_unread(request: Request, problem: RequestValidationError) -> bool:
    """Return whether a body went unread because no header says that it is JSON."""
    unread = any(each["loc"] == ("body",) and each["type"] != "missing" for each in problem.errors())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return unread and kind != "application/json" and not kind.endswith("+json")


def register(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Registers handlers that answer every error with a problem document."""

    @app.exception_handler(LtstError)
    async def known(request: Request, problem: LtstError) -> JSONResponse:
        return response(of_error(problem, request.state.request_id))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, problem: RequestValidationError) -> JSONResponse:
        errors = [{"where": where, "problem": said} for where, said in faults(problem)]
        detail = NO_JSON if _is_unread(request, problem) else sentence(problem)
        return response(document(422, detail, request.state.request_id, errors=errors))

    @app.exception_handler(RecursionError)
    async def too_deep(request: Request, problem: RecursionError) -> JSONResponse:
        return response(of_error(TooDeep(), request.state.request_id))

    @app.exception_handler(ClientDisconnect)
    async def left(request: Request, problem: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    @app.exception_handler(HTTPException)
    async def refused(request: Request, problem: HTTPException) -> JSONResponse:
        if isinstance(problem.__cause__, RecursionError):  # while the body was read
            return await too_deep(request, problem.__cause__)
        detail = NOTHING_HERE if problem.status_code == 404 else str(problem.detail)
        answer = response(document(problem.status_code, detail, request.state.request_id))
        answer.headers.update(problem.headers or {})
        if problem.status_code == 405:
            answer.headers["Allow"] = ", ".join(_methods(routes, request.scope["path"])) or "GET"
        return answer

    @app.exception_handler(Exception)
    async def unknown(request: Request, problem: Exception) -> JSONResponse:
        # The reason is only logged, because it may contain what a user said.
        LOGGER.error("request failed", exc_info=problem, extra={"request_id": request.state.request_id})
        return response(document(500, OPAQUE, request.state.request_id))
