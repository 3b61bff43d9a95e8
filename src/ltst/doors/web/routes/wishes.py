"""Wishes on the page: preferences, what is learned, and instructions for agents with their versions."""

from __future__ import annotations

import asyncio
from difflib import ndiff
from typing import Any

from fastapi import APIRouter, Response

from ltst.arguments import PREFERENCE_TYPES
from ltst.doors.web.pages import CANNOT_UNDO, Notice, PageRoute, leading, line, page, paged, undoable
from ltst.doors.web.visits import Visit, Visited
from ltst.errors import Invalid
from ltst.records import UserPreference
from ltst.settings import FEATURES

router = APIRouter(route_class=PageRoute)

LISTED, VERSIONS = 100, 20
KEPT = ("key", "value", "type", "sensitive", "source", "confidence")


@router.get("/wishes")
async def wishes(visit: Visited) -> Response:
    """Show preferences, and which agents have instructions."""
    return await _shown(visit)


@router.post("/wishes/preference")
async def prefer(visit: Visited) -> Response:
    """Keep a preference."""
    key = visit.need("key")
    before = await _undo_state(visit, key)
    kept = await visit.user.preferences.set(
        key, visit.need("value"), type=visit.asked("type") or "general", sensitive=visit.asked("sensitive") == "yes"
    )
    notice = _notice(f"{key} is kept.", before)
    return _line(visit, kept, notice) if visit.in_line else await _shown(visit, notice)


@router.post("/wishes/preference/forget")
async def forget(visit: Visited) -> Response:
    """Remove a preference."""
    key = visit.need("key")
    before = await _undo_state(visit, key)
    await visit.user.preferences.forget(key)
    notice = _notice(f"{key} is forgotten.", before)
    # The default may apply again.
    return _line(visit, await visit.user.preferences.get(key), notice) if visit.in_line else await _shown(visit, notice)


@router.post("/wishes/preference/undo")
async def undo(visit: Visited) -> Response:
    """Make a preference what it was before."""
    given = visit.mapping("before", CANNOT_UNDO)
    if {*given} != {*KEPT}:
        raise Invalid(CANNOT_UNDO)
    key, value = given.pop("key"), given.pop("value")
    if value is None:
        await visit.user.preferences.forget(key)
    else:
        await visit.user.preferences.set(key, value, **given)
    return await _shown(visit, _notice("It is as it was before."))


@router.post("/wishes/learning")
async def learning(visit: Visited) -> Response:
    """Switch what is learnt on or off."""
    await visit.user.learning.set(**{each: visit.asked(each) == "yes" for each in FEATURES})
    return leading("/wishes")


@router.get("/wishes/agent")
async def versions(visit: Visited) -> Response:
    """Show the instructions to an agent, and how two versions differ."""
    agent = visit.need("agent")
    history = await visit.user.instructions.history(agent)
    newest = history[-1].version if history else 0
    old, new = visit.number("old", max(newest - 1, 0)), visit.number("new", newest)
    texts = {each.version: each.content for each in history}
    comparable = {old, new} <= texts.keys() and texts[old] != texts[new]
    differs = _compared(texts[old], texts[new]) if comparable else []
    offset = visit.number("offset", 0)
    shown = history[::-1][offset:]
    told: dict[str, Any] = {"agent": agent, "history": history, "old": old, "new": new, "differs": differs}
    return page(visit, "instructions.html", **told, shown=shown[:VERSIONS], **paged(shown, VERSIONS, offset))


@router.post("/wishes/agent")
async def instruct(visit: Visited) -> Response:
    """Tell an agent what to always do; that may be what an older version says."""
    agent = visit.need("agent")
    if visit.asked("do") == "forget":
        await visit.user.instructions.forget(agent)
        return leading("/wishes")
    await visit.user.instructions.set(agent, visit.need("content"))
    return leading("/wishes/agent", agent=agent)


def _line(visit: Visit, preference: UserPreference | None, notice: Notice) -> Response:
    return line(visit, "wishes_line.html", notice, shown=preference is not None, each=preference, own=visit.user_id)


def _notice(done: str, before: dict[str, Any] | None = None) -> Notice:
    return undoable(done, before, "/wishes/preference/undo")


async def _shown(visit: Visit, notice: Notice | None = None) -> Response:
    user, offset = visit.user, visit.number("offset", 0)
    preferences, instructions, features = await asyncio.gather(
        user.preferences.list(defaults=True), user.instructions.list(), user.learning.get()
    )
    given = {each.agent_name: each for each in instructions}
    agents = sorted({*given, *(each.name for each in visit.turns.agents.list())})
    told: dict[str, Any] = {"given": given, "agents": agents, "types": PREFERENCE_TYPES, "own": visit.user_id}
    told |= {"features": features, "notice": notice, "preferences": preferences[offset:][:LISTED]}
    return page(visit, "wishes.html", **told, **paged(preferences[offset:], LISTED, offset))


async def _undo_state(visit: Visit, key: str) -> dict[str, Any] | None:
    """Returns a preference as JSON fields for undo, without a value if there is none; None if it is unreadable."""
    known = await visit.user.preferences.get(key)
    if known is None or known.user_id != visit.user_id:  # a default
        return {**dict.fromkeys(KEPT), "key": key}
    if known.note:
        return None
    kept = (known.key, known.value, known.preference_type, known.sensitive, known.source, known.confidence_score)
    return dict(zip(KEPT, kept, strict=True))


def _compared(old: str, new: str) -> list[tuple[str, str]]:
    """Returns the lines of both versions, each marked as gone, come or same."""
    kinds = {"- ": "gone", "+ ": "come", "  ": "same"}
    lines = ndiff(old.splitlines(), new.splitlines())
    return [(kinds[line[:2]], line[2:]) for line in lines if line[:2] in kinds]
