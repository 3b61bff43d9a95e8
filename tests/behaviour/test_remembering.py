"""Remembering: what is said, kept at hand or kept for good is there again, by every way in that has a context."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

import ltst
from behaviour.doors import Door
from helpers.probes import Connection, pass_time

pytestmark = pytest.mark.asyncio(loop_scope="session")

KINDS = {"long_term": ["entry", "fact"], "episodic": ["entry"]}
CONTENTS = ["naïve ☕ 👩‍👩‍👧", "'; DROP TABLE conversation_messages; --", "صباح الخير", "%s {} \\ \t<b>", "a\r\n\r\nb"]
BAD = ["", " \n\u3000", None, 5, b"bytes", "a\x00b", "\ud800", "x" * (1024 * 1024 + 1)]


def spoken(context: Any) -> list[tuple[str, str]]:
    """The turns of a context, without what is remembered beside them."""
    return [(each["role"], each["content"]) for each in context.messages if each["role"] != "system"]


def system(context: Any) -> str:
    return "\n".join(each["content"] for each in context.messages if each["role"] == "system")


async def known(user: Any, query: str, type: str, limit: int = 5) -> list[str]:
    return [each.content for each in await user.search(query, kinds=KINDS[type], entry_type=type, limit=limit)]


async def said(chat: Any, query: str, limit: int = 5) -> list[str]:
    return [message.content for message, _ in await chat.search(query, limit=limit)]


async def test_the_turns_of_a_context_are_what_was_said_in_the_words_of_models(every_user: Any) -> None:
    chat = every_user.chat()
    await chat.add_interaction("Good morning!", "Good morning.")
    await chat.add("human", "How are you?")
    await chat.add("ai", "Fine.", metadata={"mood": "good"})
    assert spoken(await chat.context()) == [
        ("user", "Good morning!"),
        ("assistant", "Good morning."),
        ("user", "How are you?"),
        ("assistant", "Fine."),
    ]


@pytest.mark.parametrize("content", CONTENTS)
async def test_every_word_comes_back_unchanged(every_user: Any, content: str) -> None:
    chat = every_user.chat()
    await chat.add("user", content)
    await every_user.entries.add(f"lighthouse {content}")
    assert spoken(await chat.context()) == [("user", content)]
    assert await known(every_user, "lighthouse", "long_term") == [f"lighthouse {content}"]


async def test_the_context_of_a_session_that_does_not_exist_is_empty(every_user: Any) -> None:
    context = await every_user.chat("nowhere").context()
    assert (context.messages, context.text, context.tokens, [*context.sources]) == ([], "", 0, [])


async def test_the_context_names_its_sources_and_its_size(every_user: Any) -> None:
    chat = every_user.chat()
    question, answer = await chat.add_interaction("Where is the lighthouse?", "On the cape.")
    context = await chat.context()
    assert [*context.sources] == [question.message_id, answer.message_id]
    assert 0 < context.tokens <= 4000
    assert "Where is the lighthouse?" in context.text and "On the cape." in context.text


async def test_an_interaction_is_remembered_whole_or_not_at_all(every_user: Any) -> None:
    chat = every_user.chat()
    for bad in BAD:
        with pytest.raises(ltst.Invalid):
            await chat.add_interaction("why?", bad)
        with pytest.raises(ltst.Invalid):
            await chat.add_interaction(bad, "because")
    assert (await chat.context()).messages == []


async def test_interactions_made_at_once_stay_whole(every_user: Any) -> None:
    chat = every_user.chat()
    await asyncio.gather(*(chat.add_interaction(f"{number}?", f"{number}!") for number in range(10)))
    turns = [content for _, content in spoken(await chat.context())]
    assert sorted(turns[::2]) == [f"{number}?" for number in range(10)]
    assert turns[1::2] == [question.replace("?", "!") for question in turns[::2]]


async def test_what_was_said_is_found_by_the_next_search_of_its_session(every_user: Any) -> None:
    chat, other = every_user.chat(), every_user.chat()
    await other.add("user", "The lighthouse of Porto is white.")
    for number, content in enumerate(["A cape of wool.", "The lighthouse stands on the cape.", "It rains."], start=1):
        await chat.add("user", content)
        assert len((await chat.context()).messages) >= number
    assert (await said(chat, "lighthouses and capes"))[:2] == ["The lighthouse stands on the cape.", "A cape of wool."]
    assert len(await said(chat, "cape", 1)) == 1
    assert await said(chat, "quarterly tax declaration") == []


async def test_a_later_handle_of_a_session_goes_on_with_it(every_user: Any) -> None:
    await every_user.chat("monday").add_interaction("I keep bees.", "How many hives?")
    await every_user.chat("monday").add("user", "Seven.")
    assert spoken(await every_user.chat("monday").context()) == [
        ("user", "I keep bees."),
        ("assistant", "How many hives?"),
        ("user", "Seven."),
    ]


async def test_working_memory_is_in_the_context_for_its_time(every_user: Any, every_database: Connection) -> None:
    chat = every_user.chat()
    await chat.working.set("plan", "fly to Lisbon", ttl=3600)
    await chat.working.set("mood", "hungry", ttl=1800)
    shown = system(await chat.context())
    assert "fly to Lisbon" in shown and "hungry" in shown
    await chat.working.set("plan", "take the train")
    pass_time(every_database, "conversation_context", every_user.user_id, timedelta(minutes=30))
    shown = system(await chat.context())
    assert "take the train" in shown and "fly to Lisbon" not in shown and "hungry" not in shown


@pytest.mark.parametrize(("type", "other"), [("long_term", "episodic"), ("episodic", "long_term")])
async def test_an_entry_is_found_among_those_of_its_type(every_user: Any, type: str, other: str) -> None:
    added = await every_user.entries.add("The oven runs hot.", type=type, metadata={"a": [1, None]})
    assert (added.content, added.memory_type, added.metadata) == ("The oven runs hot.", type, {"a": [1, None]})
    assert 0 <= added.importance_score <= 1
    assert await known(every_user, "oven", type) == ["The oven runs hot."]
    assert await known(every_user, "oven", other) == []


async def test_the_same_entry_is_kept_once(every_user: Any) -> None:
    first = await every_user.entries.add("The oven runs hot.")
    assert (await every_user.entries.add("The oven runs hot.")).entry_id == first.entry_id
    assert await known(every_user, "oven", "long_term") == ["The oven runs hot."]


async def test_what_is_known_about_a_question_is_in_the_context_and_the_question_is_asked_once(every_user: Any) -> None:
    chat, question = every_user.chat(), "Where is the spare key?"
    await every_user.entries.add("The spare key is under the blue pot.")
    await chat.add("user", question)
    context = await chat.context(about=question)
    assert "blue pot" in system(context)
    assert spoken(context) == [("user", question)]
    await chat.add("assistant", "Let me think.")
    context = await chat.context(about=question)
    assert "blue pot" in system(context)
    assert spoken(context) == [("user", question), ("assistant", "Let me think.")]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_bad_input_is_refused_and_nothing_is_kept(every_user: Any, bad: Any) -> None:
    chat = every_user.chat()
    for write in (
        lambda: chat.add("user", bad),
        lambda: every_user.entries.add(bad),
        lambda: every_user.entries.add(bad, type="episodic"),
        lambda: chat.search(bad),
        # Without a question, a search of everything gives the newest.
        *(partial(known, every_user, bad, type) for type in ("long_term", "episodic") if bad is not None),
    ):
        with pytest.raises(ltst.Invalid):
            await write()
    assert (await chat.context()).messages == []


async def test_what_is_not_one_of_the_words_is_refused(every_user: Any) -> None:
    chat = every_user.chat()
    for write in (
        lambda: chat.add("critic", "hello"),
        lambda: chat.add("user", "hello", metadata={"a": object()}),
        lambda: every_user.entries.add("hello", metadata={1: "a"}),
        lambda: every_user.entries.add("hello", type="semantic"),
        lambda: chat.search("hello", limit=0),
        lambda: known(every_user, "hello", "long_term", 201),
        lambda: chat.working.set("", "value"),
        lambda: chat.working.set("key", "value", ttl=-1),
    ):
        with pytest.raises(ltst.Invalid):
            await write()
    assert (await chat.context()).messages == []


@pytest.mark.parametrize("bad", ["", " ", "x" * 256, "a\x00b", 5, "system"])
async def test_a_user_is_named_by_an_id(every_door: Door, bad: Any) -> None:
    with pytest.raises(ltst.Invalid, match="user_id"):
        # Some ways in look at once, others when something is asked for.
        await every_door.user(bad).chat("monday").context()


async def test_another_user_finds_nothing_even_in_a_session_of_the_same_name(every_door: Door, every_user: Any) -> None:
    other = every_door.user(f"other-{every_user.user_id}")
    chat, theirs = every_user.chat("monday"), other.chat("monday")
    await chat.add_interaction("The vault opens with 4711.", "Noted.")
    await chat.working.set("code", "4711")
    for type in KINDS:
        await every_user.entries.add(f"The {type} vault opens with 4711.", type=type)
    assert (await theirs.context()).messages == []
    await theirs.add("user", "What opens the vault?")
    assert "4711" not in (await theirs.context()).text
    assert await said(theirs, "4711") == []
    assert [await known(other, "vault 4711", type) for type in KINDS] == [[], []]
