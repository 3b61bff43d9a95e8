"""Refining: lets a language model read what the local rules may have missed, a stretch of a conversation at a time."""

from __future__ import annotations

from ltst.db.pool import Database, user_scope
from ltst.learn.listen import addressed, of_user
from ltst.learn.model import batches, extracted
from ltst.learn.weigh import weigh
from ltst.protocols import LanguageModel
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
    speaks = {str(each.message_id): each for each in of_user(unread, lease.user_id)}
    shown = [each for each in unread if each.trusted]
    known = await facts.list_all(calls, None) if speaks else []
    found = await extracted(model, shown, known, limits=limits, owner=lease.user_id) if speaks else []
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if progress is not None:
            last = unread[-1].message_index if unread else progress.last_index
            if not await sessions.refined(tx, lease.subject, progress.refined_index, last or 0):
                raise LeaseLost("the session was read by another")
            said = [
                Said(message_id, moment, addressed(claim, progress.agent_name))
                for message_id, claim in found
                if message_id in speaks and (moment := speaks[message_id].timestamp) is not None
            ]
            await weigh(tx, await claims.add(tx, said, reader=MODEL))
        await work.finish(tx, lease)
