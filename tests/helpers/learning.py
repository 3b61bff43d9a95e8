"""Conversations to learn from, and what came of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from helpers.probes import superuser
from ltst import AsyncMemory, AsyncUser, ConversationMessage

DERIVED = {
    "claims": "claims",
    "statements": "statements",
    "facts": "user_facts",
    "preferences": "user_preferences",
    "instructions": "user_agent_prompt_customizations",
    "entries": "memory_entries",
    "relationships": "session_relationships",
    "parts": "(SELECT user_id FROM search_vectors WHERE part > 0) AS parts",
    "orphans": "(SELECT user_id FROM search_units WHERE row_id NOT IN (SELECT row_id FROM search_sources)) AS orphans",
    "unsettled": "unsettled_claims",
}


def day(number: float) -> datetime:
    """A day of the past, on which conversations rest by now."""
    return datetime(2025, 1, 1, 12, tzinfo=UTC) + timedelta(days=number)


async def say(
    user: AsyncUser, session_id: str, *texts: str, at: datetime | None = None, agent: str | None = None, **more: Any
) -> list[ConversationMessage]:
    """What the user says, a minute after the other; else now."""
    role = more.pop("role", "user")
    turns = [
        {"role": role, "content": text, "at": None if at is None else at + timedelta(minutes=number), **more}
        for number, text in enumerate(texts)
    ]
    return await user.chat(session_id, agent=agent).add_many(turns)


async def taught(memory: AsyncMemory, user: AsyncUser, session_id: str, *texts: str, **more: Any) -> list[str]:
    """The same, and it is learnt; the ids of the messages."""
    said = await say(user, session_id, *texts, **more)
    await memory.settle(user.user_id)
    return [str(each.message_id) for each in said]


async def values(user: AsyncUser, key: str, *, as_of: datetime | None = None) -> list[str]:
    """What holds, under a key."""
    return sorted(fact.value for fact in await user.facts.list(as_of=as_of) if fact.key == key)


async def timeline(user: AsyncUser, key: str = "home") -> list[tuple[str, datetime, datetime | None]]:
    """What held when, without what is struck out or holds at no time."""
    return [
        (fact.value, fact.valid_from, fact.valid_to)
        for fact in await user.facts.history(key)
        if fact.rejected_at is None and fact.valid_from != fact.valid_to
    ]


async def actions(user: AsyncUser, noun: str) -> list[str]:
    """What the ledger tells of a noun, in the order of time."""
    return [event.action for event in await user.events.list(limit=1000) if event.noun == noun]


def rows(memory: AsyncMemory, user: AsyncUser) -> dict[str, int]:
    """How many rows of each derived kind the user has; those with none are left out."""
    with superuser(memory.database_url) as connection:
        found = {
            noun: connection.execute(f"SELECT count(*) FROM {table} WHERE user_id = %s", (user.user_id,)).fetchone()
            for noun, table in DERIVED.items()
        }
    return {noun: row[0] for noun, row in found.items() if row and row[0]}


def run(memory: AsyncMemory, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """One statement from outside ltst."""
    with superuser(memory.database_url) as connection:
        cursor = connection.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []
