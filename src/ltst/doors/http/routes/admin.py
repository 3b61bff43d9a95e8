"""Operation of a server: liveness, metrics and, with an admin's key, keys, users and maintenance."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, StrictBool, StrictStr

from ltst.arguments import Letters
from ltst.doors.http.callers import Administered, GuardedRoute
from ltst.doors.http.meters import Meters
from ltst.doors.http.routes.common import gone
from ltst.errors import Unavailable
from ltst.memory import AsyncMemory
from ltst.records import Receipt
from ltst.verbs import shapes
from ltst.verbs.shapes import Page
from ltst.verbs.wire import Id, Limit, Moment, StrictModel, text_schema

# Monitoring does not wait until a restarting database is back.
READY_SECONDS = 2.0

open_router = APIRouter(tags=["operations"])
router = APIRouter(route_class=GuardedRoute, prefix="/v1/admin", tags=["administration"])


class KeyRequest(StrictModel):
    """Whose key: one user's, or an admin's."""

    user_id: Id | None = None
    admin: StrictBool = False
    name: Annotated[StrictStr, text_schema(Letters(255, blank=True))] = ""


class NewApiKey(shapes.Key):  # type: ignore[misc]
    """A key with its secret, which is shown only this once."""

    secret: str


class UserPage(BaseModel):
    """Some of the users, by id; go on with `after` set to `next`, which is null when there are no more."""

    items: list[shapes.KnownUser]
    next: str | None


_given: Any = shapes.sent(
    Receipt, leave_out=("vacuumed", "notes"), receipt_id=Id, user_id=Id, erased_at=Moment, digest=Id
)


class ReceiptInput(_given):  # type: ignore[misc]
    """The receipt of an erasure, as it was given."""


class ReceiptVerification(shapes.Verification):  # type: ignore[misc]
    """Whether a receipt holds, and what was checked."""

    ok: bool


@router.get("/keys", response_model=Page[shapes.Key])
async def list_keys(memory: Administered) -> Any:
    """Return all keys, oldest first, including revoked ones."""
    return {"items": await memory.keys.list()}


@router.post("/keys", response_model=NewApiKey, status_code=201)
async def create_key(memory: Administered, given: KeyRequest) -> Any:
    """Make a key for one user's memory, or for everyone's; its secret is shown only this once."""
    return await memory.keys.create(given.user_id, admin=given.admin, name=given.name)


@router.delete("/keys/{key_id:segment}", status_code=204, response_class=Response)
async def revoke_key(memory: Administered, key_id: Id) -> Response:
    """End a key for good."""
    return gone(await memory.keys.revoke(key_id), f"key {key_id!r} to revoke")


@router.get("/users", response_model=UserPage)
async def list_users(memory: Administered, limit: Limit = 100, after: Id | None = None) -> Any:
    """Return every user with stored data, by id."""
    found = await memory.users.list(limit=limit, after=after)
    return {"items": found, "next": found[-1].user_id if len(found) == limit else None}


@router.post("/verify", response_model=ReceiptVerification)
async def verify_receipt(memory: Administered, receipt: ReceiptInput) -> Any:
    """Check that a receipt of an erasure is genuine, and that no table holds anything of its user now."""
    return await memory.verify(receipt.model_dump())


@router.post("/maintain")
async def run_maintenance(memory: Administered) -> dict[str, int]:
    """Apply expiry, retention and pruning for all users; return how many rows each step touched."""
    return await memory.maintain()


@router.get("/stats", response_model=shapes.Stats)
async def get_stats(memory: Administered) -> Any:
    """Return how fast each operation is, and how large the tables are."""
    return await memory.stats()


@router.get("/health", response_model=shapes.Health)
async def get_health(memory: Administered) -> Any:
    """Return the state of schema, indexes, isolation, slow queries, disk and derived work."""
    return await memory.health()


@router.post("/retry")
async def retry_failed_work(memory: Administered) -> dict[str, int]:
    """Try again what was set aside because it failed too often."""
    return {"retried": await memory.retry()}


@open_router.get("/healthz")
async def check_liveness() -> dict[str, str]:
    """Return whether the process is alive."""
    return {"status": "ok"}


@open_router.get("/readyz")
async def check_readiness(request: Request) -> dict[str, Any]:
    """Return whether it can serve: database, schema and worker."""
    memory: AsyncMemory = request.app.state.memory
    try:
        async with asyncio.timeout(READY_SECONDS):
            state = await memory.ready()
    except TimeoutError:
        raise Unavailable("the database does not answer") from None
    if not state.ok:
        raise Unavailable("; ".join(f"{each.name}: {each.detail}" for each in state.checks if each.status == "error"))
    return {"status": "ready", "checks": {each.name: each.detail for each in state.checks}}


@open_router.get("/metrics", response_class=Response)
async def get_metrics(request: Request, _: Administered) -> Response:
    """Return this server's metrics, for Prometheus."""
    meters: Meters = request.app.state.meters
    await meters.store.look(request.app.state.memory)
    return Response(meters.page(), media_type=CONTENT_TYPE_LATEST)
