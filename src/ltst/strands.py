"""Strands Agents: a session repository and a memory store.

The messages of a session are conversations, its states are items, and memories are entries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ltst import adapters
from ltst.adapters import at_once, awaited
from ltst.errors import Conflict, Invalid
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage, Hit
from ltst.sync import Chat, User

with adapters.needed("strands-agents", "strands"):
    from strands.memory import MemoryEntry, MemoryStore
    from strands.session.session_repository import SessionRepository
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage

__all__ = ["LtstMemoryStore", "LtstSessionRepository"]

# The key for Strands' own data in the metadata of messages and in the namespaces of items.
KEPT = "strands"
FOUND = 10  # default maximum of memories


class LtstSessionRepository(SessionRepository):
    """The sessions of a user; pass it to `RepositorySessionManager` as `session_repository`.

    Every agent of a session has its own conversation, `session/agent`. Strands does not await its repositories, so the
    user must be one of `Memory`.
    """

    def __init__(self, user: User) -> None:
        """Stores sessions of a user."""
        adapters.check_user(user)
        self._user = user

    def create_session(self, session: Any, **options: Any) -> Any:
        """Stores a new session and returns it; raises SessionException if it exists."""
        self._create(_place(session.session_id), "session", session.to_dict(), f"Session {session.session_id}")
        return session

    def read_session(self, session_id: str, **options: Any) -> Any:
        """Returns a session, or None if there is none."""
        found = self._read(_place(session_id), "session")
        return None if found is None else Session.from_dict(found)

    def delete_session(self, session_id: str, **options: Any) -> None:
        """Deletes a session with its agents and their messages."""
        items = at_once(self._user.items.list, _place(session_id), limit=adapters.MOST)
        for item in items:
            if item.namespace == _place(session_id, "agents"):
                at_once(self._user.sessions.delete, _conversation(session_id, item.key))
        for item in items:
            at_once(self._user.items.delete, item.namespace, item.key)

    def create_agent(self, session_id: str, session_agent: Any, **options: Any) -> None:
        """Stores the state of a new agent of a session."""
        self._need_session(session_id)
        told = f"Agent {session_agent.agent_id} of session {session_id}"
        self._create(_place(session_id, "agents"), session_agent.agent_id, session_agent.to_dict(), told)

    def read_agent(self, session_id: str, agent_id: str, **options: Any) -> Any:
        """Returns the state of an agent, or None if there is none."""
        found = self._read(_place(session_id, "agents"), agent_id)
        return None if found is None else SessionAgent.from_dict(found)

    def update_agent(self, session_id: str, session_agent: Any, **options: Any) -> None:
        """Replaces the state of an agent, keeping its creation time."""
        session_agent.created_at = self._need_agent(session_id, session_agent.agent_id)["created_at"]
        self._put(_place(session_id, "agents"), session_agent.agent_id, session_agent.to_dict())

    def create_message(self, session_id: str, agent_id: str, session_message: Any, **options: Any) -> None:
        """Stores a new message of an agent."""
        self._need_agent(session_id, agent_id)
        key = str(session_message.message_id)
        chat = self._chat(session_id, agent_id)
        if at_once(chat.keyed, key) is not None:
            raise SessionException(f"Message {key} of agent {agent_id} of session {session_id} already exists")
        at_once(chat.add, key=key, **_turn(session_message))

    def read_message(self, session_id: str, agent_id: str, message_id: int, **options: Any) -> Any:
        """Returns a message, or None if there is none."""
        found = at_once(self._chat(session_id, agent_id).keyed, str(message_id))
        return None if found is None else _message(found)

    def update_message(self, session_id: str, agent_id: str, session_message: Any, **options: Any) -> None:
        """Replaces the content of a message, keeping its creation time."""
        self._need_agent(session_id, agent_id)
        chat = self._chat(session_id, agent_id)
        found = at_once(chat.keyed, str(session_message.message_id))
        if found is None:
            raise SessionException(f"Message {session_message.message_id} of session {session_id} does not exist")
        session_message.created_at = _message(found).created_at
        turn = _turn(session_message)
        at_once(chat.replace, found.message_id, turn["content"], metadata=turn["metadata"])

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **options: Any
    ) -> list[Any]:
        """Returns the messages of an agent in order."""
        stored = at_once(self._chat(session_id, agent_id).window, adapters.MOST)
        messages = sorted(map(_message, stored), key=lambda message: message.message_id)
        return messages[offset : None if limit is None else offset + limit]

    def create_multi_agent(self, session_id: str, multi_agent: Any, **options: Any) -> None:
        """Stores the state of several agents that work together."""
        self._need_session(session_id)
        self._put(_place(session_id, "multi_agents"), multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **options: Any) -> dict[str, Any] | None:
        """Returns the state of several agents that work together, or None if there is none."""
        return self._read(_place(session_id, "multi_agents"), multi_agent_id)

    def update_multi_agent(self, session_id: str, multi_agent: Any, **options: Any) -> None:
        """Replaces the state of several agents that work together."""
        self._need_session(session_id)
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent {multi_agent.id} of session {session_id} does not exist")
        self._put(_place(session_id, "multi_agents"), multi_agent.id, multi_agent.serialize_state())

    def _chat(self, session_id: str, agent_id: str) -> Chat:
        return self._user.chat(_conversation(session_id, agent_id), agent=agent_id)

    def _need_session(self, session_id: str) -> None:
        if self._read(_place(session_id), "session") is None:
            raise SessionException(f"Session {session_id} does not exist")

    def _need_agent(self, session_id: str, agent_id: str) -> dict[str, Any]:
        self._need_session(session_id)
        found = self._read(_place(session_id, "agents"), agent_id)
        if found is None:
            raise SessionException(f"Agent {agent_id} of session {session_id} does not exist")
        return found

    def _create(self, place: tuple[str, ...], key: str, state: Mapping[str, Any], told: str) -> None:
        try:
            self._put(place, key, state, revision=0)
        except Conflict:
            raise SessionException(f"{told} already exists") from None

    def _put(self, place: tuple[str, ...], key: str, state: Mapping[str, Any], **how: Any) -> None:
        # A program's own state is not searched.
        at_once(self._user.items.put, place, key, json.loads(adapters.as_json(state)), fields=(), **how)

    def _read(self, place: tuple[str, ...], key: str) -> dict[str, Any] | None:
        item = at_once(self._user.items.get, place, key)
        return None if item is None else dict(item.value)


class LtstMemoryStore(MemoryStore):
    """What is remembered about a user; pass it to `MemoryManager` among its `stores`.

    A search covers everything: conversations, facts, and what was added here.
    """

    def __init__(
        self,
        user: AsyncUser | User,
        *,
        name: str = "ltst",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: Any = None,
    ) -> None:
        """Remembers for a user; the other arguments are those of every store of Strands."""
        adapters.check_user(user)
        if not name.strip():
            raise Invalid("the name must not be empty")
        self._user, self.name, self.description = user, name, description
        self.max_search_results = _checked(max_search_results)
        self.writable, self.extraction = writable, extraction

    async def search(self, query: str, options: Any = None) -> list[Any]:
        """Returns what is remembered about a query, the best first; empty if nothing is relevant."""
        limit = _checked((options or {}).get("max_search_results")) or self.max_search_results or FOUND
        if not query.strip():
            return []
        return [_memory(hit) for hit in await awaited(self._user.search, query, limit=limit)]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> Any:
        """Stores a memory and returns it; the same content is stored once."""
        if not self.writable:
            raise Invalid("this store is not writable; make it with writable=True")
        return await awaited(self._user.entries.add, content, metadata=dict(metadata or {}))


def _checked(most: Any) -> int | None:
    if most is not None and most < 1:
        raise Invalid("max_search_results must be at least 1")
    return None if most is None else int(most)


def _memory(hit: Hit) -> Any:
    told = {"id": hit.id, "kind": hit.kind, "score": hit.score, "session_id": hit.session_id}
    when = {"occurred_at": hit.occurred_at.isoformat()} if hit.occurred_at else {}
    return MemoryEntry(content=hit.content, metadata={**told, **when})


def _place(session_id: str, *below: str) -> tuple[str, ...]:
    return (KEPT, session_id, *below)


def _conversation(session_id: str, agent_id: str) -> str:
    return f"{session_id}/{agent_id}"


def _turn(message: Any) -> dict[str, Any]:
    said = message.to_message()
    blocks = [block for block in said["content"] if isinstance(block, Mapping)]
    role = "tool" if any("toolResult" in block for block in blocks) else said["role"]
    words = "\n".join(filter(None, map(_said, blocks)))
    return adapters.enclosed(KEPT, role, words, message.to_dict())


def _message(stored: ConversationMessage) -> Any:
    kept = adapters.whole(stored, KEPT)
    if kept is not None:
        return SessionMessage.from_dict(kept)
    role = "assistant" if stored.role == "ai" else "user"
    key = stored.message_key or ""
    number = int(key) if key.isdecimal() else (stored.message_index or 1) - 1
    return SessionMessage(message={"role": role, "content": [{"text": stored.content}]}, message_id=number)


def _said(block: Mapping[str, Any]) -> str:
    if "toolUse" in block:
        return f"{block['toolUse']['name']}({json.dumps(block['toolUse']['input'], ensure_ascii=False, default=str)})"
    if "toolResult" in block:
        return "\n".join(filter(None, map(_said, block["toolResult"]["content"])))
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False, default=str)
    return str(block.get("text") or "")
