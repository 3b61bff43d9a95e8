"""Sessions: the conversations of a user."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from ltst.db.pool import Executor
from ltst.errors import NotFound
from ltst.records import ConversationSession

R = TypeVar("R")


async def put(tx: Executor, session: ConversationSession, *, metadata: str, now: datetime) -> ConversationSession:
    """Creates a session, or updates the given fields of an existing one; returns it."""
    began = session.created_at or now
    given = replace(session, metadata={}, created_at=began, last_activity=session.last_activity or began)
    return await tx.one("sessions.put", ConversationSession, **asdict(given) | {"metadata": metadata})


async def get(tx: Executor, session_id: str) -> ConversationSession | None:
    """Returns a session of this user, or None."""
    return await tx.row("sessions.get", ConversationSession, session_id=session_id)


def need(found: R | None, session_id: str) -> R:
    """Returns what was found about a session; raises NotFound if that is None."""
    if found is None:
        raise NotFound(f"no session {session_id!r}")
    return found


class NewSession(NamedTuple):
    """The details of one of many sessions to create."""

    session_id: str
    session_name: str | None
    metadata: str
    created_at: datetime


async def hold_many(tx: Executor, session_ids: Iterable[str]) -> dict[str, int]:
    """Locks those sessions that exist; returns the newest message index of each."""
    found = await tx.dicts("sessions.hold_many", session_ids=[*session_ids])
    return {row["session_id"]: row["last_index"] for row in found}


async def open_many(tx: Executor, given: Iterable[NewSession]) -> set[str]:
    """Creates sessions and returns the ids of those that are new."""
    rows = ",".join(map(_as_json, given))
    return {*await tx.values("sessions.open_many", rows=f"[{rows}]")} if rows else set()


def _as_json(given: NewSession) -> str:
    # Built as text because the metadata is already JSON.
    name = json.dumps(given.session_name)
    return (
        f'{{"session_id":{json.dumps(given.session_id)},"session_name":{name},"metadata":{given.metadata},'
        f'"created_at":"{given.created_at.isoformat()}"}}'
    )


class Progress(NamedTuple):
    """How far background work on a session has come, as message indexes."""

    last_index: int
    learned_index: int
    refined_index: int
    episode_index: int
    summarised_index: int
    agent_name: str | None
    last_activity: datetime
    session_name: str | None
    context_summary: str | None
    # By the server's clock, which also decides when work is due.
    now: datetime


async def progress(tx: Executor, session_id: str) -> Progress | None:
    """Returns how far background work on a session has come."""
    return await tx.row("sessions.progress", Progress, session_id=session_id)
