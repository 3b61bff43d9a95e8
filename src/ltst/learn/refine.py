"""Refining: lets a language model read what the local rules may have missed, a stretch of a conversation at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ltst.db.pool import Database, SingleCall, user_scope
from ltst.learn.listen import addressed, around, of_user
from ltst.learn.model import batches, extracted
from ltst.learn.weigh import weigh
from ltst.protocols import LanguageModel
from ltst.records import ME, ConversationMessage
from ltst.rooms import claims, facts, messages, sessions, work
from ltst.rooms.claims import Said
from ltst.rooms.work import Lease, LeaseLost
from ltst.support.child import Limits

BATCH = 40
MODEL = "model"


async def refine(database: Database, lease: Lease, model: LanguageModel, limits: Limits) -> None:
    """Read claims with a language model from what it has not read yet, in one call, and note how far."""
    calls = database.user(lease.user_id)
    progress = await sessions.progress(calls, lease.subject)
    behind = [] if progress is None else await messages.after(calls, lease.subject, progress.refined_index, BATCH)
    unread = next(iter(batches(behind)), [])
    spoken = of_user(unread, lease.user_id)
    said = await _said(calls, unread, spoken, progress.agent_name if progress else None, model, limits)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if progress is not None:
            last = unread[-1].message_index if unread else progress.last_index
            if not await sessions.refined(tx, lease.subject, progress.refined_index, last or 0):
                raise LeaseLost("the session was read by another")
            await weigh(tx, await claims.add(tx, said, reader=MODEL))
        await work.finish(tx, lease)


async def refine_again(database: Database, lease: Lease, model: LanguageModel, limits: Limits) -> None:
    """Read claims with a language model from one message that says something else now, behind what led up to it."""
    calls = database.user(lease.user_id)
    nearby = await around(calls, lease.subject)
    place = next((at for at, each in enumerate(nearby) if each.message_id == lease.subject), -1)
    spoken = [each for each in of_user(nearby, lease.user_id) if each.message_id == lease.subject]
    progress = await sessions.progress(calls, nearby[0].session_id) if nearby else None
    shown = nearby[max(0, place + 1 - BATCH) : place + 1]
    said = await _said(calls, shown, spoken, progress.agent_name if progress else None, model, limits)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        await sessions.hold_many(tx, {each.session_id for each in nearby})
        await weigh(tx, await claims.add(tx, said, reader=MODEL))
        await work.finish(tx, lease)


async def _said(
    calls: SingleCall,
    shown: Sequence[ConversationMessage],
    spoken: Sequence[ConversationMessage],
    agent: str | None,
    model: LanguageModel,
    limits: Limits,
) -> list[Said]:
    """What a model reads in what the user has `spoken`, shown among the other messages."""
    speaks = {str(each.message_id): each for each in spoken}
    if not speaks:
        return []
    known, owner = await facts.list_all(calls, None, ME), str(calls.scope.user_id)
    found = await extracted(model, [each for each in shown if each.trusted], known, limits=limits, owner=owner)
    return [
        Said(message_id, moment, addressed(claim, agent))
        for message_id, claim in found
        if message_id in speaks and (moment := speaks[message_id].timestamp) is not None
    ]
