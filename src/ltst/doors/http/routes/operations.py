"""What those who run a server look at: whether the process lives, whether it can serve, what it counts."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from ltst.doors.http.callers import Administered
from ltst.doors.http.meters import Meters
from ltst.errors import Unavailable
from ltst.memory import AsyncMemory

# Who watches does not wait until a database that restarts is back.
READY_SECONDS = 2.0

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Whether the process lives."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request) -> dict[str, Any]:
    """Whether it can serve: database, schema and worker."""
    memory: AsyncMemory = request.app.state.memory
    try:
        async with asyncio.timeout(READY_SECONDS):
            state = await memory.ready()
    except TimeoutError:
        raise Unavailable("the database does not answer") from None
    if not state.ok:
        raise Unavailable("; ".join(f"{each.name}: {each.detail}" for each in state.checks if each.status == "error"))
    return {"status": "ready", "checks": {each.name: each.detail for each in state.checks}}


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, _: Administered) -> Response:
    """What this server counts, for Prometheus."""
    meters: Meters = request.app.state.meters
    await meters.store.look(request.app.state.memory)
    return Response(meters.page(), media_type=CONTENT_TYPE_LATEST)
