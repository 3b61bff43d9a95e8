"""Sessions: created by their first write, listed, archived, linked, forked, deleted with all that hangs on them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
from ltst.support import tokens

pytestmark = pytest.mark.asyncio(loop_scope="session")

DAY = timedelta(days=1)
THEN = datetime(2020, 1, 1, tzinfo=UTC)


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex}"


async def test_the_first_message_creates_the_session_with_its_agent_and_name(user: Any) -> None:
    chat = user.chat("monday", agent="coach", name="Training")
    assert await user.sessions.get("monday") is None
    await chat.add("user", "hello", at=THEN)
    found = await user.sessions.get("monday")
    assert (found.session_id, found.user_id, found.agent_name, found.session_name) == (
        "monday",
        user.user_id,
        "coach",
        "Training",
    )
    assert (found.status, found.session_type, found.session_length) == ("active", "conversation", 1)
    assert (found.created_at, found.last_activity) == (THEN, THEN)


async def test_sessions_are_listed_by_the_time_of_their_last_message(any_user: Any) -> None:
    first, second, third = (any_user.chat() for _ in range(3))
    await first.add("user", "one", at=THEN)
    await second.add("user", "two", at=THEN + 2 * DAY)
    await third.add("user", "three", at=THEN + DAY)
    await first.add("user", "later", at=THEN + 3 * DAY)
    listed = [each.session_id for each in await any_user.sessions.list()]
    assert listed == [first.session_id, second.session_id, third.session_id]
    assert [each.session_id for each in await any_user.sessions.list(limit=1)] == [first.session_id]


async def test_sessions_are_listed_by_prefix_type_and_metadata(user: Any) -> None:
    told = [("app/1", "support", {"team": "blue", "size": 3}), ("app/2", "support", {"team": "red", "size": 8})]
    told += [("app%", "conversation", {"team": "blue"}), ("other", "support", {})]
    for number, (session_id, type_, metadata) in enumerate(told):
        at = THEN + number * DAY
        session = ltst.ConversationSession(
            session_id, user.user_id, session_type=type_, metadata=metadata, created_at=at, last_activity=at
        )
        await user.sessions.put(session)

    async def listed(**narrowed: Any) -> list[str]:
        return [each.session_id for each in await user.sessions.list(**narrowed)]

    assert await listed(prefix="app/") == ["app/2", "app/1"]
    assert await listed(prefix="app%") == ["app%"]
    assert await listed(type="support", limit=2) == ["other", "app/2"]
    assert await listed(where={"team": "blue"}) == ["app%", "app/1"]
    assert await listed(where={"size": {"gte": 3, "lt": 8}}, type="support", prefix="app") == ["app/1"]
    assert await listed(where={"size": {"gt": 3}}, limit=1) == ["app/2"]
    assert await listed(status="archived", prefix="app") == []


async def test_an_old_message_does_not_turn_the_last_activity_back(user: Any) -> None:
    chat = user.chat()
    await chat.add("user", "new", at=THEN)
    await chat.add("user", "old", at=THEN - DAY)
    assert (await user.sessions.get(chat.session_id)).last_activity == THEN


async def test_touch_sets_the_last_activity(any_user: Any) -> None:
    chat = any_user.chat()
    await chat.add("user", "hello", at=THEN)
    before = datetime.now(UTC)
    assert await any_user.sessions.touch(chat.session_id) is True
    assert before <= (await any_user.sessions.get(chat.session_id)).last_activity <= datetime.now(UTC)
    assert await any_user.sessions.touch(unique("nowhere")) is False


async def test_a_session_that_is_put_keeps_all_that_it_says_of_itself(any_user: Any) -> None:
    session = ltst.ConversationSession(
        unique("given"),
        any_user.user_id,
        session_name="Given",
        session_type="support",
        status="archived",
        metadata={"a": [1, {"b": None}]},
        context_summary="What it was about",
        relevance_score=0.5,
        created_at=THEN,
        last_activity=THEN + DAY,
        agent_name="coach",
    )
    await any_user.sessions.put(session)
    assert await any_user.sessions.get(session.session_id) == session


async def test_a_session_that_is_put_again_is_renewed_and_keeps_its_messages(any_user: Any) -> None:
    chat = any_user.chat()
    await chat.add("user", "hello")
    before = await any_user.sessions.get(chat.session_id)
    await any_user.sessions.put(
        ltst.ConversationSession(
            chat.session_id, any_user.user_id, session_name="Renamed", status="archived", metadata={"a": 1}
        )
    )
    after = await any_user.sessions.get(chat.session_id)
    assert (after.session_name, after.status, after.metadata) == ("Renamed", "archived", {"a": 1})
    assert (after.session_length, after.created_at) == (1, before.created_at)
    assert after.last_activity >= before.last_activity
    assert [message.content for message in await chat.history()] == ["hello"]


async def test_an_archived_session_becomes_active_with_its_next_message(user: Any) -> None:
    chat = user.chat()
    await chat.add("user", "hello")
    assert (await user.sessions.archive(chat.session_id)).status == "archived"
    assert [each.session_id for each in await user.sessions.list(status="archived")] == [chat.session_id]
    assert await user.sessions.list(status="active") == []
    await chat.add("user", "back again")
    assert (await user.sessions.get(chat.session_id)).status == "active"


async def test_only_a_session_that_exists_can_be_archived(user: Any) -> None:
    with pytest.raises(ltst.NotFound, match="'nowhere'"):
        await user.sessions.archive("nowhere")


async def test_sessions_are_listed_page_by_page(user: Any) -> None:
    for number in range(4):
        await user.chat(f"{number}").add("user", "hello", at=THEN + number * DAY)
    assert [each.session_id for each in await user.sessions.list(limit=2, offset=1)] == ["2", "1"]


async def test_a_deleted_session_is_gone_with_its_messages_and_contexts(any_user: Any) -> None:
    chat, other = any_user.chat(), any_user.chat()
    await chat.add("user", "hello")
    await chat.contexts.set("project", "goal", "win")
    await other.add("user", "stays")
    assert await any_user.sessions.delete(chat.session_id) is True
    assert await any_user.sessions.get(chat.session_id) is None
    assert await chat.history() == []
    assert await chat.contexts.list() == []
    assert await any_user.sessions.delete(chat.session_id) is False
    assert [message.content for message in await other.history()] == ["stays"]


async def test_a_deleted_session_takes_its_links_and_leaves_facts_without_a_source(user: Any) -> None:
    chat, other = user.chat(), user.chat()
    said = await chat.add("user", "I live in Porto")
    await other.add("user", "hello")
    await user.sessions.link(chat.session_id, other.session_id)
    await user.facts.set("home", "Porto", source_message_id=said.message_id)
    await user.sessions.delete(chat.session_id)
    assert await user.sessions.related(other.session_id) == []
    assert (await user.facts.get("home")).source_message_id is None


async def test_a_session_begun_anew_under_an_old_id_counts_from_one(user: Any) -> None:
    chat = user.chat("again")
    await chat.add_many({"role": "user", "content": f"{number}"} for number in range(3))
    await user.sessions.delete("again")
    assert (await chat.add("user", "fresh")).message_index == 1


async def test_a_parent_that_is_deleted_with_its_session_leaves_the_answer_alone(user: Any) -> None:
    question = await user.chat("one").add("user", "why?")
    await user.chat("two").add("assistant", "because", parent=question.message_id)
    await user.sessions.delete("one")
    assert [message.parent_message_id for message in await user.chat("two").window()] == [None]


async def test_a_summary_counts_a_session(any_user: Any) -> None:
    chat = any_user.chat()
    for role, content in [
        ("user", "a" * 40),
        ("assistant", "b" * 40),
        ("user", "c" * 41),
        ("tool", "d"),
        ("system", "e"),
    ]:
        await chat.add(role, content, at=THEN)
    await chat.add("user", "f", at=THEN + DAY)
    summary = await chat.summary()
    assert (summary.session_id, summary.status, summary.message_count) == (chat.session_id, "active", 6)
    assert (summary.human_messages, summary.ai_messages, summary.system_messages, summary.tool_messages) == (3, 1, 1, 1)
    assert summary.token_count == sum(map(tokens.count, ("a" * 40, "b" * 40, "c" * 41))) + 1 + 1 + 1
    assert (summary.first_message_at, summary.last_message_at) == (THEN, THEN + DAY)
    assert summary.average_relevance == 0


async def test_a_summary_of_a_session_without_messages_counts_none(user: Any) -> None:
    await user.sessions.put(ltst.ConversationSession("empty", user.user_id))
    summary = await user.sessions.summary("empty")
    assert (summary.message_count, summary.human_messages, summary.token_count) == (0, 0, 0)
    assert (summary.first_message_at, summary.average_relevance) == (None, None)


async def test_a_summary_of_a_session_that_does_not_exist_is_not_found(user: Any) -> None:
    for ask in (user.chat("nowhere").summary, lambda: user.sessions.summary("nowhere")):
        with pytest.raises(ltst.NotFound, match="'nowhere'"):
            await ask()


async def test_links_are_found_from_both_ends_the_strongest_first(user: Any) -> None:
    for name in ("a", "b", "c"):
        await user.chat(name).add("user", "hello")
    weak = await user.sessions.link("a", "b", "reference", similarity=0.25, strength=0.5, metadata={"why": "a quote"})
    strong = await user.sessions.link("c", "a", "continuation", strength=0.75)
    assert await user.sessions.related("a") == [strong, weak]
    assert await user.sessions.related("b") == [weak]
    assert (weak.source_session_id, weak.target_session_id, weak.relationship_type) == ("a", "b", "reference")
    assert (weak.similarity_score, weak.relationship_strength, weak.metadata) == (0.25, 0.5, {"why": "a quote"})


async def test_linking_again_renews_the_link(user: Any) -> None:
    for name in ("a", "b"):
        await user.chat(name).add("user", "hello")
    first = await user.sessions.link("a", "b", similarity=0.25)
    again = await user.sessions.link("a", "b", similarity=0.5)
    assert again.relationship_id == first.relationship_id
    assert [each.similarity_score for each in await user.sessions.related("a")] == [0.5]


async def test_only_sessions_that_exist_can_be_linked(user: Any) -> None:
    await user.chat("a").add("user", "hello")
    for source, target in [("a", "nowhere"), ("nowhere", "a")]:
        with pytest.raises(ltst.NotFound, match="'nowhere'"):
            await user.sessions.link(source, target)
    with pytest.raises(ltst.Invalid, match="itself"):
        await user.sessions.link("a", "a")


async def test_a_fork_is_a_copy_up_to_a_message(user: Any) -> None:
    chat = user.chat("trunk", agent="coach", name="Trunk")
    first = await chat.add("user", "one", metadata={"a": 1}, key="k", at=THEN)
    await chat.add("assistant", "two", parent=first.message_id)
    await chat.add("user", "three")
    branch = await chat.fork(2, session_id="branch")
    copied = await branch.window()
    assert branch.session_id == "branch"
    assert [(each.message_index, each.role, each.content) for each in copied] == [(1, "human", "one"), (2, "ai", "two")]
    assert {each.message_id for each in copied}.isdisjoint({each.message_id for each in await chat.window()})
    assert (copied[0].metadata, copied[0].timestamp, copied[0].message_key) == ({"a": 1}, THEN, "k")
    assert copied[1].parent_message_id == copied[0].message_id
    session = await user.sessions.get("branch")
    assert (session.agent_name, session.session_name, session.session_length) == ("coach", "Trunk", 2)


async def test_a_fork_without_an_index_is_a_whole_copy_with_an_id_of_its_own(user: Any) -> None:
    chat = user.chat("trunk")
    await chat.add_interaction("one", "two")
    branch = await chat.fork()
    assert branch.session_id != "trunk"
    assert [message.content for message in await branch.window()] == ["one", "two"]


async def test_a_fork_and_its_trunk_go_on_by_themselves(user: Any) -> None:
    chat = user.chat("trunk")
    await chat.add_interaction("one", "two")
    branch = await chat.fork(1)
    assert (await branch.add("assistant", "another two")).message_index == 2
    await user.sessions.delete("trunk")
    assert [message.content for message in await branch.window()] == ["one", "another two"]


async def test_a_fork_copies_the_living_contexts(user: Any) -> None:
    chat = user.chat("trunk")
    await chat.add("user", "hello")
    await chat.working.set("draft", {"a": 1})
    await chat.contexts.set("project", "over", "past", expires_at=THEN)
    branch = await chat.fork()
    await chat.working.set("draft", {"a": 2})
    assert await branch.working.all() == {"draft": {"a": 1}}
    assert await branch.contexts.list("project") == []


async def test_a_fork_is_linked_to_its_trunk(user: Any) -> None:
    chat = user.chat("trunk")
    await chat.add("user", "hello")
    await chat.fork(session_id="branch")
    (link,) = await user.sessions.related("branch")
    assert (link.source_session_id, link.target_session_id, link.relationship_type) == ("trunk", "branch", "fork")


async def test_a_key_is_known_in_the_fork_too(user: Any) -> None:
    chat = user.chat("trunk")
    await chat.add("user", "once", key="k")
    branch = await chat.fork()
    await branch.add("user", "once", key="k")
    assert len(await branch.window()) == 1


async def test_a_fork_onto_a_session_that_exists_is_a_conflict(user: Any) -> None:
    await user.chat("trunk").add("user", "hello")
    await user.chat("taken").add("user", "mine")
    for name in ("taken", "trunk"):
        with pytest.raises(ltst.Conflict, match=name):
            await user.chat("trunk").fork(session_id=name)
    assert [message.content for message in await user.chat("taken").window()] == ["mine"]


async def test_a_session_that_does_not_exist_cannot_be_forked(user: Any) -> None:
    with pytest.raises(ltst.NotFound, match="'nowhere'"):
        await user.chat("nowhere").fork(session_id="branch")
    assert await user.sessions.get("branch") is None


async def test_a_fork_at_a_message_that_does_not_exist_is_invalid(user: Any) -> None:
    await user.chat("trunk").add("user", "hello")
    with pytest.raises(ltst.Invalid, match="1 to 1"):
        await user.chat("trunk").fork(2, session_id="branch")
    assert await user.sessions.get("branch") is None
