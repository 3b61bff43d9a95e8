"""The memory service of the Agent Development Kit: everything a user said in an app, found by words and meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ltst import adapters
from ltst.adapters import awaited
from ltst.adk.events import APP, KEPT, conversation, spoken, turn, words
from ltst.errors import Invalid
from ltst.memory import AsyncMemory
from ltst.records import Hit
from ltst.sync import Memory

with adapters.needed("google-adk", "adk"):
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry

# The conversation for events without a session.
UNNAMED = "memory"


class LtstMemoryService(BaseMemoryService):
    """The memory of all users of an app; pass it to a `Runner` as `memory_service`.

    It includes at once what `LtstSessionService` stores. Sessions of other services are added; each event is stored
    once, and an event that was deleted from the memory does not come back.
    """

    def __init__(self, memory: AsyncMemory | Memory, *, limit: int = 10) -> None:
        """Stores in a memory; a search returns at most `limit` results."""
        adapters.check_memory(memory)
        self._memory, self._most = memory, limit

    async def add_session_to_memory(self, session: Any) -> None:
        """Stores the events of a session that have content, except those already stored."""
        whose = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        await self.add_events_to_memory(**whose, events=session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores events, all or none; `custom_metadata` is stored with each."""
        user = self._memory.user(user_id)
        chat = conversation(user, app_name, session_id or UNNAMED)
        said = [each for each in events if each.content and each.content.parts and not each.partial]
        new = []
        for each in said:
            if not await self._is_known(user, chat, app_name, each.id):
                told = turn(app_name, each)
                new.append({**told, "metadata": {**(custom_metadata or {}), **told["metadata"]}})
        await awaited(chat.add_many, new)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[Any],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores memories as entries; the same content is stored once."""
        contents = [words(memory.content) for memory in memories]
        if not all(content.strip() for content in contents):
            raise Invalid("a memory must say something: its content needs a part with text")
        for memory, content in zip(memories, contents, strict=True):
            author = {"author": memory.author} if memory.author else {}
            extra = {**(custom_metadata or {}), **memory.custom_metadata, **author, APP: app_name}
            at = None if memory.timestamp is None else _moment(memory.timestamp)
            await awaited(self._memory.user(user_id).entries.add, content, occurred_at=at, metadata=extra)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> Any:
        """Returns what is remembered about a query for a user of an app, the best first."""
        if not query.strip():
            return SearchMemoryResponse()
        # Leaves out the query itself, which is already a message of its session.
        narrowed = {"where": {APP: app_name}, "kinds": ("message", "entry"), "without": query}
        found = await awaited(self._memory.user(user_id).search, query, limit=self._most, **narrowed)
        return SearchMemoryResponse(memories=[_memory(hit) for hit in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes for good what a search found under this id: a message of a conversation, or an entry."""
        if memory_id is None:
            raise Invalid("which memory? Give the id of one that search_memory found")
        user = self._memory.user(user_id)
        message = await awaited(user.message, memory_id)
        if message is None:
            entry = await awaited(user.entries.get, memory_id)
            if entry is not None and entry.metadata.get(APP) == app_name:
                await awaited(user.entries.forget, memory_id)
        elif message.metadata.get(APP) == app_name:
            if message.message_key:
                await awaited(user.items.put, _forgotten(app_name), message.message_key, True, fields=())
            await awaited(user.chat(message.session_id).remove, memory_id)

    async def _is_known(self, user: Any, chat: Any, app_name: str, event_id: str) -> bool:
        """Returns whether an event is already stored, or was deleted."""
        if await awaited(chat.keyed, event_id) is not None:
            return True
        return await awaited(user.items.get, _forgotten(app_name), event_id) is not None


def _forgotten(app_name: str) -> tuple[str, ...]:
    return (KEPT, app_name, "forgotten")


def _moment(timestamp: str) -> datetime:
    try:
        found = datetime.fromisoformat(timestamp)
    except ValueError:
        raise Invalid(f"the timestamp of a memory is in ISO 8601, not {timestamp!r}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _memory(hit: Hit) -> Any:
    return MemoryEntry(
        id=hit.id,
        content=spoken(hit.content, hit.role),
        author="user" if hit.role == "human" else hit.role,
        timestamp=hit.occurred_at and hit.occurred_at.isoformat(),
        custom_metadata={"score": hit.score, "kind": hit.kind},
    )
