"""Renders templates with headers that keep other sites out, and shows errors as pages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ltst.doors.web.visits import TOKEN, NobodyChosen, Visit, keep, visit
from ltst.errors import LtstError
from ltst.handles.callers import Unknown

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers hide where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PLACES = (
    ("/", "Chat"),
    ("/about", "About me"),
    ("/conversations", "Conversations"),
    ("/search", "Search"),
    ("/context", "Context"),
    ("/wishes", "Wishes"),
    ("/documents", "Documents and items"),
    ("/bring", "Bring and take"),
)
WITHIN = {"chat": "", "source": "conversations", "items": "documents"}  # the place that an address belongs to
FAILED = "something went wrong here; the log of the server tells what"
DEMO = "demo-"  # prefix of the ids of example users
STEPS = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"), (7 * 86_400, 86_400, "d"))


class Notice(NamedTuple):
    """What was done, and how to undo it: the previous state as JSON, where to send it, and what it updates."""

    done: str
    before: str | None = None
    undo: str = ""
    target: str = ""


CANNOT_UNDO = "what to put back cannot be read"


def undoable(done: str, before: Mapping[str, Any] | None, undo: str, target: str = "") -> Notice:
    """Returns a notice with an undo button; without a previous state there is none."""
    return Notice(done, None if before is None else json.dumps(before), undo, target)


def paged(found: Sequence[Any], limit: int, offset: int) -> dict[str, Any]:
    """Returns what the links to other pages need; `found` has one more than `limit` if there is more."""
    return {"count": len(found), "offset": offset, "limit": limit}


class PageRoute(APIRoute):
    """A route of the page: identifies its visitor, and shows errors as pages."""

    stranger = False

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns a handler that identifies the visitor first."""
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                request.state.visit = await visit(request, stranger=self.stranger)
                answer = await handle(request)
            except LtstError as problem:
                answer = _error_page(request, problem)
            return _guarded(request, answer)

        return shown


class LoginRoute(PageRoute):
    """A route for visitors without a key: the login form."""

    stranger = True


def page(visit: Visit, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """Returns a template rendered for a visit."""
    return HTMLResponse(written(visit, template, **values), status)


def line(visit: Visit, template: str, notice: Notice, /, *, shown: bool, **values: Any) -> HTMLResponse:
    """Returns one line of a list for htmx to replace, or nothing if it is gone, with a notice."""
    return page(visit, "line.html", template=template, notice=notice, shown=shown, **values)


def written(visit: Visit, template: str, /, **values: Any) -> str:
    """Returns a template rendered as text, with everything escaped."""
    begun = visit.request.url.path.split("/")[1]
    shared = {
        "visit": visit,
        "places": PLACES,
        "here": "/" + WITHIN.get(begun, begun),
        "asked": visit.asked,
        "piecemeal": visit.piecemeal,
        "demo": (visit.user_id or "").startswith(DEMO),
    }
    return environment().get_template(template).render({**shared, **values})


def leading(path: str, **asked: Any) -> RedirectResponse:
    """Returns a redirect to another place of the page."""
    return RedirectResponse(address(path, **asked), 303)


def address(path: str, **asked: Any) -> str:
    """Returns an address with a query string; a list gives several values."""
    given = {name: value for name, value in asked.items() if value not in (None, "")}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _error_page(request: Request, problem: LtstError) -> Response:
    """Returns an error as a page, or a redirect to the form that helps."""
    if isinstance(problem, NobodyChosen):
        return leading("/who")
    if isinstance(problem, Unknown):
        return leading("/login", next=request.url.path if request.method == "GET" else None)
    return _problem(request, request.app.state.status_of(problem), str(problem))


def _problem(request: Request, status: int, detail: str) -> Response:
    seen = getattr(request.state, "visit", None) or Visit(request, None, "")
    return page(seen, "problem.html", status, detail=detail, code=status)


def for_people(tell: Any) -> Any:
    """Returns an error handler that answers like `tell` for programs, and with a page for browsers."""

    async def told(request: Request, problem: Exception) -> Response:
        answer: Response = await tell(request, problem)
        asks = request.headers.get("accept", "")
        if "text/html" not in asks and request.headers.get("hx-request") != "true":
            return answer
        return _guarded(request, _problem(request, answer.status_code, json.loads(bytes(answer.body))["detail"]))

    return told


def _guarded(request: Request, answer: Response) -> Response:
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    seen: Visit | None = getattr(request.state, "visit", None)
    if seen is not None and request.cookies.get(TOKEN) != seen.token:
        keep(answer, request, TOKEN, seen.token, None)
    return answer


@cache
def environment() -> Environment:
    """Returns the template environment, created once."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"ago": ago, "moment": moment, "percent": percent, "size": size, "many": many}
    made.globals |= {"address": address, "static": static, "version": version("ltst"), "now": _now}
    return made


@cache
def files() -> Mapping[str, tuple[bytes, str]]:
    """Returns the static files, each with a hash that changes with it."""
    found = {each.name: each.read_bytes() for each in (HERE / "static").iterdir() if each.is_file()}
    return {name: (content, hashlib.sha256(content).hexdigest()[:12]) for name, content in found.items()}


def static(name: str) -> str:
    """Returns the address of a static file, which changes with its content, so that browsers may cache it."""
    return address(f"/static/{name}", v=files()[name][1])


def _now() -> datetime:
    return datetime.now(UTC)


def ago(at: datetime | None) -> str:
    """Returns how long ago something was, in words, or the date if it was over a week ago."""
    if at is None:
        return "never"
    seconds = (_now() - at).total_seconds()
    if -60 < seconds < 10:
        return "just now"
    for most, unit, name in STEPS:
        if 0 <= seconds < most:
            return f"{int(seconds // unit)} {name} ago"
    return f"{at.day} {at:%b %Y}"


def moment(at: datetime | None) -> str:
    """Returns a moment to the minute."""
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def percent(share: float) -> str:
    """Returns a share of one as a percentage."""
    return f"{share * 100:.0f}%"


def size(count: float) -> str:
    """Returns a number of bytes in the unit that suits it."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("the last unit holds everything")


def many(count: int, one: str, several: str | None = None) -> str:
    """Returns a count with its noun."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"
