"""ConversationStorage: sessions, messages and contexts for programs that know sessions, not users."""

from __future__ import annotations

import inspect
import math
import uuid
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
from ltst import ConversationContext, ConversationMessage, ConversationSession, ConversationStorage, Memory, Settings
from ltst.db.embedded import EmbeddedServer
from support.probes import cloned, columns, holding, superuser

THEN = datetime(2020, 1, 1, tzinfo=UTC)
VECTOR = [math.sin(number + 1) for number in range(384)]


@pytest.fixture(scope="module")
def url(server: EmbeddedServer, template: str) -> Iterator[str]:
    with cloned(server, template) as made:
        yield made


@pytest.fixture(scope="module")
def storage(url: str) -> Iterator[ConversationStorage]:
    with ConversationStorage(url) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(settings=Settings(worker=False, database_url=url, home=tmp_path_factory.mktemp("home"))) as opened:
        yield opened


@pytest.fixture
def session(storage: ConversationStorage) -> str:
    """A session of a user of its own."""
    name = uuid.uuid4().hex
    assert storage.create_session(ConversationSession(name, f"user-{name}")) is True
    return name


def message(session_id: str, content: str = "hello", **more: Any) -> ConversationMessage:
    return ConversationMessage(session_id=session_id, role="human", content=content, **more)


def test_the_interface_is_the_one_that_people_know() -> None:
    promised = {
        "create_session": ["session"],
        "get_session": ["session_id"],
        "store_message": ["message"],
        "get_messages": ["session_id", "limit", "offset"],
        "search_messages": ["query", "session_id", "limit", "threshold"],
        "store_context": ["context"],
        "get_context": ["session_id", "context_type"],
        "update_session_activity": ["session_id"],
        "get_user_sessions": ["user_id", "limit"],
        "delete_session": ["session_id"],
        "get_session_summary": ["session_id"],
        "cleanup_expired_data": [],
        "close": [],
    }
    found = {
        name: [each for each in inspect.signature(verb).parameters if each != "self"]
        for name, verb in inspect.getmembers(ConversationStorage, inspect.isfunction)
        if not name.startswith("_")
    }
    assert found == promised
    assert list(inspect.signature(ConversationStorage).parameters) == ["database_url"]


@pytest.mark.parametrize(
    ("record", "table"),
    [
        (ConversationSession, "conversation_sessions"),
        (ConversationMessage, "conversation_messages"),
        (ConversationContext, "conversation_context"),
    ],
)
def test_the_attributes_of_a_record_are_columns_of_its_table(url: str, record: type, table: str) -> None:
    with superuser(url) as connection:
        assert {each.name for each in fields(record)} <= set(columns(connection, table))


def test_a_session_comes_back_as_it_was_created(storage: ConversationStorage) -> None:
    given = ConversationSession(
        session_id=uuid.uuid4().hex,
        user_id="fay",
        session_name="First",
        session_type="support",
        status="active",
        metadata={"a": [1, {"b": None}]},
        context_summary="About lighthouses",
        relevance_score=0.5,
        created_at=THEN,
        last_activity=THEN + timedelta(days=1),
        agent_name="keeper",
    )
    assert storage.create_session(given) is True
    assert storage.get_session(given.session_id) == given


def test_creating_a_session_again_renews_it(storage: ConversationStorage, session: str) -> None:
    storage.store_message(message(session))
    assert storage.create_session(ConversationSession(session, f"user-{session}", session_name="New")) is True
    found = storage.get_session(session)
    assert found is not None
    assert (found.session_name, found.session_length) == ("New", 1)


def test_a_message_comes_back_with_all_that_it_says_of_itself(storage: ConversationStorage, session: str) -> None:
    first = message(session, "first")
    given = ConversationMessage(
        session_id=session,
        role="assistant",
        content="second",
        message_type="context",
        message_index=2,
        metadata={"a": [1, {"b": None}]},
        embedding=VECTOR,
        relevance_score=0.25,
        is_context_message=True,
        timestamp=THEN,
    )
    assert storage.store_message(first) is True
    assert storage.store_message(given) is True
    stored, found = storage.get_messages(session)
    assert (found.session_id, found.role, found.content, found.message_type) == (session, "ai", "second", "context")
    assert (found.message_index, found.metadata, found.relevance_score) == (2, {"a": [1, {"b": None}]}, 0.25)
    assert (found.is_context_message, found.timestamp, found.user_id) == (True, THEN, f"user-{session}")
    assert (stored.message_index, stored.message_type, stored.is_context_message) == (1, "message", False)
    assert (stored.embedding, stored.relevance_score, stored.parent_message_id) == (None, 0.0, None)


def test_an_embedding_of_384_numbers_comes_back(storage: ConversationStorage, session: str) -> None:
    storage.store_message(message(session, embedding=VECTOR))
    (found,) = storage.get_messages(session)
    assert found.embedding is not None
    assert len(found.embedding) == 384
    assert found.embedding == pytest.approx(VECTOR, rel=1e-6)


@pytest.mark.parametrize("none", [None, []])
def test_a_message_may_have_no_embedding(storage: ConversationStorage, session: str, none: Any) -> None:
    storage.store_message(message(session, embedding=none))
    assert storage.get_messages(session)[0].embedding is None


def test_a_parent_is_kept(storage: ConversationStorage, session: str) -> None:
    storage.store_message(message(session))
    (parent,) = storage.get_messages(session)
    storage.store_message(message(session, parent_message_id=parent.message_id))
    assert storage.get_messages(session)[1].parent_message_id == parent.message_id


def test_a_message_index_is_the_next_or_left_out(storage: ConversationStorage, session: str) -> None:
    storage.store_message(message(session, message_index=1))
    storage.store_message(message(session))
    storage.store_message(message(session, message_index=3))
    assert [each.message_index for each in storage.get_messages(session)] == [1, 2, 3]


@pytest.mark.parametrize("index", [1, 2])
def test_a_message_index_that_is_taken_is_a_conflict(storage: ConversationStorage, session: str, index: int) -> None:
    for _ in range(2):
        storage.store_message(message(session))
    with pytest.raises(ltst.Conflict, match="next is 3"):
        storage.store_message(message(session, message_index=index))
    assert len(storage.get_messages(session)) == 2


@pytest.mark.parametrize("index", [0, -1, 3, 2**40, "2", 2.0, True])
def test_a_message_index_that_leaves_a_gap_or_is_none_is_invalid(
    storage: ConversationStorage, session: str, index: Any
) -> None:
    if index is not True:
        storage.store_message(message(session))
    before = storage.get_messages(session)
    with pytest.raises(ltst.Invalid, match="message_index"):
        storage.store_message(message(session, message_index=index))
    assert storage.get_messages(session) == before


def test_messages_come_page_by_page_from_the_beginning(storage: ConversationStorage, session: str) -> None:
    for number in range(5):
        storage.store_message(message(session, f"{number}"))
    assert [each.content for each in storage.get_messages(session, limit=2, offset=1)] == ["1", "2"]
    assert [each.content for each in storage.get_messages(session, 2)] == ["0", "1"]
    assert len(storage.get_messages(session)) == 5


def test_search_gives_messages_with_a_similarity_from_zero_to_one(storage: ConversationStorage, session: str) -> None:
    for content in ("Where is the lighthouse?", "The lighthouse is on the cape.", "It rains."):
        storage.store_message(message(session, content))
    found = storage.search_messages("lighthouse cape", session, limit=5)
    assert [each.content for each, _ in found][:2] == ["The lighthouse is on the cape.", "Where is the lighthouse?"]
    similarities = [similarity for _, similarity in found]
    assert similarities == sorted(similarities, reverse=True)
    assert 0 < similarities[-1] <= similarities[0] <= 1
    assert storage.search_messages("lighthouse cape", session, 1, 0.0) == found[:1]
    assert storage.search_messages("lighthouse cape", session, threshold=similarities[0]) == found[:1]
    assert storage.search_messages("lighthouse cape", session, threshold=0.99) == []


def test_contexts_are_stored_in_place_and_listed_by_relevance(storage: ConversationStorage, session: str) -> None:
    for key, relevance in [("low", 0.1), ("high", 0.9), ("middle", 0.5)]:
        given = ConversationContext(session, "project", key, "old", relevance_score=relevance, metadata={"k": key})
        assert storage.store_context(given) is True
    storage.store_context(ConversationContext(session, "user_info", "other", "value", relevance_score=1))
    storage.store_context(ConversationContext(session, "project", "low", "new", relevance_score=0.1))
    found = storage.get_context(session, "project")
    assert [(each.context_key, each.context_value) for each in found] == [
        ("high", "old"),
        ("middle", "old"),
        ("low", "new"),
    ]
    assert found[0].metadata == {"k": "high"}
    assert storage.get_context(session)[0].context_type == "user_info"
    assert len(storage.get_context(session, None)) == 4


def test_what_has_expired_is_not_given_and_is_cleaned_up(storage: ConversationStorage, session: str) -> None:
    storage.store_context(ConversationContext(session, "project", "over", "x", expires_at=THEN))
    storage.store_context(ConversationContext(session, "project", "stays", "x"))
    assert [each.context_key for each in storage.get_context(session)] == ["stays"]
    assert storage.cleanup_expired_data()["contexts_expired"] >= 1
    assert storage.cleanup_expired_data()["contexts_expired"] == 0


def test_the_sessions_of_a_user_are_the_most_recently_active_first(storage: ConversationStorage) -> None:
    user = uuid.uuid4().hex
    for number in range(3):
        storage.create_session(
            ConversationSession(f"{user}-{number}", user, last_activity=THEN + timedelta(days=number))
        )
    assert storage.update_session_activity(f"{user}-0") is True
    assert [each.session_id[-1] for each in storage.get_user_sessions(user)] == ["0", "2", "1"]
    assert [each.session_id[-1] for each in storage.get_user_sessions(user, limit=1)] == ["0"]


def test_a_deleted_session_is_gone_with_its_messages_and_contexts(storage: ConversationStorage, session: str) -> None:
    storage.store_message(message(session))
    storage.store_context(ConversationContext(session, "project", "key", "value"))
    assert storage.delete_session(session) is True
    assert storage.get_session(session) is None
    assert storage.delete_session(session) is False
    storage.create_session(ConversationSession(session, f"user-{session}"))
    assert storage.get_messages(session) == []
    assert storage.get_context(session) == []


def test_a_summary_is_a_row_of_the_view(url: str, storage: ConversationStorage, session: str) -> None:
    for role in ("human", "ai", "human"):
        storage.store_message(ConversationMessage(session, role, "x" * 8))
    summary = storage.get_session_summary(session)
    assert summary is not None
    assert (summary["session_id"], summary["message_count"], summary["token_count"]) == (session, 3, 6)
    assert (summary["human_messages"], summary["ai_messages"]) == (2, 1)
    with superuser(url) as connection:
        assert summary.keys() == set(columns(connection, "session_summary")) - {"user_id"}


def test_what_is_not_there_is_none_empty_or_false(storage: ConversationStorage) -> None:
    missing = uuid.uuid4().hex
    assert storage.get_session(missing) is None
    assert storage.get_messages(missing) == []
    assert storage.search_messages("query", missing) == []
    assert storage.get_context(missing, "project") == []
    assert storage.get_user_sessions(missing) == []
    assert storage.get_session_summary(missing) is None
    assert storage.update_session_activity(missing) is False
    assert storage.delete_session(missing) is False


def test_nothing_can_be_stored_into_a_session_that_is_not_there(url: str, storage: ConversationStorage) -> None:
    missing = uuid.uuid4().hex
    with pytest.raises(ltst.NotFound, match=missing):
        storage.store_message(message(missing))
    with pytest.raises(ltst.NotFound, match=missing):
        storage.store_context(ConversationContext(missing, "project", "key", "value"))
    with superuser(url) as connection:
        assert holding(connection, missing) <= {"memory_performance_metrics.session_id"}


def test_a_session_id_that_two_users_share_is_a_conflict(storage: ConversationStorage, shared: Memory) -> None:
    name = uuid.uuid4().hex
    for user in ("ana", "bob"):
        storage.create_session(ConversationSession(name, user))
        shared.user(user).chat(name).add("user", f"of {user}")
    for call in (
        lambda: storage.get_session(name),
        lambda: storage.store_message(message(name)),
        lambda: storage.get_messages(name),
        lambda: storage.search_messages("of", name),
        lambda: storage.store_context(ConversationContext(name, "project", "key", "value")),
        lambda: storage.get_context(name),
        lambda: storage.update_session_activity(name),
        lambda: storage.delete_session(name),
        lambda: storage.get_session_summary(name),
    ):
        with pytest.raises(ltst.Conflict, match=name):
            call()
    assert [each.content for each in shared.user("ana").chat(name).window()] == ["of ana"]
    assert [each.content for each in shared.user("bob").chat(name).window()] == ["of bob"]
    assert name in {each.session_id for each in storage.get_user_sessions("bob", limit=1000)}


def test_storage_and_memory_see_the_same(storage: ConversationStorage, shared: Memory, session: str) -> None:
    storage.store_message(message(session, "from storage"))
    shared.user(f"user-{session}").chat(session).add("assistant", "from memory")
    assert [each.content for each in storage.get_messages(session)] == ["from storage", "from memory"]
    assert [each.content for each in shared.user(f"user-{session}").chat(session).window()] == [
        "from storage",
        "from memory",
    ]


@pytest.mark.parametrize(
    "session",
    [ConversationSession("", "fay"), ConversationSession("s", ""), ConversationSession("s", "system")],
)
def test_a_session_without_an_id_or_a_user_is_invalid(
    storage: ConversationStorage, session: ConversationSession
) -> None:
    with pytest.raises(ltst.Invalid):
        storage.create_session(session)


@pytest.mark.parametrize("given", ["", " ", None, 5, "x" * 256])
def test_an_id_that_is_none_is_invalid(storage: ConversationStorage, given: Any) -> None:
    for call in (
        lambda: storage.get_session(given),
        lambda: storage.get_messages(given),
        lambda: storage.store_message(message(given)),
        lambda: storage.get_context(given),
        lambda: storage.delete_session(given),
        lambda: storage.get_user_sessions(given),
    ):
        with pytest.raises(ltst.Invalid):
            call()


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "5", None])
def test_a_limit_below_one_is_invalid(storage: ConversationStorage, session: str, limit: Any) -> None:
    for call in (
        lambda: storage.get_messages(session, limit),
        lambda: storage.search_messages("query", session, limit),
        lambda: storage.get_user_sessions("fay", limit),
    ):
        with pytest.raises(ltst.Invalid, match="from 1 to"):
            call()


def test_a_storage_that_is_closed_says_so(url: str) -> None:
    storage = ConversationStorage(url)
    storage.close()
    storage.close()
    with pytest.raises(ltst.DatabaseUnavailable, match="not open"):
        storage.get_session("one")
