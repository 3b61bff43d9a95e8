"""Operations on the page, for admins: users, keys, health, background work, performance and the ledger."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from ltst.doors.web.pages import PageRoute, leading, page, paged
from ltst.doors.web.visits import Visited
from ltst.errors import NotFound
from ltst.handles import upkeep

router = APIRouter(route_class=PageRoute, prefix="/operations")

LISTED, EVENTS, NEWEST = 50, 100, 15
DONE = {"revoked": "The key opens nothing any more.", "retried": "What failed is tried again."}
# The time span of each plot, and the interval between its points.
SPANS = {"day": (timedelta(days=1), timedelta(minutes=15)), "week": (timedelta(days=7), timedelta(hours=2))}


@router.get("")
async def overview(visit: Visited) -> Response:
    """Show how the memory does."""
    memory = visit.administered
    after, offset = visit.asked("after") or None, visit.number("keys", 0)
    health, stats, (waits, aside), users, keys, events = await asyncio.gather(
        memory.health(),
        memory.stats(),
        upkeep.work(memory._core),
        memory.users.list(limit=LISTED + 1, after=after),
        memory.keys.list(),
        upkeep.ledger(memory._core, before=None, whose=None, limit=NEWEST),
    )
    told: dict[str, Any] = {"health": health, "stats": stats, "waits": waits, "aside": aside, "spans": SPANS}
    told |= {"users": users[:LISTED], "more": users[LISTED - 1].user_id if len(users) > LISTED else None}
    told |= {"keys": keys[offset:][:LISTED], **paged(keys[offset:], LISTED, offset)}
    span = visit.asked("span") if visit.asked("span") in SPANS else "day"
    return page(visit, "operations.html", **told, events=events, span=span, done=DONE.get(visit.asked("done")))


@router.get("/activity")
async def activity(visit: Visited) -> Response:
    """Return what was measured over the last day or week, for the plots."""
    span, step = SPANS.get(visit.asked("span"), SPANS["day"])
    found = await upkeep.activity(visit.administered._core, span, step)
    latest = datetime.now(UTC).timestamp()
    return JSONResponse({"from": latest - span.total_seconds(), "to": latest, "rows": [asdict(each) for each in found]})


@router.get("/ledger")
async def ledger(visit: Visited) -> Response:
    """Show every change, the newest first."""
    asked = {"before": visit.asked("before") or None, "whose": visit.asked("user").strip() or None}
    found = await upkeep.ledger(visit.administered._core, **asked, limit=EVENTS + 1)
    more = found[EVENTS - 1].cursor if len(found) > EVENTS else None
    return page(visit, "ledger.html", events=found[:EVENTS], more=more, whose=asked["whose"])


@router.post("/keys")
async def make_key(visit: Visited) -> Response:
    """Make a key, and show its secret this once."""
    memory = visit.administered
    admin = visit.asked("admin") == "yes"
    made = await memory.keys.create(visit.asked("user").strip() or None, admin=admin, name=visit.asked("name"))
    return page(visit, "key.html", made=made)


@router.post("/keys/revoke")
async def revoke(visit: Visited) -> Response:
    """End a key."""
    if not await visit.administered.keys.revoke(visit.need("key_id")):
        raise NotFound("there is no such key to revoke")
    return leading("/operations", done="revoked")


@router.post("/retry")
async def retry(visit: Visited) -> Response:
    """Try again what failed."""
    await visit.administered.retry()
    return leading("/operations", done="retried")
