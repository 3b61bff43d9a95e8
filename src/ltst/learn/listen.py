"""Listening: reads what new messages of a session say about their speaker, and weighs it against what is known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ltst.db.pool import Database, user_scope
from ltst.learn.extract import claims as claims_in
from ltst.learn.hints import hints
from ltst.learn.weigh import NO_AGENT, weigh
from ltst.records import Claim, ConversationMessage
from ltst.rooms import claims, messages, sessions, work
from ltst.rooms.claims import Said
from ltst.rooms.work import Lease, LeaseLost

BATCH = 200
LOCAL = "local"
# Where the words of a user's message come from elsewhere, as its metadata may say.
FOREIGN = frozenset({"tool", "web", "document", "email", "file", "import", "paste"})


async def listen(database: Database, lease: Lease, *, inference: bool) -> None:
    """Read claims from the messages of a session that were not read yet, and note how far."""
    calls = database.user(lease.user_id)
    progress = await sessions.progress(calls, lease.subject)
    unread = [] if progress is None else await messages.after(calls, lease.subject, progress.learned_index, BATCH)
    agent = progress.agent_name if progress else None
    said = await asyncio.to_thread(_said, unread, lease.user_id, agent, inference)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if progress is not None:
            last = unread[-1].message_index if unread else progress.last_index
            # First of all, since it locks the session, as whoever deletes it does first.
            if not await sessions.learned(tx, lease.subject, progress.learned_index, last or 0):
                raise LeaseLost("the session was read by another")
            await weigh(tx, await claims.add(tx, said, reader=LOCAL))
        await work.finish(tx, lease)


def own_words(message: ConversationMessage) -> bool:
    """Whether the user speaks for themself here; only then anything may be learnt about them."""
    told = message.metadata
    return (
        message.role == "human"
        and message.message_type == "message"
        and told.get("trust", "high") != "low"
        and told.get("source") not in FOREIGN
    )


def of_user(unread: Sequence[ConversationMessage], user_id: str) -> list[ConversationMessage]:
    """What the user said; where several people write, only what is signed with the user's own id."""
    spoken = [message for message in unread if own_words(message)]
    signed = {signature(message) for message in spoken}
    return spoken if len(signed) < 2 else [message for message in spoken if signature(message) == user_id]


def signature(message: ConversationMessage) -> str | None:
    """Who wrote a message, as its metadata may say."""
    name = message.metadata.get("speaker", message.metadata.get("name"))
    return name if isinstance(name, str) else None


def _said(unread: Sequence[ConversationMessage], user_id: str, agent: str | None, inference: bool) -> list[Said]:
    return [each for message in of_user(unread, user_id) for each in _of(message, agent, inference)]


def _of(message: ConversationMessage, agent: str | None, inference: bool) -> Iterable[Said]:
    assert message.timestamp is not None and message.message_id is not None, "it comes from the database"
    found = claims_in(message.content, message.timestamp)
    if inference:
        known = {claim.key for claim in found if claim.noun == "preference"}
        found += [claim for claim in hints(message.content) if claim.key not in known]
    for claim in found:
        yield Said(message.message_id, message.timestamp, addressed(claim, agent))


def addressed(claim: Claim, agent: str | None) -> Claim:
    """An instruction is for the agent that the user talks with."""
    return replace(claim, key=agent or NO_AGENT) if claim.noun == "instruction" else claim
