"""Helps to forget one fact: finds the messages that state it, what else they say, and the replies that repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ltst.handles.desk import Desk
from ltst.learn.weigh import fold_fact
from ltst.records import ME, ConversationMessage
from ltst.rooms import claims, facts, messages
from ltst.rooms.claims import StoredClaim
from ltst.support.timeline import same


@dataclass(frozen=True, slots=True)
class FactValue:
    """One value of a person's key, whenever it was valid."""

    key: str
    about: str
    value: str


async def saying(desk: Desk, wanted: FactValue) -> list[str]:
    """Returns the ids of all messages that state a value."""
    async with desk.reading("facts.saying") as calls:
        # Claims only concern the user.
        heard = await claims.of(calls, "fact", wanted.key) if wanted.about == ME else []
        known = await facts.history(calls, wanted.key, wanted.about)
    said = [each.message_id for each in heard if same(each.claim_value, wanted.value)]
    said += [each.source_message_id for each in known if each.source_message_id and same(each.value, wanted.value)]
    return [*dict.fromkeys(said)]


async def told_in(desk: Desk, message_ids: Iterable[str]) -> list[StoredClaim]:
    """Returns the claims that some messages make about the user, whether rules or a model found them."""
    async with desk.reading("claims.told_in") as calls:
        return await calls.rows("claims.told_in", StoredClaim, message_ids=[*message_ids])


async def repeating(
    desk: Desk, values: Sequence[FactValue], ids: Sequence[str], quotes: Sequence[str]
) -> list[ConversationMessage]:
    """Returns the replies that repeat what is to be forgotten.

    These are replies that quote it word for word, and retold ones that answer one of the messages, rest on one of the
    messages or entries, or mention one of the values.
    """
    async with desk.reading("messages.repeating") as calls:
        known = [(each, await facts.history(calls, each.key, each.about)) for each in values]
        own = [fact.fact_id for each, history in known for fact in history if same(fact.value, each.value)]
        return await messages.repeating(
            calls,
            [*ids, *own],
            quotes=quotes,
            # "Before that it was York" rests on the value that replaced York.
            beside=[fact.fact_id for _, history in known for fact in history],
            values=[each.value for each in values],
        )


async def drop(desk: Desk, wanted: FactValue) -> None:
    """Removes one value of a key; the others stay, and the previous one becomes valid again."""
    async with desk.writing("facts.drop") as tx:
        gone = await facts.drop(tx, wanted.key, wanted.about, wanted.value)
        if gone:
            await fold_fact(tx, wanted.key, wanted.about)
            # Does not name the person, because names are content and the ledger holds none.
            others = {} if wanted.about == ME else {"about": "another"}
            await desk.tell(tx, "forget", "fact", wanted.key, {"count": gone, **others})
