"""ltst: long-term and short-term memory for AI agents, in one Postgres."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ltst.adoption.outcomes import Adoption, AdoptionFault, Restitution
    from ltst.doors.storage import ConversationStorage
    from ltst.manager.config import MemoryConfig
    from ltst.manager.manager import MemoryManager
    from ltst.measurements import OperationStats, Stats, TableStats
    from ltst.memory import AsyncChat, AsyncMemory, AsyncUser
    from ltst.providers.embedding import CallableEmbedder, LocalEmbedder, OpenAIEmbedder
    from ltst.providers.language import OpenAILanguageModel
    from ltst.providers.windows import ProcessWindowCache, RedisWindowCache
    from ltst.recall.context import Context
    from ltst.records import (
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
        Item,
        KnownUser,
        MemoryEntry,
        MemoryTypes,
        Receipt,
        RetentionPolicy,
        SessionRelationship,
        SessionSummary,
        Statement,
        Usage,
        UserPreference,
        Verification,
    )
    from ltst.settings import Settings
    from ltst.sync import Chat, Memory, User

from ltst.errors import (
    Conflict,
    DatabaseUnavailable,
    Denied,
    Invalid,
    LtstError,
    ModelUnavailable,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)

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
    "Item",
    "KnownUser",
    "LocalEmbedder",
    "LtstError",
    "Memory",
    "MemoryConfig",
    "MemoryEntry",
    "MemoryManager",
    "MemoryTypes",
    "ModelUnavailable",
    "NotFound",
    "OpenAIEmbedder",
    "OpenAILanguageModel",
    "OperationStats",
    "OutcomeUnknown",
    "ProcessWindowCache",
    "Receipt",
    "RedisWindowCache",
    "Restitution",
    "RetentionPolicy",
    "SessionRelationship",
    "SessionSummary",
    "Settings",
    "Statement",
    "Stats",
    "TableStats",
    "Unavailable",
    "Usage",
    "User",
    "UserPreference",
    "Verification",
]

# All but the errors is imported when it is first asked for, so that `import ltst` stays fast; the rest are records.
_LATE = {
    name: module
    for module, names in {
        "ltst.adoption.outcomes": ("Adoption", "AdoptionFault", "Restitution"),
        "ltst.manager.config": ("MemoryConfig",),
        "ltst.manager.manager": ("MemoryManager",),
        "ltst.doors.storage": ("ConversationStorage",),
        "ltst.measurements": ("OperationStats", "Stats", "TableStats"),
        "ltst.memory": ("AsyncChat", "AsyncMemory", "AsyncUser"),
        "ltst.providers.embedding": ("CallableEmbedder", "LocalEmbedder", "OpenAIEmbedder"),
        "ltst.providers.language": ("OpenAILanguageModel",),
        "ltst.providers.windows": ("ProcessWindowCache", "RedisWindowCache"),
        "ltst.recall.context": ("Context",),
        "ltst.settings": ("Settings",),
        "ltst.sync": ("Chat", "Memory", "User"),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    """Imports a late name."""
    if name not in __all__:
        raise AttributeError(f"module 'ltst' has no attribute {name!r}")
    found = getattr(import_module(_LATE.get(name, "ltst.records")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """All names, the late ones too."""
    return sorted({*globals(), *__all__})
