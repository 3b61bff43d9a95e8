"""LangChain: a chat message history, and the conversation window memories that use it.

LangChain has deprecated memories, and histories that a chain reads by itself; agents have the middleware in
recall.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import Ask, both
from ltst.errors import Invalid
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage
from ltst.support import validate
from ltst.sync import User

with adapters.needed("langchain-classic", "langchain"):
    from langchain_classic.memory.chat_memory import BaseChatMemory
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import (
        BaseMessage,
        get_buffer_string,
        message_chunk_to_message,
        messages_from_dict,
    )
    from pydantic import Field

# The average number of messages per exchange, including tools, up to which all k exchanges are read.
EXCHANGE = 20
# The metadata key for everything that is not text. The view chat_message_history uses it too, so that
# langchain_postgres and this module can read each other's messages.
KEPT = "chat_message_history"
ROLES = {"human": "human", "ai": "ai", "system": "system", "tool": "tool", "function": "tool"}
# Types that the role alone does not determine.
NAMED = ("function", "chat")


class LtstChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation in LangChain's form, for RunnableWithMessageHistory and others.

    With a user of `AsyncMemory` only the async methods work, with a user of `Memory` all of them.
    """

    def __init__(
        self, user: AsyncUser | User, session_id: str, *, agent: str | None = None, limit: int | None = None
    ) -> None:
        """Uses a conversation, created on its first write. With a `limit`, only that many newest messages are read."""
        adapters.check_user(user)
        self._chat: Any = user.chat(session_id, agent=agent)
        self._sessions = user.sessions
        self._limit = adapters.MOST if limit is None else validate.limit(limit, most=adapters.MOST)

    async def _get(self, ask: Ask) -> list[BaseMessage]:
        """Returns the messages, oldest first."""
        return _read(await ask(self._chat.window, self._limit))

    async def _add(self, ask: Ask, messages: Sequence[BaseMessage]) -> None:
        """Stores messages, all or none."""
        await ask(self._chat.add_many, [written(message_chunk_to_message(each)) for each in messages])

    async def _clear(self, ask: Ask) -> None:
        """Deletes the conversation: its messages, its working memory and what was learned from them alone."""
        await ask(self._sessions.delete, self._chat.session_id)

    async def _newest(self, ask: Ask, count: int) -> list[BaseMessage]:
        """Returns the newest messages, oldest first."""
        return _read(await ask(self._chat.window, min(count, adapters.MOST))) if count else []

    async def _last(self, ask: Ask, exchanges: int) -> list[BaseMessage]:
        """Returns the newest exchanges: what the user said, and everything until they speak again."""
        if not exchanges:
            return []
        stored = await ask(self._chat.window, min(EXCHANGE * exchanges, adapters.MOST))
        begun = [at for at, message in enumerate(stored) if message.role == "human"]
        return _read(stored[begun[-exchanges] :] if len(begun) >= exchanges else stored)

    _messages, aget_messages = both(_get)
    messages = property(_messages)
    add_messages, aadd_messages = both(_add)
    clear, aclear = both(_clear)
    newest, anewest = both(_newest)
    last, alast = both(_last)


class AsyncConversationBufferWindowMemory(BaseChatMemory):
    """The newest `k` messages of a conversation (default 50), for sync and async chains.

    `chat_memory` is any of LangChain's histories: `LtstChatMessageHistory`, `PostgresChatMessageHistory` or another.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    memory_key: str = "history"
    k: int = Field(default=50, ge=0)

    @property
    def memory_variables(self) -> list[str]:
        """Returns the name under which a chain gets the window."""
        return [self.memory_key]

    @property
    def buffer(self) -> str | list[BaseMessage]:
        """Returns the window, as messages or as one text."""
        return self._shown(self._window())

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Returns the window under its name."""
        return {self.memory_key: self.buffer}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Returns the window under its name."""
        return {self.memory_key: self._shown(await self._awindow())}

    def _window(self) -> list[BaseMessage]:
        if isinstance(self.chat_memory, LtstChatMessageHistory):
            return self.chat_memory.newest(self.k)
        return self.chat_memory.messages[-self.k :] if self.k else []

    async def _awindow(self) -> list[BaseMessage]:
        if isinstance(self.chat_memory, LtstChatMessageHistory):
            return await self.chat_memory.anewest(self.k)
        return (await self.chat_memory.aget_messages())[-self.k :] if self.k else []

    def _shown(self, messages: list[BaseMessage]) -> str | list[BaseMessage]:
        if self.return_messages:
            return messages
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)


class LtstConversationWindowMemory(AsyncConversationBufferWindowMemory):
    """The last `k` exchanges of a conversation for chains: ConversationBufferWindowMemory, stored in ltst."""

    chat_memory: LtstChatMessageHistory
    k: int = Field(default=5, ge=0)

    def _window(self) -> list[BaseMessage]:
        return self.chat_memory.last(self.k)

    async def _awindow(self) -> list[BaseMessage]:
        return await self.chat_memory.alast(self.k)


def written(message: BaseMessage) -> dict[str, Any]:
    """Returns the arguments of `add`: the text, and metadata with everything else that restores the message."""
    text, kept = _text(message), _beside(message)
    if message.content != text:
        kept["content"] = message.model_dump(mode="json", include={"content"}, fallback=str)["content"]
    if message.type in NAMED:
        kept["type"] = message.type
    return {"role": _role(message), "content": text, "metadata": {KEPT: kept} if kept else {}}


def _read(stored: Sequence[ConversationMessage]) -> list[BaseMessage]:
    return messages_from_dict([_as_dict(message) for message in stored])


def _as_dict(message: ConversationMessage) -> dict[str, Any]:
    kept = message.metadata.get(KEPT)
    beside = dict(kept) if isinstance(kept, Mapping) else {}
    kind = beside["type"] if beside.get("type") in NAMED else message.role
    # LangChain cannot read a tool message without the id of the call it answers.
    answers = {"tool_call_id": ""} if kind == "tool" else {}
    return {"type": kind, "data": {"content": message.content, **answers, **beside, "type": kind}}


def _role(message: BaseMessage) -> str:
    if message.type == "chat":
        # Text under a custom role is not the user's, so nothing may be learned from it as if it were.
        return validate.ROLES.get(getattr(message, "role", ""), "ai")
    if message.type not in ROLES:
        raise Invalid(f"messages are of the types {', '.join(ROLES)} and chat, not {message.type!r}")
    return ROLES[message.type]


def _beside(message: BaseMessage) -> dict[str, Any]:
    """Returns the fields of a message besides its content, without defaults."""
    dumped = message.model_dump(mode="json", exclude={"content", "type"}, fallback=str)
    known = type(message).model_fields
    return {name: value for name, value in dumped.items() if name not in known or not _is_default(known[name], value)}


def _is_default(field: Any, value: Any) -> bool:
    return not field.is_required() and bool(field.get_default(call_default_factory=True) == value)


def _text(message: BaseMessage) -> str:
    """Returns the text, or a description of what was done instead, because the store takes no blank messages."""
    said = str(message.text)
    if said.strip():
        return said
    calls = [f"{call['name']}({_json(call['args'])})" for call in getattr(message, "tool_calls", ())]
    parts = [str(part.get("type")) for part in message.content if isinstance(part, Mapping)]
    return "; ".join(calls) or f"({', '.join(parts) or 'no text'})"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
