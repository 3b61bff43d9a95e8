"""Facts of a user: what is known, since when, from which message."""

from __future__ import annotations

import builtins
from datetime import datetime

from ltst.db.pool import Transaction
from ltst.errors import NotFound
from ltst.handles.desk import Desk, now
from ltst.records import Fact
from ltst.rooms import facts, messages
from ltst.support import validate
from ltst.support.ids import is_id


class AsyncFacts:
    """What is known about a user, on a line of time."""

    def __init__(self, desk: Desk) -> None:
        """Made by `user.facts`."""
        self._desk = desk

    async def set(
        self,
        key: str,
        value: str,
        *,
        confidence: float = 1.0,
        source_message_id: str | None = None,
        valid_from: datetime | None = None,
    ) -> Fact:
        """Make a value hold from `valid_from` on (else from its source message on, else from now).

        The value before is closed, never deleted. A value that was rejected is refused.
        """
        key, value = validate.identifier(key, "key"), self._desk.content(value, "value")
        sure = validate.score(confidence, "confidence")
        begins = validate.optional_moment(valid_from, "valid_from")
        async with self._desk.writing("facts.set") as tx:
            said = await _source(tx, source_message_id)
            fact, new = await facts.set(
                tx, key, value, confidence=sure, source_message_id=source_message_id, valid_from=begins or said
            )
            await self._desk.tell(tx, "set" if new else "confirm", "fact", fact.fact_id)
        return fact

    async def get(self, key: str, *, as_of: datetime | None = None) -> Fact | None:
        """The value that holds now, or held on a day."""
        wanted, moment = validate.identifier(key, "key"), validate.optional_moment(as_of, "as_of")
        async with self._desk.reading("facts.get") as calls:
            return await facts.get(calls, wanted, moment)

    async def list(self, *, as_of: datetime | None = None) -> builtins.list[Fact]:
        """Everything that holds now, or held on a day, by key."""
        moment = validate.optional_moment(as_of, "as_of")
        async with self._desk.reading("facts.list") as calls:
            return await facts.list_all(calls, moment)

    async def history(self, key: str) -> builtins.list[Fact]:
        """Every value there ever was, closed and rejected ones included, oldest first."""
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("facts.history") as calls:
            return await facts.history(calls, wanted)

    async def reject(self, key: str, value: str) -> builtins.list[Fact]:
        """Strike a value out for good: it is never learnt again. What it had replaced holds again."""
        key, value = validate.identifier(key, "key"), self._desk.content(value, "value")
        async with self._desk.writing("facts.reject") as tx:
            struck = await facts.reject(tx, key, value, now())
            for fact in struck:
                await self._desk.tell(tx, "reject", "fact", fact.fact_id)
        return struck

    async def forget(self, key: str) -> bool:
        """Remove a key with its history and its rejections; whether there was one."""
        wanted = validate.identifier(key, "key")
        async with self._desk.writing("facts.forget") as tx:
            gone = await facts.forget(tx, wanted)
            if gone:
                await self._desk.tell(tx, "forget", "fact", wanted, {"count": gone})
        return gone > 0


async def _source(tx: Transaction, message_id: str | None) -> datetime | None:
    """When the source message of a fact was said."""
    if message_id is None:
        return None
    if not is_id(message_id):
        raise NotFound(f"no message {message_id!r}")
    return (await messages.need(tx, message_id)).timestamp
