"""Sessions: the conversations of a user."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from ltst.db.pool import Executor
from ltst.errors import NotFound
from ltst.records import ConversationSession, Lifetimes

R = TypeVar("R")

LIFETIMES = (60.0, 600.0, 3600.0, 86_400.0, 604_800.0, float("inf"))  # seconds: the bounds of the histogram


async def put(tx: Executor, session: ConversationSession, *, metadata: str, now: datetime) -> ConversationSession:
    """Create a session, or change what is given of the one that is there."""
    return await tx.one(
        "sessions.put",
        ConversationSession,
        user_id=session.user_id,
        session_id=session.session_id,
        session_name=session.session_name,
        session_type=session.session_type,
        status=session.status,
        agent_name=session.agent_name,
        metadata=metadata,
        context_summary=session.context_summary,
        relevance_score=session.relevance_score,
        created_at=session.created_at or now,
        last_activity=session.last_activity or session.created_at or now,
    )


async def get(tx: Executor, session_id: str) -> ConversationSession | None:
    """Returns a session, if this user has it."""
    return await tx.row("sessions.get", ConversationSession, session_id=session_id)


def need(found: R | None, session_id: str) -> R:
    """Returns what was found of a session that the user must have."""
    if found is None:
        raise NotFound(f"no session {session_id!r}")
    return found


@dataclass(frozen=True, slots=True)
class Opened:
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
    """Create sessions; the ids of those that were not there."""
    rows = ",".join(map(_as_json, given))
    return {*await tx.values("sessions.open_many", rows=f"[{rows}]")} if rows else set()


def _as_json(given: Opened) -> str:
    # Written out, since the metadata is JSON already.
    name = json.dumps(given.session_name)
    return (
        f'{{"session_id":{json.dumps(given.session_id)},"session_name":{name},"metadata":{given.metadata},'
        f'"created_at":"{given.created_at.isoformat()}"}}'
    )


async def lifetimes(tx: Executor) -> Lifetimes:
    """Return how long the conversations of the last day lasted."""
    rows = await tx.dicts("sessions.lifetimes", bounds=[*LIFETIMES])
    return Lifetimes({row["bound"]: row["sessions"] for row in rows}, rows[0]["seconds"])


@dataclass(frozen=True, slots=True)
class Progress:
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
    """How far the derived work on a session has come."""
    return await tx.row("sessions.progress", Progress, session_id=session_id)


async def learned(tx: Executor, session_id: str, start: int, end: int) -> bool:
    """Note that claims were read up to an index; return whether nobody else did so meanwhile."""
    return await _moved(tx, "sessions.learned", session_id, start, end)


async def refined(tx: Executor, session_id: str, start: int, end: int) -> bool:
    """Note that a language model has read up to an index; likewise."""
    return await _moved(tx, "sessions.refined", session_id, start, end)


async def told(tx: Executor, session_id: str, start: int, end: int) -> bool:
    """Note that episodes were written up to an index, and how important the session is; likewise."""
    return await _moved(tx, "sessions.told", session_id, start, end)


async def summarised(tx: Executor, session_id: str, start: int, end: int, summary: str) -> bool:
    """Keep the running summary, and up to where it tells; likewise."""
    changed = await tx.run("sessions.summarised", session_id=session_id, summary=summary, **{"from": start, "to": end})
    return changed > 0


async def _moved(tx: Executor, query: str, session_id: str, start: int, end: int) -> bool:
    changed = await tx.run(query, session_id=session_id, **{"from": start, "to": end})
    return changed > 0
