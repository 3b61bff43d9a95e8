"""Sessions of a user: creates, lists, archives, deletes, links and summarises them."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from ltst.arguments import (
    SESSION_STATES,
    Identifier,
    Limit,
    Metadata,
    Offset,
    Score,
    SessionId,
    SessionState,
    Where,
    Word,
)
from ltst.errors import Invalid
from ltst.handles import windows
from ltst.handles.desk import Handle, now
from ltst.handles.importing import add_all
from ltst.handles.recall import conditions
from ltst.learn.weigh import weigh
from ltst.records import ConversationSession, Imported, ImportedConversation, SessionRelationship, SessionSummary
from ltst.rooms import claims, relationships, sessions
from ltst.support import validate
from ltst.support.ids import new_id


class AsyncSessions(Handle):
    """The conversations of a user."""

    async def put(self, session: ConversationSession) -> ConversationSession:
        """Create a session; of one that has its id already, change what is given, its status and its activity.

        None, empty metadata, a score of 0 and the type `conversation` are what a record says where nothing is given.
        """
        checked = _checked_session(session, self._desk.user_id)
        metadata = self._desk.metadata(session.metadata)
        async with self._desk.writing("sessions.put", checked.session_id) as tx:
            stored = await sessions.put(tx, checked, metadata=metadata, now=now())
            await self._desk.tell(tx, "put", "session", stored.session_id)
        return stored

    async def add_many(self, conversations: Iterable[ImportedConversation]) -> Imported:
        """Store conversations that were held elsewhere, all of them or none, with their times and branches.

        A message that is there under its key stays as it is, so the same again adds nothing, and a conversation that
        has grown gets what is new. A session never gets messages of two branches: what does not go on from what it
        holds becomes a fork.
        """
        return await add_all(self._desk, conversations)

    async def get(self, session_id: SessionId) -> ConversationSession | None:
        """Return a session, or None."""
        wanted = validate.identifier(session_id, "session_id")
        async with self._desk.reading("sessions.get", wanted) as calls:
            return await sessions.get(calls, wanted)

    async def list(
        self,
        *,
        status: Annotated[SessionState | None, "Only those that are active, or archived."] = None,
        prefix: Annotated[Identifier | None, "Only those whose id begins with this."] = None,
        type: Annotated[Word | None, "Only those of this type, such as conversation."] = None,
        where: Where = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> builtins.list[ConversationSession]:
        """Return the sessions, the last active first; `status` is active or archived, `where` filters metadata."""
        equal, ranges = conditions(where)
        wanted = {
            "status": validate.optional_choice(status, "status", SESSION_STATES),
            "prefix": validate.optional_identifier(prefix, "prefix"),
            "type": None if type is None else validate.short(type, "type", 100),
            "equal": equal,
            "ranges": json.dumps([[key, sign, json.loads(bound)] for key, sign, bound in ranges]),
        }
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("sessions.list") as calls:
            return await calls.rows("sessions.list", ConversationSession, **wanted, limit=most, offset=passed)

    async def delete(self, session_id: SessionId) -> bool:
        """Remove a session with its messages, contexts and all else that hangs on it; return whether there was one."""
        wanted = validate.identifier(session_id, "session_id")
        async with self._desk.writing("sessions.delete", wanted) as tx:
            gone = await tx.run("sessions.delete", session_id=wanted) > 0
            if gone:
                # What was learned from its messages alone is gone with them; what others also support is recomputed.
                await weigh(tx, await claims.unsettled(tx))
                await self._desk.tell(tx, "delete", "session", wanted)
        if gone:
            await windows.forget(self._desk.core, self._desk.user_id)
        return gone

    async def archive(self, session_id: SessionId) -> ConversationSession:
        """Put a session aside; a new message makes it active again."""
        wanted = validate.identifier(session_id, "session_id")
        async with self._desk.writing("sessions.archive", wanted) as tx:
            changed = await tx.row("sessions.set_status", ConversationSession, session_id=wanted, status="archived")
            archived = sessions.need(changed, wanted)
            await self._desk.tell(tx, "archive", "session", wanted)
        return archived

    async def touch(
        self, session_id: SessionId, *, at: Annotated[datetime | None, "When it was active; now, if left out."] = None
    ) -> bool:
        """Set the time of the last activity; return whether there is such a session."""
        wanted = validate.identifier(session_id, "session_id")
        moment = validate.optional_moment(at, "at") or now()
        async with self._desk.writing("sessions.touch", wanted) as tx:
            return await tx.run("sessions.touch", session_id=wanted, at=moment) > 0

    async def link(
        self,
        source: Annotated[Identifier, "The id of the earlier conversation."],
        target: Annotated[Identifier, "The id of the later conversation."],
        type: Annotated[Word, "How they hang together: continuation, related, fork, reference, or another word."] = (
            "related"
        ),
        *,
        similarity: Annotated[Score, "From 0 to 1."] = 0.0,
        strength: Annotated[Score, "From 0 to 1."] = 1.0,
        metadata: Metadata | None = None,
    ) -> SessionRelationship:
        """Link two sessions; the source is the earlier one.

        `type` says how they hang together: continuation, related, fork, reference, or a word of your own.
        """
        earlier, later = validate.identifier(source, "source"), validate.identifier(target, "target")
        validate.short(type, "type", relationships.LONGEST_TYPE)
        if earlier == later:
            raise Invalid("a session cannot be linked to itself")
        scores = {
            "similarity": validate.score(similarity, "similarity"),
            "strength": validate.score(strength, "strength"),
        }
        extra = self._desk.metadata(metadata)
        async with self._desk.writing("sessions.link", earlier) as tx:
            for each in (earlier, later):
                sessions.need(await sessions.get(tx, each), each)
            named = {"relationship_id": new_id(), "source": earlier, "target": later, "type": type}
            linked = await tx.one("relationships.link", SessionRelationship, **named, **scores, metadata=extra)
            await self._desk.tell(tx, "link", "relationship", linked.relationship_id)
        return linked

    async def related(self, session_id: SessionId) -> builtins.list[SessionRelationship]:
        """Return the links from and to a session, the strongest first."""
        wanted = validate.identifier(session_id, "session_id")
        async with self._desk.reading("sessions.related", wanted) as calls:
            return await calls.rows("relationships.related", SessionRelationship, session_id=wanted)

    async def summary(self, session_id: SessionId) -> SessionSummary:
        """Count messages by role and tokens; return them with the first and last message and the average relevance."""
        wanted = validate.identifier(session_id, "session_id")
        async with self._desk.reading("sessions.summary", wanted) as calls:
            return sessions.need(await calls.row("sessions.summary", SessionSummary, session_id=wanted), wanted)


def _checked_session(session: ConversationSession, user_id: str) -> ConversationSession:
    if not isinstance(session, ConversationSession):
        raise Invalid(f"session must be a ConversationSession, not {type(session).__name__}")
    if session.user_id != user_id:
        raise Invalid(f"the session says that it belongs to {session.user_id!r}, not to {user_id!r}")
    return replace(
        session,
        session_id=validate.identifier(session.session_id, "session_id"),
        session_name=validate.optional_text(session.session_name, "session_name", 500),
        session_type=validate.short(session.session_type, "session_type", 100),
        status=validate.short(session.status, "status", 50),
        agent_name=validate.optional_identifier(session.agent_name, "agent_name"),
        context_summary=validate.optional_text(session.context_summary, "context_summary", 1024 * 1024),
        relevance_score=validate.number(session.relevance_score, "relevance_score"),
        created_at=validate.optional_moment(session.created_at, "created_at"),
        last_activity=validate.optional_moment(session.last_activity, "last_activity"),
    )
