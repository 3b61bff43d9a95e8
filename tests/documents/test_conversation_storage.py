"""The document of ConversationStorage: its examples as written, but for the imports, and what it says of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields

import pytest

from helpers.probes import columns, superuser
from ltst import ConversationContext, ConversationMessage, ConversationSession, ConversationStorage


@pytest.fixture
def storage(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConversationStorage]:
    """Basic usage, run as it stands: the address comes from the environment."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    storage = ConversationStorage()
    session = ConversationSession(
        session_id="session_123",
        user_id="user_456",
        session_name="Development Discussion",
    )
    storage.create_session(session)
    message = ConversationMessage(
        session_id="session_123",
        role="human",
        content="How do I implement the LTST memory system?",
        message_type="message",
    )
    storage.store_message(message)
    yield storage
    storage.close()


def test_basic_usage(storage: ConversationStorage) -> None:
    found = storage.get_session("session_123")
    assert found is not None
    assert (found.user_id, found.session_name) == ("user_456", "Development Discussion")
    assert (found.session_type, found.status) == ("conversation", "active")
    (message,) = storage.get_messages("session_123", 100, 0)
    assert (message.role, message.content) == ("human", "How do I implement the LTST memory system?")
    assert (message.message_type, message.message_index, message.is_context_message) == ("message", 1, False)


def test_semantic_search(storage: ConversationStorage) -> None:
    storage.store_message(ConversationMessage("session_123", "human", "Shall we have lunch?"))
    results = storage.search_messages(
        query="memory system implementation",
        session_id="session_123",
        limit=10,
        threshold=0.7,
    )
    assert [message.content for message, _ in results] == ["How do I implement the LTST memory system?"]
    for _, similarity in results:
        assert 0.7 <= similarity <= 1
    assert storage.search_messages("memory system implementation") == results


def test_context_management(storage: ConversationStorage) -> None:
    context = ConversationContext(
        session_id="session_123",
        context_type="project",
        context_key="current_task",
        context_value="LTST Memory System Implementation",
        relevance_score=0.9,
    )
    storage.store_context(context)
    (found,) = storage.get_context("session_123", context_type="project")
    assert (found.context_key, found.context_value) == ("current_task", "LTST Memory System Implementation")
    assert found.relevance_score == 0.9
    for kind in ("conversation", "preference", "user_info"):
        storage.store_context(ConversationContext("session_123", kind, "key", "value"))
        assert len(storage.get_context("session_123", kind)) == 1


def test_session_management(storage: ConversationStorage) -> None:
    (before,) = storage.get_user_sessions("user_456", limit=50)
    assert storage.update_session_activity("session_123") is True
    (after,) = storage.get_user_sessions("user_456", limit=50)
    assert before.last_activity is not None and after.last_activity is not None
    assert after.last_activity > before.last_activity
    summary = storage.get_session_summary("session_123")
    assert summary is not None
    assert (summary["message_count"], summary["human_messages"], summary["user_id"]) == (1, 1, "user_456")
    assert storage.cleanup_expired_data()["contexts_expired"] == 0
    assert storage.delete_session("session_123") is True
    assert storage.get_messages("session_123") == []


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("create_session", ["session"]),
        ("get_session", ["session_id"]),
        ("store_message", ["message"]),
        ("get_messages", ["session_id", "limit", "offset"]),
        ("search_messages", ["query", "session_id", "limit", "threshold"]),
        ("store_context", ["context"]),
        ("get_context", ["session_id", "context_type"]),
        ("update_session_activity", ["session_id"]),
        ("get_user_sessions", ["user_id", "limit"]),
        ("delete_session", ["session_id"]),
        ("get_session_summary", ["session_id"]),
        ("cleanup_expired_data", []),
    ],
)
def test_every_method_has_its_arguments(method: str, arguments: list[str]) -> None:
    assert [*inspect.signature(getattr(ConversationStorage, method)).parameters] == ["self", *arguments]


ATTRIBUTES = {
    ConversationSession: "session_id user_id session_name session_type status metadata context_summary relevance_score "
    "created_at last_activity",
    ConversationMessage: "session_id role content message_type message_index parent_message_id metadata embedding "
    "relevance_score is_context_message timestamp",
    ConversationContext: "session_id context_type context_key context_value relevance_score metadata expires_at",
}


@pytest.mark.parametrize("record", ATTRIBUTES)
def test_every_record_has_its_attributes(record: type) -> None:
    assert {*ATTRIBUTES[record].split()} <= {each.name for each in fields(record)}


@pytest.mark.parametrize(
    "table",
    [
        "conversation_sessions",
        "conversation_messages",
        "conversation_context",
        "user_preferences",
        "session_relationships",
        "session_summary",
    ],
)
def test_every_table_is_there(database_url: str, table: str) -> None:
    with superuser(database_url) as connection:
        assert columns(connection, table)
