"""Reads everything a prompt may contain besides search results, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ltst.db.pool import Database
from ltst.records import ConversationContext, ConversationMessage, Fact, Instruction, UserPreference

R = TypeVar("R")
Rows = Sequence[dict[str, Any]] | None

SHARED = ("preference", "project", "user_info")  # context types that also apply to the user's other conversations
MOST_CONTEXTS = 200
LONGEST_CONTEXT = 50_000


@dataclass(frozen=True, slots=True)
class Summary:
    """The running summary of a session, the index of the last message it covers, and the session's agent."""

    context_summary: str | None
    summarised_index: int
    agent_name: str | None


class Known(NamedTuple):
    """Everything known about the session and the user, and the agent's instructions.

    `contexts` has one context per type and key: this session's own, else the newest that another session shares.
    The session's own come first, then the most relevant.
    """

    summary: Summary | None
    instruction: Instruction | None
    preferences: list[UserPreference]
    facts: list[Fact]
    contexts: list[ConversationContext]
    working: list[ConversationContext]
    messages: list[ConversationMessage]  # the newest turns, oldest first, with the columns that a prompt needs


async def read(
    database: Database, user_id: str, session_id: str, agent: str | None, no_agent: str, turns: int | None
) -> Known:
    """Reads it with the newest `turns`. Without `agent`, the instructions are those for the session's agent, if any."""
    (found,) = await database.call_rows(
        "known.all",
        _make_known,
        user_id=user_id,
        session_id=session_id,
        agent=agent,
        no_agent=no_agent,
        shared=[*SHARED],
        longest=LONGEST_CONTEXT,
        most=MOST_CONTEXTS,
        turns=turns,
    )
    return found


def _make_known(
    summary: Rows, instructions: Rows, preferences: Rows, facts: Rows, contexts: Rows, working: Rows, messages: Rows
) -> Known:
    return Known(
        _first(Summary, summary),
        _first(Instruction, instructions),
        _records(UserPreference, preferences),
        _records(Fact, facts),
        _records(ConversationContext, contexts),
        _records(ConversationContext, working),
        _records(ConversationMessage, messages),
    )


def _first(record: Callable[..., R], rows: Rows) -> R | None:
    found = _records(record, rows)
    return found[0] if found else None


def _records(record: Callable[..., R], rows: Rows) -> list[R]:
    """Builds records from JSON rows, parsing their times from text."""
    times = _times(record)
    for row in rows or ():
        for name in times:
            if told := row.get(name):
                row[name] = datetime.fromisoformat(told)
    return [record(**row) for row in rows or ()]


@cache
def _times(record: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record) if "datetime" in str(each.type))
