"""The example: a user with a year of conversations, created and deleted with one click each."""

from __future__ import annotations

import secrets
import tomllib
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from ltst.doors.web.pages import DEMO, PageRoute, leading, page
from ltst.doors.web.visits import OWN, USER, Visited, chosen_user, keep
from ltst.errors import Denied
from ltst.memory import AsyncUser

router = APIRouter(route_class=PageRoute)

BETWEEN = timedelta(minutes=2)


@router.get("/demo")
async def offer(request: Request, visit: Visited) -> Response:
    """Fill the example for somebody who asked for it here; ask whoever another site sent."""
    if request.headers.get("sec-fetch-site", "cross-site") in OWN:
        return await begin(request, visit)
    return page(visit, "demo.html")


@router.post("/demo")
async def begin(request: Request, visit: Visited) -> Response:
    """Make an example user, and look at that memory."""
    user = visit.administered.user(f"{DEMO}{secrets.token_hex(4)}")
    await _fill(user)
    answer = leading("/about")
    keep(answer, request, USER, chosen_user(user.user_id))
    return answer


@router.post("/demo/end")
async def end(visit: Visited) -> Response:
    """Throw the example away."""
    if not visit.user.user_id.startswith(DEMO):
        raise Denied("only an example user is thrown away with a click; see Bring and take")
    assert visit.administered
    await visit.user.erase()
    answer = leading("/")
    answer.delete_cookie(USER)
    return answer


async def _fill(user: AsyncUser) -> None:
    told, now = _story(), datetime.now(UTC)
    for each in told["conversations"]:
        began = now - timedelta(days=each["days"])
        lines = enumerate(each["lines"])
        said = [{"role": role, "content": words, "at": began + place * BETWEEN} for place, (role, words) in lines]
        await user.chat(agent="recall", name=each["name"]).add_many(said)
    for key, value in told["preferences"].items():
        await user.preferences.set(key, value)
    for each in told["instructions"]:
        await user.instructions.set("recall", each)
    for each in told["items"]:
        await user.items.put(each["namespace"], each["key"], each["value"])
    await user.documents.add(told["document"], title="Guide to the new flat", media_type="text/markdown")
    await user.learning.catch_up()


@cache
def _story() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parents[1] / "demo.toml").read_text("utf-8"))
