"""Listening: reads what new messages of a session say about their speaker, and weighs it against what is known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from ltst.db.pool import Database, Transaction, user_scope
from ltst.learn.extract import claims as claims_in
from ltst.learn.hints import hints
from ltst.learn.weigh import NO_AGENT, weigh
from ltst.records import Claim, ConversationMessage
from ltst.rooms import claims, messages, sessions, work
from ltst.rooms.claims import Said
from ltst.rooms.work import Lease, LeaseLost

BATCH = 200
LOCAL = "local"


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


async def listen_for_hints(tx: Transaction) -> None:
    """Read the hints in what was read already while nobody asked for them."""
    last: str | None = None
    while read := await messages.heard(tx, last, BATCH):
        last = str(read[-1].message_id)
        found = await asyncio.to_thread(_all_hints, read, tx.scope.user_id)
        await weigh(tx, await claims.add(tx, found, reader=LOCAL))


def _all_hints(read: Sequence[ConversationMessage], user_id: str) -> list[Said]:
    """What the user hinted at, session by session: who else writes is known only within one."""
    together = groupby(sorted(read, key=_session), key=_session)
    return [each for _, spoken in together for message in of_user([*spoken], user_id) for each in _hinted(message)]


def _session(message: ConversationMessage) -> str:
    return message.session_id


def own_words(message: ConversationMessage) -> bool:
    """Whether the user speaks for themself here; only then anything may be learnt about them."""
    return message.role == "human" and message.message_type == "message" and message.trusted


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
    found = _claims(message)
    for claim in [*found, *(_hints(message, found) if inference else [])]:
        yield _said_in(message, addressed(claim, agent))


def _hinted(message: ConversationMessage) -> Iterable[Said]:
    for claim in _hints(message, _claims(message)):
        yield _said_in(message, claim)


def _claims(message: ConversationMessage) -> list[Claim]:
    assert message.timestamp is not None, "it comes from the database"
    return claims_in(message.content, message.timestamp)


def _hints(message: ConversationMessage, found: Iterable[Claim]) -> list[Claim]:
    """What a message hints at, where it does not say it."""
    known = {claim.key for claim in found if claim.noun == "preference"}
    return [claim for claim in hints(message.content) if claim.key not in known]


def _said_in(message: ConversationMessage, claim: Claim) -> Said:
    assert message.timestamp is not None and message.message_id is not None, "it comes from the database"
    return Said(message.message_id, message.timestamp, claim)


def addressed(claim: Claim, agent: str | None) -> Claim:
    """An instruction is for the agent that the user talks with."""
    return replace(claim, key=agent or NO_AGENT) if claim.noun == "instruction" else claim
