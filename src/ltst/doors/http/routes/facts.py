"""Facts over HTTP."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.shapes import AsOf, Identifier, Page

router = APIRouter(route_class=Guarded, prefix="/v1/facts", tags=["facts"])


@router.get("", response_model=Page[shapes.Fact])
async def list_facts(user: User, as_of: AsOf = None) -> Any:
    """Everything that holds now, or held on a day."""
    return {"items": await user.facts.list(as_of=as_of)}


@router.get("/{key:segment}", response_model=shapes.Fact)
async def get_fact(user: User, key: Identifier, as_of: AsOf = None) -> Any:
    """The value that holds now, or held on a day."""
    return found(await user.facts.get(key, as_of=as_of), f"fact {key!r}")


@router.put("/{key:segment}", response_model=shapes.Fact)
async def set_fact(user: User, key: Identifier, given: shapes.FactWritten) -> Any:
    """Make a value hold; the one before is closed, never deleted."""
    written = {name: getattr(given, name) for name in type(given).model_fields if name != "value"}
    return await user.facts.set(key, given.value, **written)


@router.get("/{key:segment}/history", response_model=Page[shapes.Fact])
async def fact_history(user: User, key: Identifier) -> Any:
    """Every value there ever was, oldest first."""
    return {"items": await user.facts.history(key)}


@router.post("/{key:segment}/reject", response_model=Page[shapes.Fact])
async def reject_fact(user: User, key: Identifier, given: shapes.FactRejected) -> Any:
    """Strike a value out for good: it is never learnt again."""
    return {"items": await user.facts.reject(key, given.value)}


@router.post("/{key:segment}/end", response_model=Page[shapes.Fact])
async def end_fact(user: User, key: Identifier, given: shapes.FactEnded) -> Any:
    """Say that a value, or whatever holds, is over although nothing takes its place."""
    return {"items": await user.facts.end(key, given.value, at=given.at)}


@router.delete("/{key:segment}", status_code=204, response_class=Response)
async def forget_fact(user: User, key: Identifier) -> Response:
    """Remove a key with its history and its rejections."""
    return gone(await user.facts.forget(key), f"fact {key!r}")
