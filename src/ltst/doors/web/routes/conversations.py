"""Conversations on the page: lists, searches, shows and changes them, and shows what was learned from each."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from ltst.doors.web.pages import PageRoute, address, leading, page, paged
from ltst.doors.web.visits import Visit, Visited
from ltst.errors import NotFound
from ltst.handles import viewing
from ltst.records import ConversationMessage, ConversationSession, Fact

router = APIRouter(route_class=PageRoute)

LISTED, READ, FOUND = 50, 50, 30
DONE = {
    "archived": "The conversation is put aside; a new message brings it back, and so does a click.",
    "back": "The conversation is active again.",
    "deleted": "The conversation is deleted, with what was learnt from it alone.",
    "removed": "The message is removed, with what was learnt from it alone.",
    "replaced": "The message says something else now, and is learnt from anew.",
    "forked": "This is a copy. Both can be changed and deleted by themselves.",
    "linked": "The conversations are linked.",
}


@router.get("/conversations")
async def listed(visit: Visited) -> Response:
    """Show the conversations, or those in which something was said."""
    query, offset, status = visit.asked("q").strip(), visit.number("offset", 0), visit.asked("status")
    asked = {"q": query, "status": status}
    hits = await visit.user.search(query, limit=FOUND, kinds=("message",)) if query else []
    found = [] if query else await visit.user.sessions.list(status=status or None, limit=LISTED + 1, offset=offset)
    titles = await viewing.titles(visit.desk, (each.session_id for each in found))
    told: dict[str, Any] = {"hits": hits, "sessions": found[:LISTED], "titles": titles, **paged(found, LISTED, offset)}
    told |= {"query": query, "status": status, "filters": asked}
    return page(visit, "conversations.html", **told, done=_done(visit))


@router.get("/source")
async def source(visit: Visited) -> Response:
    """Lead to a message where it stands in its conversation."""
    message_id = visit.need("id")
    if not (found := await viewing.messages_by_id(visit.desk, [message_id])):
        raise NotFound("these words are no longer there: their message was removed or changed")
    (message,) = found.values()
    place = address("/conversations/read", id=message.session_id, at=message.message_index)
    return RedirectResponse(f"{place}#m{message.message_index}", 303)


@router.get("/conversations/read")
async def read(visit: Visited) -> Response:
    """Show one conversation from its beginning, page by page."""
    return await _read(visit, await _session(visit), _done(visit))


@router.post("/conversations/message")
async def change(visit: Visited) -> Response:
    """Let a message say something else, or remove it."""
    session, message_id = await _session(visit), visit.need("message_id")
    chat = visit.user.chat(session.session_id)
    if visit.asked("do") == "remove":
        await chat.remove(message_id)
        return leading("/conversations/read", id=session.session_id, offset=visit.asked("offset"), done="removed")
    before = (await viewing.messages_by_id(visit.desk, [message_id])).get(message_id)
    await chat.replace(message_id, visit.need("content"))
    return await _read(visit, session, DONE["replaced"], before)


@router.post("/conversations/fork")
async def fork(visit: Visited) -> Response:
    """Begin a new conversation with a copy of this one."""
    session = await _session(visit)
    copy = await visit.user.chat(session.session_id).fork(visit.number("at", 0, 2**31 - 1) or None)
    return leading("/conversations/read", id=copy.session_id, done="forked")


@router.post("/conversations/link")
async def link(visit: Visited) -> Response:
    """Link this conversation with another."""
    session = await _session(visit)
    await visit.user.sessions.link(session.session_id, visit.need("target"), visit.asked("type") or "related")
    return leading("/conversations/read", id=session.session_id, done="linked")


@router.post("/conversations/archive")
async def archive(visit: Visited) -> Response:
    """Put a conversation aside, or bring it back."""
    session = await _session(visit)
    if visit.asked("do") == "back":
        await visit.user.sessions.put(replace(session, status="active"))
        return leading("/conversations/read", id=session.session_id, done="back")
    await visit.user.sessions.archive(session.session_id)
    return leading("/conversations/read", id=session.session_id, done="archived")


@router.post("/conversations/delete")
async def delete(visit: Visited) -> Response:
    """Remove a conversation."""
    session = await _session(visit)
    await visit.user.sessions.delete(session.session_id)
    return leading("/conversations", done="deleted")


async def _read(
    visit: Visit, session: ConversationSession, done: str | None, before: ConversationMessage | None = None
) -> Response:
    """Returns a conversation; `before` is a message as it was, which a click can restore."""
    session_id, at = session.session_id, visit.number("at", 0, 2**31 - 1)
    newest = max(0, (session.session_length or 0) - READ)
    offset = visit.number("offset", min(max(0, at - READ // 2), newest))
    user = visit.user
    shown, related, facts, said, others = await asyncio.gather(
        user.chat(session_id).history(limit=READ + 1, offset=offset),
        user.sessions.related(session_id),
        _learnt(visit, session_id),
        user.statements.list(session_id=session_id, limit=READ),
        user.sessions.list(limit=LISTED),
    )
    linked = [({each.source_session_id, each.target_session_id} - {session_id}).pop() for each in related]
    known = [session_id, *linked, *(each.session_id for each in others)]
    told: dict[str, Any] = {"session": session, "messages": shown[:READ], **paged(shown, READ, offset)}
    told |= {"facts": facts, "said": said, "at": at, "done": done, "others": others}
    told |= {"related": [*zip(related, linked, strict=True)], "titles": await viewing.titles(visit.desk, known)}
    return page(visit, "conversation.html", **told, editing=visit.asked("edit"), before=before)


async def _session(visit: Visit) -> ConversationSession:
    session_id = visit.need("id")
    found = await visit.user.sessions.get(session_id)
    if found is None:
        raise NotFound(f"there is no conversation {session_id!r}")
    return found


async def _learnt(visit: Visit, session_id: str) -> list[Fact]:
    """Returns the facts that were learned from messages of a conversation."""
    facts = await visit.user.facts.list()
    sources = await viewing.messages_by_id(visit.desk, (each.source_message_id for each in facts))
    here = {each.message_id for each in sources.values() if each.session_id == session_id}
    return [each for each in facts if each.source_message_id in here]


def _done(visit: Visit) -> str | None:
    return DONE.get(visit.asked("done"))
