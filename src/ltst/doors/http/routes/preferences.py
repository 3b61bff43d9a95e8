"""Preferences over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.shapes import Identifier, Page

router = APIRouter(route_class=Guarded, prefix="/v1/preferences", tags=["preferences"])

Type = Annotated[str | None, Query(pattern="^(general|coding|communication|project)$", description="Only of a type.")]
Defaults = Annotated[bool, Query(description="Those too that apply because none was set.")]


@router.get("", response_model=Page[shapes.Preference])
async def list_preferences(user: User, type: Type = None, defaults: Defaults = False) -> Any:
    """The user's own preferences, by key."""
    return {"items": await user.preferences.list(type, defaults=defaults)}


@router.get("/{key:segment}", response_model=shapes.Preference)
async def get_preference(user: User, key: Identifier) -> Any:
    """The user's own preference, else the default."""
    return found(await user.preferences.get(key), f"preference {key!r}")


@router.put("/{key:segment}", response_model=shapes.Preference)
async def set_preference(user: User, key: Identifier, given: shapes.PreferenceWritten) -> Any:
    """Write a preference; a sensitive one is encrypted with the user's own key."""
    written = {name: getattr(given, name) for name in type(given).model_fields if name != "value"}
    return await user.preferences.set(key, given.value, **written)


@router.delete("/{key:segment}", status_code=204, response_class=Response)
async def forget_preference(user: User, key: Identifier) -> Response:
    """Remove a preference."""
    return gone(await user.preferences.forget(key), f"preference {key!r}")
