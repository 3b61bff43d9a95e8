"""Tools for working memory and the other contexts of a conversation."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.quotes import PREAMBLE
from ltst.doors.mcp.shapes import (
    Agent,
    Identifier,
    Items,
    Metadata,
    Moment,
    Page,
    Seconds,
    SessionId,
    SessionName,
    Text,
    one_of,
)
from ltst.doors.mcp.telling import in_json, removed
from ltst.doors.mcp.toolbox import READS, REMOVES, REPLACES, Asked, tool
from ltst.errors import NotFound

WorkingKey = Annotated[Identifier, Field(description="The name of the value, such as plan or draft.")]
Type = Annotated[
    StrictStr,
    one_of("conversation", "preference", "project", "user_info", "working"),
    Field(description="What kind it is."),
]
ContextKey = Annotated[Identifier, Field(description="The name under its type.")]


def _shown(done: dict[str, Any]) -> str:
    if not done["values"]:
        return "There is nothing in working memory here."
    return "\n".join([PREAMBLE, *(in_json(value, kind="working", key=key) for key, value in done["values"].items())])


@tool("Set working memory", REPLACES, shapes.Values, say=lambda done: "Kept.", everyday=True)
async def set_working_memory(
    asked: Asked,
    session_id: SessionId,
    key: WorkingKey,
    value: Annotated[Any, Field(description="Any JSON value: text, number, list, object.")],
    ttl: Annotated[Seconds | None, Field(description="How many seconds it lives; else as long as the session.")] = None,
    agent: Agent | None = None,
    name: SessionName | None = None,
) -> Any:
    """Keep a value for the length of a task: a plan, a draft, a list of steps.

    It takes the place of the one before under the same key.
    """
    await asked.user.chat(session_id, agent=agent, name=name).working.set(key, value, ttl=ttl)
    return {"values": {key: value}}


@tool("Get working memory", READS, shapes.Values, say=_shown, everyday=True)
async def get_working_memory(
    asked: Asked,
    session_id: SessionId,
    key: Annotated[Identifier | None, Field(description="Which value; all of them, if left out.")] = None,
) -> Any:
    """What is kept in the working memory of a conversation: one value, or all."""
    chat = asked.user.chat(session_id)
    if key is None:
        return {"values": await chat.working.all()}
    found = await chat.contexts.get("working", key)
    return {"values": {} if found is None else {key: json.loads(found.context_value)}}


@tool("Clear working memory", REMOVES, shapes.Removed, say=removed, everyday=True)
async def clear_working_memory(
    asked: Asked,
    session_id: SessionId,
    key: Annotated[Identifier | None, Field(description="Which value; all of them, if left out.")] = None,
) -> Any:
    """Remove one value from the working memory of a conversation, or all, when the task is done."""
    working = asked.user.chat(session_id).working
    return {"removed": await working.clear() if key is None else int(await working.forget(key))}


@tool("Set a session's context", REPLACES, shapes.SessionContext)
async def set_session_context(
    asked: Asked,
    session_id: SessionId,
    type: Type,
    key: ContextKey,
    value: Annotated[Text, Field(description="The value, as text.")],
    relevance: Annotated[shapes.Weight, Field(description="A score of your own.")] = 0.0,
    expires_at: Annotated[Moment | None, Field(description="Until when it lives; for good, if left out.")] = None,
    metadata: Metadata | None = None,
    agent: Agent | None = None,
    name: SessionName | None = None,
) -> Any:
    """Attach a typed key and value to a conversation, in place of the one before."""
    contexts = asked.user.chat(session_id, agent=agent, name=name).contexts
    return await contexts.set(type, key, value, relevance=relevance, expires_at=expires_at, metadata=metadata)


@tool("Get a session's context", READS, shapes.SessionContext)
async def get_session_context(asked: Asked, session_id: SessionId, type: Type, key: ContextKey) -> Any:
    """One value attached to a conversation."""
    found = await asked.user.chat(session_id).contexts.get(type, key)
    if found is None:
        raise NotFound(f"no context {key!r} of type {type!r}")
    return found


@tool("List a session's contexts", READS, Page[shapes.SessionContext], nothing="Nothing is attached here.")
async def list_session_contexts(asked: Asked, session_id: SessionId, type: Type | None = None) -> Any:
    """What is attached to a conversation, by type and key."""
    return Items(await asked.user.chat(session_id).contexts.list(type))


@tool("Forget a session's context", REMOVES, shapes.Removed, say=removed)
async def forget_session_context(
    asked: Asked,
    session_id: SessionId,
    type: Type,
    key: Annotated[Identifier | None, Field(description="Which one; all of the type, if left out.")] = None,
) -> Any:
    """Remove what is attached to a conversation: one value, or all of a type."""
    return {"removed": await asked.user.chat(session_id).contexts.forget(type, key)}


TOOLS = (
    set_working_memory,
    get_working_memory,
    clear_working_memory,
    set_session_context,
    get_session_context,
    list_session_contexts,
    forget_session_context,
)
