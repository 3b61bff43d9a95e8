"""Contexts: typed values attached to a conversation, among them its working memory."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from ltst.arguments import CONTEXT_TYPES, Content, ContextType, Identifier, Metadata, Span, Weight
from ltst.handles.desk import Desk, now
from ltst.records import ConversationContext
from ltst.rooms import messages
from ltst.rooms.messages import Opening
from ltst.support import validate
from ltst.support.ids import new_id
from ltst.support.text import scoped_hash

Key = Annotated[Identifier, "The name of the value, such as plan or goal."]


class AsyncContexts:
    """Typed keys and values attached to a conversation."""

    def __init__(self, desk: Desk, opening: Opening) -> None:
        """Made by `chat.contexts`."""
        self._desk = desk
        self._opening = opening

    async def set(
        self,
        type: ContextType,
        key: Key,
        value: Annotated[Content, "The value, as text."],
        *,
        relevance: Annotated[Weight, "A score of your own."] = 0.0,
        expires_at: Annotated[datetime | None, "Until when it lives; for good, if left out."] = None,
        metadata: Metadata | None = None,
    ) -> ConversationContext:
        """Keep a value under its type and key, in place of the one before."""
        validate.choice(type, "type", CONTEXT_TYPES)
        key, value = validate.identifier(key, "key"), self._desk.content(value, "value")
        weight, expires = validate.number(relevance, "relevance"), validate.optional_moment(expires_at, "expires_at")
        return await self._set(type, key, value, weight, expires, self._desk.metadata(metadata))

    async def get(self, type: ContextType, key: Key) -> ConversationContext | None:
        """Return a context, or None if there is none or it has expired."""
        validate.choice(type, "type", CONTEXT_TYPES)
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("contexts.get", self._opening.session_id) as calls:
            return await calls.row("contexts.list", ConversationContext, **self._named(type, wanted))

    async def list(
        self, type: Annotated[ContextType | None, "Only those of a type."] = None
    ) -> builtins.list[ConversationContext]:
        """Return the contexts that have not expired, by type and key."""
        validate.optional_choice(type, "type", CONTEXT_TYPES)
        async with self._desk.reading("contexts.list", self._opening.session_id) as calls:
            return await calls.rows("contexts.list", ConversationContext, **self._named(type, None))

    async def forget(
        self, type: ContextType, key: Annotated[Identifier | None, "Which one; all of the type, if left out."] = None
    ) -> int:
        """Remove one context, or all of a type; return how many there were."""
        validate.choice(type, "type", CONTEXT_TYPES)
        wanted = validate.optional_identifier(key, "key")
        async with self._desk.writing("contexts.forget", self._opening.session_id) as tx:
            gone = await tx.run("contexts.forget", **self._named(type, wanted))
            if gone:
                await self._desk.tell(tx, "forget", "context", self._opening.session_id, {"count": gone})
        return gone

    async def _set(
        self, type: str, key: str, value: str, relevance: float, expires_at: datetime | None, metadata: str
    ) -> ConversationContext:
        async with self._desk.writing("contexts.set", self._opening.session_id) as tx:
            await messages.open_session(tx, self._opening, now())
            stored = await tx.row(
                "contexts.set",
                ConversationContext,
                **self._named(type, key),
                context_id=new_id(),
                context_value=value,
                relevance_score=relevance,
                context_hash=scoped_hash(self._opening.session_id, type, key, value),
                metadata=metadata,
                expires_at=expires_at,
            )
            if stored is None:  # the stored value is the same
                return await tx.one("contexts.known", ConversationContext, **self._named(type, key))
            await self._desk.tell(tx, "set", "context", str(stored.context_id))
        return stored

    def _named(self, type: str | None, key: str | None) -> dict[str, str | None]:
        return {"session_id": self._opening.session_id, "context_type": type, "context_key": key}


class AsyncWorking:
    """Working memory of a conversation: JSON values under keys, kept for as long as they are needed."""

    def __init__(self, desk: Desk, opening: Opening) -> None:
        """Made by `chat.working`."""
        self._desk = desk
        self._contexts = AsyncContexts(desk, opening)

    async def set(
        self,
        key: Key,
        value: Annotated[Any, "Any JSON value: text, number, list, object."],
        *,
        ttl: Annotated[Span | None, "How many seconds it lives; else as long as the conversation."] = None,
    ) -> None:
        """Keep any JSON value, for `ttl` seconds or a timedelta if given."""
        lives = validate.duration(ttl, "ttl")
        most = self._desk.settings.max_content_bytes
        written = validate.json_text(value, "value", most)
        expires = now() + lives if lives else None
        await self._contexts._set("working", validate.identifier(key, "key"), written, 0.0, expires, "{}")

    async def get(self, key: Key) -> Any:
        """Return a value, or None."""
        found = await self._contexts.get("working", key)
        return json.loads(found.context_value) if found else None

    async def all(self) -> dict[str, Any]:
        """Return every value that has not expired, by its key."""
        return values(await self._contexts.list("working"))

    async def forget(self, key: Key) -> bool:
        """Remove a value; return whether there was one."""
        return await self._contexts.forget("working", validate.identifier(key, "key")) > 0

    async def clear(self) -> int:
        """Remove every value; return how many there were."""
        return await self._contexts.forget("working")


def values(working: Iterable[ConversationContext]) -> dict[str, Any]:
    """Returns the values of working memory by key."""
    return {each.context_key: json.loads(each.context_value) for each in working}
