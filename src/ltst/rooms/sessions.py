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
    """Create a session, or change what is given of the one that is there."""
    began = session.created_at or now
    given = replace(session, metadata={}, created_at=began, last_activity=session.last_activity or began)
    return await tx.one("sessions.put", ConversationSession, **asdict(given) | {"metadata": metadata})


async def get(tx: Executor, session_id: str) -> ConversationSession | None:
    """Returns a session, if this user has it."""
    return await tx.row("sessions.get", ConversationSession, session_id=session_id)


def need(found: R | None, session_id: str) -> R:
    """Returns what was found of a session that the user must have."""
    if found is None:
        raise NotFound(f"no session {session_id!r}")
    return found


class Opened(NamedTuple):
    """What a session is created with, one of many."""

    session_id: str
    session_name: str | None
    metadata: str
    created_at: datetime


async def hold_many(tx: Executor, session_ids: Iterable[str]) -> dict[str, int]:
    """Lock those sessions that exist; return the newest message index of each."""
    found = await tx.dicts("sessions.hold_many", session_ids=[*session_ids])
    return {row["session_id"]: row["last_index"] for row in found}


async def open_many(tx: Executor, given: Iterable[Opened]) -> set[str]:
    """Create sessions; returns the ids of those that were not there."""
    rows = ",".join(map(_as_json, given))
    return {*await tx.values("sessions.open_many", rows=f"[{rows}]")} if rows else set()


def _as_json(given: Opened) -> str:
    # Written out, since the metadata is JSON already.
    name = json.dumps(given.session_name)
    return (
        f'{{"session_id":{json.dumps(given.session_id)},"session_name":{name},"metadata":{given.metadata},'
        f'"created_at":"{given.created_at.isoformat()}"}}'
    )


class Progress(NamedTuple):
    """How far the derived work on a session has come, by the index of its messages."""

    last_index: int
    learned_index: int
    refined_index: int
    episode_index: int
    summarised_index: int
    agent_name: str | None
    last_activity: datetime
    session_name: str | None
    context_summary: str | None
    # By the server's clock, as are the times that make work due.
    now: datetime


async def progress(tx: Executor, session_id: str) -> Progress | None:
    """Returns how far the derived work on a session has come."""
    return await tx.row("sessions.progress", Progress, session_id=session_id)
