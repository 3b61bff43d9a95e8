"""Events of the Agent Development Kit as messages, each with all of the event beside its words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ltst import adapters
from ltst.records import ConversationMessage

with adapters.needed("google-adk", "adk"):
    from google.adk.events import Event
    from google.genai.types import Content, Part

# Where the metadata of messages and entries, and the namespaces of items, keep what is ADK's own.
KEPT = "adk"
# The key of the metadata that says of which app something is.
APP = "adk_app"
TEMPORARY = "temp:"


def conversation(user: Any, app_name: str, session_id: str) -> Any:
    """Return the conversation of a session."""
    return user.chat(f"{app_name}/{session_id}", agent=app_name)


def turn(app_name: str, event: Any) -> dict[str, Any]:
    """Return the arguments of `add` for an event; state that is for one invocation alone is left out."""
    whole = event.model_dump(mode="json", exclude_none=True, by_alias=False)
    changed = whole.get("actions", {}).get("state_delta", {})
    for name in [each for each in changed if each.startswith(TEMPORARY)]:
        del changed[name]
    told = adapters.enclosed(KEPT, _role(event), words(event.content), whole)
    told["metadata"][APP] = app_name
    return {**told, "key": event.id, "at": datetime.fromtimestamp(event.timestamp, UTC)}


def event(stored: ConversationMessage) -> Any:
    """Return the event of a message; of one that another program wrote, an event that says it."""
    kept = adapters.whole(stored, KEPT)
    if kept is not None:
        return Event.model_validate(kept)
    author = "user" if stored.role == "human" else stored.role
    assert stored.timestamp is not None
    return Event(
        id=stored.message_key or str(stored.message_id),
        author=author,
        timestamp=stored.timestamp.timestamp(),
        content=spoken(stored.content, stored.role),
    )


def spoken(text: str, role: str | None) -> Any:
    """Return a text as content of whoever says it."""
    return Content(role="user" if role == "human" else "model", parts=[Part(text=text)])


def words(content: Any) -> str:
    """Return what content says; of a call of a tool, what is called, and of its answer, what it is."""
    parts = (content.parts if content else None) or []
    return "\n".join(filter(None, map(_said, parts)))


def _said(part: Any) -> str:
    if part.function_call:
        return f"{part.function_call.name}({adapters.as_json(part.function_call.args or {})})"
    if part.function_response:
        return adapters.as_json(part.function_response.model_dump(mode="json").get("response") or {})
    return "" if part.thought else part.text or ""


def _role(event: Any) -> str:
    if event.get_function_responses():
        return "tool"
    if event.content is None:
        return "system"
    return "user" if event.author == "user" else "assistant"
