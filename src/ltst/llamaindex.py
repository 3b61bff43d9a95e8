"""LlamaIndex: a chat store whose messages are conversations, and a memory block that recalls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import awaited
from ltst.errors import Invalid
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage
from ltst.sync import User

with adapters.needed("llama-index-core", "llamaindex"):
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

__all__ = ["LtstChatStore", "LtstMemoryBlock"]

# The metadata key for LlamaIndex's own message, and the namespace of archived messages.
KEPT = "llamaindex"
ROLES = {"user": "human", "system": "system", "developer": "system", "tool": "tool", "function": "tool"}
# The conversation for messages that a block gets without one.
UNNAMED = "llamaindex"


class LtstChatStore(AsyncDBChatStore):
    """The messages of a user's conversations; pass it to `Memory.from_defaults` as `chat_store`.

    A key is the id of a conversation. Archived messages stay where they are and can be found.
    """

    _user: Any = PrivateAttr()
    _agent: str | None = PrivateAttr()

    def __init__(self, user: AsyncUser | User, *, agent: str | None = None) -> None:
        """Stores the messages of a user."""
        super().__init__()
        adapters.check_user(user)
        self._user, self._agent = user, agent

    @classmethod
    def class_name(cls) -> str:
        """Returns the name of the class."""
        return "LtstChatStore"

    async def get_messages(
        self, key: str, status: Any = MessageStatus.ACTIVE, limit: int | None = None, offset: int | None = None
    ) -> list[Any]:
        """Returns the messages of a conversation that have a status, oldest first."""
        start = offset or 0
        found = (await self._stored(key, status))[start : None if limit is None else start + limit]
        return [_read(message) for message in found]

    async def count_messages(self, key: str, status: Any = MessageStatus.ACTIVE) -> int:
        """Returns how many messages of a conversation have a status."""
        return len(await self._stored(key, status))

    async def add_message(self, key: str, message: Any, status: Any = MessageStatus.ACTIVE) -> None:
        """Stores a message."""
        await self.add_messages(key, [message], status)

    async def add_messages(self, key: str, messages: list[Any], status: Any = MessageStatus.ACTIVE) -> None:
        """Stores messages, all or none."""
        added = await awaited(self._chat(key).add_many, [_written(message) for message in messages])
        if status == MessageStatus.ARCHIVED:
            await self._archive(key, added)

    async def set_messages(self, key: str, messages: list[Any], status: Any = MessageStatus.ACTIVE) -> None:
        """Replaces the messages of a conversation, keeping those at its beginning that are unchanged."""
        stored, shared = await self._stored(key, None), 0
        alike = {message.message_id for message in await self._stored(key, status)}
        for before, message in zip(stored, messages, strict=False):
            if before.message_id not in alike or before.metadata.get(KEPT) != _written(message)["metadata"][KEPT]:
                break
            shared += 1
        # New messages are stored before old ones are removed, so that nothing is lost in between.
        await self.add_messages(key, messages[shared:], status)
        await self._remove(key, stored[shared:])

    async def delete_message(self, key: str, idx: int) -> Any:
        """Removes a message by its `message_index` and returns it, or None if there is none."""
        found = [message for message in await self._stored(key, None) if message.message_index == idx]
        await self._remove(key, found)
        return _read(found[0]) if found else None

    async def delete_messages(self, key: str, status: Any = None) -> None:
        """Deletes a conversation, or its messages with a status."""
        await self._remove(key, await self._stored(key, status))
        if status is None:
            await awaited(self._user.sessions.delete, key)

    async def delete_oldest_messages(self, key: str, n: int) -> list[Any]:
        """Removes the oldest active messages and returns them."""
        oldest = (await self._stored(key, MessageStatus.ACTIVE))[:n]
        await self._remove(key, oldest)
        return [_read(message) for message in oldest]

    async def archive_oldest_messages(self, key: str, n: int) -> list[Any]:
        """Archives the oldest active messages and returns them."""
        oldest = (await self._stored(key, MessageStatus.ACTIVE))[:n]
        await self._archive(key, oldest)
        return [_read(message) for message in oldest]

    async def get_keys(self) -> list[str]:
        """Returns the ids of all conversations that have messages, the most recently active first."""
        listed = await awaited(self._user.sessions.list, limit=adapters.MOST)
        return [session.session_id for session in listed if session.session_length]

    def _chat(self, key: str) -> Any:
        return self._user.chat(key, agent=self._agent)

    async def _stored(self, key: str, status: Any) -> list[ConversationMessage]:
        stored: list[ConversationMessage] = await awaited(self._chat(key).window, adapters.MOST)
        if status is None:
            return stored
        archived = {item.key for item in await awaited(self._user.items.list, _place(key), limit=adapters.MOST)}
        wanted = status == MessageStatus.ARCHIVED
        return [message for message in stored if (message.message_id in archived) is wanted]

    async def _archive(self, key: str, messages: Iterable[ConversationMessage]) -> None:
        await self._note(key, messages, {"do": "put", "value": True, "fields": []})

    async def _remove(self, key: str, messages: Sequence[ConversationMessage]) -> None:
        await adapters.remove(self._user, messages)
        await self._note(key, messages, {"do": "delete"})

    async def _note(self, key: str, messages: Iterable[ConversationMessage], done: dict[str, Any]) -> None:
        noted = [{**done, "namespace": _place(key), "key": message.message_id} for message in messages]
        if noted:
            await awaited(self._user.items.batch, noted)


class LtstMemoryBlock(BaseMemoryBlock[str]):
    """Recalls what is remembered about the user's message, from all conversations; pass it to `Memory` as a block.

    What leaves the short-term memory is stored, unless `accept_short_term_memory` is false; turn it off if an
    `LtstChatStore` of the same user already stores the messages.
    """

    name: str = Field(default="ltst")
    max_tokens: int = Field(default=2000)

    _user: Any = PrivateAttr()
    _agent: str | None = PrivateAttr()

    def __init__(self, user: AsyncUser | User, *, agent: str | None = None, **fields: Any) -> None:
        """Recalls for a user; `fields` are those of the base class and `max_tokens`, the limit of what is recalled."""
        super().__init__(**fields)
        adapters.check_user(user)
        self._user, self._agent = user, agent

    async def _aget(self, messages: list[Any] | None = None, session_id: str | None = None, **rest: Any) -> str:
        asked = [message.content or "" for message in messages or () if message.role.value == "user"]
        chat, question = self._user.chat(session_id or UNNAMED, agent=self._agent), asked[-1] if asked else ""
        return await adapters.recalled(awaited, chat, question, self.max_tokens, shown=len(messages or ())) or ""

    async def _aput(self, messages: list[Any]) -> None:
        for message in messages:
            named = message.additional_kwargs.pop("session_id", None)
            await awaited(self._user.chat(named or UNNAMED, agent=self._agent).add, **_written(message))


def _place(key: str) -> tuple[str, ...]:
    return (KEPT, "archived", key)


def _written(message: Any) -> dict[str, Any]:
    if not isinstance(message, ChatMessage):
        raise Invalid(f"messages are those of llama_index, not {type(message).__name__}")
    kinds = ", ".join(str(block.block_type) for block in message.blocks)
    words = message.content if message.content and message.content.strip() else f"({kinds or 'no text'})"
    return adapters.enclosed(KEPT, ROLES.get(message.role.value, "ai"), words, message.model_dump(mode="json"))


def _read(stored: ConversationMessage) -> Any:
    kept = adapters.whole(stored, KEPT)
    if kept is not None:
        return ChatMessage.model_validate(kept)
    return ChatMessage(role=adapters.SPOKEN[stored.role], content=stored.content)
