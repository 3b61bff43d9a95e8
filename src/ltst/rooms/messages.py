"""Messages: every turn, verbatim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ltst.db.pool import Database, Executor
from ltst.errors import Conflict, NotFound
from ltst.records import ConversationMessage
from ltst.support.ids import new_id
from ltst.support.text import scoped_hash, sha256
from ltst.support.tokens import count

BATCH = 2000
MESSAGE_TYPES = ("message", "system", "context", "preference")


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that passed the checks and has its id, but no index yet."""

    session_id: str
    role: str
    content: str
    timestamp: datetime
    metadata: str
    parent: str | None
    key: str | None
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
class Opening:
    """What a session is created with, should this be its first write."""

    session_id: str
    agent: str | None
    name: str | None
    actor: str


def draft(
    session_id: str, role: str, content: str, timestamp: datetime, metadata: str, parent: str | None, key: str | None
) -> Draft:
    """A message with all that can be known before it is stored."""
    digest = sha256(content)
    return Draft(
        session_id=session_id,
        role=role,
        content=content,
        timestamp=timestamp,
        metadata=metadata,
        parent=parent,
        key=key,
        message_id=new_id(),
        content_hash=digest,
        context_hash=scoped_hash(session_id, role, digest),
        token_count=count(content),
    )


async def add(database: Database, user_id: str, opening: Opening, draft: Draft) -> ConversationMessage:
    """Store one message: one round trip, one commit."""
    outcome, message_id, index, created_at = await database.call(
        "messages.add",
        user_id,
        opening.session_id,
        draft.message_id,
        draft.role,
        draft.content,
        draft.content_hash,
        draft.context_hash,
        draft.token_count,
        draft.timestamp,
        draft.metadata,
        draft.parent,
        draft.key,
        opening.agent,
        opening.name,
        opening.actor,
    )
    if outcome == "added":
        return draft.at(user_id, index, created_at)
    if outcome == "conflict":
        raise _key_conflict(draft.key)
    return await need(database.user(user_id), message_id)


async def open_session(tx: Executor, opening: Opening, began: datetime) -> int:
    """Lock a session, creating it if this is its first write, and tell its last index."""
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


async def add_many(tx: Executor, opening: Opening, drafts: Sequence[Draft]) -> list[ConversationMessage]:
    """Store many messages of one session; those whose key is there already come back as they are."""
    last = await open_session(tx, opening, drafts[0].timestamp)
    known = await _keyed(tx, opening.session_id, [each.key for each in drafts if each.key])
    fresh: dict[str, Draft] = {}
    for each in drafts:
        _check_key(each, known.get(each.key or ""), fresh)
        if each.key is None or (each.key not in known and each.key not in fresh):
            fresh[each.key or each.message_id] = each
    numbered = [*enumerate(fresh.values(), start=last + 1)]
    for start in range(0, len(numbered), BATCH):
        await _insert(tx, opening.session_id, numbered[start : start + BATCH])
    now = await tx.value("messages.now")
    stored = {each.message_id: each.at(tx.scope.user_id, index, now) for index, each in numbered}
    return [known.get(each.key or "") or stored[fresh[each.key or each.message_id].message_id] for each in drafts]


async def store(tx: Executor, draft: Draft, message: ConversationMessage, index: int) -> None:
    """Store a message with what a caller of ConversationStorage may set besides its content."""
    await tx.run(
        "messages.store",
        user_id=tx.scope.user_id,
        session_id=draft.session_id,
        message_id=draft.message_id,
        role=draft.role,
        content=draft.content,
        content_hash=draft.content_hash,
        context_hash=draft.context_hash,
        message_index=index,
        message_type=message.message_type,
        token_count=draft.token_count,
        metadata=draft.metadata,
        parent=draft.parent,
        timestamp=draft.timestamp,
        embedding=message.embedding or None,
        relevance_score=message.relevance_score,
        is_context_message=message.is_context_message,
    )


async def get(tx: Executor, message_id: str) -> ConversationMessage | None:
    """A message, if this user has it."""
    return await tx.row("messages.get", ConversationMessage, user_id=tx.scope.user_id, message_id=message_id)


async def need(tx: Executor, message_id: str) -> ConversationMessage:
    """A message that this user must have."""
    found = await get(tx, message_id)
    if found is None:
        raise NotFound(f"no message {message_id!r}")
    return found


async def window(
    database: Database, user_id: str, session_id: str, limit: int, max_tokens: int | None
) -> list[ConversationMessage]:
    """The newest messages, oldest first; only what is returned is read."""
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


async def fork(tx: Executor, session_id: str, fork_id: str, at: int) -> int:
    """Copy the messages up to an index into another session, with ids of their own; the number copied."""
    return await tx.run("messages.fork", user_id=tx.scope.user_id, session_id=session_id, fork_id=fork_id, at=at)


async def _keyed(tx: Executor, session_id: str, keys: list[str]) -> dict[str, ConversationMessage]:
    if not keys:
        return {}
    found = await tx.rows(
        "messages.keyed", ConversationMessage, user_id=tx.scope.user_id, session_id=session_id, keys=keys
    )
    return {str(each.message_key): each for each in found}


def _check_key(new: Draft, known: ConversationMessage | None, fresh: dict[str, Draft]) -> None:
    other = known or (fresh.get(new.key) if new.key else None)
    if other is not None and (other.content_hash, other.role) != (new.content_hash, new.role):
        raise _key_conflict(new.key)


def _key_conflict(key: str | None) -> Conflict:
    return Conflict(f"the key {key!r} belongs to another message of this session; one key, one message")


async def _insert(tx: Executor, session_id: str, numbered: Iterable[tuple[int, Draft]]) -> None:
    indexes, drafts = zip(*numbered, strict=True)
    await tx.run(
        "messages.add_many",
        user_id=tx.scope.user_id,
        session_id=session_id,
        indexes=[*indexes],
        message_ids=[each.message_id for each in drafts],
        roles=[each.role for each in drafts],
        contents=[each.content for each in drafts],
        content_hashes=[each.content_hash for each in drafts],
        context_hashes=[each.context_hash for each in drafts],
        keys=[each.key for each in drafts],
        token_counts=[each.token_count for each in drafts],
        metadatas=[each.metadata for each in drafts],
        parents=[each.parent for each in drafts],
        timestamps=[each.timestamp for each in drafts],
    )
