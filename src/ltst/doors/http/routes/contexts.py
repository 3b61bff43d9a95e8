"""Contexts of a session, and working memory, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.routes.openings import Agent, Name
from ltst.doors.http.shapes import Identifier, Page

router = APIRouter(
    route_class=Guarded, prefix="/v1/sessions/{session_id:segment}", tags=["working memory and contexts"]
)

TYPES = "^(conversation|preference|project|user_info|working)$"
Type = Annotated[str, Path(pattern=TYPES, description="conversation, preference, project, user_info or working.")]
AnyType = Annotated[str | None, Query(pattern=TYPES, description="Only those of a type.")]


@router.get("/working", response_model=Page[shapes.WorkingValue])
async def list_working(user: User, session_id: Identifier) -> Any:
    """Every living value of working memory."""
    values = await user.chat(session_id).working.all()
    return {"items": [{"key": key, "value": value} for key, value in values.items()]}


@router.get("/working/{key:segment}", response_model=shapes.WorkingValue)
async def get_working(user: User, session_id: Identifier, key: Identifier) -> Any:
    """One value of working memory."""
    values = await user.chat(session_id).working.all()
    found(True if key in values else None, f"value {key!r} in the working memory of this session")
    return {"key": key, "value": values[key]}


@router.put("/working/{key:segment}", response_model=shapes.WorkingValue)
async def set_working(
    user: User,
    session_id: Identifier,
    key: Identifier,
    given: shapes.WorkingWritten,
    agent: Agent = None,
    name: Name = None,
) -> Any:
    """Keep any JSON value under a key, for a while."""
    await user.chat(session_id, agent=agent, name=name).working.set(key, given.value, ttl=given.ttl)
    return {"key": key, "value": given.value}


@router.delete("/working/{key:segment}", status_code=204, response_class=Response)
async def forget_working(user: User, session_id: Identifier, key: Identifier) -> Response:
    """Remove one value."""
    done = await user.chat(session_id).working.forget(key)
    return gone(done, f"value {key!r} in the working memory of this session")


@router.delete("/working", response_model=shapes.Removed)
async def clear_working(user: User, session_id: Identifier) -> Any:
    """Remove every value."""
    return {"removed": await user.chat(session_id).working.clear()}


@router.get("/contexts", response_model=Page[shapes.Context])
async def list_contexts(user: User, session_id: Identifier, type: AnyType = None) -> Any:
    """The living contexts, by type and key."""
    return {"items": await user.chat(session_id).contexts.list(type)}


@router.get("/contexts/{type:segment}/{key:segment}", response_model=shapes.Context)
async def get_context(user: User, session_id: Identifier, type: Type, key: Identifier) -> Any:
    """One context."""
    return found(await user.chat(session_id).contexts.get(type, key), f"context {key!r} of the type {type}")


@router.put("/contexts/{type:segment}/{key:segment}", response_model=shapes.Context)
async def set_context(
    user: User,
    session_id: Identifier,
    type: Type,
    key: Identifier,
    given: shapes.ContextWritten,
    agent: Agent = None,
    name: Name = None,
) -> Any:
    """Write a value under its type and key, in place of the one before."""
    return await user.chat(session_id, agent=agent, name=name).contexts.set(
        type, key, given.value, relevance=given.relevance, expires_at=given.expires_at, metadata=given.metadata
    )


@router.delete("/contexts/{type:segment}/{key:segment}", status_code=204, response_class=Response)
async def forget_context(user: User, session_id: Identifier, type: Type, key: Identifier) -> Response:
    """Remove one context."""
    done = await user.chat(session_id).contexts.forget(type, key)
    return gone(done > 0, f"context {key!r} of the type {type}")


@router.delete("/contexts/{type:segment}", response_model=shapes.Removed)
async def forget_contexts(user: User, session_id: Identifier, type: Type) -> Any:
    """Remove all contexts of a type."""
    return {"removed": await user.chat(session_id).contexts.forget(type)}
