"""MCP resources: the profile, the list of conversations and each conversation, to be read and attached."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as protocol
from mcp.shared.exceptions import MCPError

from ltst.doors.mcp import telling
from ltst.doors.mcp.fitting import fitting
from ltst.doors.mcp.quotes import PREAMBLE
from ltst.errors import Invalid
from ltst.memory import AsyncUser
from ltst.records import ConversationSession

PROFILE = "ltst://profile"
SESSIONS = "ltst://sessions"
ONE = "ltst://sessions/"
SHOWN_SESSIONS = 200
SHOWN_MESSAGES = 200
IN_JSON = "application/json"
AS_TEXT = "text/plain"

FIXED = (
    protocol.Resource(
        uri=PROFILE,
        name="profile",
        title="Profile",
        description="Who the user is: the facts that hold now, and their preferences.",
        mime_type=IN_JSON,
    ),
    protocol.Resource(
        uri=SESSIONS,
        name="sessions",
        title="Conversations",
        description=f"The user's last {SHOWN_SESSIONS} conversations, the most recently active first.",
        mime_type=IN_JSON,
    ),
)
TEMPLATE = protocol.ResourceTemplate(
    uri_template=ONE + "{session_id}",
    name="session",
    title="Conversation",
    description=f"The last {SHOWN_MESSAGES} messages of one conversation, oldest first. The id is percent-encoded.",
    mime_type=AS_TEXT,
)


async def read(user: AsyncUser, uri: str) -> protocol.ReadResourceResult:
    """Return the contents of a resource. Those of other users do not exist here."""
    try:
        said = await _read(user, uri)
    except Invalid:
        said = None  # an id that no conversation can have
    if said is None:
        raise MCPError(protocol.INVALID_PARAMS, "no such resource", {"uri": uri})
    kind = AS_TEXT if uri.startswith(ONE) else IN_JSON
    return protocol.ReadResourceResult(contents=[protocol.TextResourceContents(uri=uri, mime_type=kind, text=said)])


def address(session_id: str) -> str:
    """Return the address of a conversation."""
    return ONE + quote(session_id, safe="")


async def transcript(user: AsyncUser, session_id: str) -> str | None:
    """Return the newest messages of a conversation, quoted, or None if there is no such conversation."""
    session = await user.sessions.get(session_id)
    if session is None:
        return None
    found = await user.chat(session_id).window(SHOWN_MESSAGES)
    return fitting([session, *found], _quoted_text, _size)


async def _read(user: AsyncUser, uri: str) -> str | None:
    if uri == PROFILE:
        return fitting(await user.profile(), lambda profile, _: _json(profile), _size)
    if uri == SESSIONS:
        found = await user.sessions.list(limit=SHOWN_SESSIONS)
        return fitting([_summary(each) for each in found], lambda shown, _: _json(shown), _size)
    return await transcript(user, unquote(uri.removeprefix(ONE))) if uri.startswith(ONE) else None


def _quoted_text(quoted: list[Any], note: str | None) -> str:
    return "\n".join([PREAMBLE, *telling.blocks(quoted), *([] if note is None else [note])])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _size(text: str) -> int:
    """Return the size of a text once it is written as JSON."""
    return len(json.dumps(text, ensure_ascii=False).encode())


def _summary(session: ConversationSession) -> dict[str, object]:
    return {
        "session_id": session.session_id,
        "name": session.session_name,
        "agent": session.agent_name,
        "status": session.status,
        "messages": session.session_length,
        "last_activity": None if session.last_activity is None else session.last_activity.isoformat(),
        "uri": address(session.session_id),
    }
