"""Messages: every turn of a conversation, verbatim."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple

from ltst.db.pool import Database, Executor
from ltst.errors import Conflict, NotFound
from ltst.records import ConversationMessage
from ltst.support.ids import new_id
from ltst.support.text import scoped_hash, sha256
from ltst.support.tokens import count

Messages = list[ConversationMessage]

BATCH = 1000
# Columns of a new message; `metadata` is added separately because it is sent as JSON.
WRITTEN = tuple(each.name for each in fields(ConversationMessage) if each.name not in ("metadata", "created_at"))


class StoredKeys(NamedTuple):
    """The index of a session's newest message, and the role and content hash behind each message key."""

    last_index: int
    keys: Mapping[str, tuple[str, str]]


class Opening(NamedTuple):
    """The details of a session that its first message creates."""

    session_id: str
    agent: str | None
    name: str | None
    actor: str


def completed(message: ConversationMessage) -> ConversationMessage:
    """Fills in id, hashes and token count of a validated message and returns it; only its index is still missing."""
    digest = sha256(message.content)
    message.message_id, message.content_hash = new_id(), digest
    message.context_hash = scoped_hash(message.session_id, message.role, digest)
    message.token_count = count(message.content)
    return message


def _columns(message: ConversationMessage) -> dict[str, Any]:
    """Returns the columns to write for a message."""
    return {name: getattr(message, name) for name in WRITTEN} | {"metadata": _json(message)}


def _json(message: ConversationMessage) -> str:
    return json.dumps(message.metadata, ensure_ascii=False) if message.metadata else "{}"


async def add(database: Database, opening: Opening, message: ConversationMessage) -> ConversationMessage:
    """Stores one message in one round trip and one commit; returns the stored one if its key is known."""
    given = {**_columns(completed(message)), "agent": opening.agent, "name": opening.name, "actor": opening.actor}
    outcome, message_id, index, created_at = await database.call("messages.add", given)
    if outcome == "added":
        message.message_index, message.created_at = index, created_at
        return message
    if outcome == "conflict":
        raise _key_conflict(message.message_key)
    return await need(database.user(str(message.user_id)), message_id)


async def open_session(tx: Executor, opening: Opening, began: datetime | None) -> int:
    """Locks a session, creating it if needed, and returns the index of its last message."""
    return int(
        await tx.value(
            "messages.open_session",
            session_id=opening.session_id,
            agent=opening.agent,
            name=opening.name,
            actor=opening.actor,
            began=began,
        )
    )


async def add_many(tx: Executor, opening: Opening, given: Sequence[ConversationMessage]) -> tuple[Messages, Messages]:
    """Stores messages of one session, except those whose key is already stored.

    Returns all of them in order, with stored ones in place of those, and separately the ones that were added.
    """
    last = await open_session(tx, opening, given[0].timestamp)
    known = await keyed(tx, opening.session_id, [each.message_key for each in given if each.message_key])
    fresh, now = _fresh(given, known), await tx.value("messages.now")
    for index, message in enumerate(fresh, start=last + 1):
        message.message_index, message.created_at = index, now
    await insert(tx, fresh)
    by_key = known | {message.message_key: message for message in fresh if message.message_key}
    return [by_key[message.message_key] if message.message_key else message for message in given], fresh


async def store(tx: Executor, message: ConversationMessage) -> ConversationMessage:
    """Stores a message with every field that a caller of ConversationStorage may set, and returns it."""
    await tx.run("messages.store", **_columns(completed(message)))
    return await need(tx, str(message.message_id))


async def get(tx: Executor, message_id: str) -> ConversationMessage | None:
    """Returns a message of this user, or None."""
    return await tx.row("messages.get", ConversationMessage, message_id=message_id)


async def get_many(tx: Executor, message_ids: Sequence[str]) -> dict[str, ConversationMessage]:
    """Returns the user's messages with these ids, by id."""
    found = await tx.rows("messages.get_many", ConversationMessage, message_ids=[*message_ids])
    return {str(message.message_id): message for message in found}


async def need(tx: Executor, message_id: str) -> ConversationMessage:
    """Returns a message of this user; raises NotFound if there is none."""
    found = await get(tx, message_id)
    if found is None:
        raise NotFound(f"no message {message_id!r}")
    return found


async def window(
    database: Database, user_id: str, session_id: str, limit: int, max_tokens: int | None
) -> list[ConversationMessage]:
    """Returns the newest messages of a session, oldest first."""
    return await database.call_rows(
        "messages.window",
        ConversationMessage,
        user_id=user_id,
        session_id=session_id,
        limit=limit,
        max_tokens=max_tokens,
    )


async def need_in(tx: Executor, session_id: str, message_id: str) -> ConversationMessage:
    """Returns a message of this session; raises NotFound if it has no such message."""
    found = await need(tx, message_id)
    if found.session_id != session_id:
        raise NotFound(f"no message {message_id!r}")
    return found


async def remove(tx: Executor, message: ConversationMessage) -> None:
    """Removes a message and what was learned from it alone; its replies become replies to its parent."""
    named = {"user_id": tx.scope.user_id, "message_id": message.message_id}
    await tx.run("messages.pass_on", **named, parent=message.parent_message_id)
    await tx.run("messages.remove", **named)


async def repeating(
    tx: Executor, ids: Sequence[str], *, quotes: Sequence[str], beside: Sequence[str], values: Sequence[str]
) -> list[ConversationMessage]:
    """Returns replies that quote something, and retold ones that rest on `ids`, or on `beside` and name a value."""
    asked = {"ids": [*ids], "quotes": [*quotes], "beside": [*beside], "values": [*values]}
    return await tx.rows("messages.repeating", ConversationMessage, **asked)


async def replace(
    tx: Executor, message: ConversationMessage, content: str, metadata: str | None
) -> ConversationMessage:
    """Replaces the text of a message and drops what was learned from the old one; metadata stays unless given."""
    digest = sha256(content)
    return await tx.one(  # the caller has locked the session
        "messages.replace",
        ConversationMessage,
        message_id=message.message_id,
        content=content,
        content_hash=digest,
        context_hash=scoped_hash(message.session_id, message.role, digest),
        token_count=count(content),
        metadata=metadata,
    )


async def last_index(tx: Executor, session_id: str) -> int:
    """Returns the index of the newest message of a session, or 0."""
    return int(await tx.value("messages.last_index", session_id=session_id))


async def keyed(tx: Executor, session_id: str, keys: list[str]) -> dict[str, ConversationMessage]:
    """Returns the messages of a session that have these keys, by key."""
    if not keys:
        return {}
    found = await tx.rows("messages.keyed", ConversationMessage, session_id=session_id, keys=keys)
    return {str(each.message_key): each for each in found}


async def held(tx: Executor, last: Mapping[str, int]) -> dict[str, StoredKeys]:
    """Returns the keyed messages of sessions; `last` has the newest index of each session."""
    keys: dict[str, dict[str, tuple[str, str]]] = {session_id: {} for session_id in last}
    if any(last.values()):
        filled = [session_id for session_id, index in last.items() if index]
        for row in await tx.dicts("messages.keys", session_ids=filled):
            keys[row["session_id"]][row["message_key"]] = (row["role"], row["content_hash"])
    return {session_id: StoredKeys(index, keys[session_id]) for session_id, index in last.items()}


async def insert(tx: Executor, messages: Sequence[ConversationMessage]) -> None:
    """Stores messages that have their index, encoding the next batch while the server inserts the previous one."""
    sent: asyncio.Task[int] | None = None
    for start in range(0, len(messages), BATCH):
        rows = "[" + ",".join(map(_row, messages[start : start + BATCH])) + "]"
        if sent is not None:
            await sent
        sent = asyncio.create_task(tx.run("messages.insert", rows=rows))
        await asyncio.sleep(0)  # lets the task send its statement
    if sent is not None:
        await sent


def _fresh(given: Sequence[ConversationMessage], known: Mapping[str, ConversationMessage]) -> Messages:
    """Returns the messages to store, leaving out those whose key is stored or came earlier in the list."""
    fresh, first = [], {**known}
    for message in given:
        key = message.message_key
        if key is not None and key in first:
            if (first[key].role, first[key].content) != (message.role, message.content):
                raise _key_conflict(key)
            continue
        if key is not None:
            first[key] = message
        fresh.append(message)
    return fresh


def _key_conflict(key: str | None) -> Conflict:
    return Conflict(f"the key {key!r} belongs to another message of this session; one key, one message")


def _row(message: ConversationMessage) -> str:
    # Written by hand because a general JSON encoder is noticeably slow for thousands of rows.
    made = message if message.message_id else completed(message)
    key = "null" if made.message_key is None else quoted(made.message_key)
    parent = "null" if made.parent_message_id is None else quoted(made.parent_message_id)
    return (
        f'{{"session_id":{quoted(made.session_id)},"message_id":"{made.message_id}","role":"{made.role}",'
        f'"content":{quoted(made.content)},"content_hash":"{made.content_hash}","context_hash":"{made.context_hash}",'
        f'"message_index":{made.message_index},"message_key":{key},"token_count":{made.token_count},'
        f'"metadata":{_json(made)},"parent_message_id":{parent},"timestamp":"{made.timestamp}"}}'
    )


async def after(tx: Executor, session_id: str, index: int, limit: int) -> list[ConversationMessage]:
    """Returns the messages that follow an index, oldest first."""
    return await tx.rows("messages.after", ConversationMessage, session_id=session_id, after=index, limit=limit)
