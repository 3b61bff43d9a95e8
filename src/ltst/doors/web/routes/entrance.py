"""The entrance: logging in with a key, choosing whose memory to see, and the static files."""

from __future__ import annotations

import mimetypes
import re

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from ltst.doors.web.pages import LoginRoute, PageRoute, files, leading, page
from ltst.doors.web.visits import KEY, USER, Visited, chosen_user, keep
from ltst.handles.callers import CallerCheck, Unknown
from ltst.handles.desk import checked_user

router = APIRouter(route_class=PageRoute)
open_router = APIRouter(route_class=LoginRoute)

USERS_SHOWN = 100
PLACE = re.compile(r"/[a-z]*", re.ASCII)  # a place of this page, never another site
YEAR = "public, max-age=31536000, immutable"


@open_router.get("/login")
async def login_form(visit: Visited) -> Response:
    """Show the form for a key."""
    return page(visit, "login.html", problem=None)


@open_router.post("/login")
async def login(request: Request, visit: Visited) -> Response:
    """Keep a key in a cookie, if it opens something."""
    caller_check: CallerCheck = request.app.state.caller_check
    secret = visit.need("key").strip()
    try:
        await caller_check.caller(secret, None)
    except Unknown as problem:
        return page(visit, "login.html", 401, problem=str(problem))
    wanted = visit.asked("next", "/")
    answer = leading(wanted if PLACE.fullmatch(wanted) else "/")
    keep(answer, request, KEY, secret)
    answer.delete_cookie(USER)
    return answer


@open_router.post("/logout")
async def logout(visit: Visited) -> Response:
    """Let the browser forget the key."""
    answer = leading("/login")
    answer.delete_cookie(KEY)
    answer.delete_cookie(USER)
    return answer


@router.get("/who")
async def choose_form(visit: Visited) -> Response:
    """Show whose memories there are."""
    found = await visit.administered.users.list(limit=USERS_SHOWN + 1, after=visit.asked("after") or None)
    more = found[USERS_SHOWN - 1].user_id if len(found) > USERS_SHOWN else None
    return page(visit, "who.html", users=found[:USERS_SHOWN], more=more)


@router.post("/who")
async def choose(request: Request, visit: Visited) -> Response:
    """Look at another memory from now on."""
    assert visit.administered
    answer = leading("/")
    keep(answer, request, USER, chosen_user(checked_user(visit.need("user").strip())))
    return answer


@open_router.get("/static/{name}")
async def file(name: str) -> Response:
    """Return a file that pages load."""
    if name not in files():
        raise HTTPException(404)
    content, mark = files()[name]
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    headers = {"Cache-Control": YEAR, "ETag": f'"{mark}"', "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type=kind, headers=headers)
