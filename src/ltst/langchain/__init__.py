"""For LangChain: a message history, a retriever, a middleware that remembers, and stores, all kept in ltst.

The conversation memories are of a kind that LangChain has deprecated; they stay for programs that use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ltst.langchain.history import (
    AsyncConversationBufferWindowMemory,
    LtstChatMessageHistory,
    LtstConversationWindowMemory,
)

if TYPE_CHECKING:
    from ltst.langchain.recall import LtstMemoryMiddleware, LtstRetriever
    from ltst.langchain.stores import LtstByteStore, LtstCache, LtstVectorStore

__all__ = [
    "AsyncConversationBufferWindowMemory",
    "LtstByteStore",
    "LtstCache",
    "LtstChatMessageHistory",
    "LtstConversationWindowMemory",
    "LtstMemoryMiddleware",
    "LtstRetriever",
    "LtstVectorStore",
]

# These need more of LangChain and are imported on first use.
_LATE = {
    "LtstByteStore": "stores",
    "LtstCache": "stores",
    "LtstMemoryMiddleware": "recall",
    "LtstRetriever": "recall",
    "LtstVectorStore": "stores",
}


def __getattr__(name: str) -> Any:
    """Imports a name on first use."""
    if name not in _LATE:
        raise AttributeError(f"module 'ltst.langchain' has no attribute {name!r}")
    return getattr(import_module(f"ltst.langchain.{_LATE[name]}"), name)
