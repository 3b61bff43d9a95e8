"""Messages: every turn, verbatim."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring as quoted

from ltst.db.pool import Database, Executor
from ltst.errors import Conflict, NotFound
from ltst.records import ConversationMessage
from ltst.support.ids import new_id
from ltst.support.text import scoped_hash, sha256
from ltst.support.tokens import count

BATCH = 1000


@dataclass(slots=True)
class Turn:
    """A message that passed the checks."""

    session_id: str
    role: str
    content: str
    timestamp: datetime
    metadata: str
    parent: str | None
    key: str | None


@dataclass(slots=True)
class Draft(Turn):
    """A message with its id and all else that can be known before it is stored; only the index is missing."""

    message_id: str
    content_hash: str
    context_hash: str
    token_count: int

    def at(self, user_id: str, index: int, created_at: datetime) -> ConversationMessage:
        """The message as it is stored."""
        return ConversationMessage(
            session_id=self.session_id,
            role=self.role,
            content=self.content,
            message_index=index,
            parent_message_id=self.parent,
            metadata={} if self.metadata == "{}" else json.loads(self.metadata),
            timestamp=self.timestamp,
            message_id=self.message_id,
            user_id=user_id,
            content_hash=self.content_hash,
            context_hash=self.context_hash,
            message_key=self.key,
            token_count=self.token_count,
            created_at=created_at,
        )


@dataclass(frozen=True, slots=True)
class Held:
    """What a session holds: the index of its newest message, and for each key the role and the hash of the content."""

    last_index: int
    keys: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session is created with, should this be its first write."""

    session_id: str
    agent: str | None
    name: str | None
    actor: str


def draft(turn: Turn) -> Draft:
    """Give a message its id and hashes."""
    digest = sha256(turn.content)
    return Draft(
        turn.session_id,
        turn.role,
        turn.content,
        turn.timestamp,
        turn.metadata,
        turn.parent,
        turn.key,
        new_id(),
        digest,
        scoped_hash(turn.session_id, turn.role, digest),
        count(turn.content),
    )


async def add(database: Database, user_id: str, opening: Opening, turn: Turn) -> ConversationMessage:
    """Store one message: one round trip, one commit."""
    new = draft(turn)
    outcome, message_id, index, created_at = await database.call(
        "messages.add",
        user_id,
        opening.session_id,
        new.message_id,
        new.role,
        new.content,
        new.content_hash,
        new.context_hash,
        new.token_count,
        new.timestamp,
        new.metadata,
        new.parent,
        new.key,
        opening.agent,
        opening.name,
        opening.actor,
    )
    if outcome == "added":
        return new.at(user_id, index, created_at)
    if outcome == "conflict":
        raise _key_conflict(turn.key)
    return await need(database.user(user_id), message_id)


async def open_session(tx: Executor, opening: Opening, began: datetime) -> int:
    """Lock a session, creating it on its first write; return its last index."""
    return int(
        await tx.value(
            "messages.open_session",
            user_id=tx.scope.user_id,
            session_id=opening.session_id,
            agent=opening.agent,
            name=opening.name,
            actor=opening.actor,
            began=began,
        )
    )


async def add_many(
    tx: Executor, opening: Opening, turns: Sequence[Turn]
) -> tuple[list[ConversationMessage], list[ConversationMessage]]:
    """Store many messages of one session; those whose key is there already come back as they are.

    All of them in their order, and those that were added.
    """
    last = await open_session(tx, opening, turns[0].timestamp)
    known = await keyed(tx, opening.session_id, [turn.key for turn in turns if turn.key])
    fresh = _fresh(turns, known)
    stored = await _insert_all(tx, opening.session_id, [*enumerate(fresh, start=last + 1)])
    by_key = known | {str(message.message_key): message for message in stored if message.message_key}
    unkeyed = iter([message for message in stored if message.message_key is None])
    return [by_key[turn.key] if turn.key else next(unkeyed) for turn in turns], stored


async def store(tx: Executor, turn: Turn, message: ConversationMessage, index: int) -> str:
    """Store a message with what a caller of ConversationStorage may set besides its content; tells its id."""
    new = draft(turn)
    await tx.run(
        "messages.store",
        user_id=tx.scope.user_id,
        session_id=new.session_id,
        message_id=new.message_id,
        role=new.role,
        content=new.content,
        content_hash=new.content_hash,
        context_hash=new.context_hash,
        message_index=index,
        message_type=message.message_type,
        token_count=new.token_count,
        metadata=new.metadata,
        parent=new.parent,
        timestamp=new.timestamp,
        embedding=message.embedding or None,
        relevance_score=message.relevance_score,
        is_context_message=message.is_context_message,
    )
    return new.message_id


async def get(tx: Executor, message_id: str) -> ConversationMessage | None:
    """A message, if this user has it."""
    return await tx.row("messages.get", ConversationMessage, user_id=tx.scope.user_id, message_id=message_id)


async def get_many(tx: Executor, message_ids: Sequence[str]) -> dict[str, ConversationMessage]:
    """Messages by their id, those that this user has."""
    found = await tx.rows(
        "messages.get_many", ConversationMessage, user_id=tx.scope.user_id, message_ids=[*message_ids]
    )
    return {str(message.message_id): message for message in found}


async def need(tx: Executor, message_id: str) -> ConversationMessage:
    """A message that this user must have."""
    found = await get(tx, message_id)
    if found is None:
        raise NotFound(f"no message {message_id!r}")
    return found


async def window(
    database: Database, user_id: str, session_id: str, limit: int, max_tokens: int | None
) -> list[ConversationMessage]:
    """Return the newest messages, oldest first; no others are read."""
    return await database.call_rows(
        "messages.window",
        ConversationMessage,
        user_id=user_id,
        session_id=session_id,
        limit=limit,
        max_tokens=max_tokens,
    )


async def list_all(tx: Executor, session_id: str, *, limit: int, offset: int) -> list[ConversationMessage]:
    """The messages of a session from its beginning, embeddings included."""
    return await tx.rows(
        "messages.list",
        ConversationMessage,
        user_id=tx.scope.user_id,
        session_id=session_id,
        limit=limit,
        offset=offset,
    )


async def need_in(tx: Executor, session_id: str, message_id: str) -> ConversationMessage:
    """A message that a session of this user must have."""
    found = await get(tx, message_id)
    if found is None or found.session_id != session_id:
        raise NotFound(f"no message {message_id!r}")
    return found


async def remove(tx: Executor, message: ConversationMessage) -> None:
    """Remove a message and what rests on it alone; its replies become replies to its own parent."""
    named = {"user_id": tx.scope.user_id, "message_id": message.message_id}
    await tx.run("messages.pass_on", **named, parent=message.parent_message_id)
    await tx.run("messages.remove", **named)


async def replace(
    tx: Executor, message: ConversationMessage, content: str, metadata: str | None
) -> ConversationMessage:
    """Replace the text of a message and forget what rested on the old one; metadata stays unless given."""
    digest = sha256(content)
    changed = await tx.row(
        "messages.replace",
        ConversationMessage,
        user_id=tx.scope.user_id,
        message_id=message.message_id,
        content=content,
        content_hash=digest,
        context_hash=scoped_hash(message.session_id, message.role, digest),
        token_count=count(content),
        metadata=metadata,
    )
    assert changed is not None, "its session is locked"
    return changed


async def last_index(tx: Executor, session_id: str) -> int:
    """Return the index of the newest message of a session, or 0."""
    return int(await tx.value("messages.last_index", user_id=tx.scope.user_id, session_id=session_id))


async def fork(tx: Executor, session_id: str, fork_id: str, at: int) -> int:
    """Copy the messages up to an index into another session, under new ids; return how many."""
    return await tx.run("messages.fork", user_id=tx.scope.user_id, session_id=session_id, fork_id=fork_id, at=at)


async def keyed(tx: Executor, session_id: str, keys: list[str]) -> dict[str, ConversationMessage]:
    """Return the messages of a session that have these keys, by key."""
    if not keys:
        return {}
    found = await tx.rows(
        "messages.keyed", ConversationMessage, user_id=tx.scope.user_id, session_id=session_id, keys=keys
    )
    return {str(each.message_key): each for each in found}


async def held(tx: Executor, last: Mapping[str, int]) -> dict[str, Held]:
    """Return the keyed messages that sessions hold, in order; `last` are their newest indexes."""
    keys: dict[str, dict[str, tuple[str, str]]] = {session_id: {} for session_id in last}
    if any(last.values()):
        filled = [session_id for session_id, index in last.items() if index]
        for row in await tx.dicts("messages.keys", user_id=tx.scope.user_id, session_ids=filled):
            keys[row["session_id"]][row["message_key"]] = (row["role"], row["content_hash"])
    return {session_id: Held(index, keys[session_id]) for session_id, index in last.items()}


async def add_to_sessions(tx: Executor, numbered: Sequence[tuple[int, Draft]]) -> None:
    """Store messages of many sessions; while the server works on some, the next are made ready."""
    sent: asyncio.Task[int] | None = None
    for start in range(0, len(numbered), BATCH):
        rows = "[" + ",".join(_in_session(index, each) for index, each in numbered[start : start + BATCH]) + "]"
        if sent is not None:
            await sent
        sent = asyncio.create_task(tx.run("messages.add_to_sessions", user_id=tx.scope.user_id, rows=rows))
        await asyncio.sleep(0)  # lets it go out
    if sent is not None:
        await sent


def _fresh(turns: Sequence[Turn], known: Mapping[str, ConversationMessage]) -> list[Turn]:
    """The messages to store: all but those whose key was stored before or came earlier in the same list."""
    fresh: list[Turn] = []
    first: dict[str, tuple[str, str]] = {key: (each.role, each.content) for key, each in known.items()}
    for turn in turns:
        if turn.key is None:
            fresh.append(turn)
        elif turn.key not in first:
            first[turn.key] = (turn.role, turn.content)
            fresh.append(turn)
        elif first[turn.key] != (turn.role, turn.content):
            raise _key_conflict(turn.key)
    return fresh


def _key_conflict(key: str | None) -> Conflict:
    return Conflict(f"the key {key!r} belongs to another message of this session; one key, one message")


async def _insert_all(tx: Executor, session_id: str, numbered: list[tuple[int, Turn]]) -> list[ConversationMessage]:
    """Batch by batch; while the server works on one, the next is made ready."""
    now = await tx.value("messages.now")
    stored: list[ConversationMessage] = []
    sent: asyncio.Task[int] | None = None
    for start in range(0, len(numbered), BATCH):
        batch = [(index, draft(turn)) for index, turn in numbered[start : start + BATCH]]
        rows = "[" + ",".join(_as_json(index, each) for index, each in batch) + "]"
        if sent is not None:
            await sent
        work = tx.run("messages.add_many", user_id=tx.scope.user_id, session_id=session_id, rows=rows)
        sent = asyncio.create_task(work)
        await asyncio.sleep(0)  # lets it go out
        stored += [each.at(tx.scope.user_id, index, now) for index, each in batch]
    if sent is not None:
        await sent
    return stored


def _as_json(index: int, draft: Draft) -> str:
    # Written out, since thousands of rows make a general encoder felt. The metadata is JSON already.
    key = "null" if draft.key is None else quoted(draft.key)
    parent = "null" if draft.parent is None else quoted(draft.parent)
    return (
        f'{{"message_id":"{draft.message_id}","role":"{draft.role}","content":{quoted(draft.content)},'
        f'"content_hash":"{draft.content_hash}","context_hash":"{draft.context_hash}","message_index":{index},'
        f'"message_key":{key},"token_count":{draft.token_count},"metadata":{draft.metadata},'
        f'"parent_message_id":{parent},"timestamp":"{draft.timestamp.isoformat()}"}}'
    )


def _in_session(index: int, draft: Draft) -> str:
    return f'{{"session_id":{quoted(draft.session_id)},{_as_json(index, draft)[1:]}'


async def after(tx: Executor, session_id: str, index: int, limit: int) -> list[ConversationMessage]:
    """The messages that follow one, the earliest first."""
    return await tx.rows(
        "messages.after",
        ConversationMessage,
        user_id=tx.scope.user_id,
        session_id=session_id,
        after=index,
        limit=limit,
    )
