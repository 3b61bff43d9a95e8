"""For LangChain: a history of messages and the memories of a conversation, kept by ltst."""

from ltst.doors.langchain import (
    AsyncConversationBufferWindowMemory,
    LtstChatMessageHistory,
    LtstConversationWindowMemory,
)

__all__ = ["AsyncConversationBufferWindowMemory", "LtstChatMessageHistory", "LtstConversationWindowMemory"]
