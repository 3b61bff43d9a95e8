"""Facts of a user: what is known, since when, from which message."""

from __future__ import annotations

import builtins
from datetime import datetime
from typing import Annotated

from ltst.arguments import Content, Identifier, Score
from ltst.db.pool import Transaction
from ltst.errors import NotFound
from ltst.handles.desk import Desk, now
from ltst.learn.weigh import fold_fact
from ltst.records import Fact
from ltst.rooms import claims, facts, messages
from ltst.support import validate
from ltst.support.ids import is_id

Key = Annotated[Identifier, "The short name of the fact, such as name, home, job or allergy."]
AsOf = Annotated[datetime | None, "What was true at this time, instead of now."]


class AsyncFacts:
    """What is known about a user, on a line of time."""

    def __init__(self, desk: Desk) -> None:
        """Made by `user.facts`."""
        self._desk = desk

    async def set(
        self,
        key: Key,
        value: Annotated[Content, "What is true, such as Lisbon."],
        *,
        confidence: Annotated[Score, "How sure it is, from 0 to 1."] = 1.0,
        source_message_id: Annotated[Identifier | None, "The message in which the user said it."] = None,
        valid_from: Annotated[datetime | None, "Since when it is true; now, if left out."] = None,
        single_valued: Annotated[bool, "False: the key can have several values at once, such as hobbies."] = True,
    ) -> Fact:
        """Make a value hold from `valid_from` on (else from its source message on, else from now).

        The value before is closed, never deleted; with `single_valued=False` the values of the key join instead. A
        value that was rejected is refused.
        """
        key, value = validate.identifier(key, "key"), self._desk.content(value, "value")
        sure = validate.score(confidence, "confidence")
        begins = validate.optional_moment(valid_from, "valid_from")
        alone = validate.flag(single_valued, "single_valued")
        async with self._desk.writing("facts.set") as tx:
            said = await _source(tx, source_message_id)
            fact_id, new = await facts.set(
                tx,
                key,
                value,
                confidence=sure,
                source_message_id=source_message_id,
                valid_from=begins or said,
                single_valued=alone,
            )
            await fold_fact(tx, key)
            await self._desk.tell(tx, "set" if new else "confirm", "fact", fact_id)
            return await facts.need(tx, fact_id)

    async def get(self, key: Key, *, as_of: AsOf = None) -> Fact | None:
        """The value that holds now, or held on a day."""
        wanted, moment = validate.identifier(key, "key"), validate.optional_moment(as_of, "as_of")
        async with self._desk.reading("facts.get") as calls:
            return await facts.get(calls, wanted, moment)

    async def list(self, *, as_of: AsOf = None) -> builtins.list[Fact]:
        """What is known about the user now, or was on a day: every fact that holds, by key."""
        moment = validate.optional_moment(as_of, "as_of")
        async with self._desk.reading("facts.list") as calls:
            return await facts.list_all(calls, moment)

    async def history(self, key: Key) -> builtins.list[Fact]:
        """Every value there ever was, closed and rejected ones included, oldest first."""
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("facts.history") as calls:
            return await facts.history(calls, wanted)

    async def end(
        self,
        key: Key,
        value: Annotated[Content | None, "Which value is over; whatever holds, if left out."] = None,
        *,
        at: Annotated[datetime | None, "Since when it is over; now, if left out."] = None,
    ) -> builtins.list[Fact]:
        """Say that a value, or whatever holds, is over although nothing takes its place; what was ended."""
        key, moment = validate.identifier(key, "key"), validate.optional_moment(at, "at") or now()
        over = None if value is None else self._desk.content(value, "value")
        async with self._desk.writing("facts.end") as tx:
            ended = await facts.end(tx, key, over, moment)
            await fold_fact(tx, key)
            for fact_id in ended:
                await self._desk.tell(tx, "end", "fact", fact_id)
            return [await facts.need(tx, fact_id) for fact_id in ended]

    async def reject(self, key: Key, value: Annotated[Content, "The value that is wrong."]) -> builtins.list[Fact]:
        """Strike a value out for good: it is never learnt again. What it had replaced holds again."""
        key, value = validate.identifier(key, "key"), self._desk.content(value, "value")
        async with self._desk.writing("facts.reject") as tx:
            struck = await facts.reject(tx, key, value, now())
            await fold_fact(tx, key)
            for fact in struck:
                await self._desk.tell(tx, "reject", "fact", fact.fact_id)
        return struck

    async def forget(self, key: Key) -> bool:
        """Remove a key with its history and its rejections; whether there was one."""
        wanted = validate.identifier(key, "key")
        async with self._desk.writing("facts.forget") as tx:
            gone = await facts.forget(tx, wanted)
            await claims.forget(tx, "fact", wanted)
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
