"""MemoryManager's interface in one place; `ConversationContext` here is a conversation with its memory."""

from __future__ import annotations

from ltst.manager.config import MemoryConfig
from ltst.manager.manager import ConversationContext, MemoryManager
from ltst.manager.views import Message
from ltst.records import MemoryEntry, MemoryTypes

__all__ = ["ConversationContext", "MemoryConfig", "MemoryEntry", "MemoryManager", "MemoryTypes", "Message"]
