"""One conversation of a user: writes, reads, searches and changes it."""

from __future__ import annotations

import builtins
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from ltst.arguments import (
    MESSAGE_TYPES,
    Budget,
    Content,
    Few,
    Identifier,
    Index,
    Limit,
    MessageId,
    Metadata,
    Offset,
    Role,
    SaidAt,
    Score,
    SearchFilters,
    Strategy,
    WindowSize,
)
from ltst.db.pool import Transaction
from ltst.errors import Conflict, Invalid, NotFound, shown
from ltst.handles import windows
from ltst.handles.contexts import AsyncContexts, AsyncWorking
from ltst.handles.desk import Desk, now
from ltst.handles.recall import assemble, checked, find, wanted_context
from ltst.handles.sessions import AsyncSessions
from ltst.learn.weigh import hold, weigh
from ltst.recall.context import Context
from ltst.records import ConversationMessage, ConversationSession, SessionSummary
from ltst.rooms import claims, relationships, sessions
from ltst.rooms import messages as message_room
from ltst.support import validate
from ltst.support.ids import is_id, new_id

SNAPSHOT_MESSAGES = 50
SNAPSHOT_TOKENS = 4000
ADD_ARGUMENTS = frozenset({"role", "content", "at", "metadata", "parent", "key"})
MODEL_ROLES = {"human": "user", "ai": "assistant"}


class AsyncChat:
    """One conversation of a user."""

    def __init__(self, desk: Desk, session_id: str, agent: str | None, name: str | None) -> None:
        """Made by `user.chat(session_id)`."""
        self._desk = desk
        self._session_id = session_id
        self._agent = agent
        self._opening = message_room.Opening(session_id, agent, name, desk.settings.actor)

    @property
    def user_id(self) -> str:
        """Whose conversation this is."""
        return self._desk.user_id

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return self._session_id

    @property
    def agent(self) -> str | None:
        """The agent that the user talks with."""
        return self._agent

    @property
    def working(self) -> AsyncWorking:
        """Working memory: values that matter for this conversation, for a while."""
        return AsyncWorking(self._desk, self._opening)

    @property
    def contexts(self) -> AsyncContexts:
        """Typed keys and values attached to this conversation."""
        return AsyncContexts(self._desk, self._opening)

    async def add(
        self,
        role: Role,
        content: Annotated[Content, "What is said, word for word."],
        *,
        at: SaidAt = None,
        metadata: Metadata | None = None,
        parent: Annotated[Identifier | None, "The id of the message that it answers."] = None,
        key: Annotated[Identifier | None, "Stored again with the same key, it is stored once."] = None,
    ) -> ConversationMessage:
        """Store a message; it is durable when this returns.

        `at` is when it was said, `parent` the id of the message it answers. With a `key`, adding the same message
        again returns the one that is stored; other content under the same key is a Conflict.
        """
        message = self._message(role, content, at=at, metadata=metadata, parent=parent, key=key)
        core = self._desk.core
        async with core.measured("storage", "messages.add", self.user_id, self._session_id) as tally:
            stored = await message_room.add(core.database, self._opening, message)
            tally.rows = 1
        core.written(self.user_id)
        return stored

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> builtins.list[ConversationMessage]:
        """Store many messages at once, all or none; each is a mapping with the arguments of `add`."""
        if not isinstance(messages, Iterable):
            raise Invalid("messages must be a list of mappings with the arguments of add")
        given = [self._one_of(position, each) for position, each in enumerate(messages, start=1)]
        if not given:
            return []
        async with self._desk.writing("messages.add_many", self._session_id) as tx:
            stored, added = await message_room.add_many(tx, self._opening, given)
            if added:
                details = {"session_id": self._session_id, "count": len(added)}
                await self._desk.tell(tx, "add", "message", str(added[0].message_id), details)
            tx.seen = len(added)  # without rows of the session and the ledger
        return stored

    async def add_interaction(
        self,
        user_msg: Annotated[Content, "What the user said."],
        ai_msg: Annotated[Content, "What the assistant answered."],
    ) -> builtins.list[ConversationMessage]:
        """Store what the user said and what the assistant answered, both or neither."""
        return await self.add_many([{"role": "user", "content": user_msg}, {"role": "assistant", "content": ai_msg}])

    async def window(
        self, limit: Limit = 50, *, max_tokens: Annotated[Index | None, "How many tokens at most, together."] = None
    ) -> builtins.list[ConversationMessage]:
        """Return the newest messages, oldest first: at most `limit` of them, with at most `max_tokens` together."""
        most = validate.limit(limit)
        budget = None if max_tokens is None else validate.limit(max_tokens, "max_tokens", validate.LARGEST_INTEGER)
        core = self._desk.core
        async with core.measured("retrieval", "messages.window", self.user_id, self._session_id) as tally:
            found = await windows.read(core, self.user_id, self._session_id, most, budget)
            tally.rows, tally.cache_hit = len(found.messages), found.hit
        return found.messages

    async def history(self, *, limit: Limit = 100, offset: Offset = 0) -> builtins.list[ConversationMessage]:
        """Return the messages from the beginning on, page by page."""
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("messages.list", self._session_id) as calls:
            page = {"session_id": self._session_id, "limit": most, "offset": passed}
            return await calls.rows("messages.list", ConversationMessage, **page)

    async def fork(
        self,
        at: Annotated[Index | None, "The index of the last message to copy; else all."] = None,
        *,
        session_id: Annotated[Identifier | None, "The id of the copy; else a new one."] = None,
    ) -> AsyncChat:
        """Begin a new conversation with a copy of this one, up to the message with index `at`, and return it.

        Messages and living contexts are copied by value, so that each conversation can be deleted by itself; the two
        are linked as a fork.
        """
        fork_id = new_id() if session_id is None else validate.identifier(session_id, "session_id")
        last = None if at is None else validate.limit(at, "at", validate.LARGEST_INTEGER)
        async with self._desk.writing("sessions.fork", self._session_id) as tx:
            source = sessions.need(await sessions.get(tx, self._session_id), self._session_id)
            await self._copy(tx, source, fork_id, last)
        return AsyncChat(self._desk, fork_id, source.agent_name, source.session_name)

    async def summary(self) -> SessionSummary:
        """Count messages by role and tokens; return them with the first and last message and the average relevance."""
        return await AsyncSessions(self._desk).summary(self._session_id)

    async def snapshot(self) -> dict[str, Any]:
        """Return the newest messages, ready for JSON, with the roles that models know."""
        recent = await self.window(SNAPSHOT_MESSAGES, max_tokens=SNAPSHOT_TOKENS)
        return {
            "session_id": self._session_id,
            "messages": [{"role": MODEL_ROLES.get(each.role, each.role), "content": each.content} for each in recent],
            "window_strategy": "sliding_window",
            "max_tokens": SNAPSHOT_TOKENS,
        }

    async def store(self, message: ConversationMessage) -> ConversationMessage:
        """Store a ready-made message with all that it says of itself; a message_index must be the next one."""
        if not isinstance(message, ConversationMessage):
            raise Invalid(f"message must be a ConversationMessage, not {type(message).__name__}")
        at, parent = message.timestamp, message.parent_message_id
        validate.embedding(message.embedding)
        checked = replace(
            self._message(message.role, message.content, at=at, metadata=message.metadata, parent=parent),
            message_type=validate.choice(message.message_type, "message_type", MESSAGE_TYPES),
            embedding=message.embedding or None,
            relevance_score=validate.number(message.relevance_score, "relevance_score"),
            is_context_message=validate.flag(message.is_context_message, "is_context_message"),
        )
        async with self._desk.writing("messages.store", self._session_id) as tx:
            index = 1 + await message_room.open_session(tx, self._opening, checked.timestamp)
            _check_index(message.message_index, index)
            stored = await message_room.store(tx, replace(checked, message_index=index))
            await self._desk.tell(tx, "add", "message", str(stored.message_id), {"session_id": self._session_id})
        return stored

    async def replace(
        self,
        message_id: MessageId,
        content: Annotated[Content, "What it says from now on, word for word."],
        *,
        metadata: Annotated[Metadata | None, "Its metadata from now on; as it is, if left out."] = None,
    ) -> ConversationMessage:
        """Change what a message says. It keeps its id, index, role, time and key.

        What was learned from its old words alone is forgotten, and what tells of them is made anew; the new ones are
        indexed and learned from. Without `metadata` it keeps its own. A message that this conversation does not have is
        NotFound.
        """
        words = self._desk.content(content, "content")
        noted = None if metadata is None else self._desk.metadata(metadata)
        async with self._changing("replace", message_id) as (tx, message):
            changed = await message_room.replace(tx, message, words, noted)
            await self._desk.tell(tx, "change", "message", str(message.message_id), _ledger_position(message))
        return changed

    async def remove(self, message_id: MessageId) -> None:
        """Remove a message and what was learned from it alone; summaries that told of it are made anew.

        The others keep their indexes, and its own is not given again. What answered it answers what stood before it.
        Its key is free. A message that this conversation does not have is NotFound; copies in forks stay.
        """
        async with self._changing("remove", message_id) as (tx, message):
            await message_room.remove(tx, message)
            await self._desk.tell(tx, "delete", "message", str(message.message_id), _ledger_position(message))

    async def keyed(self, key: str) -> ConversationMessage | None:
        """Return the message of this conversation that was added under a key, or None."""
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("messages.keyed", self._session_id) as calls:
            return (await message_room.keyed(calls, self._session_id, [wanted])).get(wanted)

    async def context(
        self,
        query: Annotated[Content | ConversationMessage | None, "What the user asks now; it stands last."] = None,
        *,
        max_tokens: Budget = 4000,
        strategy: Strategy = "sliding_window",
        window: WindowSize | None = None,
        about: Annotated[Content | None, "What to recall, where nothing is asked."] = None,
    ) -> Context:
        """Return what to send to a model: instructions, preferences, facts, memories, working memory and the window.

        Never more than `max_tokens`. The parts that change seldom stand first, so that prompt caches hit. With a
        `query`, what is remembered about it is recalled; with `about`, what is remembered about that, and nothing is
        asked. `strategy` is sliding_window, or sliding_window_summary, which summarises the older half of a long
        conversation. At most `window` messages are shown word for word.

        A query that is stored in this conversation already is given as the message that it is: it stands once, last.
        """
        wanted = wanted_context(self._desk, query, about, max_tokens=max_tokens, strategy=strategy, window=window)
        return await assemble(self._desk, self._opening, wanted)

    async def search(
        self,
        query: Annotated[Content, "What to look for, in words."],
        *,
        limit: Few = 10,
        threshold: Annotated[Score, "The least relevance, from 0 to 1."] = 0.0,
        where: Annotated[Mapping[str, Any] | None, "Conditions on metadata."] = None,
    ) -> builtins.list[tuple[ConversationMessage, float]]:
        """Return messages of this conversation with their relevance, 0 to 1, best first; `where` filters metadata."""
        least = validate.score(threshold, "threshold")
        narrowed: SearchFilters = {"kinds": ("message",), "session_id": self._session_id, "where": where}
        asked = self._desk.content(query, "query")
        wanted = checked(self._desk, asked, limit, {**narrowed, "floor": threshold or None})
        hits = await find(self._desk, replace(wanted, filters=replace(wanted.filters, related=False)))
        async with self._desk.reading("messages.get_many", self._session_id) as calls:
            found = await message_room.get_many(calls, [hit.id for hit in hits])
        return [(found[hit.id], hit.score) for hit in hits if hit.id in found and hit.score >= least]

    def _message(
        self,
        role: str,
        content: str,
        *,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        parent: str | None = None,
        key: str | None = None,
    ) -> ConversationMessage:
        if parent is not None and not is_id(parent):
            raise NotFound(f"no message {parent!r}")
        return ConversationMessage(
            self._session_id,
            validate.role(role),
            self._desk.content(content, "content"),
            timestamp=now() if at is None else validate.moment(at, "at"),
            metadata={} if metadata is None else json.loads(self._desk.metadata(metadata)),
            parent_message_id=parent,
            message_key=validate.optional_identifier(key, "key"),
            user_id=self.user_id,
        )

    def _one_of(self, position: int, arguments: Mapping[str, Any]) -> ConversationMessage:
        if not isinstance(arguments, Mapping) or not {"role", "content"} <= arguments.keys() <= ADD_ARGUMENTS:
            raise Invalid(
                f"message {position} must be a mapping with role, content and any of at, metadata, parent, key"
            )
        try:
            return self._message(**arguments)
        except Invalid as problem:
            raise Invalid(f"message {position}: {problem}") from None

    @asynccontextmanager
    async def _changing(self, verb: str, message_id: str) -> AsyncIterator[tuple[Transaction, ConversationMessage]]:
        """Yields a message to change, then recomputes what was learned from it; all in one transaction."""
        if not is_id(message_id):
            raise NotFound(f"no message {message_id!r}")
        async with self._desk.writing(f"messages.{verb}", self._session_id) as tx:
            # Lock the session first, as learning does, so that neither works with text that the other changes.
            await sessions.hold_many(tx, [self._session_id])
            message = await message_room.need_in(tx, self._session_id, message_id)
            known = await claims.said_in(tx, message_id)
            await hold(tx, known)
            yield tx, message
            await weigh(tx, known)  # recompute from the claims of other messages that are left
            tx.seen = 1  # without rows of the ledger and of what was recomputed
        await windows.forget(self._desk.core, self._desk.user_id)

    async def _copy(self, tx: Transaction, source: ConversationSession, fork_id: str, at: int | None) -> None:
        last = await message_room.last_index(tx, source.session_id)
        if at is not None and at > last:
            raise Invalid(f"at must be the index of a message, 1 to {last}, not {at}")
        if await sessions.get(tx, fork_id) is not None:
            raise Conflict(f"this user has a session {fork_id!r} already")
        progress = await sessions.progress(tx, source.session_id)
        # A running summary may cover messages that are not copied; the copy gets its own.
        summary = None if progress is not None and progress.summarised_index else source.context_summary
        copy = replace(
            source, session_id=fork_id, status="active", context_summary=summary, created_at=None, last_activity=None
        )
        await sessions.put(tx, copy, metadata=json.dumps(dict(source.metadata)), now=now())
        both = {"session_id": source.session_id, "fork_id": fork_id}
        copied = await tx.run("messages.fork", **both, at=at or validate.LARGEST_INTEGER)
        await tx.run("contexts.fork", **both)
        await relationships.fork_many(tx, [(source.session_id, fork_id)])
        await self._desk.tell(tx, "fork", "session", fork_id, {"from": source.session_id, "count": copied})


def _ledger_position(message: ConversationMessage) -> dict[str, object]:
    """Returns the position of a message for the ledger, never its content."""
    return {"session_id": message.session_id, "message_index": message.message_index}


def _check_index(given: int | None, following: int) -> None:
    if given is None:
        return
    if not isinstance(given, int) or isinstance(given, bool) or given < 1 or given > following:
        raise Invalid(f"message_index must be {following}, the next of this session, or None; not {shown(given)}")
    if given < following:
        raise Conflict(f"this session has a message {given} already; the next is {following}")
