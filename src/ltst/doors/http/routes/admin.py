"""Looking after a memory over HTTP, with an admin's key: keys, users, receipts, maintenance, statistics, health."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Administered, Guarded
from ltst.doors.http.routes.answers import gone
from ltst.doors.http.shapes import Identifier, Page

router = APIRouter(route_class=Guarded, prefix="/v1/admin", tags=["administration"])


@router.get("/keys", response_model=Page[shapes.Key])
async def list_keys(memory: Administered) -> Any:
    """All keys, oldest first, revoked ones included."""
    return {"items": await memory.keys.list()}


@router.post("/keys", response_model=shapes.NewKey, status_code=201)
async def create_key(memory: Administered, given: shapes.KeyWanted) -> Any:
    """Make a key for one user's memory, or for everyone's; its secret is shown only this once."""
    return await memory.keys.create(given.user_id, admin=given.admin, name=given.name)


@router.delete("/keys/{key_id:segment}", status_code=204, response_class=Response)
async def revoke_key(memory: Administered, key_id: Identifier) -> Response:
    """End a key for good."""
    return gone(await memory.keys.revoke(key_id), f"key {key_id!r} to revoke")


@router.get("/users", response_model=shapes.Users)
async def list_users(memory: Administered, limit: shapes.Limit = 100, after: Identifier | None = None) -> Any:
    """Everyone of whom something is stored, by id."""
    found = await memory.users.list(limit=limit, after=after)
    return {"items": found, "next": found[-1].user_id if len(found) == limit else None}


@router.post("/verify", response_model=shapes.Verified)
async def verify(memory: Administered, receipt: shapes.ReceiptGiven) -> Any:
    """Whether a receipt of an erasure is genuine, and nothing of its user is in any table now."""
    return await memory.verify(receipt.model_dump())


@router.post("/maintain")
async def maintain(memory: Administered) -> dict[str, int]:
    """One pass of expiry, retention and pruning over all users; how many rows each step touched."""
    return await memory.maintain()


@router.get("/stats", response_model=shapes.Stats)
async def stats(memory: Administered) -> Any:
    """How fast each operation is, and how large the tables are."""
    return await memory.stats()


@router.get("/health", response_model=shapes.Health)
async def health(memory: Administered) -> Any:
    """Schema, indexes, isolation, slow queries, disk and derived work, each with its state."""
    return await memory.health()


@router.post("/retry")
async def retry(memory: Administered) -> dict[str, int]:
    """Try again what was set aside because it failed too often."""
    return {"retried": await memory.retry()}
