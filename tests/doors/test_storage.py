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
from helpers.interfaces import parameters
from helpers.probes import columns, holding, superuser
from ltst import (
    ConversationContext,
    ConversationMessage,
    ConversationSession,
    ConversationStorage,
    LocalEmbedder,
    Memory,
    SessionSummary,
)
from ltst.support import tokens

THEN = datetime(2020, 1, 1, tzinfo=UTC)
VECTOR = [math.sin(number + 1) for number in range(384)]


@pytest.fixture(scope="module")
def storage(url: str) -> Iterator[ConversationStorage]:
    with ConversationStorage(url) as opened:
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
    assert parameters(ConversationStorage, inspect.isfunction) == promised
    assert list(inspect.signature(ConversationStorage).parameters) == ["database_url", "user_id"]


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


def test_creating_a_session_again_changes_what_is_given(storage: ConversationStorage, session: str) -> None:
    owner = f"user-{session}"
    storage.store_message(message(session))
    known = ConversationSession(session, owner, "Old", "support", metadata={"a": 1}, agent_name="keeper")
    storage.create_session(known)
    assert storage.create_session(ConversationSession(session, owner, session_name="New")) is True
    storage.create_session(ConversationSession(session, owner, context_summary="Lighthouses", relevance_score=0.5))
    storage.create_session(ConversationSession(session, owner))
    found = storage.get_session(session)
    assert found is not None
    assert (found.session_name, found.context_summary, found.relevance_score) == ("New", "Lighthouses", 0.5)
    assert (found.session_type, found.metadata, found.agent_name) == ("support", {"a": 1}, "keeper")
    assert found.session_length == 1


@pytest.mark.parametrize(
    "record",
    [
        ConversationSession("s", "u"),
        ConversationMessage("s", "human", "hello"),
        ConversationContext("s", "project", "key", "value"),
        ltst.MemoryEntry("content"),
    ],
)
def test_attributes_of_the_records_can_be_set(record: Any) -> None:
    for each in fields(record):
        setattr(record, each.name, f"new {each.name}")
    assert {getattr(record, each.name) for each in fields(record)} == {f"new {each.name}" for each in fields(record)}


def test_a_changed_record_is_stored_as_it_is_and_changes_nothing_that_is_stored(
    storage: ConversationStorage, session: str
) -> None:
    given = message(session, "first", metadata={"a": 1})
    given.content = "second"
    given.metadata = {"b": 2}
    storage.store_message(given)
    (found,) = storage.get_messages(session)
    assert (found.content, found.metadata, given.content) == ("second", {"b": 2}, "second")
    found.content = "third"
    found.metadata["b"] = 3  # type: ignore[index]
    assert [(each.content, each.metadata) for each in storage.get_messages(session)] == [("second", {"b": 2})]


def test_times_without_a_zone_are_local(storage: ConversationStorage, session: str) -> None:
    naive = datetime(2024, 7, 1, 12, 30)
    storage.create_session(
        ConversationSession(f"{session}-times", f"user-{session}", created_at=naive, last_activity=naive)
    )
    kept = storage.get_session(f"{session}-times")
    assert kept is not None
    assert kept.created_at == kept.last_activity == naive.astimezone()
    storage.store_message(message(session, timestamp=naive))
    assert storage.get_messages(session)[0].timestamp == naive.astimezone()
    over, later = datetime.now() - timedelta(hours=1), datetime.now() + timedelta(hours=1)
    storage.store_context(ConversationContext(session, "project", "over", "x", expires_at=over))
    storage.store_context(ConversationContext(session, "project", "living", "x", expires_at=later))
    (living,) = storage.get_context(session)
    assert (living.context_key, living.expires_at) == ("living", later.astimezone())


@pytest.mark.parametrize("naive", [datetime.min, datetime.max])
def test_times_that_no_zone_has_are_refused(storage: ConversationStorage, session: str, naive: datetime) -> None:
    with pytest.raises(ltst.Invalid, match="years 2 to 9998"):
        storage.store_message(message(session, timestamp=naive))


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


def cosine(one: str, other: str) -> float:
    first, second = LocalEmbedder().embed([one, other])
    return float(first @ second)


def test_search_gives_the_cosine_similarity_of_question_and_message(storage: ConversationStorage, session: str) -> None:
    said = ["Noted.", "Who won the football match?", "The lighthouse is on the cape.", "ok", "Sports bore me."]
    for content in said:
        storage.store_message(message(session, content))
    found = storage.search_messages("sports result", session, threshold=0)
    assert [each.content for each, _ in found][:2] == ["Who won the football match?", "Sports bore me."]
    assert {each.content: score for each, score in found} == {
        content: pytest.approx(cosine("sports result", content), abs=1e-4)
        for content in said
        if cosine("sports result", content) >= 0
    }
    for each, score in found:
        (asked,) = LocalEmbedder().embed(["sports result"])
        assert each.embedding is not None
        assert sum(a * b for a, b in zip(asked, each.embedding, strict=True)) == pytest.approx(score, abs=1e-4)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert storage.search_messages("sports result", session, 1, 0.0) == found[:1]
    assert storage.search_messages("sports result", session, threshold=scores[1]) == found[:2]


def test_a_name_a_date_and_a_speaker_are_no_part_of_the_similarity(storage: ConversationStorage, session: str) -> None:
    storage.create_session(ConversationSession(session, f"user-{session}", session_name="Football, football, football"))
    storage.store_message(message(session, "Noted.", timestamp=THEN, metadata={"speaker": "Football fan"}))
    ((_, score),) = storage.search_messages("Noted.", session, threshold=0)
    assert score == pytest.approx(1, abs=1e-4)
    (*_, noted) = storage.search_messages("football", session, threshold=0) or [(None, cosine("football", "Noted."))]
    assert noted[1] == pytest.approx(cosine("football", "Noted."), abs=1e-4)


def test_a_long_message_is_compared_as_a_whole(storage: ConversationStorage, session: str) -> None:
    storage.store_message(message(session, "The lighthouse stands on the cape and shines. " * 60))
    storage.store_message(message(session, "Bread needs flour, water, salt and time. " * 60))
    found = storage.search_messages("Where does the lighthouse stand?", session, threshold=0)
    assert found[0][0].content.startswith("The lighthouse")
    assert 0.5 < found[0][1] <= 1
    (asked,) = LocalEmbedder().embed(["Where does the lighthouse stand?"])
    assert sum(a * b for a, b in zip(asked, found[0][0].embedding or [], strict=True)) == pytest.approx(
        found[0][1], abs=1e-4
    )


def test_what_was_stored_just_now_is_compared_although_it_is_much(storage: ConversationStorage, session: str) -> None:
    """What has no vector is not found here: none is left to the background, unless there is far more."""
    storage.store_message(message(session, "The lighthouse stands on the cape and shines."))
    for number in range(60):
        storage.store_message(message(session, f"Bread {number} needs flour, water, salt and a little time."))
    found = storage.search_messages("Where does the lighthouse stand?", session, threshold=0)
    assert found[0][0].content.startswith("The lighthouse")


def test_search_without_a_session_covers_all_sessions_of_the_user(url: str, shared: Memory) -> None:
    ana, bob = (f"{name}-{uuid.uuid4().hex}" for name in ("ana", "bob"))
    for user in (ana, bob):
        for number in (1, 2):
            shared.user(user).chat(f"{user}-{number}").add("user", f"The lighthouse {number} is {user[:3]}'s.")
    with ConversationStorage(url, user_id=ana) as storage:
        found = storage.search_messages("Whose is the lighthouse?", threshold=0.3)
        assert sorted(each.session_id for each, _ in found) == [f"{ana}-1", f"{ana}-2"]
        assert storage.search_messages("Whose is the lighthouse?", f"{bob}-1", threshold=0) == []
    with ConversationStorage(url) as storage:
        storage.create_session(ConversationSession(f"{ana}-1", ana))
        found = storage.search_messages("Whose is the lighthouse?", threshold=0.3)
        assert sorted(each.session_id for each, _ in found) == [f"{ana}-1", f"{ana}-2"]
        storage.create_session(ConversationSession(f"{bob}-1", bob))
        with pytest.raises(ltst.Conflict, match=r"several users.*session_id.*user_id"):
            storage.search_messages("Whose is the lighthouse?")
    with ConversationStorage(url) as storage, pytest.raises(ltst.Conflict, match=r"several users.*user_id"):
        storage.search_messages("Whose is the lighthouse?")


def test_without_a_user_the_only_one_there_is_searches(database_url: str) -> None:
    with ConversationStorage(database_url) as storage:
        assert storage.search_messages("anything") == []
        storage.create_session(ConversationSession("s", "ana"))
        storage.store_message(message("s", "The lighthouse is on the cape."))
    with ConversationStorage(database_url) as storage:
        assert [each.content for each, _ in storage.search_messages("lighthouse on the cape")] == [
            "The lighthouse is on the cape."
        ]


def test_the_usual_threshold_is_the_preference(url: str, storage: ConversationStorage, shared: Memory) -> None:
    user = shared.user(uuid.uuid4().hex)
    storage.create_session(ConversationSession(user.user_id, user.user_id))
    for content in ("How do I implement the LTST memory system?", "Who won the football match?"):
        storage.store_message(message(user.user_id, content))
    ((found, score),) = storage.search_messages("memory system implementation", user.user_id)
    assert found.content == "How do I implement the LTST memory system?" and score >= 0.7
    user.preferences.set("relevance_threshold", "0.9")
    assert storage.search_messages("memory system implementation", user.user_id) == []
    user.preferences.set("relevance_threshold", "high")
    with pytest.raises(ltst.Invalid, match="relevance_threshold must be a number from 0 to 1, not 'high'"):
        storage.search_messages("memory system implementation", user.user_id)
    assert len(storage.search_messages("memory system implementation", user.user_id, threshold=0.5)) == 1


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


def test_a_summary_counts_and_tells_whose_and_what(storage: ConversationStorage, session: str) -> None:
    for role in ("human", "ai", "human"):
        storage.store_message(ConversationMessage(session, role, "x" * 8))
    storage.create_session(ConversationSession(session, f"user-{session}", context_summary="About lighthouses"))
    summary = storage.get_session_summary(session)
    assert summary is not None
    assert (summary["session_id"], summary["message_count"], summary["token_count"]) == (
        session,
        3,
        3 * tokens.count("x" * 8),
    )
    assert (summary["human_messages"], summary["ai_messages"]) == (2, 1)
    assert (summary["user_id"], summary["context_summary"]) == (f"user-{session}", "About lighthouses")
    assert summary.keys() >= {each.name for each in fields(SessionSummary)}


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


def everything(storage: ConversationStorage, name: str) -> dict[str, Any]:
    """What each verb that takes a session id answers, in an order in which the last removes the session."""
    found = storage.get_session(name)
    storage.store_message(message(name, "and more"))
    storage.store_context(ConversationContext(name, "project", "key", "value"))
    summary = storage.get_session_summary(name)
    return {
        "get_session": found and found.user_id,
        "get_messages": [each.content for each in storage.get_messages(name)],
        "search_messages": {each.user_id for each, _ in storage.search_messages("and more", name, threshold=0)},
        "get_context": {each.user_id for each in storage.get_context(name)},
        "get_session_summary": summary and summary["user_id"],
        "update_session_activity": storage.update_session_activity(name),
        "delete_session": storage.delete_session(name),
        "delete_session again": storage.delete_session(name),
        "get_session again": storage.get_session(name),
        "get_messages again": storage.get_messages(name),
    }


def answers_of(user: str) -> dict[str, Any]:
    return {
        "get_session": user,
        "get_messages": [f"of {user}", "and more"],
        "search_messages": {user},
        "get_context": {user},
        "get_session_summary": user,
        "update_session_activity": True,
        "delete_session": True,
        "delete_session again": False,
        "get_session again": None,
        "get_messages again": [],
    }


@pytest.fixture
def monday(shared: Memory) -> str:
    """A session of ana's, which a stranger gets too as soon as a storage works with it."""
    name = uuid.uuid4().hex
    shared.user("ana").chat(name).add("user", "of ana")
    return name


def stranger(shared: Memory, name: str) -> None:
    shared.user("bob").chat(name).add("user", "of bob")


def untouched(shared: Memory, name: str, user: str = "bob") -> bool:
    chat = shared.user(user).chat(name)
    return [each.content for each in chat.window()] == [f"of {user}"] and chat.contexts.list() == []


def test_a_storage_keeps_to_the_session_that_it_created(url: str, shared: Memory, monday: str) -> None:
    with ConversationStorage(url) as storage:
        stranger(shared, monday)
        assert storage.create_session(ConversationSession(monday, "ana")) is True
        assert everything(storage, monday) == answers_of("ana")
    assert untouched(shared, monday)


def test_a_storage_keeps_to_the_session_that_it_worked_with(url: str, shared: Memory, monday: str) -> None:
    with ConversationStorage(url) as storage:
        assert len(storage.get_messages(monday)) == 1
        stranger(shared, monday)
        assert everything(storage, monday) == answers_of("ana")
    assert untouched(shared, monday)


@pytest.mark.parametrize("user", ["ana", "bob"])
def test_a_storage_of_a_user_reaches_no_session_of_another(url: str, shared: Memory, monday: str, user: str) -> None:
    stranger(shared, monday)
    with ConversationStorage(url, user_id=user) as storage:
        assert everything(storage, monday) == answers_of(user)
    assert untouched(shared, monday, "bob" if user == "ana" else "ana")


def test_a_storage_of_a_user_does_nothing_for_another(url: str, shared: Memory, monday: str) -> None:
    with ConversationStorage(url, user_id="bob") as storage:
        assert storage.get_session(monday) is None
        with pytest.raises(ltst.NotFound, match=monday):
            storage.store_message(message(monday))
        for call in (
            lambda: storage.create_session(ConversationSession(monday, "ana")),
            lambda: storage.get_user_sessions("ana"),
        ):
            with pytest.raises(ltst.Denied, match="of the user 'bob'"):
                call()
    assert untouched(shared, monday, "ana")


@pytest.mark.parametrize("user", ["", " ", 5, "system", "x" * 256])
def test_a_storage_is_of_a_user_that_there_may_be(url: str, user: Any) -> None:
    with pytest.raises(ltst.Invalid):
        ConversationStorage(url, user_id=user)


def test_a_second_user_of_one_storage_is_told_before_anything_is_mixed(
    storage: ConversationStorage, shared: Memory, monday: str
) -> None:
    storage.create_session(ConversationSession(monday, "ana"))
    with pytest.raises(ltst.Conflict, match=r"another user already.*user_id='bob'"):
        storage.create_session(ConversationSession(monday, "bob"))
    assert shared.user("bob").sessions.get(monday) is None
    assert [each.content for each in storage.get_messages(monday)] == ["of ana"]
    storage.delete_session(monday)
    assert storage.create_session(ConversationSession(monday, "bob")) is True
    found = storage.get_session(monday)
    assert found is not None and found.user_id == "bob"


def test_a_new_storage_asks_whose_session_is_meant_where_two_users_have_it(
    url: str, shared: Memory, monday: str
) -> None:
    stranger(shared, monday)
    with ConversationStorage(url) as storage:
        for call in (
            lambda: storage.get_session(monday),
            lambda: storage.store_message(message(monday)),
            lambda: storage.get_messages(monday),
            lambda: storage.search_messages("of", monday),
            lambda: storage.store_context(ConversationContext(monday, "project", "key", "value")),
            lambda: storage.get_context(monday),
            lambda: storage.update_session_activity(monday),
            lambda: storage.delete_session(monday),
            lambda: storage.get_session_summary(monday),
        ):
            with pytest.raises(ltst.Conflict, match=f"{monday}.*user_id"):
                call()
        assert monday in {each.session_id for each in storage.get_user_sessions("bob", limit=1000)}
    assert untouched(shared, monday, "ana") and untouched(shared, monday, "bob")


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
