"""The OpenAI Agents SDK: a session whose items are the messages of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import awaited
from ltst.errors import Invalid, NotFound
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage
from ltst.sync import User

with adapters.needed("openai-agents", "openai-agents"):
    from agents.memory import SessionABC, SessionSettings

__all__ = ["LtstSession"]

# The metadata key under which a message keeps its item.
KEPT = "openai_agents"
ROLES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system"}


class LtstSession(SessionABC):
    """One conversation as a session of the Agents SDK; pass it to `Runner.run` as `session`.

    Items come back as they were added. Other messages of the conversation, such as those another program added, come
    back as items too.
    """

    def __init__(
        self,
        user: AsyncUser | User,
        session_id: str,
        *,
        agent: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Uses a conversation of a user, created on its first write.

        The user may be one of `AsyncMemory`, or one of `Memory`, which also works from several event loops.
        """
        adapters.check_user(user)
        self.session_id = session_id
        self.session_settings = SessionSettings().resolve(session_settings)
        self._user = user
        self._chat = user.chat(session_id, agent=agent)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the newest items, oldest first: all of them, unless there is a limit here or in the settings."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        if most is not None and most <= 0:
            return []
        wanted = adapters.MOST if most is None else min(most, adapters.MOST)
        return [_item(message) for message in await awaited(self._chat.window, wanted)]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Stores items, all or none."""
        await awaited(self._chat.add_many, [_turn(item) for item in items])

    async def pop_item(self) -> Any | None:
        """Removes the newest item and returns it, or None if there is none."""
        while newest := await awaited(self._chat.window, 1):
            try:
                await awaited(self._chat.remove, newest[0].message_id)
            except NotFound:  # someone else took it
                continue
            return _item(newest[0])
        return None

    async def clear_session(self) -> None:
        """Deletes the conversation: its messages, its working memory and what was learned from them alone."""
        await awaited(self._user.sessions.delete, self.session_id)


def _turn(item: Any) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise Invalid(f"an item is a dict of the Responses API, not {type(item).__name__}")
    return adapters.enclosed(KEPT, _role(item), _words(item), dict(item))


def _item(message: ConversationMessage) -> Any:
    return adapters.whole(message, KEPT) or {"role": adapters.SPOKEN[message.role], "content": message.content}


def _role(item: Mapping[str, Any]) -> str:
    if str(item.get("type")).endswith("_output"):
        return "tool"
    return ROLES.get(str(item.get("role")), "ai")


def _words(item: Mapping[str, Any]) -> str:
    """Returns the text of an item; a tool call becomes its name and arguments."""
    if "name" in item and "arguments" in item:
        return f"{item['name']}({item['arguments']})"
    said = next((item[name] for name in ("content", "output", "summary") if item.get(name)), None)
    return _text(said) or f"({item.get('type', 'no text')})"


def _text(said: Any) -> str:
    if isinstance(said, str):
        return said
    parts = said if isinstance(said, list) else [said]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))
