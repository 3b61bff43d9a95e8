"""ConversationContext: a conversation by its id, whose messages are history and memory at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ltst.doors.manager.config import MemoryConfig, config
from ltst.doors.manager.manager import MemoryManager
from ltst.doors.manager.views import History, Message, spoken
from ltst.records import MemoryEntry, MemoryTypes


class ConversationContext:
    """A conversation and its memory. `ltst.ConversationContext`, the record of a context, is another thing."""

    def __init__(self, conversation_id: str, memory_config: MemoryConfig | Mapping[str, Any] | None = None) -> None:
        """Use the conversation with this id; a session in the config is ignored."""
        told = config(memory_config)
        told.session_id = conversation_id
        self.memory = MemoryManager(told)

    @property
    def id(self) -> str:
        """Return the id of the conversation."""
        return self.memory.session_id

    @property
    def history(self) -> History:
        """Return what was said."""
        return self.memory.history

    async def __aenter__(self) -> Self:
        await self.memory.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the database."""
        await self.memory.close()

    async def add_message(self, message: Message | Mapping[str, Any]) -> MemoryEntry:
        """Store a message, once: what is in the history can be searched as short-term memory."""
        said = spoken(message)
        metadata = {"source": self.id, **said["metadata"], "role": said["role"]}
        if said["at"] is not None:
            metadata["timestamp"] = said["at"]
        return await self.memory.add_memory(said["content"], MemoryTypes.SHORT_TERM, metadata)
