"""Tools for sessions: the conversations of a user."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import (
    Identifier,
    Items,
    Limit,
    Metadata,
    Moment,
    Offset,
    Page,
    SessionId,
    Word,
    one_of,
    page,
)
from ltst.doors.mcp.telling import removed
from ltst.doors.mcp.toolbox import ADDS, ADDS_ONCE, READS, REMOVES, REPLACES, Asked, tool
from ltst.errors import NotFound
from ltst.records import ConversationSession

Status = Annotated[
    StrictStr, one_of("active", "archived"), Field(description="Only those that are active, or archived.")
]
Strength = Annotated[shapes.Score, Field(description="From 0 to 1.")]


@tool("List conversations", READS, Page[shapes.Session], nothing="There are no conversations yet.", everyday=True)
async def list_sessions(asked: Asked, status: Status | None = None, limit: Limit = 20, offset: Offset = 0) -> Any:
    """The user's conversations, the most recently active first, with their ids, names and number of messages."""
    found = await asked.user.sessions.list(status=status, limit=limit + 1, offset=offset)
    return page(found, limit, offset)


@tool("Get a conversation", READS, shapes.Session)
async def get_session(asked: Asked, session_id: SessionId) -> Any:
    """One conversation: its name, status, summary and times."""
    found = await asked.user.sessions.get(session_id)
    if found is None:
        raise NotFound(f"no session {session_id!r}")
    return found


@tool("Count a conversation", READS, shapes.Summary)
async def count_session(asked: Asked, session_id: SessionId) -> Any:
    """How many messages of whom a conversation has, how many tokens, and when it began and was last active."""
    return await asked.user.sessions.summary(session_id)


@tool("Write a conversation's data", REPLACES, shapes.Session)
async def put_session(
    asked: Asked,
    session_id: SessionId,
    session_name: Annotated[shapes.Line | None, Field(description="What to call it.")] = None,
    session_type: Annotated[Identifier, Field(description="A word of your own for its type.")] = "conversation",
    status: Annotated[Identifier, Field(description="active, archived or a word of your own.")] = "active",
    metadata: Metadata | None = None,
    context_summary: Annotated[StrictStr | None, Field(description="A summary of it.")] = None,
    relevance_score: Annotated[shapes.Weight, Field(description="A score of your own.")] = 0.0,
    agent_name: Annotated[Identifier | None, Field(description="The agent that the user talks with.")] = None,
    created_at: Annotated[Moment | None, Field(description="When it began.")] = None,
    last_activity: Annotated[Moment | None, Field(description="When it was last active.")] = None,
) -> Any:
    """Create a conversation; of the one with this id, change what is given, its status and activity."""
    session = ConversationSession(
        session_id,
        asked.user.user_id,
        session_name=session_name,
        session_type=session_type,
        status=status,
        metadata=metadata or {},
        context_summary=context_summary,
        relevance_score=relevance_score,
        agent_name=agent_name,
        created_at=created_at,
        last_activity=last_activity,
    )
    return await asked.user.sessions.put(session)


@tool("Archive a conversation", ADDS_ONCE, shapes.Session)
async def archive_session(asked: Asked, session_id: SessionId) -> Any:
    """Put a conversation aside; a new message makes it active again."""
    return await asked.user.sessions.archive(session_id)


@tool("Mark a conversation as active", ADDS_ONCE, shapes.Done, say=lambda done: "Done." if done["done"] else "No such.")
async def touch_session(
    asked: Asked,
    session_id: SessionId,
    at: Annotated[Moment | None, Field(description="When it was active; now, if left out.")] = None,
) -> Any:
    """Set the time at which a conversation was last active."""
    return {"done": await asked.user.sessions.touch(session_id, at=at)}


@tool("Delete a conversation", REMOVES, shapes.Removed, say=removed)
async def delete_session(asked: Asked, session_id: SessionId) -> Any:
    """Remove a conversation for good, with its messages and all that was learnt from them alone."""
    return {"removed": int(await asked.user.sessions.delete(session_id))}


@tool("Link two conversations", ADDS_ONCE, shapes.Relationship)
async def link_sessions(
    asked: Asked,
    source: Annotated[Identifier, Field(description="The id of the earlier conversation.")],
    target: Annotated[Identifier, Field(description="The id of the later conversation.")],
    type: Annotated[
        Word, Field(description="How they hang together: continuation, related, fork, reference, or another word.")
    ] = "related",
    similarity: Strength = 0.0,
    strength: Strength = 1.0,
    metadata: Metadata | None = None,
) -> Any:
    """Link two conversations; a search in one also finds what was said in those related to it."""
    return await asked.user.sessions.link(
        source, target, type, similarity=similarity, strength=strength, metadata=metadata
    )


@tool("Related conversations", READS, Page[shapes.Relationship], nothing="No conversation is linked to this one.")
async def related_sessions(asked: Asked, session_id: SessionId) -> Any:
    """The links from and to a conversation, the strongest first."""
    return Items(await asked.user.sessions.related(session_id))


@tool("Fork a conversation", ADDS, shapes.Forked, say=lambda done: "The copy was made; its id is in the answer.")
async def fork_session(
    asked: Asked,
    session_id: SessionId,
    at: Annotated[shapes.Index | None, Field(description="The index of the last message to copy; else all.")] = None,
    new_session_id: Annotated[Identifier | None, Field(description="The id of the copy; else a new one.")] = None,
) -> Any:
    """Begin a new conversation with a copy of this one, up to a message."""
    made = await asked.user.chat(session_id).fork(at, session_id=new_session_id)
    return {"session_id": made.session_id}


TOOLS = (
    list_sessions,
    get_session,
    count_session,
    put_session,
    archive_session,
    touch_session,
    delete_session,
    link_sessions,
    related_sessions,
    fork_session,
)
