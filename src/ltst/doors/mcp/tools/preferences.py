"""Tools for preferences: how the user wants things."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import Items, Page, PreferenceKey, Score, Text, Word, one_of
from ltst.doors.mcp.telling import removed
from ltst.doors.mcp.toolbox import READS, REMOVES, REPLACES, Asked, tool
from ltst.errors import NotFound

Type = Annotated[
    StrictStr, one_of("general", "coding", "communication", "project"), Field(description="What it concerns.")
]


@tool("List preferences", READS, Page[shapes.Preference], nothing="No preferences are known yet.", everyday=True)
async def list_preferences(
    asked: Asked,
    type: Type | None = None,
    defaults: Annotated[
        shapes.Flag, Field(description="Also those that apply because the user has set none of their own.")
    ] = False,
) -> Any:
    """How the user wants things: units, tone, tools, ways of working."""
    return Items(await asked.user.preferences.list(type, defaults=defaults))


@tool("Get a preference", READS, shapes.Preference)
async def get_preference(asked: Asked, key: PreferenceKey) -> Any:
    """One preference: the user's own, else the default."""
    found = await asked.user.preferences.get(key)
    if found is None:
        raise NotFound(f"no preference {key!r}")
    return found


@tool("Set a preference", REPLACES, shapes.Preference, everyday=True)
async def set_preference(
    asked: Asked,
    key: PreferenceKey,
    value: Annotated[Text, Field(description="What the user wants, such as metric.")],
    type: Type = "general",
    sensitive: Annotated[shapes.Flag, Field(description="Encrypt it with the user's own key.")] = False,
    source: Annotated[
        Word, Field(description="explicit: the user said so; learned, inferred, or another word.")
    ] = "explicit",
    confidence: Annotated[Score, Field(description="How sure it is, from 0 to 1.")] = 1.0,
) -> Any:
    """Keep how the user wants things, when they say so. It takes the place of the one before."""
    return await asked.user.preferences.set(
        key, value, type=type, sensitive=sensitive, source=source, confidence=confidence
    )


@tool("Forget a preference", REMOVES, shapes.Removed, say=removed)
async def forget_preference(asked: Asked, key: PreferenceKey) -> Any:
    """Remove a preference."""
    return {"removed": int(await asked.user.preferences.forget(key))}


TOOLS = (list_preferences, get_preference, set_preference, forget_preference)
