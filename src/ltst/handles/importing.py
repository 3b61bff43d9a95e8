"""Imports conversations from elsewhere; each is stored once, however often it is imported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from ltst.db import statistics
from ltst.db.pool import Transaction
from ltst.errors import Invalid, shown
from ltst.handles.desk import Desk
from ltst.records import ConversationMessage, Imported, ImportedConversation, ImportedMessage
from ltst.rooms import events, messages, relationships, sessions
from ltst.rooms.messages import StoredKeys, completed
from ltst.support import validate
from ltst.support.branches import Branch, Tree, refuse_copies
from ltst.support.text import sha256

# Fewer rows would not help the planner.
ENOUGH_TO_TELL = 10


class CheckedConversation(NamedTuple):
    """A validated conversation, ready to be written."""

    given: ImportedConversation
    began: datetime
    metadata: str
    messages: Mapping[str, ConversationMessage]
    tree: Tree


@dataclass(slots=True)
class Plan:
    """What to write: the branches of conversations, what their sessions hold, and the sessions that are new."""

    branches: list[tuple[CheckedConversation, Branch]] = field(default_factory=list)
    held: dict[str, StoredKeys] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)


async def add_all(desk: Desk, conversations: Iterable[ImportedConversation]) -> Imported:
    """Stores conversations, all of them or none, leaving alone what is already stored."""
    if not isinstance(conversations, Iterable):
        raise Invalid("conversations must be a list of ImportedConversation")
    checked = [_check_conversation(desk, position, each) for position, each in enumerate(conversations, start=1)]
    refuse_copies(sum(each.tree.copies for each in checked))
    total = Imported()
    if not checked:
        return total
    async with desk.writing("sessions.add_many") as tx:
        await tx.value("sessions.take_turns")  # one import per user at a time
        for distinct in _distinct(checked):
            plan = await _planned(tx, distinct)
            total += await _carried_out(desk, tx, plan)
        tx.seen = total.messages
    if total.conversations >= ENOUGH_TO_TELL and not desk.core.looked_at_tables:
        desk.core.looked_at_tables = True
        await statistics.gather(desk.core.database, statistics.CONVERSATIONS)
    return total


def _distinct(given: Sequence[CheckedConversation]) -> Iterator[list[CheckedConversation]]:
    """Yields batches in which no session occurs twice, so that repeated conversations find the first ones stored."""
    left = [*given]
    while left:
        taken, now, later = set[str](), list[CheckedConversation](), list[CheckedConversation]()
        for each in left:
            free = taken.isdisjoint(each.tree.candidates)
            (now if free else later).append(each)
            taken |= each.tree.candidates
        yield now
        left = later


async def _planned(tx: Transaction, given: Sequence[CheckedConversation]) -> Plan:
    """Lays out the branches beside what is stored, locking the sessions and creating missing ones."""
    plan, asked = Plan(), set[str]()
    wanted = {session_id for each in given for session_id in each.tree.candidates}
    while wanted:
        asked |= wanted
        last = await sessions.hold_many(tx, wanted - plan.created)
        plan.held |= await messages.held(tx, last)
        keys = {session_id: held.keys for session_id, held in plan.held.items()}
        plan.branches = [(each, branch) for each in given for branch in each.tree.branches(keys)]
        wanted = {branch.session_id for _, branch in plan.branches} - asked
        if not wanted:
            # If another process created one meanwhile, it may hold messages: lay everything out again.
            wanted = await _create(tx, plan)
    return plan


async def _create(tx: Transaction, plan: Plan) -> set[str]:
    """Creates missing sessions; returns the ids of those that another process created first."""
    missing = {
        branch.session_id: sessions.NewSession(branch.session_id, each.given.name, each.metadata, each.began)
        for each, branch in plan.branches
        if branch.session_id not in plan.held
    }
    opened = await sessions.open_many(tx, missing.values())
    plan.created |= opened
    plan.held |= {session_id: StoredKeys(0, {}) for session_id in opened}
    return missing.keys() - opened


async def _carried_out(desk: Desk, tx: Transaction, plan: Plan) -> Imported:
    """Writes what is new in each branch and records it in the ledger."""
    fresh: list[ConversationMessage] = []
    entries: list[events.NewEvent] = []
    known = differing = 0
    for each, branch in plan.branches:
        held = plan.held[branch.session_id]
        there, missing = branch.path[: branch.known], branch.path[branch.known :]
        # A fork gets copies of the messages before it.
        new = [completed(replace(each.messages[key], session_id=branch.session_id)) for key in missing]
        known += branch.known
        differing += sum(_differs(each.messages[key], held) for key in there)
        for index, message in enumerate(new, start=held.last_index + 1):
            message.message_index = index
        fresh += new
        entries += _ledger_entries(branch, new, branch.session_id in plan.created)
    await messages.insert(tx, fresh)
    forked = [branch for _, branch in plan.branches if branch.origin is not None and branch.session_id in plan.created]
    forks = [(str(branch.origin), branch.session_id) for branch in forked]
    await relationships.fork_many(tx, forks)
    await events.add_many(tx, desk.settings.actor, entries)
    return Imported(len(plan.created) - len(forks), len(forks), len(fresh), known=known, differing=differing)


def _differs(given: ConversationMessage, held: StoredKeys) -> bool:
    return held.keys[str(given.message_key)] != (given.role, sha256(given.content))


def _ledger_entries(branch: Branch, new: Sequence[ConversationMessage], created: bool) -> Iterator[events.NewEvent]:
    """Yields the events for a branch, the same as if its session had been written or forked by hand."""
    if created and branch.origin is not None:
        yield events.NewEvent("fork", "session", branch.session_id, {"from": branch.origin, "count": len(new)})
        return
    if created:
        yield events.NewEvent("add", "session", branch.session_id, {})
    if new:
        details = {"session_id": branch.session_id, "count": len(new)}
        yield events.NewEvent("add", "message", str(new[0].message_id), details)


def _check_conversation(desk: Desk, position: int, conversation: ImportedConversation) -> CheckedConversation:
    if not isinstance(conversation, ImportedConversation):
        raise Invalid(f"conversation {position} must be an ImportedConversation, not {type(conversation).__name__}")
    try:
        return checked(conversation, desk.settings.max_content_bytes, desk.user_id)
    except Invalid as problem:
        shown = str(conversation.session_id)[:80]
        raise Invalid(f"conversation {position} ({shown}): {problem}") from None


def checked(given: ImportedConversation, most_bytes: int, user_id: str | None = None) -> CheckedConversation:
    """Returns a validated conversation or raises Invalid; importers call it before anything is written."""
    session_id = validate.identifier(given.session_id, "session_id")
    validate.optional_text(given.name, "name", 500)
    if not isinstance(given.messages, Sequence) or not given.messages:
        raise Invalid("messages must be a list of at least one ImportedMessage")
    messages: dict[str, ConversationMessage] = {}
    parents: dict[str, str | None] = {}
    for place, message in enumerate(given.messages, start=1):
        try:
            checked = _message(user_id, session_id, message, most_bytes)
            if message.key in parents:
                raise Invalid(f"there are two messages with the key {message.key!r}")
            if message.parent is not None and message.parent not in parents:
                raise Invalid(f"its parent must stand before it; {shown(message.parent)} does not")
        except Invalid as problem:
            raise Invalid(f"message {place}: {problem}") from None
        messages[message.key], parents[message.key] = checked, message.parent
    current = given.messages[-1].key if given.current is None else given.current
    if current not in parents:
        raise Invalid(f"current must be the key of one of its messages, not {shown(current)}")
    began = validate.optional_moment(given.created_at, "created_at") or validate.moment(given.messages[0].at, "at")
    metadata = validate.metadata(given.metadata, most_bytes)
    return CheckedConversation(given, began, metadata, messages, Tree(session_id, parents, current))


def _message(user_id: str | None, session_id: str, message: ImportedMessage, most_bytes: int) -> ConversationMessage:
    if not isinstance(message, ImportedMessage):
        raise Invalid(f"it must be an ImportedMessage, not {type(message).__name__}")
    return ConversationMessage(
        session_id,
        validate.role(message.role),
        validate.content(message.content, "content", most_bytes),
        timestamp=validate.moment(message.at, "at"),
        metadata=json.loads(validate.metadata(message.metadata, most_bytes)) if message.metadata else {},
        message_key=validate.identifier(message.key, "key"),
        user_id=user_id,
    )
