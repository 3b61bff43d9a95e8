"""Facts of a user: what is known about whom, since when and from which message."""

from __future__ import annotations

import builtins
from datetime import datetime
from typing import Annotated

from ltst.arguments import Content, Identifier, Score
from ltst.db.pool import Transaction
from ltst.errors import NotFound
from ltst.handles.desk import Handle, now
from ltst.learn.weigh import fold_fact
from ltst.records import ME, Fact
from ltst.rooms import claims, facts, messages
from ltst.support import validate
from ltst.support.ids import is_id

Key = Annotated[Identifier, "The short name of the fact, such as name, home, job or allergy."]
About = Annotated[Identifier, "Whom it is about: me for the user, else a name or relation as said, such as Dani."]
AsOf = Annotated[datetime | None, "What was true at this time, instead of now."]


class AsyncFacts(Handle):
    """What is known about a user, and about others, each key of a person on a line of time."""

    async def set(
        self,
        key: Key,
        value: Annotated[Content, "What is true, such as Lisbon."],
        *,
        confidence: Annotated[Score, "How sure it is, from 0 to 1."] = 1.0,
        source_message_id: Annotated[Identifier | None, "The message in which the user said it."] = None,
        valid_from: Annotated[datetime | None, "Since when it is true; now, if left out."] = None,
        single_valued: Annotated[bool, "False: the key can have several values at once, such as hobbies."] = True,
        about: About = "me",
    ) -> Fact:
        """Make a value hold from `valid_from` on (else from its source message on, else from now).

        The value before is closed, never deleted; with `single_valued=False` the values of the key join instead. A
        value that was rejected is refused. `about` is "me" for the user, else a name or relation as said; each person
        has values of their own.
        """
        key, whom, value = validate.identifier(key, "key"), _person(about), self._desk.content(value, "value")
        sure = validate.score(confidence, "confidence")
        begins = validate.optional_moment(valid_from, "valid_from")
        alone = validate.flag(single_valued, "single_valued")
        async with self._desk.writing("facts.set") as tx:
            said = await _source(tx, source_message_id)
            fact_id, new = await facts.set(
                tx,
                key,
                value,
                about=whom,
                confidence=sure,
                source_message_id=source_message_id,
                valid_from=begins or said,
                single_valued=alone,
            )
            await fold_fact(tx, key, whom)
            await self._desk.tell(tx, "set" if new else "confirm", "fact", fact_id)
            return await tx.one("facts.get", Fact, fact_id=fact_id)

    async def get(self, key: Key, *, as_of: AsOf = None, about: About = "me") -> Fact | None:
        """Return the value that holds now, or held on a day."""
        wanted, moment = validate.identifier(key, "key"), validate.optional_moment(as_of, "as_of")
        whom = _person(about)
        async with self._desk.reading("facts.get") as calls:
            return await facts.get(calls, wanted, whom, moment)

    async def list(
        self,
        *,
        as_of: AsOf = None,
        about: Annotated[About | None, "Only about me, the user, or somebody as said, such as Dani."] = None,
    ) -> builtins.list[Fact]:
        """Return what holds now, or held on a day, about everyone or one person; the user's own first, by key."""
        moment = validate.optional_moment(as_of, "as_of")
        whom = None if about is None else _person(about)
        async with self._desk.reading("facts.list") as calls:
            return await facts.list_all(calls, moment, whom)

    async def history(self, key: Key, *, about: About = "me") -> builtins.list[Fact]:
        """Return every value there ever was, closed and rejected ones too, oldest first."""
        wanted, whom = validate.identifier(key, "key"), _person(about)
        async with self._desk.reading("facts.history") as calls:
            return await facts.history(calls, wanted, whom)

    async def end(
        self,
        key: Key,
        value: Annotated[Content | None, "Which value is over; whatever holds, if left out."] = None,
        *,
        at: Annotated[datetime | None, "Since when it is over; now, if left out."] = None,
        about: About = "me",
    ) -> builtins.list[Fact]:
        """End a value, or all that hold, where nothing takes its place; return what was ended."""
        key, moment = validate.identifier(key, "key"), validate.optional_moment(at, "at") or now()
        over, whom = None if value is None else self._desk.content(value, "value"), _person(about)
        async with self._desk.writing("facts.end") as tx:
            ended = await facts.end(tx, key, whom, over, moment)
            await fold_fact(tx, key, whom)
            for fact_id in ended:
                await self._desk.tell(tx, "end", "fact", fact_id)
            return [await tx.one("facts.get", Fact, fact_id=fact_id) for fact_id in ended]

    async def reject(
        self, key: Key, value: Annotated[Content, "The value that is wrong."], *, about: About = "me"
    ) -> builtins.list[Fact]:
        """Strike a value out for good: it is never learned again, and what it had replaced holds again."""
        key, whom, value = validate.identifier(key, "key"), _person(about), self._desk.content(value, "value")
        async with self._desk.writing("facts.reject") as tx:
            struck = await facts.reject(tx, key, whom, value, now())
            await fold_fact(tx, key, whom)
            for fact in struck:
                await self._desk.tell(tx, "reject", "fact", fact.fact_id)
        return struck

    async def forget(self, key: Key, *, about: About = "me") -> bool:
        """Remove a key with its history and its rejections; return whether there was one."""
        wanted, whom = validate.identifier(key, "key"), _person(about)
        async with self._desk.writing("facts.forget") as tx:
            gone = await facts.forget(tx, wanted, whom)
            if whom == ME:
                await claims.forget(tx, "fact", wanted)
            if gone:
                # Does not name the person, because names are content and the ledger holds none.
                others = {} if whom == ME else {"about": "another"}
                await self._desk.tell(tx, "forget", "fact", wanted, {"count": gone, **others})
        return gone > 0


def _person(about: object) -> str:
    """Returns the person a fact is about; "me" in any capitals is the user."""
    checked = validate.identifier(about, "about")
    return ME if checked.lower() == ME else checked


async def _source(tx: Transaction, message_id: str | None) -> datetime | None:
    """Returns when the source message of a fact was said."""
    if message_id is None:
        return None
    if not is_id(message_id):
        raise NotFound(f"no message {message_id!r}")
    return (await messages.need(tx, message_id)).timestamp
