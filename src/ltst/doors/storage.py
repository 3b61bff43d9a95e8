"""ConversationStorage: sessions, messages and contexts for programs that know sessions but not users."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from threading import Lock
from typing import Any, TypeVar

from ltst.errors import Conflict, Denied, Invalid, NotFound
from ltst.records import ConversationContext, ConversationMessage, ConversationSession
from ltst.support.validate import identifier, local_moment
from ltst.sync import Chat, Memory, User

Record = TypeVar("Record", ConversationSession, ConversationMessage, ConversationContext)

# How many sessions a storage without a user remembers the owner of.
MOST_KNOWN = 100_000
TIMES = ("created_at", "last_activity", "timestamp", "expires_at")


class ConversationStorage(AbstractContextManager["ConversationStorage"]):
    """Stores and finds conversations by their session id, of one user or of whoever has the session.

    It opens the database when it is made; close it, or use it inside `with`. Times without a zone are local.
    """

    def __init__(self, database_url: str | None = None, *, user_id: str | None = None) -> None:
        """Use the given database, else DATABASE_URL, else the embedded Postgres.

        With a `user_id` it reaches that user's sessions and no others. Without one it keeps to the sessions that it
        created, and to those that one user alone has when it first works with them.
        """
        self._memory = Memory(database_url)
        self._user_id = None if user_id is None else self._memory.user(user_id).user_id
        self._known: dict[str, str] = {}
        self._guard = Lock()
        self._memory.open()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._memory.close()

    def create_session(self, session: ConversationSession) -> bool:
        """Create a session; of the one that its user has already, change what is given, its status and activity."""
        given = _local(session, ConversationSession)
        user = self._user(given.user_id)
        if self._known.get(given.session_id, user.user_id) != user.user_id and self.get_session(given.session_id):
            raise Conflict(
                f"this storage has a session {given.session_id!r} of another user already: "
                f"open ConversationStorage(user_id={user.user_id!r}) for this one"
            )
        user.sessions.put(given)
        self._remember(given.session_id, user.user_id)
        return True

    def get_session(self, session_id: str) -> ConversationSession | None:
        """Return a session, or None."""
        try:
            return self._session(session_id)
        except NotFound:
            return None

    def store_message(self, message: ConversationMessage) -> bool:
        """Store a message of an existing session; without a message_index it gets the next."""
        given = _local(message, ConversationMessage)
        self._chat(given.session_id).store(given)
        return True

    def get_messages(self, session_id: str, limit: int = 100, offset: int = 0) -> list[ConversationMessage]:
        """Return the messages of a session from its beginning; none if there is no such session."""
        try:
            return self._chat(session_id).history(limit=limit, offset=offset)
        except NotFound:
            return []

    def search_messages(
        self, query: str, session_id: str | None = None, limit: int = 10, threshold: float | None = None
    ) -> list[tuple[ConversationMessage, float]]:
        """Messages with their cosine similarity to the query, the most similar first; none below the threshold.

        Without a session, those of all sessions of the user. Without a threshold it is the preference
        relevance_threshold, which is 0.7 unless it was changed.
        """
        try:
            user = self._caller() if session_id is None else self._owner(session_id)
            return user.similar(query, session_id=session_id, limit=limit, threshold=threshold)
        except NotFound:
            return []

    def store_context(self, context: ConversationContext) -> bool:
        """Store a context of an existing session, in place of the one with its type and key."""
        given = _local(context, ConversationContext)
        self._chat(given.session_id).contexts.set(
            given.context_type,
            given.context_key,
            given.context_value,
            relevance=given.relevance_score,
            expires_at=given.expires_at,
            metadata=given.metadata,
        )
        return True

    def get_context(self, session_id: str, context_type: str | None = None) -> list[ConversationContext]:
        """Return the live contexts of a session, the most relevant first."""
        try:
            found = self._chat(session_id).contexts.list(context_type)
        except NotFound:
            return []
        return sorted(found, key=lambda context: -context.relevance_score)

    def update_session_activity(self, session_id: str) -> bool:
        """Note that a session is active now; return whether there is such a session."""
        try:
            return self._owner(session_id).sessions.touch(session_id)
        except NotFound:
            return False

    def get_user_sessions(self, user_id: str, limit: int = 50) -> list[ConversationSession]:
        """Return the sessions of a user, the most recently active first."""
        return self._user(user_id).sessions.list(limit=limit)

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with all that hangs on it; return whether there was one."""
        try:
            return self._owner(session_id).sessions.delete(session_id)
        except NotFound:
            return False

    def get_session_summary(self, session_id: str) -> dict[str, Any] | None:
        """Return the counts of a session, with its `user_id` and `context_summary`, or None."""
        try:
            session = self._session(session_id)
            counted = self._memory.user(session.user_id).sessions.summary(session_id)
        except NotFound:
            return None
        return asdict(counted) | {"user_id": session.user_id, "context_summary": session.context_summary}

    def cleanup_expired_data(self) -> dict[str, int]:
        """Remove what has expired and what the retention policies say; return how many rows each step touched."""
        return self._memory.maintain()

    def _user(self, user_id: str) -> User:
        """Return a user that this storage may work for, or raise Denied."""
        if self._user_id not in (None, user_id):
            raise Denied(f"this storage is of the user {self._user_id!r}, and of no other")
        return self._memory.user(user_id)

    def _caller(self) -> User:
        """Return the one user of this storage, for calls that name none."""
        if self._user_id is not None:
            return self._memory.user(self._user_id)
        with self._guard:
            owners = {*self._known.values()}
        if len(owners) > 1:
            raise Conflict("this storage has sessions of several users: give a session_id, or open one with a user_id")
        return self._memory.user(owners.pop() if owners else self._memory.sole_user())

    def _owner(self, session_id: str) -> User:
        """Return the owner of a session, even of a deleted one; never another user with the same session id."""
        known = self._known.get(identifier(session_id, "session_id")) if self._user_id is None else self._user_id
        if known is None:
            known = self._memory.session_owner(session_id)
            self._remember(session_id, known)
        return self._memory.user(known)

    def _session(self, session_id: str) -> ConversationSession:
        found = self._owner(session_id).sessions.get(session_id)
        if found is None:
            raise NotFound(f"no session {session_id!r}")
        return found

    def _chat(self, session_id: str) -> Chat:
        """Returns the chat of an existing session; otherwise a first message would create it again."""
        return self._memory.user(self._session(session_id).user_id).chat(session_id)

    def _remember(self, session_id: str, user_id: str) -> None:
        with self._guard:
            self._known.pop(session_id, None)  # so that it moves to the end
            self._known[session_id] = user_id
            if len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]


def _local(given: Record, kind: type[Record]) -> Record:
    """Return a record whose times without a zone are read as local."""
    if not isinstance(given, kind):
        raise Invalid(f"this takes a {kind.__name__}, not {type(given).__name__}")
    times: dict[str, Any] = {name: local_moment(getattr(given, name)) for name in TIMES if hasattr(given, name)}
    return replace(given, **times)
