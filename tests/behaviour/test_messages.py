"""Messages: added in order, kept word for word, once per key, read as a window."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import ltst
from behaviour.doors import plain
from ltst.support.tokens import count

pytestmark = pytest.mark.asyncio(loop_scope="session")

MISSING = "01900000-0000-7000-8000-000000000000"

METADATA = {
    "text": "naïve ☕",
    "number": 1.25,
    "whole": 2**53,
    "nothing": None,
    "yes": True,
    "list": [1, [2, {"three": "3"}], []],
    "object": {"empty": {}, "": "an empty key"},
}


def contents(messages: list[ltst.ConversationMessage]) -> list[str]:
    return [message.content for message in messages]


def indexes(messages: list[ltst.ConversationMessage]) -> list[int | None]:
    return [message.message_index for message in messages]


async def test_messages_come_back_in_order_with_indexes_from_one_without_a_gap(any_user: Any) -> None:
    chat = any_user.chat()
    for word in ("one", "two", "three"):
        await chat.add("user", word)
    found = await chat.history()
    assert contents(found) == ["one", "two", "three"]
    assert indexes(found) == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "stored"),
    [("user", "human"), ("human", "human"), ("assistant", "ai"), ("ai", "ai"), ("system", "system"), ("tool", "tool")],
)
async def test_a_role_is_stored_under_one_name(any_user: Any, given: str, stored: str) -> None:
    chat = any_user.chat()
    assert (await chat.add(given, "hello")).role == stored
    assert [message.role for message in await chat.history()] == [stored]


async def test_metadata_comes_back_as_it_was(any_user: Any) -> None:
    chat = any_user.chat()
    await chat.add("user", "hello", metadata=METADATA)
    assert [message.metadata for message in await chat.history()] == [METADATA]


@pytest.mark.parametrize("number", [1e23, 1.7e308, 5e-324, 0.1 + 0.2, -(2**63)])
async def test_a_number_in_metadata_comes_back_equal(any_user: Any, number: float) -> None:
    chat = any_user.chat()
    await chat.add("user", "hello", metadata={"number": number})
    assert [message.metadata for message in await chat.history()] == [{"number": number}]


async def test_the_time_of_a_message_is_kept_to_the_microsecond_in_any_zone(any_user: Any) -> None:
    chat = any_user.chat()
    said = datetime(2021, 3, 28, 2, 30, 59, 123456, tzinfo=timezone(timedelta(hours=-9, minutes=-30)))
    await chat.add("user", "hello", at=said)
    (found,) = await chat.history()
    assert found.timestamp == said
    assert datetime.now(UTC) - found.created_at < timedelta(minutes=1)


async def test_a_message_without_a_time_is_said_now(any_user: Any) -> None:
    before = datetime.now(UTC)
    added = await any_user.chat().add("user", "hello")
    assert before <= added.timestamp <= datetime.now(UTC)


async def test_the_parent_of_a_message_is_kept(any_user: Any) -> None:
    chat = any_user.chat()
    question = await chat.add("user", "why?")
    await chat.add("assistant", "because", parent=question.message_id)
    assert [message.parent_message_id for message in await chat.history()] == [None, question.message_id]


@pytest.mark.parametrize("parent", [MISSING, "not an id"])
async def test_a_parent_that_does_not_exist_is_not_found_and_nothing_is_added(any_user: Any, parent: str) -> None:
    chat = any_user.chat()
    await chat.add("user", "hello")
    with pytest.raises(ltst.NotFound):
        await chat.add("user", "an answer to nothing", parent=parent)
    assert contents(await chat.history()) == ["hello"]


async def test_the_same_words_twice_are_two_messages(any_user: Any) -> None:
    chat = any_user.chat()
    first, second = await chat.add("user", "again"), await chat.add("user", "again")
    assert first.message_id != second.message_id
    assert first.content_hash == second.content_hash
    assert indexes(await chat.history()) == [1, 2]


async def test_history_goes_page_by_page_from_the_beginning(any_user: Any) -> None:
    chat = any_user.chat()
    for number in range(5):
        await chat.add("user", f"{number}")
    assert contents(await chat.history(limit=2)) == ["0", "1"]
    assert contents(await chat.history(limit=2, offset=3)) == ["3", "4"]
    assert await chat.history(limit=2, offset=5) == []


async def test_what_add_returns_is_what_is_stored(user: Any) -> None:
    chat = user.chat()
    first = await chat.add("user", "hello", metadata={"a": [1]}, key="k", at=datetime(2020, 1, 1, tzinfo=UTC))
    second = await chat.add("assistant", "hi", parent=first.message_id)
    assert [plain(message) for message in await chat.history()] == [first, second]
    assert await chat.window() == [first, second]
    assert (first.user_id, first.session_id) == (user.user_id, chat.session_id)


async def test_search_ranks_by_relevance_and_keeps_to_the_session(user: Any) -> None:
    chat, other = user.chat(), user.chat()
    await chat.add("user", "A cape of wool.")
    await chat.add("user", "The lighthouse stands on the cape.")
    await chat.add("user", "Nothing of the kind.")
    await other.add("user", "lighthouse cape")
    found = await chat.search("lighthouses and capes")
    assert contents([message for message, _ in found])[:2] == ["The lighthouse stands on the cape.", "A cape of wool."]
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True) and 0 < min(scores) <= max(scores) <= 1
    assert contents([message for message, _ in await chat.search("lighthouse cape", threshold=0.6)]) == [
        "The lighthouse stands on the cape."
    ]
    assert len(await chat.search("cape", limit=1)) == 1
    assert await chat.search("quarterly tax declaration") == []


async def test_a_very_long_message_does_not_keep_a_session_from_being_searched(user: Any) -> None:
    chat = user.chat()
    await chat.add("user", " ".join(f"{number:x}g" for number in range(190_000))[: 1024 * 1024])
    await chat.add("user", "The lighthouse stands on the cape.")
    (best, _), *_ = await chat.search("lighthouse")
    assert best.content == "The lighthouse stands on the cape."


async def test_the_last_word_of_a_very_long_message_is_found(user: Any) -> None:
    chat = user.chat()
    content = " ".join(f"{number:x}g" for number in range(190_000))[: 1024 * 1024 - 20] + " lighthouse"
    said = await chat.add("user", content)
    assert [message.message_id for message, _ in await chat.search("lighthouse")] == [said.message_id]


async def test_a_query_may_be_as_long_as_a_message(user: Any) -> None:
    chat = user.chat()
    await chat.add("user", "The lighthouse stands on the cape.")
    query = "lighthouse " + " ".join(f"{number:x}g" for number in range(190_000))[: 1024 * 1024 - 20]
    ((found, score),) = await chat.search(query, threshold=0.001)
    assert found.content == "The lighthouse stands on the cape."
    assert 0 < score < 0.5


async def test_the_window_is_the_newest_messages_oldest_first(user: Any) -> None:
    chat = user.chat()
    await chat.add_many({"role": "user", "content": f"{number}"} for number in range(60))
    assert contents(await chat.window(3)) == ["57", "58", "59"]
    assert contents(await chat.window()) == [f"{number}" for number in range(10, 60)]
    assert len(await chat.window(100)) == 60


async def test_the_window_of_a_session_that_does_not_exist_is_empty(user: Any) -> None:
    assert await user.chat("nowhere").window() == []
    assert await user.sessions.get("nowhere") is None


async def test_the_window_holds_as_many_messages_as_fit_into_the_tokens(user: Any) -> None:
    chat = user.chat()
    said = [f"On day {number} the sea was calm." for number in range(4)]
    (size,) = {count(text) for text in said}
    for text in said:
        await chat.add("user", text)
    assert contents(await chat.window(max_tokens=2 * size)) == said[2:]
    assert contents(await chat.window(max_tokens=3 * size - 1)) == said[2:]
    assert contents(await chat.window(max_tokens=3 * size)) == said[1:]
    assert contents(await chat.window(1, max_tokens=3 * size)) == said[3:]
    assert await chat.window(max_tokens=size - 1) == []


async def test_the_window_does_not_pass_over_a_message_that_does_not_fit(user: Any) -> None:
    chat = user.chat()
    await chat.add("user", "short")
    await chat.add("user", "l" * 400)
    await chat.add("user", "brief")
    assert contents(await chat.window(max_tokens=50)) == ["brief"]


async def test_a_message_with_a_key_is_stored_once(user: Any) -> None:
    chat = user.chat()
    stored = await chat.add("user", "six, please", key="k")
    assert await chat.add("human", "six, please", key="k", metadata={"attempt": 2}) == stored
    assert contents(await chat.window()) == ["six, please"]


async def test_a_key_with_other_words_or_another_role_is_a_conflict(user: Any) -> None:
    chat = user.chat()
    stored = await chat.add("user", "six, please", key="k")
    for role, content in [("user", "seven, please"), ("assistant", "six, please")]:
        with pytest.raises(ltst.Conflict, match="'k'"):
            await chat.add(role, content, key="k")
    assert await chat.window() == [stored]


async def test_a_key_belongs_to_its_session(user: Any) -> None:
    await user.chat("one").add("user", "first", key="k")
    await user.chat("two").add("user", "second", key="k")
    assert contents(await user.chat("two").window()) == ["second"]


async def test_a_message_sent_many_times_at_once_with_a_key_is_stored_once(user: Any) -> None:
    chat = user.chat()
    stored = await asyncio.gather(*(chat.add("user", "once", key="k") for _ in range(12)))
    assert len({message.message_id for message in stored}) == 1
    assert contents(await chat.window()) == ["once"]


async def test_messages_added_at_once_get_indexes_without_gaps_or_doubles(user: Any) -> None:
    chat = user.chat()
    added = await asyncio.gather(*(chat.add("user", f"{number}") for number in range(30)))
    assert sorted(indexes(added)) == [*range(1, 31)]
    assert (await user.sessions.get(chat.session_id)).session_length == 30


async def test_add_many_continues_the_session_in_the_given_order(user: Any) -> None:
    chat = user.chat()
    first = await chat.add("user", "before")
    added = await chat.add_many(
        [
            {"role": "user", "content": "one", "at": datetime(2020, 1, 1, tzinfo=UTC), "metadata": {"a": 1}},
            {"role": "assistant", "content": "two", "parent": first.message_id, "key": "k"},
        ]
    )
    assert indexes(added) == [2, 3]
    assert await chat.window() == [first, *added]


async def test_add_many_takes_thousands(user: Any) -> None:
    chat = user.chat()
    added = await chat.add_many({"role": "user", "content": f"{number}"} for number in range(2500))
    assert indexes(added) == [*range(1, 2501)]
    assert contents(await chat.history(limit=5000)) == [f"{number}" for number in range(2500)]
    assert (await user.sessions.get(chat.session_id)).session_length == 2500


async def test_add_many_of_nothing_is_nothing(user: Any) -> None:
    assert await user.chat("empty").add_many([]) == []
    assert await user.sessions.get("empty") is None


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ({"role": "user", "content": ""}, ltst.Invalid),
        ({"role": "user", "content": "an answer", "parent": MISSING}, ltst.NotFound),
        ({"role": "user", "content": "other words", "key": "taken"}, ltst.Conflict),
    ],
)
async def test_add_many_adds_all_or_none(user: Any, broken: dict[str, str], error: type[Exception]) -> None:
    chat = user.chat()
    await chat.add("user", "there already", key="taken")
    with pytest.raises(error):
        await chat.add_many([{"role": "user", "content": "good"}, broken, {"role": "user", "content": "good too"}])
    assert contents(await chat.window()) == ["there already"]
    assert (await user.sessions.get(chat.session_id)).session_length == 1


async def test_add_many_says_which_message_is_wrong(user: Any) -> None:
    with pytest.raises(ltst.Invalid, match="message 2"):
        await user.chat().add_many([{"role": "user", "content": "good"}, {"role": "nobody", "content": "bad"}])


async def test_add_many_returns_what_its_keys_know_already(user: Any) -> None:
    chat = user.chat()
    known = await chat.add("user", "one", key="1")
    batch = [{"role": "user", "content": word, "key": key} for word, key in (("one", "1"), ("two", "2"), ("two", "2"))]
    first, second, third = await chat.add_many(batch)
    assert first == known
    assert second == third
    assert await chat.add_many(batch) == [first, second, third]
    assert contents(await chat.window()) == ["one", "two"]


async def test_add_many_refuses_a_batch_that_contradicts_itself(user: Any) -> None:
    batch = [{"role": "user", "content": "one", "key": "k"}, {"role": "user", "content": "two", "key": "k"}]
    with pytest.raises(ltst.Conflict, match="'k'"):
        await user.chat("contradiction").add_many(batch)
    assert await user.sessions.get("contradiction") is None


async def test_an_interaction_is_what_the_user_said_and_what_the_assistant_answered(user: Any) -> None:
    chat = user.chat()
    added = await chat.add_interaction("why?", "because")
    assert [(message.role, message.content) for message in added] == [("human", "why?"), ("ai", "because")]
    assert await chat.window() == added


async def test_an_interaction_is_added_whole_or_not_at_all(user: Any) -> None:
    with pytest.raises(ltst.Invalid):
        await user.chat("half").add_interaction("why?", "  ")
    assert await user.chat("half").window() == []


async def test_a_ready_made_message_is_stored_with_all_that_it_says_of_itself(user: Any) -> None:
    chat = user.chat()
    message = ltst.ConversationMessage(
        chat.session_id,
        "assistant",
        "ready",
        message_type="context",
        message_index=1,
        metadata={"a": 1},
        embedding=[0.5] * 384,
        relevance_score=0.75,
        is_context_message=True,
        timestamp=datetime(2020, 1, 1, tzinfo=UTC),
    )
    stored = await chat.store(message)
    (found,) = await chat.history()
    assert found.embedding == [0.5] * 384
    assert plain(found) == plain(stored)
    assert (found.role, found.message_type, found.relevance_score, found.is_context_message) == (
        "ai",
        "context",
        0.75,
        True,
    )
    assert (found.metadata, found.timestamp) == ({"a": 1}, message.timestamp)


async def test_a_snapshot_is_the_window_in_the_words_of_models(user: Any) -> None:
    chat = user.chat()
    for role in ("system", "user", "assistant", "tool"):
        await chat.add(role, f"from {role}")
    assert await chat.snapshot() == {
        "session_id": chat.session_id,
        "messages": [{"role": role, "content": f"from {role}"} for role in ("system", "user", "assistant", "tool")],
        "window_strategy": "sliding_window",
        "max_tokens": 4000,
    }


async def test_a_snapshot_keeps_to_its_tokens(user: Any) -> None:
    chat = user.chat()
    await chat.add_many({"role": "user", "content": f"{letter} word" + " word" * 1600} for letter in "abc")
    assert [message["content"][0] for message in (await chat.snapshot())["messages"]] == ["b", "c"]


async def test_handles_say_whose_and_which_they_are(every_user: Any) -> None:
    chat = every_user.chat("monday", agent="coach")
    assert (chat.user_id, chat.session_id, chat.agent) == (every_user.user_id, "monday", "coach")
    assert every_user.chat().session_id != every_user.chat().session_id


async def test_a_message_is_read_by_its_id_in_whichever_conversation(user: Any) -> None:
    said = await user.chat("monday").add("user", "I live in Porto.")
    await user.chat("tuesday").add("user", "It rains.")
    for written in (str(said.message_id), str(said.message_id).upper()):
        found = await user.message(written)
        assert found is not None and plain(found) == plain(said)
    assert await user.message(MISSING) is None
    assert await user.message("monday") is None


class TestRemoving:
    async def test_the_others_stay_as_they_are_and_no_index_is_given_twice(self, user: Any) -> None:
        chat = user.chat()
        first, second, third = [await chat.add("user", word) for word in ("one", "two", "three")]
        await chat.remove(second.message_id)
        assert await chat.window() == [first, third]
        await chat.remove(third.message_id)
        assert (await chat.add("user", "four")).message_index == 4
        assert indexes(await chat.history()) == [1, 4]
        assert (await chat.summary()).message_count == 2
        found = await user.sessions.get(chat.session_id)
        assert (found.session_length, found.last_activity >= third.timestamp) == (2, True)

    async def test_it_is_found_no_more(self, user: Any) -> None:
        chat = user.chat()
        gone = await chat.add("user", "The lighthouse stands on the cape.")
        await chat.add("user", "A cape of wool.")
        assert (await user.search("lighthouse"))[0].id == gone.message_id
        await chat.remove(gone.message_id)
        assert gone.message_id not in [hit.id for hit in await user.search("lighthouse")]
        assert gone.message_id not in [message.message_id for message, _ in await chat.search("lighthouse cape")]
        assert "lighthouse" not in (await chat.context(about="lighthouse")).text

    async def test_what_answered_it_answers_what_stood_before_it(self, user: Any) -> None:
        chat = user.chat()
        question = await chat.add("user", "why?")
        between = await chat.add("assistant", "because", parent=question.message_id)
        await chat.add("user", "really?", parent=between.message_id)
        await chat.remove(between.message_id)
        assert [message.parent_message_id for message in await chat.history()] == [None, question.message_id]
        await chat.remove(question.message_id)
        assert [message.parent_message_id for message in await chat.history()] == [None]

    async def test_its_key_is_free_again(self, user: Any) -> None:
        chat = user.chat()
        gone = await chat.add("user", "hello", key="k")
        await chat.remove(gone.message_id)
        again = await chat.add("user", "other words", key="k")
        assert (again.message_index, again.message_id != gone.message_id) == (2, True)
        assert await chat.window() == [again]

    async def test_a_copy_in_a_fork_stays(self, user: Any) -> None:
        chat = user.chat()
        gone = await chat.add("user", "hello")
        await chat.add("user", "world")
        fork = await chat.fork()
        await chat.remove(gone.message_id)
        assert (contents(await chat.history()), contents(await fork.history())) == (["world"], ["hello", "world"])

    async def test_a_conversation_may_lose_all_its_messages(self, user: Any) -> None:
        chat = user.chat()
        only = await chat.add("user", "hello")
        await chat.remove(only.message_id)
        assert (await chat.history(), await chat.window()) == ([], [])
        assert (await chat.add("user", "again")).message_index == 2

    async def test_the_ledger_tells_of_it_without_its_words(self, user: Any) -> None:
        chat = user.chat()
        gone = await chat.add("user", "zebrawood")
        await chat.remove(gone.message_id)
        last = [event for event in await user.events.list(limit=1000) if event.noun == "message"][-1]
        assert (last.action, last.row_id) == ("delete", gone.message_id)
        assert last.details == {"session_id": chat.session_id, "message_index": 1}

    @pytest.mark.parametrize("missing", [MISSING, "not an id"])
    async def test_what_is_not_there_is_not_found(self, user: Any, missing: str) -> None:
        chat = user.chat()
        stored = await chat.add("user", "hello")
        with pytest.raises(ltst.NotFound):
            await chat.remove(missing)
        with pytest.raises(ltst.NotFound):
            await chat.replace(missing, "other words")
        with pytest.raises(ltst.NotFound):
            await user.chat().remove(stored.message_id)
        assert contents(await chat.history()) == ["hello"]

    async def test_twice_it_is_not_found(self, user: Any) -> None:
        chat = user.chat()
        gone = await chat.add("user", "hello")
        await chat.remove(gone.message_id)
        with pytest.raises(ltst.NotFound):
            await chat.remove(gone.message_id)

    async def test_another_users_message_is_not_found(self, user: Any, door: Any) -> None:
        chat = user.chat("shared")
        stored = await chat.add("user", "mine")
        stranger = door.user(f"{user.user_id}-stranger")
        await stranger.chat("shared").add("user", "theirs")
        with pytest.raises(ltst.NotFound):
            await stranger.chat("shared").remove(stored.message_id)
        with pytest.raises(ltst.NotFound):
            await stranger.chat("shared").replace(stored.message_id, "theirs too")
        assert contents(await chat.history()) == ["mine"]


class TestReplacing:
    async def test_it_keeps_all_but_its_words(self, user: Any) -> None:
        chat = user.chat()
        first = await chat.add("user", "hello")
        said = datetime(2020, 1, 1, tzinfo=UTC)
        old = await chat.add("assistant", "one", metadata={"a": [1]}, key="k", at=said, parent=first.message_id)
        new = await chat.replace(old.message_id, "two words")
        kept = ("message_id", "message_index", "role", "timestamp", "created_at", "metadata", "parent_message_id")
        assert [getattr(new, name) for name in kept] == [getattr(old, name) for name in kept]
        assert (new.content, new.message_key) == ("two words", "k")
        assert new.content_hash != old.content_hash
        assert new.context_hash != old.context_hash
        assert [plain(message) for message in await chat.history()] == [first, new]
        assert await chat.window() == [first, new]

    async def test_metadata_takes_the_place_of_the_old(self, user: Any) -> None:
        chat = user.chat()
        stored = await chat.add("user", "hello", metadata={"a": 1, "b": 2})
        assert (await chat.replace(stored.message_id, "hello", metadata=METADATA)).metadata == METADATA
        assert (await chat.replace(stored.message_id, "hello", metadata={})).metadata == {}

    async def test_it_is_found_by_its_new_words_alone(self, user: Any) -> None:
        chat = user.chat()
        stored = await chat.add("user", "The lighthouse stands on the cape.")
        assert (await user.search("lighthouse"))[0].id == stored.message_id
        await chat.replace(stored.message_id, "Sourdough needs rye flour.")
        (hit,) = await user.search("sourdough rye flour")
        assert (hit.id, hit.content) == (stored.message_id, "Sourdough needs rye flour.")
        assert "lighthouse" not in " ".join(hit.content for hit in await user.search("lighthouse"))

    @pytest.mark.parametrize("blank", ["", "  \n"])
    async def test_blank_words_are_invalid_and_nothing_is_written(self, user: Any, blank: str) -> None:
        chat = user.chat()
        stored = await chat.add("user", "hello")
        before = len(await user.events.list(limit=1000))
        with pytest.raises(ltst.Invalid):
            await chat.replace(stored.message_id, blank)
        assert (contents(await chat.history()), len(await user.events.list(limit=1000))) == (["hello"], before)

    async def test_its_key_stands_for_the_new_words(self, user: Any) -> None:
        chat = user.chat()
        stored = await chat.add("user", "hello", key="k")
        await chat.replace(stored.message_id, "good morning")
        assert (await chat.add("user", "good morning", key="k")).message_id == stored.message_id
        with pytest.raises(ltst.Conflict):
            await chat.add("user", "hello", key="k")

    async def test_the_ledger_tells_of_it_without_its_words(self, user: Any) -> None:
        chat = user.chat()
        stored = await chat.add("user", "zebrawood")
        await chat.replace(stored.message_id, "palisander")
        last = [event for event in await user.events.list(limit=1000) if event.noun == "message"][-1]
        assert (last.action, last.row_id) == ("change", stored.message_id)
        assert last.details == {"session_id": chat.session_id, "message_index": 1}

    async def test_what_counts_its_tokens_counts_the_new_ones(self, user: Any) -> None:
        chat = user.chat()
        stored = await chat.add("user", "word " * 100)
        await chat.replace(stored.message_id, "word")
        summary = await chat.summary()
        assert (summary.message_count, summary.token_count) == (1, count("word"))
