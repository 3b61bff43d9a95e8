"""The ways in, behind one shape: verbs that are awaited, on handles named as those of AsyncMemory."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Protocol

import pytest

from behaviour import mcp
from behaviour.cli import CliDoor
from behaviour.http import served
from ltst import (
    AsyncMemory,
    ConversationContext,
    ConversationMessage,
    ConversationSession,
    ConversationStorage,
    Memory,
    MemoryEntry,
    MemoryManager,
    SessionSummary,
    Settings,
)

# AsyncMemory over a few connections that are never the same for two transactions.
BOUNCED = "pgbouncer"
IMMEDIATE = frozenset({"user", "chat"})


class Door(Protocol):
    """What the suite asks of a way in."""

    def user(self, user_id: str) -> Any: ...


class Awaited:
    """A handle of the sync Memory whose verbs are awaited."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return _awaited(found)
        if name in IMMEDIATE:
            return lambda *args, **kwargs: _awaited(found(*args, **kwargs))

        async def verb(*args: Any, **kwargs: Any) -> Any:
            return _awaited(await asyncio.to_thread(found, *args, **kwargs))

        return verb


def _awaited(value: Any) -> Any:
    return Awaited(value) if type(value).__module__ == "ltst.sync" else value


class StorageDoor:
    """ConversationStorage in the words of the suite: sessions, messages and contexts, nothing else."""

    def __init__(self, storage: ConversationStorage) -> None:
        self._storage = storage

    def user(self, user_id: str) -> StorageUser:
        return StorageUser(self._storage, user_id)


class StorageUser:
    def __init__(self, storage: ConversationStorage, user_id: str) -> None:
        self.user_id = user_id
        self.sessions = StorageSessions(storage, user_id)
        self._storage = storage

    def chat(self, session_id: str | None = None) -> StorageChat:
        return StorageChat(self._storage, self.user_id, session_id or uuid.uuid4().hex)


class StorageSessions:
    def __init__(self, storage: ConversationStorage, user_id: str) -> None:
        self._storage = storage
        self._user_id = user_id

    async def put(self, session: ConversationSession) -> None:
        assert await asyncio.to_thread(self._storage.create_session, session)

    async def get(self, session_id: str) -> ConversationSession | None:
        return await asyncio.to_thread(self._storage.get_session, session_id)

    async def list(self, *, limit: int = 50) -> list[ConversationSession]:
        return await asyncio.to_thread(self._storage.get_user_sessions, self._user_id, limit)

    async def delete(self, session_id: str) -> bool:
        return await asyncio.to_thread(self._storage.delete_session, session_id)

    async def touch(self, session_id: str) -> bool:
        return await asyncio.to_thread(self._storage.update_session_activity, session_id)


class StorageContexts:
    def __init__(self, chat: StorageChat) -> None:
        self._chat = chat

    async def set(self, type: str, key: str, value: str, *, relevance: float = 0.0, **more: Any) -> None:
        await self._chat.open()
        context = ConversationContext(self._chat.session_id, type, key, value, relevance, **more)
        assert await asyncio.to_thread(self._chat.storage.store_context, context)

    async def list(self, type: str | None = None) -> list[ConversationContext]:
        return await asyncio.to_thread(self._chat.storage.get_context, self._chat.session_id, type)


class StorageChat:
    def __init__(self, storage: ConversationStorage, user_id: str, session_id: str) -> None:
        self.storage = storage
        self.user_id = user_id
        self.session_id = session_id
        self.contexts = StorageContexts(self)

    async def open(self, at: datetime | None = None) -> None:
        if await asyncio.to_thread(self.storage.get_session, self.session_id) is None:
            session = ConversationSession(self.session_id, self.user_id, created_at=at)
            await asyncio.to_thread(self.storage.create_session, session)

    async def add(
        self,
        role: str,
        content: str,
        *,
        at: datetime | None = None,
        metadata: dict[str, Any] | None = None,
        parent: str | None = None,
    ) -> ConversationMessage:
        await self.open(at)
        message = ConversationMessage(
            self.session_id, role, content, metadata=metadata or {}, timestamp=at, parent_message_id=parent
        )
        assert await asyncio.to_thread(self.storage.store_message, message)
        return (await self.history(limit=1000))[-1]

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ConversationMessage]:
        return await asyncio.to_thread(self.storage.get_messages, self.session_id, limit, offset)

    async def summary(self) -> SessionSummary:
        found = await asyncio.to_thread(self.storage.get_session_summary, self.session_id)
        assert found is not None
        return SessionSummary(**{each.name: found[each.name] for each in fields(SessionSummary)})


@asynccontextmanager
async def opened(name: str, settings: Settings) -> AsyncIterator[Door]:
    """A way in by its name."""
    if name in {"AsyncMemory", BOUNCED}:
        async with AsyncMemory(settings=settings) as memory:
            yield memory
    elif name == "Memory":
        with Memory(settings=settings) as memory:
            yield Awaited(memory)
    elif name == "MemoryManager":
        async with ManagerDoor(settings) as managers:
            yield managers
    elif name == "HTTP":
        async with served(settings) as door:
            yield door
    elif name == "CLI":
        yield CliDoor(settings)
    elif name == "MCP":
        async with mcp.served(settings) as door:
            yield door
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LTST_WORKER", "off")  # as in the other ways in
            storage = ConversationStorage(settings.database_url)
        with storage:
            yield StorageDoor(storage)


def plain(message: ConversationMessage) -> ConversationMessage:
    """A message without its vector, which only some verbs return."""
    return replace(message, embedding=None)


class ManagerDoor:
    """MemoryManager in the words of the suite: what is said, kept and found again, nothing else."""

    def __init__(self, settings: Settings) -> None:
        self._settings = replace(settings, pool_size=2)
        self._managers = AsyncExitStack()

    async def __aenter__(self) -> ManagerDoor:
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close every manager that was made; each has connections of its own, and a server has only so many."""
        await self._managers.aclose()

    def user(self, user_id: str) -> ManagerUser:
        return ManagerUser(self, user_id)

    def manager(self, user_id: str, session_id: str | None, agent: str | None) -> MemoryManager:
        config = {"settings": self._settings} | ({} if session_id is None else {"session_id": session_id})
        made = MemoryManager(config, user_id=user_id, agent=agent)
        self._managers.push_async_callback(made.close)
        return made


class ManagerUser:
    """What belongs to a user and not to a session is reached through any of them."""

    def __init__(self, door: ManagerDoor, user_id: str) -> None:
        self._door = door
        self._manager = door.manager(user_id, None, None)
        self.user_id = self._manager.user_id
        self.entries = SimpleNamespace(add=self._add_entry)

    def chat(self, session_id: str | None = None, *, agent: str | None = None) -> ManagerChat:
        return ManagerChat(self._door.manager(self.user_id, session_id, agent))

    async def search(self, query: str, *, kinds: list[str], entry_type: str, limit: int = 5) -> list[MemoryEntry]:
        assert kinds == {"long_term": ["entry", "fact"], "episodic": ["entry"]}[entry_type]
        return await self._manager.search_memory(query, entry_type, limit)

    async def _add_entry(
        self, content: str, *, type: str = "long_term", metadata: dict[str, Any] | None = None
    ) -> MemoryEntry:
        return await self._manager.add_memory(content, type, metadata)


class ManagerChat:
    def __init__(self, manager: MemoryManager) -> None:
        self._manager = manager
        self.user_id, self.session_id, self.agent = manager.user_id, manager.session_id, manager.agent
        self.add_interaction = manager.add_interaction
        self.working = SimpleNamespace(set=self._set_working)

    async def add(self, role: str, content: str, *, metadata: dict[str, Any] | None = None) -> MemoryEntry:
        return await self._manager.add_memory(content, "short_term", {**(metadata or {}), "role": role})

    async def context(self, *, about: str | None = None) -> SimpleNamespace:
        """A manager's is about the last question anyway."""
        return SimpleNamespace(**await self._manager.get_context())

    async def search(self, query: str, *, limit: int = 10) -> list[tuple[MemoryEntry, None]]:
        return [(found, None) for found in await self._manager.search_memory(query, "short_term", limit)]

    async def _set_working(self, key: str, value: str, *, ttl: float | None = None) -> None:
        await self._manager.add_memory(value, "working", {"key": key, "ttl": ttl})
