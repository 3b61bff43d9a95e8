"""ltst: long-term and short-term memory for AI agents, in one Postgres."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ltst.doors.manager import MemoryManager
    from ltst.doors.storage import ConversationStorage
    from ltst.memory import AsyncChat, AsyncMemory, AsyncUser
    from ltst.providers.embedding import CallableEmbedder, LocalEmbedder, OpenAIEmbedder
    from ltst.providers.language import OpenAILanguageModel
    from ltst.providers.windows import ProcessWindowCache, RedisWindowCache
    from ltst.recall.context import Context
    from ltst.sync import Chat, Memory, User

from ltst.errors import (
    Conflict,
    DatabaseUnavailable,
    Denied,
    Invalid,
    LtstError,
    ModelUnavailable,
    NotFound,
    Unavailable,
)
from ltst.records import (
    Adoption,
    AdoptionFault,
    ApiKey,
    Check,
    Completion,
    ConversationContext,
    ConversationMessage,
    ConversationSession,
    Document,
    DocumentChunk,
    Event,
    Fact,
    Health,
    Hit,
    Imported,
    ImportedConversation,
    ImportedMessage,
    Instruction,
    MemoryEntry,
    MemoryTypes,
    OperationStats,
    Receipt,
    Restitution,
    RetentionPolicy,
    SessionRelationship,
    SessionSummary,
    Stats,
    TableStats,
    Usage,
    UserPreference,
)
from ltst.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "Adoption",
    "AdoptionFault",
    "ApiKey",
    "AsyncChat",
    "AsyncMemory",
    "AsyncUser",
    "CallableEmbedder",
    "Chat",
    "Check",
    "Completion",
    "Conflict",
    "Context",
    "ConversationContext",
    "ConversationMessage",
    "ConversationSession",
    "ConversationStorage",
    "DatabaseUnavailable",
    "Denied",
    "Document",
    "DocumentChunk",
    "Event",
    "Fact",
    "Health",
    "Hit",
    "Imported",
    "ImportedConversation",
    "ImportedMessage",
    "Instruction",
    "Invalid",
    "LocalEmbedder",
    "LtstError",
    "Memory",
    "MemoryEntry",
    "MemoryManager",
    "MemoryTypes",
    "ModelUnavailable",
    "NotFound",
    "OpenAIEmbedder",
    "OpenAILanguageModel",
    "OperationStats",
    "ProcessWindowCache",
    "Receipt",
    "RedisWindowCache",
    "Restitution",
    "RetentionPolicy",
    "SessionRelationship",
    "SessionSummary",
    "Settings",
    "Stats",
    "TableStats",
    "Unavailable",
    "Usage",
    "User",
    "UserPreference",
]

# What needs the driver is imported when it is first asked for, so that `import ltst` stays fast.
_LATE = {
    "AsyncChat": "ltst.memory",
    "AsyncMemory": "ltst.memory",
    "AsyncUser": "ltst.memory",
    "CallableEmbedder": "ltst.providers.embedding",
    "Chat": "ltst.sync",
    "Context": "ltst.recall.context",
    "ConversationStorage": "ltst.doors.storage",
    "LocalEmbedder": "ltst.providers.embedding",
    "Memory": "ltst.sync",
    "MemoryManager": "ltst.doors.manager",
    "OpenAIEmbedder": "ltst.providers.embedding",
    "OpenAILanguageModel": "ltst.providers.language",
    "ProcessWindowCache": "ltst.providers.windows",
    "RedisWindowCache": "ltst.providers.windows",
    "User": "ltst.sync",
}


def __getattr__(name: str) -> Any:
    """Import a late name."""
    if name not in _LATE:
        raise AttributeError(f"module 'ltst' has no attribute {name!r}")
    found = getattr(import_module(_LATE[name]), name)
    globals()[name] = found
    return found
