"""ConversationStorage: the interface of sessions, messages and contexts for programs that know sessions, not users."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Self

from ltst.errors import NotFound
from ltst.records import ConversationContext, ConversationMessage, ConversationSession
from ltst.sync import Chat, Memory


class ConversationStorage:
    """Stores and finds conversations by their session id; says Conflict where two users share one.

    It opens the database when it is made; close it, or use it inside `with`.
    """

    def __init__(self, database_url: str | None = None) -> None:
        """Use the given database, else DATABASE_URL, else the embedded Postgres."""
        self._memory = Memory(database_url)
        self._memory.open()

    def __enter__(self) -> Self:
        """It is open already."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._memory.close()

    def create_session(self, session: ConversationSession) -> bool:
        """Create a session, or renew name, status, metadata and activity of the one that its user has."""
        self._memory.user(session.user_id).sessions.put(session)
        return True

    def get_session(self, session_id: str) -> ConversationSession | None:
        """A session, or None."""
        try:
            return self._memory.user(self._memory.session_owner(session_id)).sessions.get(session_id)
        except NotFound:
            return None

    def store_message(self, message: ConversationMessage) -> bool:
        """Store a message of an existing session; without a message_index it gets the next."""
        self._chat(message.session_id).store(message)
        return True

    def get_messages(self, session_id: str, limit: int = 100, offset: int = 0) -> list[ConversationMessage]:
        """The messages of a session from its beginning; none if there is no such session."""
        try:
            return self._chat(session_id).history(limit=limit, offset=offset)
        except NotFound:
            return []

    def search_messages(
        self, query: str, session_id: str, limit: int = 10, threshold: float = 0.0
    ) -> list[tuple[ConversationMessage, float]]:
        """Messages of a session with a similarity from 0 to 1, the most similar first."""
        try:
            return self._chat(session_id).search(query, limit=limit, threshold=threshold)
        except NotFound:
            return []

    def store_context(self, context: ConversationContext) -> bool:
        """Store a context of an existing session, in place of the one with its type and key."""
        self._chat(context.session_id).contexts.set(
            context.context_type,
            context.context_key,
            context.context_value,
            relevance=context.relevance_score,
            expires_at=context.expires_at,
            metadata=context.metadata,
        )
        return True

    def get_context(self, session_id: str, context_type: str | None = None) -> list[ConversationContext]:
        """The living contexts of a session, the most relevant first."""
        try:
            found = self._chat(session_id).contexts.list(context_type)
        except NotFound:
            return []
        return sorted(found, key=lambda context: -context.relevance_score)

    def update_session_activity(self, session_id: str) -> bool:
        """Note that a session is active now; whether there is such a session."""
        try:
            return self._memory.user(self._memory.session_owner(session_id)).sessions.touch(session_id)
        except NotFound:
            return False

    def get_user_sessions(self, user_id: str, limit: int = 50) -> list[ConversationSession]:
        """The sessions of a user, the most recently active first."""
        return self._memory.user(user_id).sessions.list(limit=limit)

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with all that hangs on it; whether there was one."""
        try:
            return self._memory.user(self._memory.session_owner(session_id)).sessions.delete(session_id)
        except NotFound:
            return False

    def get_session_summary(self, session_id: str) -> dict[str, Any] | None:
        """The columns of the view session_summary for a session, or None."""
        try:
            return asdict(self._chat(session_id).summary())
        except NotFound:
            return None

    def cleanup_expired_data(self) -> dict[str, int]:
        """Remove what has expired and what the retention policies say; how many rows each step touched."""
        return self._memory.maintain()

    def _chat(self, session_id: str) -> Chat:
        return self._memory.user(self._memory.session_owner(session_id)).chat(session_id)
