"""Forgetting one thing that was said: which messages say it, what else they say, which replies repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ltst.handles.desk import Desk
from ltst.learn.weigh import fold_fact
from ltst.records import ME, ConversationMessage
from ltst.rooms import claims, facts, messages
from ltst.rooms.claims import Heard
from ltst.support.timeline import same


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a key of a person, whenever it held."""

    key: str
    about: str
    value: str


async def saying(desk: Desk, wanted: Value) -> list[str]:
    """Return the ids of all messages that say a value, not only of the first one."""
    async with desk.reading("facts.saying") as calls:
        # Claims are what people say of themselves.
        heard = await claims.of(calls, "fact", wanted.key) if wanted.about == ME else []
        known = await facts.history(calls, wanted.key, wanted.about)
    said = [each.message_id for each in heard if same(each.claim_value, wanted.value)]
    said += [each.source_message_id for each in known if each.source_message_id and same(each.value, wanted.value)]
    return [*dict.fromkeys(said)]


async def told_in(desk: Desk, message_ids: Iterable[str]) -> list[Heard]:
    """Return what some messages tell of their writer, whoever read it in them."""
    async with desk.reading("claims.told_in") as calls:
        return await calls.rows("claims.told_in", Heard, message_ids=[*message_ids])


async def repeating(
    desk: Desk, values: Sequence[Value], ids: Sequence[str], quotes: Sequence[str]
) -> list[ConversationMessage]:
    """Return the replies that repeat what is to be forgotten.

    Those that quote it word for word, and, of replies that only retell, those that answer one of these messages, rest
    on one of these messages or entries, or tell one of these values.
    """
    async with desk.reading("messages.repeating") as calls:
        known = [(each, await facts.history(calls, each.key, each.about)) for each in values]
        own = [fact.fact_id for each, history in known for fact in history if same(fact.value, each.value)]
        return await messages.repeating(
            calls,
            [*ids, *own],
            quotes=quotes,
            # "Before that it was York" rests on what holds instead.
            beside=[fact.fact_id for _, history in known for fact in history],
            values=[each.value for each in values],
        )


async def drop(desk: Desk, wanted: Value) -> None:
    """Remove one value of a key; the others stay, and the one before it holds again."""
    async with desk.writing("facts.drop") as tx:
        gone = await facts.drop(tx, wanted.key, wanted.about, wanted.value)
        if gone:
            await fold_fact(tx, wanted.key, wanted.about)
            # Not who it is: a name is content, which the ledger never holds.
            others = {} if wanted.about == ME else {"about": "another"}
            await desk.tell(tx, "forget", "fact", wanted.key, {"count": gone, **others})
