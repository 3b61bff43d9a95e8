"""Microsoft's Agent Framework: the history of a session, and a context provider that recalls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import awaited
from ltst.errors import Invalid
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage
from ltst.sync import User

with adapters.needed("agent-framework-core", "agent-framework"):
    from agent_framework import ContextProvider, HistoryProvider, Message

__all__ = ["LtstContextProvider", "LtstHistoryProvider"]

# The metadata key under which a message keeps the framework's own.
KEPT = "agent_framework"
ROLES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


class LtstHistoryProvider(HistoryProvider):
    """The messages of sessions, each a conversation of a user; pass it to an agent among its `context_providers`."""

    def __init__(
        self, user: AsyncUser | User, *, source_id: str = "ltst-history", agent: str | None = None, **options: Any
    ) -> None:
        """Stores the messages of a user's sessions; `options` are those of the base class."""
        super().__init__(source_id, **options)
        adapters.check_user(user)
        self._user, self._agent = user, agent

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **options: Any
    ) -> list[Any]:
        """Returns the messages of a session, oldest first."""
        return [_read(stored) for stored in await awaited(self._chat(session_id).window, adapters.MOST)]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Any],
        *,
        state: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Stores messages, all or none."""
        await awaited(self._chat(session_id).add_many, [_written(message) for message in messages])

    def _chat(self, session_id: str | None) -> Any:
        return _conversation(self._user, session_id, self._agent)


class LtstContextProvider(ContextProvider):
    """Adds what is remembered about the user's message, from all conversations, to the instructions of a run.

    It stores nothing; use an `LtstHistoryProvider` of the same user for that.
    """

    def __init__(
        self,
        user: AsyncUser | User,
        *,
        source_id: str = "ltst-memory",
        agent: str | None = None,
        max_tokens: int = 2000,
    ) -> None:
        """Recalls for a user, at most `max_tokens`."""
        super().__init__(source_id)
        adapters.check_user(user)
        self._user, self._agent, self._most = user, agent, max_tokens

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Adds what is remembered to the instructions."""
        asked = [message.text for message in context.input_messages if message.role == "user"]
        if not asked or not asked[-1].strip():
            return
        shown = len(context.get_messages(include_input=True))
        chat = _conversation(self._user, context.session_id, self._agent)
        found = await adapters.recalled(awaited, chat, asked[-1], self._most, shown=shown)
        if found is not None:
            context.extend_instructions(self.source_id, found)


def _conversation(user: AsyncUser | User, session_id: str | None, agent: str | None) -> Any:
    if session_id is None:
        raise Invalid("which conversation? Run the agent with session=agent.create_session(session_id=…)")
    return user.chat(session_id, agent=agent)


def _written(message: Any) -> dict[str, Any]:
    if not isinstance(message, Message):
        raise Invalid(f"messages are those of agent_framework, not {type(message).__name__}")
    kinds = ", ".join(str(content.type) for content in message.contents)
    words = message.text if message.text.strip() else f"({kinds or 'no text'})"
    return adapters.enclosed(KEPT, ROLES.get(str(message.role), "ai"), words, message.to_dict())


def _read(stored: ConversationMessage) -> Any:
    kept = adapters.whole(stored, KEPT)
    if kept is not None:
        return Message.from_dict(kept)
    return Message(adapters.SPOKEN[stored.role], [stored.content])
