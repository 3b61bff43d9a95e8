"""The Claude Agent SDK: a store for its transcripts; each is a conversation whose messages are its entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from ltst import adapters
from ltst.adapters import awaited
from ltst.errors import Conflict, Invalid
from ltst.memory import AsyncUser
from ltst.records import ConversationSession
from ltst.support.text import sha256
from ltst.sync import User

with adapters.needed("claude-agent-sdk", "claude"):
    from claude_agent_sdk import fold_session_summary

# The metadata key under which a message keeps its entry.
KEPT = "claude"
BEGUN = "claude-"


class LtstSessionStore:
    """The transcripts of a user's sessions with Claude; pass it to `ClaudeAgentOptions` as `session_store`.

    Every transcript, also a subagent's, is a conversation named after its project, session and subpath.
    """

    def __init__(self, user: AsyncUser | User, *, agent: str | None = "claude") -> None:
        """Stores transcripts of a user, under the name of an agent."""
        adapters.check_user(user)
        self._user = user
        self._agent = agent

    async def append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """Stores entries, all or none, except those whose `uuid` is already stored."""
        name = _name(key)
        chat = self._user.chat(_session_id(name), agent=self._agent, name=name)
        turns = [_turn(entry, spoken="subpath" not in key) for entry in entries]
        try:
            await awaited(chat.add_many, turns)
        except Conflict:  # a stored entry has different content by now
            new = [turn for turn in turns if not turn["key"] or await awaited(chat.keyed, turn["key"]) is None]
            await awaited(chat.add_many, new)

    async def load(self, key: Mapping[str, str]) -> list[Any] | None:
        """Returns the entries of a transcript in order, or None if there is none."""
        stored = await awaited(self._user.chat(_session_id(_name(key))).window, adapters.MOST)
        entries = [adapters.whole(message, KEPT) for message in stored]
        return [entry for entry in entries if entry is not None] or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Returns the sessions of a project, with the time of their last entry in milliseconds."""
        return [
            {"session_id": parts[1], "mtime": _milliseconds(session)}
            for parts, session in await self._sessions(project_key)
            if len(parts) == 2
        ]

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """Returns the SDK's summary of each session of a project, computed from its entries."""
        summaries = []
        for listed in await self.list_sessions(project_key):
            key = {"project_key": project_key, "session_id": listed["session_id"]}
            entries = await self.load(key)
            if entries:
                summaries.append({**fold_session_summary(None, key, entries), "mtime": listed["mtime"]})
        return summaries

    async def delete(self, key: Mapping[str, str]) -> None:
        """Deletes a transcript; a session's transcript is deleted with those of its subagents."""
        name = _name(key)
        below = [] if "subpath" in key else [f"{name}/{quote(each, safe='')}" for each in await self.list_subkeys(key)]
        for each in (*below, name):
            await awaited(self._user.sessions.delete, _session_id(each))

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """Returns the subpaths of a session, which are the transcripts of its subagents."""
        sessions = await self._sessions(key["project_key"])
        return [parts[2] for parts, _ in sessions if len(parts) == 3 and parts[1] == key["session_id"]]

    async def _sessions(self, project_key: str) -> list[tuple[list[str], ConversationSession]]:
        """Returns the transcripts of a project, each with the parts of its name."""
        listed = await awaited(self._user.sessions.list, prefix=BEGUN, limit=adapters.MOST)
        named = [
            ([unquote(part) for part in session.session_name.split("/")], session)
            for session in listed
            if session.session_name
        ]
        return [(parts, session) for parts, session in named if parts[0] == project_key]


def _name(key: Mapping[str, str]) -> str:
    parts = [key.get("project_key"), key.get("session_id"), *([key["subpath"]] if "subpath" in key else [])]
    if not all(isinstance(part, str) and part for part in parts):
        raise Invalid("a key has a project_key, a session_id and, for a subagent, a subpath: texts that are not empty")
    return "/".join(quote(str(part), safe="") for part in parts)


def _session_id(name: str) -> str:
    """Returns an id of fixed length, because project paths are long."""
    return BEGUN + sha256(name)[:40]


def _milliseconds(session: ConversationSession) -> int:
    assert session.last_activity is not None
    return int(session.last_activity.timestamp() * 1000)


def _turn(entry: Mapping[str, Any], *, spoken: bool) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise Invalid(f"an entry is a dict, not {type(entry).__name__}")
    role = _role(entry, spoken and not entry.get("isSidechain"))
    return {**adapters.enclosed(KEPT, role, _words(entry), dict(entry)), "key": entry.get("uuid")}


def _role(entry: Mapping[str, Any], spoken: bool) -> str:
    """Returns the role of an entry; nothing may be learned about the user from what a program or agent wrote."""
    kind = entry.get("type")
    if kind == "assistant":
        return "ai"
    if kind != "user" or entry.get("isMeta"):
        return "system"
    if any(block.get("type") == "tool_result" for block in _blocks(entry)):
        return "tool"
    return "human" if spoken else "ai"


def _words(entry: Mapping[str, Any]) -> str:
    said = [_said(block) for block in _blocks(entry)]
    return "\n".join(each for each in said if each) or f"({entry.get('type', 'no text')})"


def _blocks(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = entry.get("message")
    return _parts(message.get("content")) if isinstance(message, Mapping) else []


def _parts(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _said(block: Mapping[str, Any]) -> str:
    if block.get("type") == "tool_use":
        return f"{block.get('name')}({json.dumps(block.get('input'), ensure_ascii=False)})"
    if block.get("type") == "tool_result":
        return "\n".join(_said(part) for part in _parts(block.get("content")))
    return str(block.get("text") or "")
