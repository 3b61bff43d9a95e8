"""Sessions over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.routes.headers import IdempotencyKey
from ltst.doors.http.shapes import Identifier, Limit, Offset, Page
from ltst.errors import Conflict
from ltst.records import ConversationSession, ImportedConversation, ImportedMessage
from ltst.support.text import sha256

router = APIRouter(route_class=Guarded, prefix="/v1/sessions", tags=["sessions"])

Status = Annotated[str | None, Query(pattern="^(active|archived)$", description="Both if left out.")]


@router.get("", response_model=Page[shapes.Session])
async def list_sessions(user: User, status: Status = None, limit: Limit = 50, offset: Offset = 0) -> Any:
    """The conversations, the most recently active first."""
    return shapes.page(await user.sessions.list(status=status, limit=limit + 1, offset=offset), limit, offset)


@router.post("", response_model=shapes.Imported)
async def add_sessions(user: User, given: shapes.ForeignConversations) -> Any:
    """Store conversations that were held elsewhere, all or none; what is there already stays as it is."""
    return await user.sessions.add_many([_conversation(each) for each in given.conversations])


@router.get("/{session_id:segment}", response_model=shapes.Session)
async def get_session(user: User, session_id: Identifier) -> Any:
    """One conversation."""
    return found(await user.sessions.get(session_id), f"session {session_id!r}")


@router.put("/{session_id:segment}", response_model=shapes.Session)
async def put_session(user: User, session_id: Identifier, given: shapes.SessionWritten) -> Any:
    """Create a conversation; of one that is there, change what is given, its status and activity."""
    written = {name: getattr(given, name) for name in type(given).model_fields}
    return await user.sessions.put(ConversationSession(session_id, user.user_id, **written))


@router.delete("/{session_id:segment}", status_code=204, response_class=Response)
async def delete_session(user: User, session_id: Identifier) -> Response:
    """Remove a conversation with its messages and all that rests on it alone."""
    return gone(await user.sessions.delete(session_id), f"session {session_id!r}")


@router.post("/{session_id:segment}/archive", response_model=shapes.Session)
async def archive_session(user: User, session_id: Identifier) -> Any:
    """Put a conversation aside; a new message makes it active again."""
    return await user.sessions.archive(session_id)


@router.post("/{session_id:segment}/touch", status_code=204, response_class=Response)
async def touch_session(user: User, session_id: Identifier, given: shapes.Touch) -> Response:
    """Set the time of the last activity."""
    return gone(await user.sessions.touch(session_id, at=given.at), f"session {session_id!r}")


@router.get("/{session_id:segment}/summary", response_model=shapes.Summary)
async def summarise_session(user: User, session_id: Identifier) -> Any:
    """What a conversation holds, counted."""
    return await user.sessions.summary(session_id)


@router.get("/{session_id:segment}/links", response_model=Page[shapes.Relationship])
async def list_links(user: User, session_id: Identifier) -> Any:
    """The links from and to a conversation, the strongest first."""
    return {"items": await user.sessions.related(session_id)}


@router.post("/{session_id:segment}/links", response_model=shapes.Relationship, status_code=201)
async def link_sessions(user: User, session_id: Identifier, given: shapes.Link) -> Any:
    """Link this conversation, the earlier one, to another."""
    return await user.sessions.link(
        session_id,
        given.target,
        given.type,
        similarity=given.similarity,
        strength=given.strength,
        metadata=given.metadata,
    )


@router.post("/{session_id:segment}/fork", response_model=shapes.Forked, status_code=201)
async def fork_session(user: User, session_id: Identifier, given: shapes.Fork, key: IdempotencyKey = None) -> Any:
    """A new conversation that begins with a copy of this one; with an idempotency key it is made once."""
    wanted = given.session_id
    if wanted is None and key is not None:
        wanted = "fork-" + sha256(f"{session_id}\n{key}")
    try:
        return {"session_id": (await user.chat(session_id).fork(given.at, session_id=wanted)).session_id}
    except Conflict:
        if given.session_id is not None:
            raise
        return {"session_id": wanted}


def _conversation(given: shapes.ForeignConversation) -> ImportedConversation:
    said = [ImportedMessage(**_fields(each)) for each in given.messages]
    return ImportedConversation(**{**_fields(given), "messages": said})


def _fields(given: shapes.Shape) -> dict[str, Any]:
    return {name: getattr(given, name) for name in type(given).model_fields}
