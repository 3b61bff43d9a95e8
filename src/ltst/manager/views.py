"""Views of what a MemoryManager has stored; they hold nothing themselves."""

from __future__ import annotations

import json
from collections.abc import (
    Callable,
    Coroutine,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
    ValuesView,
)
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Protocol, overload

from ltst.errors import Invalid, NotFound
from ltst.handles.chats import MODEL_ROLES, SNAPSHOT_MESSAGES
from ltst.manager.entries import copied, of_message
from ltst.manager.inside import Inside
from ltst.records import ME, ConversationMessage, Fact, MemoryEntry, MemoryTypes
from ltst.support import validate

Search = Callable[..., Coroutine[Any, Any, list[MemoryEntry]]]
FACT = ("key", "value", "confidence", "source_message_id", "about")


class Message(Protocol):
    """What a message must have: a role and a content."""

    @property
    def role(self) -> str:
        """The speaker: user, assistant, system, tool, or another name for one of these."""
        ...

    @property
    def content(self) -> str:
        """The text."""
        ...


class View:
    """A part of what a manager has stored, read again each time."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside


class Listing(View):
    """A view that is read as a whole."""

    def _all(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


class History(View):
    """The messages of the conversation."""

    async def add_pair(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        """Stores what the user said and what the assistant answered, both or neither."""
        return await self._inside.ask(lambda: self._inside.chat.add_interaction(user_msg, ai_msg))

    async def add_message(self, message: Message | Mapping[str, Any]) -> ConversationMessage:
        """Stores one message: anything with role and content, and optionally metadata and timestamp."""
        said = spoken(message)
        return await self._inside.ask(lambda: self._inside.chat.add(**said))

    async def get_recent(self, k: int = 10) -> list[dict[str, str]]:
        """Returns the newest messages, oldest first, with the roles that models know."""
        recent = await self._inside.ask(lambda: self._inside.chat.window(k))
        return [{"role": MODEL_ROLES.get(each.role, each.role), "content": each.content} for each in recent]


class ProfileView(View):
    """What is known about the user."""

    async def get_all(self) -> dict[str, Any]:
        """Returns the current facts and the preferences, ready for JSON."""
        return await self._inside.ask(lambda: self._inside.user.profile())

    async def upsert_facts(self, facts: Iterable[Mapping[str, Any]] | Mapping[str, str]) -> list[Fact]:
        """Sets facts, given as a mapping of values by key, or as mappings with key, value and optional details."""
        given: object = facts.items() if isinstance(facts, Mapping) else facts
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise Invalid(f"facts must be a mapping of values by key, or a list of mappings with {', '.join(FACT)}")
        checked = [_fact(number, each) for number, each in enumerate(given, start=1)]
        return await self._inside.ask(lambda: self._set(checked))

    async def _set(self, facts: Sequence[dict[str, Any]]) -> list[Fact]:
        user = self._inside.user
        for each in facts:
            named = each.get("source_message_id")
            if named is not None and await user.message(named) is None:
                raise NotFound(f"no message {named!r}, the source of the fact {each['key']!r}")
        return [await user.facts.set(each.pop("key"), each.pop("value"), **each) for each in facts]


class WorkingMemory(Listing, MutableMapping[str, Any]):
    """Working memory of the conversation as a mapping of JSON values, shared by all who use the conversation.

    It works without `await` and blocks the caller's loop meanwhile; `search_memory` and `add_memory` are awaited.
    """

    def __getitem__(self, key: str) -> Any:
        found = self._inside.ask_now(lambda: self._inside.chat.contexts.get("working", key))
        if found is None:
            raise KeyError(key)
        return json.loads(found.context_value)

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def set(self, key: str, value: Any, *, ttl: timedelta | float | None = None) -> None:
        """Stores a value, for `ttl` seconds or a timedelta if given."""
        self._inside.ask_now(lambda: self._inside.chat.working.set(key, value, ttl=ttl))

    def __delitem__(self, key: str) -> None:
        if not self._inside.ask_now(lambda: self._inside.chat.working.forget(key)):
            raise KeyError(key)

    # One read, so that all values are of the same moment.
    def items(self) -> ItemsView[str, Any]:
        """Returns the keys and values that have not expired."""
        return self._all().items()

    def values(self) -> ValuesView[Any]:
        """Returns the values that have not expired."""
        return self._all().values()

    def clear(self) -> None:
        """Removes every value."""
        self._inside.ask_now(lambda: self._inside.chat.working.clear())

    def _all(self) -> dict[str, Any]:
        return self._inside.ask_now(lambda: self._inside.chat.working.all())


class ShortTermBuffer(Listing, Sequence[MemoryEntry]):
    """The newest messages of the conversation as memory entries, oldest first, read again each time."""

    def __init__(self, inside: Inside, size: int | None) -> None:
        super().__init__(inside)
        self._size = size or SNAPSHOT_MESSAGES

    @overload
    def __getitem__(self, place: int) -> MemoryEntry: ...
    @overload
    def __getitem__(self, place: slice) -> list[MemoryEntry]: ...
    def __getitem__(self, place: int | slice) -> MemoryEntry | list[MemoryEntry]:
        return self._all()[place]

    def _all(self) -> list[MemoryEntry]:
        return [*map(of_message, self._inside.ask_now(lambda: self._inside.chat.window(self._size)))]


class VectorStore(View):
    """Knowledge and episodes of the user, searched by vectors."""

    def __init__(self, inside: Inside, search: Search) -> None:
        super().__init__(inside)
        self._search = search

    async def add(self, entry: MemoryEntry) -> MemoryEntry:
        """Stores an entry of type long_term or episodic with all its fields."""
        if not isinstance(entry, MemoryEntry):
            raise Invalid(f"entry must be a MemoryEntry, not {type(entry).__name__}")
        return await self._inside.ask(
            lambda: self._inside.user.entries.add(
                entry.content,
                type=entry.memory_type,
                importance=entry.importance_score,
                occurred_at=validate.local_moment(entry.timestamp),
                expires_at=validate.local_moment(entry.expires_at),
                source=entry.source,
                metadata=entry.metadata,
            )
        )

    async def search(self, query: str, limit: int = 5, filters: Mapping[str, Any] | None = None) -> list[MemoryEntry]:
        """Returns what is known about a query, best first."""
        return await self._search(query, MemoryTypes.LONG_TERM, limit, filters)

    async def embed(self, text: str) -> list[float]:
        """Returns the vector of a text by the database's model."""
        (vector,) = await self._inside.ask(lambda: self._inside.memory.embed([text]))
        return vector


def spoken(message: Message | Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `chat.add` for any kind of message."""
    get = message.get if isinstance(message, Mapping) else lambda name: getattr(message, name, None)
    role, content = get("role"), get("content")
    if role is None or content is None:
        raise Invalid("a message must have a role and a content")
    return {
        "role": role,
        "content": content,
        "metadata": copied(get("metadata")),
        "at": validate.local_moment(get("timestamp")),
    }


def _fact(number: int, given: object) -> dict[str, Any]:
    if isinstance(given, tuple) and len(given) == 2:
        given = dict(zip(FACT, given, strict=False))
    if isinstance(given, Fact):
        given = {name: asdict(given).get(name, getattr(given, name)) for name in FACT}
    if not isinstance(given, Mapping) or not {"key", "value"} <= given.keys() <= {*FACT}:
        raise Invalid(f"fact {number} must be a mapping with {', '.join(FACT)}, of which only the first two are needed")
    validate.identifier(given["key"], f"the key of fact {number}")
    validate.content(given["value"], f"the value of fact {number}", validate.LARGEST_INTEGER)
    validate.identifier(given.get("about", ME), f"the about of fact {number}")
    validate.score(given.get("confidence", 1.0), f"the confidence of fact {number}")
    return dict(given)
