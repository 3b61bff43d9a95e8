"""Reads, in one call, all that a prompt may hold besides search results."""

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

SHARED = ("preference", "project", "user_info")  # what they say holds in the user's other conversations too
MOST_CONTEXTS = 200
LONGEST_CONTEXT = 50_000


@dataclass(frozen=True, slots=True)
class Summary:
    """The running summary of a session, the last message that it tells of, and the agent of the session."""

    context_summary: str | None
    summarised_index: int
    agent_name: str | None


class Known(NamedTuple):
    """What is known: of the session, of the user, and for the agent.

    Of each type and key there is one context, of this session or else the newest of those that the user's others share;
    the session's own come first, then the most relevant.
    """

    summary: Summary | None
    instruction: Instruction | None
    preferences: list[UserPreference]
    facts: list[Fact]
    contexts: list[ConversationContext]
    working: list[ConversationContext]
    messages: list[ConversationMessage]  # the newest turns, oldest first, with what a prompt tells of them


async def read(
    database: Database, user_id: str, session_id: str, agent: str | None, no_agent: str, turns: int | None
) -> Known:
    """Return it, with so many turns. Without an agent, the instructions are those for the session's agent, if any."""
    (found,) = await database.call_rows(
        "known.all",
        _known,
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


def _known(
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
    """Rows of JSON, in which times are texts, as records."""
    times = _times(record)
    for row in rows or ():
        for name in times:
            if told := row.get(name):
                row[name] = datetime.fromisoformat(told)
    return [record(**row) for row in rows or ()]


@cache
def _times(record: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record) if "datetime" in str(each.type))
