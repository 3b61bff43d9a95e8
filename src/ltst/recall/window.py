"""The short-term window over a cache: Postgres names its messages, the cache supplies the text of those it holds.

A cached message is used only if Postgres says, in the same read, that this version of it is in the window now. So
nothing ever needs to be invalidated, and a cache that was flushed or lags behind only costs time.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from ltst.db.pool import Database
from ltst.protocols import WindowCache
from ltst.records import ConversationMessage
from ltst.rooms import windows

# Part of the proof of a blob, so that a blob of another ltst version, with another layout, is rejected.
LAYOUT = "ltst window 1"
PROOF_BYTES = 16
# At least this many messages are kept, since the next read may ask for more. All are packed anew with each message.
USUAL_MESSAGES = 50
# Larger windows can be read, but their older part is not cached.
MOST_MESSAGES = 200
MOST_BYTES = 256 * 1024

Fresh = tuple[str, ConversationMessage]


class Entry(NamedTuple):
    """A message as the cache holds it. Everything but its place, id and version stays packed until it is needed."""

    place: int
    message_id: str
    version: str
    packed: bytes


class Reading(NamedTuple):
    """A window as it was read."""

    messages: list[ConversationMessage]
    hit: bool | None = None
    """Whether the cache held all of it; None if there is no cache."""
    keep: Coroutine[Any, Any, None] | None = None
    """Updates the cache for the next reading, if it changed; the caller need not wait for it."""


class Windows:
    """The cached windows of one database."""

    def __init__(self, cache: WindowCache, database_id: str) -> None:
        """Keeps the windows in a cache that may be shared with other databases."""
        self._cache = cache
        self._database_id = database_id

    async def read(
        self, database: Database, user_id: str, session_id: str, limit: int, max_tokens: int | None
    ) -> Reading:
        """Returns the newest messages, oldest first: at most `limit`, and together at most `max_tokens`."""
        names = self._name(user_id), self._name(user_id, session_id)
        owner = self._owner(user_id, session_id)
        held = unpack(await self._cache.get(*names), owner)
        known = {entry.message_id: entry.version for entry in held[-limit:]}
        found = await windows.difference(database, user_id, session_id, limit, max_tokens, known)
        kept = _at_indexes(held, found.kept)
        messages = [*_unpack_messages(kept, user_id, session_id), *(message for _, message in found.fresh)]
        messages.sort(key=_index_of)
        unchanged = not found.fresh and len(kept) == len(known)
        # If even the newest message exceeds `max_tokens`, the empty result says nothing about what is stored.
        if unchanged or (not messages and max_tokens is not None):
            return Reading(messages, hit=True)
        following = _keep_for_next(held, kept, found.fresh, min(max(limit, USUAL_MESSAGES), MOST_MESSAGES))
        keep = None if following == held else self._keep(names, following, owner)
        return Reading(messages, not found.fresh, keep)

    async def forget(self, user_id: str) -> None:
        """Removes everything that is cached of a user."""
        await self._cache.forget(self._name(user_id))

    async def _keep(self, names: tuple[str, str], entries: Sequence[Entry], owner: bytes) -> None:
        await self._cache.put(*names, pack(entries, owner))

    def _name(self, *ids: str) -> str:
        """Returns the hashed name under which the cache keeps it, so that a look into the cache reveals nobody's id."""
        return blake2b(json.dumps([self._database_id, *ids]).encode(), digest_size=PROOF_BYTES).hexdigest()

    def _owner(self, user_id: str, session_id: str) -> bytes:
        """Returns the key that proves whose a blob is, and in which layout."""
        return blake2b(json.dumps([LAYOUT, self._database_id, user_id, session_id]).encode()).digest()


def pack(entries: Sequence[Entry], owner: bytes) -> bytes:
    """Returns the entries as bytes, after a proof that they are complete and whose they are."""
    heads = json.dumps([[entry.place, entry.message_id, entry.version] for entry in entries])
    body = b"\n".join([heads.encode(), *(entry.packed for entry in entries)])
    return _sign(body, owner) + body


def unpack(blob: bytes | None, owner: bytes) -> list[Entry]:
    """Returns the entries of a blob; none if it is damaged, or belongs to another owner or layout."""
    if blob is None or blob[:PROOF_BYTES] != _sign(blob[PROOF_BYTES:], owner):
        return []
    heads, *packed = blob[PROOF_BYTES:].split(b"\n")
    return [Entry(*head, each) for head, each in zip(_parse_heads(heads), packed, strict=True)]


def _parse_heads(written: bytes) -> list[tuple[int, str, str]]:
    heads: list[tuple[int, str, str]] = json.loads(written)
    return heads


def _sign(body: bytes, owner: bytes) -> bytes:
    return blake2b(body, key=owner, digest_size=PROOF_BYTES).digest()


def _at_indexes(held: Sequence[Entry], indexes: Sequence[int]) -> list[Entry]:
    wanted = frozenset(indexes)
    return [entry for entry in held if entry.place in wanted]


def _keep_for_next(held: Sequence[Entry], kept: Sequence[Entry], fresh: Sequence[Fresh], most: int) -> list[Entry]:
    """Returns what to hold for the next reading: this window, and before it the older messages that were held."""
    window = sorted([*kept, *(_make_entry(*each) for each in fresh[-most:])], key=lambda entry: entry.place)
    # An empty window has nothing before it.
    first = window[0].place if window else 0
    return _fit_newest([*(entry for entry in held if entry.place < first), *window][-most:])


def _fit_newest(entries: Sequence[Entry]) -> list[Entry]:
    """Returns as many of the newest entries as fit into MOST_BYTES."""
    size, first = 0, len(entries)
    for entry in reversed(entries):
        size += len(entry.packed)
        if size > MOST_BYTES:
            break
        first -= 1
    return [*entries[first:]]


def _make_entry(version: str, message: ConversationMessage) -> Entry:
    return Entry(_index_of(message), str(message.message_id), version, _pack_message(message))


def _index_of(message: ConversationMessage) -> int:
    return message.message_index or 0


def _pack_message(message: ConversationMessage) -> bytes:
    return json.dumps(
        [
            message.role,
            message.content,
            message.message_type,
            message.parent_message_id,
            message.metadata,
            message.relevance_score,
            message.is_context_message,
            _write_time(message.timestamp),
            message.content_hash,
            message.context_hash,
            message.message_key,
            message.token_count,
            _write_time(message.created_at),
        ],
        ensure_ascii=False,
    ).encode()


def _write_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _unpack_messages(entries: Sequence[Entry], user_id: str, session_id: str) -> Iterator[ConversationMessage]:
    # Parsed in one call: one call for each message would cost more than reading it.
    texts = json.loads(b"[" + b",".join(entry.packed for entry in entries) + b"]")
    for entry, text in zip(entries, texts, strict=True):
        role, content, kind, parent, metadata, relevance, is_context, said, hash, scoped, key, tokens, stored = text
        yield ConversationMessage(
            session_id,
            role,
            content,
            kind,
            entry.place,
            parent,
            metadata,
            None,
            relevance,
            is_context,
            datetime.fromisoformat(said),
            entry.message_id,
            user_id,
            hash,
            scoped,
            key,
            tokens,
            datetime.fromisoformat(stored),
        )
