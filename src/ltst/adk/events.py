"""Converts events of the Agent Development Kit to messages, which keep the whole event in their metadata, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ltst import adapters
from ltst.records import ConversationMessage

with adapters.needed("google-adk", "adk"):
    from google.adk.events import Event
    from google.genai.types import Content, Part

# The key for ADK's own data in the metadata of messages and entries, and in the namespaces of items.
KEPT = "adk"
# The metadata key that names the app.
APP = "adk_app"
TEMPORARY = "temp:"


def conversation(user: Any, app_name: str, session_id: str) -> Any:
    """Returns the conversation of a session."""
    return user.chat(f"{app_name}/{session_id}", agent=app_name)


def turn(app_name: str, event: Any) -> dict[str, Any]:
    """Returns the arguments of `add` for an event, without state that is only for one invocation."""
    whole = event.model_dump(mode="json", exclude_none=True, by_alias=False)
    changed = whole.get("actions", {}).get("state_delta", {})
    for name in [each for each in changed if each.startswith(TEMPORARY)]:
        del changed[name]
    told = adapters.enclosed(KEPT, _role(event), words(event.content), whole)
    told["metadata"][APP] = app_name
    return {**told, "key": event.id, "at": datetime.fromtimestamp(event.timestamp, UTC)}


def event(stored: ConversationMessage) -> Any:
    """Returns the event of a message; a message that another program wrote becomes a new event."""
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
    """Returns a text as content with the role of its speaker."""
    return Content(role="user" if role == "human" else "model", parts=[Part(text=text)])


def words(content: Any) -> str:
    """Returns the text of a content; a tool call becomes its name and arguments, a tool response its JSON."""
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
