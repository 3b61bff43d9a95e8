"""Refining: lets a language model read what the local rules may have missed, one batch of messages at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ltst.db.pool import Database, SingleCall, Transaction, user_scope
from ltst.learn.listen import ACTOR, addressed, around, of_user
from ltst.learn.model import Weighed, extracted
from ltst.learn.quoted import Claimed, Noted, Quoted
from ltst.learn.transcript import batches
from ltst.learn.weigh import weigh
from ltst.protocols import LanguageModel
from ltst.providers.vectors import TextRefused
from ltst.records import ME, ConversationMessage, Statement
from ltst.rooms import claims, events, facts, messages, sessions, statements, work
from ltst.rooms.claims import SourcedClaim, StoredClaim
from ltst.rooms.events import NewEvent
from ltst.rooms.statements import StatementInMessage
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.place import in_thread
from ltst.support.terms import terms

BATCH = 40
MODEL = "model"
# How much of what is noted the model is shown: of its turns, and of earlier statements, chosen from the LATEST.
MOST_OF_TURNS, MOST_EARLIER, LATEST = 40, 24, 400


async def refine(database: Database, lease: Lease, model: LanguageModel, limits: Limits) -> None:
    """Reads claims and statements from unread messages in one call to a language model, and records how far it got."""
    calls = database.user(lease.user_id)
    progress = await sessions.progress(calls, lease.subject)
    behind = [] if progress is None else await messages.after(calls, lease.subject, progress.refined_index, BATCH)
    unread = next(iter(batches(behind)), [])
    spoken = of_user(unread, lease.user_id)
    read = await _ask_model(calls, unread, spoken, model, limits)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if progress is not None:
            last = unread[-1].message_index if unread else progress.last_index
            await work.reached(tx, "sessions.refined", lease.subject, progress.refined_index, last or 0)
            await _keep(tx, read, spoken, progress.agent_name)
        await work.finish(tx, lease)


async def refine_again(database: Database, lease: Lease, model: LanguageModel, limits: Limits) -> None:
    """Reads the same from one edited message, shown after the messages that led up to it."""
    calls = database.user(lease.user_id)
    nearby = await around(calls, lease.subject)
    place = next((at for at, each in enumerate(nearby) if each.message_id == lease.subject), -1)
    spoken = [each for each in of_user(nearby, lease.user_id) if each.message_id == lease.subject]
    progress = await sessions.progress(calls, nearby[0].session_id) if nearby else None
    read = await _ask_model(calls, nearby[max(0, place + 1 - BATCH) : place + 1], spoken, model, limits)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        await sessions.hold_many(tx, {each.session_id for each in nearby})
        await _keep(tx, read, spoken, progress.agent_name if progress else None)
        await work.finish(tx, lease)


async def _ask_model(
    calls: SingleCall,
    shown: Sequence[ConversationMessage],
    spoken: Sequence[ConversationMessage],
    model: LanguageModel,
    limits: Limits,
) -> Weighed:
    """Returns what a model reads in the `spoken` messages of the user, shown among the others."""
    if not spoken:
        return Weighed()
    known, noted, owner = (
        await facts.list_all(calls, None, ME),
        await _read_noted(calls, spoken),
        str(calls.scope.user_id),
    )
    turns = [each for each in shown if each.trusted]
    try:
        return await extracted(model, turns, known, noted, limits=limits, owner=owner)
    except TextRefused:
        # The model may have refused a statement of another conversation, which must not block this one.
        own = noted.only({str(each.message_id) for each in spoken})
        return await extracted(model, turns, known, own, limits=limits, owner=owner)


async def _read_noted(calls: SingleCall, spoken: Sequence[ConversationMessage]) -> Noted:
    """Returns what was noted of these messages, and earlier statements that may be about the same."""
    ids = [str(each.message_id) for each in spoken]
    stated = await statements.in_messages(calls, ids)
    said = await statements.list_all(calls, about=None, kind=None, current=True, session_id=None, limit=LATEST)
    last = max(each.timestamp for each in spoken if each.timestamp is not None)
    before = [each for each in said if each.message_id not in ids and each.said_at <= last]
    earlier = await in_thread(_nearest, before, [each.content for each in spoken])
    local = [
        Claimed(each.claim_id, each.message_id, each.claim_key, each.claim_value)
        for each in await calls.rows("claims.in_messages", StoredClaim, message_ids=ids)
    ]
    return Noted([*stated[:MOST_OF_TURNS], *earlier], local[:MOST_OF_TURNS])


def _nearest(before: Sequence[Statement], texts: Sequence[str]) -> list[Statement]:
    """Returns the statements that share most words with the texts, rare words above all; among equals the newest."""
    held = [{*terms(each.content)} for each in before]
    often, wanted = Counter(term for each in held for term in each), {*terms("\n".join(texts))}
    weight = [sum(1 / often[term] for term in each & wanted) for each in held]
    order = sorted(range(len(before)), key=lambda at: (-weight[at], at))
    return [before[at] for at in order[:MOST_EARLIER]]


async def _keep(tx: Transaction, read: Weighed, spoken: Sequence[ConversationMessage], agent: str | None) -> None:
    """Stores what the model read in the user's messages, strikes out what it rejects, and folds the claims."""
    speaks = {str(each.message_id): each for each in spoken}
    said = [
        SourcedClaim(message_id, moment, addressed(claim, agent))
        for message_id, claim in read.kept
        if message_id in speaks and (moment := speaks[message_id].timestamp) is not None
    ]
    new, gone = await claims.add(tx, said, reader=MODEL), await claims.strike_out(tx, read.wrong)
    await weigh(tx, [*new, *gone])
    # Struck out until learned anew; what a person set is never struck out.
    struck = await tx.values("statements.strike_out", ids=read.wrong) if read.wrong else []
    await events.add_many(tx, ACTOR, [NewEvent("reject", "statement", each, {"by": MODEL}) for each in struck])
    await _keep_stated(tx, [each for each in read.stated if each.message_id in speaks])


async def _keep_stated(tx: Transaction, stated: Sequence[Quoted]) -> None:
    """Stores new statements, updates those already there, and marks the ones they replace."""
    new = await statements.add(
        tx, [StatementInMessage(each.message_id, each.stated) for each in stated if each.known is None]
    )
    await events.add_many(tx, ACTOR, [NewEvent("learn", "statement", each, {}) for each in new])
    for each in stated:
        if each.known is not None:
            # Its origin and confidence stay as they are.
            said = {name: getattr(each.stated, name) for name in ("kind", "about", "since", "until")}
            await tx.run("statements.describe", statement_id=each.known, **said)
    standing = await statements.in_messages(tx, {each.message_id for each in stated if each.replaces})
    ids = {(each.message_id, each.start_at, each.end_at): each.statement_id for each in standing}
    for newer, older in ((ids.get(each.place), older) for each in stated for older in each.replaces):
        if newer is not None and await statements.supersede(tx, older, newer):
            await events.add(tx, ACTOR, "supersede", "statement", older, {"by": newer})
