"""Listening: reads what new messages of a session say about their speaker, and folds it into what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise, takewhile

from ltst.db.pool import Database, SingleCall, Transaction, user_scope
from ltst.learn import keys
from ltst.learn.rules import read_message
from ltst.learn.weigh import NO_AGENT, hold, weigh
from ltst.records import ME, Claim, ConversationMessage, EarlierMessage, MessageReading
from ltst.rooms import claims, events, facts, messages, sessions, statements, work
from ltst.rooms.claims import SourcedClaim
from ltst.rooms.events import NewEvent
from ltst.rooms.statements import StatementInMessage
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.children import LEARNING, OutOfTime
from ltst.support.text import normalised

BATCH = 200
LOCAL, ACTOR = "local", "learning"
BEFORE = 300  # last characters read of the turn that a message answers
# A message may correct the user's last MOST_EARLIER messages, among the last NEAR of all, no older than SOON.
MOST_EARLIER, NEAR, SOON = 3, 8, timedelta(days=1)


async def listen(database: Database, lease: Lease, *, limits: Limits) -> None:
    """Reads claims and statements from a session's unread messages, and records how far it got.

    A message that takes too long is set aside, and those after it are left for the next run.
    """
    calls = database.user(lease.user_id)
    progress = await sessions.progress(calls, lease.subject)
    reached = progress.learned_index if progress else 0
    # Includes the messages before them, which the first unread ones may answer or correct.
    nearby = await messages.after(calls, lease.subject, reached - NEAR, BATCH + NEAR) if progress else []
    unread = [each for each in nearby if (each.message_index or 0) > reached]
    heard, slow = await _read_messages(of_user(unread, lease.user_id), nearby, limits, lease.user_id)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if progress is not None:
            read = slow or unread[-1:]
            last = read[0].message_index if read else progress.last_index
            # First, because this locks the session, and whoever deletes the session also locks it first.
            await work.reached(tx, "sessions.learned", lease.subject, progress.learned_index, last or 0)
            await _keep(tx, heard, progress.agent_name)
            await work.set_aside(tx, work.READ, [str(each.message_id) for each in slow], _too_slow(limits))
        await work.finish(tx, lease)


async def listen_again(database: Database, lease: Lease, *, limits: Limits) -> None:
    """Reads claims and statements from one message that was set aside or edited."""
    calls = database.user(lease.user_id)
    nearby = await around(calls, lease.subject)
    spoken = [each for each in of_user(nearby, lease.user_id) if each.message_id == lease.subject]
    progress = await sessions.progress(calls, nearby[0].session_id) if nearby else None
    heard, slow = await _read_messages(spoken, nearby, limits, lease.user_id)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        # As above: whoever removes or edits the message locks the session first.
        await sessions.hold_many(tx, {each.session_id for each in nearby})
        await _keep(tx, heard, progress.agent_name if progress else None)
        await work.finish(tx, lease)
        await work.set_aside(tx, work.READ, [str(each.message_id) for each in slow], _too_slow(limits))


async def around(calls: SingleCall, message_id: str) -> list[ConversationMessage]:
    """Returns a message and those around it, which show who else writes; none if it is gone."""
    found = (await messages.get_many(calls, [message_id])).get(message_id)
    if found is None or found.message_index is None:
        return []
    return await messages.after(calls, found.session_id, found.message_index - 1 - BATCH // 2, BATCH)


async def _read_messages(
    spoken: Sequence[ConversationMessage], nearby: Sequence[ConversationMessage], limits: Limits, user_id: str
) -> tuple[list[tuple[ConversationMessage, MessageReading]], list[ConversationMessage]]:
    """Returns what the messages say, up to the first that takes too long to read, and that one."""
    before = {after.message_id: each.content[-BEFORE:] for each, after in pairwise(nearby)}
    given = [(*_words(each), before.get(each.message_id, ""), _earlier(each, nearby)) for each in spoken]
    heard = await LEARNING.each(read_message, given, limits, owner=user_id)
    slow = [each for each, found in zip(spoken, heard, strict=False) if isinstance(found, OutOfTime)]
    read = [(each, found) for each, found in zip(spoken, heard, strict=False) if not isinstance(found, OutOfTime)]
    return read, slow


async def _keep(
    tx: Transaction, heard: Sequence[tuple[ConversationMessage, MessageReading]], agent: str | None
) -> None:
    """Stores what was heard, and folds the claims into what is known."""
    said = [_said_in(message, addressed(claim, agent)) for message, learnt in heard for claim in learnt.claims]
    keyed, by_name = [each for each in said if each.claim.key], [each for each in said if not each.claim.key]
    if by_name:
        # All at once, because folding twice would lock them in another order than other callers do.
        named = [("fact", key) for key in keys.NAMED]
        await hold(tx, [*((each.claim.noun, each.claim.key) for each in keyed), *named])
    await weigh(tx, await claims.add(tx, keyed, reader=LOCAL))
    # Only now, because the same messages may have introduced whoever is gone.
    gone = [each for given in by_name for each in await _known_by_name(tx, given)]
    await weigh(tx, await claims.add(tx, gone, reader=LOCAL))
    spans = [
        StatementInMessage(str(message.message_id), each) for message, learnt in heard for each in learnt.statements
    ]
    new = await statements.add(tx, spans)
    await events.add_many(tx, ACTOR, [NewEvent("learn", "statement", statement_id, {}) for statement_id in new])


async def _known_by_name(tx: Transaction, said: SourcedClaim) -> list[SourcedClaim]:
    """Returns the end of the only one who has that name, under its key; nothing if nobody has it, or several."""
    known = [each for each in await facts.list_all(tx, said.said_at, ME) if each.fact_key in keys.NAMED]
    names = {*normalised(said.claim.value).split()}
    found = [each for each in known if names <= {*normalised(each.fact_value).split()}]
    if len(found) != 1:
        return []
    key = found[0].fact_key
    claim = replace(said.claim, key=key, value=found[0].fact_value, single_valued=key in keys.SINGLE_VALUED)
    return [said._replace(claim=claim)]


def _words(message: ConversationMessage) -> tuple[str, datetime]:
    assert message.timestamp is not None, "it comes from the database"
    return message.content, message.timestamp


def _earlier(message: ConversationMessage, nearby: Sequence[ConversationMessage]) -> list[EarlierMessage]:
    """Returns the user's messages just before this one, the latest last; stops at one that is not the user's own."""
    index, (_, said_at) = message.message_index or 0, _words(message)
    human = [each for each in nearby if each.role == "human" and 0 < index - (each.message_index or 0) <= NEAR]
    own = takewhile(
        lambda each: (
            own_words(each)
            and signature(each) == signature(message)
            and timedelta() <= said_at - _words(each)[1] <= SOON
        ),
        reversed(human),
    )
    return [EarlierMessage(str(each.message_id), each.content) for each in [*own][:MOST_EARLIER][::-1]]


def _too_slow(limits: Limits) -> str:
    return f"it takes more than {limits.seconds:g} s to read (LTST_LEARN_SECONDS)"


def own_words(message: ConversationMessage) -> bool:
    """Returns whether the user speaks for themself here; only then may anything be learned about them."""
    return message.role == "human" and message.message_type == "message" and message.trusted


def of_user(unread: Sequence[ConversationMessage], user_id: str) -> list[ConversationMessage]:
    """Returns what the user said; if several people write, only what is signed with the user's own id."""
    spoken = [message for message in unread if own_words(message)]
    signed = {signature(message) for message in spoken}
    return spoken if len(signed) < 2 else [message for message in spoken if signature(message) == user_id]


def signature(message: ConversationMessage) -> str | None:
    """Returns who wrote a message, if its metadata says so."""
    name = message.metadata.get("speaker", message.metadata.get("name"))
    return name if isinstance(name, str) else None


def _said_in(message: ConversationMessage, claim: Claim) -> SourcedClaim:
    assert message.timestamp is not None and message.message_id is not None, "it comes from the database"
    return SourcedClaim(message.message_id, message.timestamp, claim)


def addressed(claim: Claim, agent: str | None) -> Claim:
    """Returns the claim; an instruction gets as its key the agent that the user talks with."""
    return replace(claim, key=agent or NO_AGENT) if claim.noun == "instruction" else claim
