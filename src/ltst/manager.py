"""The names of MemoryManager's interface in one place; `ConversationContext` is here a conversation with its memory."""

from __future__ import annotations

from ltst.doors.manager.config import MemoryConfig
from ltst.doors.manager.manager import ConversationContext, MemoryManager
from ltst.doors.manager.views import Message
from ltst.records import MemoryEntry, MemoryTypes

__all__ = ["ConversationContext", "MemoryConfig", "MemoryEntry", "MemoryManager", "MemoryTypes", "Message"]
