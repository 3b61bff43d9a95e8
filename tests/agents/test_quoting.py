"""The agent without a model: it says what it knows in the words it was told, and when it knows nothing."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

import pytest

from helpers.chats import say
from ltst import AsyncMemory, AsyncUser
from ltst.agents.intents import ABLE, ABLE_IN_GERMAN
from ltst.agents.turns import Turns
from ltst.agents.wording import KNOWN, NOTED, NOTHING

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


@pytest.fixture
def ana(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"ana-{uuid.uuid4().hex}")


async def test_a_statement_is_noted_with_what_was_learnt_from_it(recall: Turns, ana: AsyncUser) -> None:
    result = await say(recall, ana, "I live in Lisbon.")
    assert result.reply == f"{NOTED} I now know: home: Lisbon."
    assert result.agent == "recall" and result.model is None
    assert [(each["kind"], each["content"], each["sources"]) for each in result.memories] == [
        ("fact", "home: Lisbon", [result.message_id])
    ]
    assert (await say(recall, ana, "The weather is fine.")).reply == NOTED


async def test_a_question_is_answered_with_what_was_said_and_when(recall: Turns, ana: AsyncUser) -> None:
    said = await ana.chat("monday").add(
        "user", "The lighthouse stands behind the harbour.", at=datetime(2026, 10, 5, tzinfo=UTC)
    )
    result = await say(recall, ana, "Where does the lighthouse stand?", "tuesday")
    assert result.reply == "You told me on 5 Oct 2026: “The lighthouse stands behind the harbour.”"
    assert [(each["kind"], each["id"], each["session_id"]) for each in result.memories] == [
        ("message", said.message_id, "monday")
    ], "the sources stand in the memories, and not in the reply"
    assert result.memories[0]["score"] > 0 and result.memories[0]["date"].startswith("2026-10-05")


async def test_what_holds_comes_first_and_what_was_before_after_it(recall: Turns, ana: AsyncUser) -> None:
    old, new = datetime(2025, 11, 18, tzinfo=UTC), datetime(2026, 10, 12, tzinfo=UTC)
    await ana.chat("a").add("user", "staging lives on otter.internal port 8043", at=old)
    await ana.chat("b").add("user", "staging is on weasel.internal now, port 8143", at=new)
    assert (await say(recall, ana, "Where is staging?")).reply == (
        "You told me on 12 Oct 2026: “staging is on weasel.internal now, port 8143”. "
        "Before that (18 Nov 2025): “staging lives on otter.internal port 8043”."
    )
    then = (await say(recall, ana, "Where was staging in December 2025?")).reply
    assert then.startswith("You told me on 18 Nov 2025: "), "what held at the time that is asked for"


async def test_only_the_decisive_words_are_quoted(recall: Turns, ana: AsyncUser) -> None:
    await ana.chat("a").add(
        "user", "I had pancakes for breakfast. My locker code is 4417. The weather is really awful today."
    )
    reply = (await say(recall, ana, "What is my locker code?")).reply
    assert "“My locker code is 4417.”" in reply and "pancakes" not in reply and "weather" not in reply


async def test_what_the_user_said_comes_before_what_an_assistant_said(recall: Turns, ana: AsyncUser) -> None:
    await ana.chat("a").add("assistant", "The boiler pressure of your boiler is usually 2.5 bar, as boilers go.")
    await ana.chat("b").add("user", "The boiler pressure is 1.5 bar.")
    reply = (await say(recall, ana, "What is the boiler pressure?")).reply
    assert reply.startswith("You told me") and reply.index("1.5 bar") < (reply + "2.5 bar").index("2.5 bar")


async def test_a_short_answer_is_told_with_what_was_asked(recall: Turns, ana: AsyncUser) -> None:
    chat = ana.chat("a")
    await chat.add("user", "I have to work on Christmas Eve again.")
    await chat.add("assistant", "Who minds the children on Christmas Eve?")
    await chat.add("user", "Gareth, my ex")
    reply = (await say(recall, ana, "Who has the children on Christmas Eve?", "b")).reply
    assert "when asked “Who minds the children on Christmas Eve?”: “Gareth, my ex”." in reply


async def test_facts_are_sentences_and_the_one_that_holds_comes_first(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("home", "Porto", valid_from=datetime(2025, 5, 7, 9, tzinfo=UTC))
    await ana.facts.set("home", "Lisbon", valid_from=datetime(2026, 3, 1, tzinfo=UTC))
    for asked in ("What is my home?", "Where do I live?", "wo wohne ich"):
        result = await say(recall, ana, asked)
        assert result.reply == "Your home is Lisbon, since March 2026. Before that it was Porto.", asked
    assert result.memories[0]["content"] == "home: Lisbon"
    before = (await say(recall, ana, "Where did I live before?")).reply
    assert before.startswith("Your home was Porto before. Your home is Lisbon")
    assert "Porto" in (await say(recall, ana, "Where did I live in June 2025?")).reply


async def test_a_correction_is_understood_and_what_was_wrong_is_not_what_was_before(
    recall: Turns, ana: AsyncUser
) -> None:
    await say(recall, ana, "I live in Berlin.")
    assert (await say(recall, ana, "Actually it's Hamburg.")).reply == f"{NOTED} I now know: home: Hamburg."
    assert (await say(recall, ana, "Where do I live?")).reply.startswith("Your home is Hamburg")
    assert "Before" not in (await say(recall, ana, "Where do I live?")).reply
    await say(recall, ana, "No, that's wrong, I live in Porto.")
    reply = (await say(recall, ana, "Where do I live?")).reply
    assert reply.startswith("Your home is Porto") and "Before" not in reply
    await say(recall, ana, "My cat is called Lena.")
    assert (await say(recall, ana, "No, her name is Luna.")).reply == f"{NOTED} I now know: pet: Luna."


async def test_a_fact_is_no_answer_to_another_question(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("job", "nurse")
    assert (await say(recall, ana, "Which antibiotics must my daughter not get?")).reply == NOTHING


async def test_nothing_is_said_where_nothing_is_known(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "Where is the lighthouse?")).reply == NOTHING
    again = await say(recall, ana, "Where is the lighthouse?")
    assert again.reply == NOTHING, "neither the question nor the answer to it is quoted"
    assert (await say(recall, ana, "where is the lighthouse", "other")).reply == NOTHING
    assert again.memories == ()


@pytest.mark.parametrize("asked", ["zebra crossing quarterly", "zebra crossing quarterly?", "Who won the zebra race?"])
async def test_what_is_only_the_least_far_fetched_is_not_told(recall: Turns, ana: AsyncUser, asked: str) -> None:
    for said in (
        "The sourdough needs eleven hours in the fridge.",
        "My sister Jo plays the cello in Leeds.",
        "We painted the hallway green.",
        "The invoice for the roof came to 2,300.",
        "I parked on level four.",
    ):
        await say(recall, ana, said, "before")
    assert (await say(recall, ana, asked)).reply == NOTHING


async def test_its_own_words_are_not_quoted(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The lighthouse stands behind the harbour.")
    for _ in range(3):
        result = await say(recall, ana, "Where does the lighthouse stand?")
        assert result.reply.count("lighthouse") == 1


async def test_what_tools_and_documents_said_is_labelled(recall: Turns, ana: AsyncUser) -> None:
    await ana.chat("agent").add("tool", "The lighthouse opens at nine.")
    opens = (await say(recall, ana, "When does the lighthouse open at nine?")).reply
    assert opens.startswith("A tool or another source, not you, said on ")
    await ana.documents.add("The boiler has a pressure of 1.5 bar.", title="Boiler manual")
    assert (
        "The document Boiler manual says: “The boiler"
        in (await say(recall, ana, "What pressure has the boiler?")).reply
    )
    await ana.entries.add("The thesis worries Ana.")
    assert re.search(r"My notes of .* say: “The thesis", (await say(recall, ana, "What about the thesis?")).reply)


async def test_no_reply_names_a_message_or_a_chat(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I live in Lisbon and my locker is green.", "monday")
    for asked in ("Where do I live?", "Which colour has my locker?", "What do you know about me?", "Forget my locker"):
        reply = (await say(recall, ana, asked, "tuesday")).reply
        assert not UUID.search(reply) and "monday" not in reply and "message" not in reply


async def test_what_do_you_know_about_me(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "What do you know about me?")).reply == NOTHING
    await ana.facts.set("home", "Lisbon", valid_from=datetime(2026, 3, 1, tzinfo=UTC))
    await ana.facts.set("name", "Ana", valid_from=datetime(2026, 1, 7, tzinfo=UTC))
    await ana.facts.set("pet", "Mia", valid_from=datetime(2026, 5, 2, tzinfo=UTC), single_valued=False)
    await ana.facts.set("pet", "Bo", valid_from=datetime(2026, 6, 2, tzinfo=UTC), single_valued=False)
    assert (await say(recall, ana, "What do you know about me?")).reply.splitlines() == [
        KNOWN,
        "- Your pets are Mia (since 2 May 2026) and Bo (since 2 Jun 2026).",
        "- Your home is Lisbon, since March 2026.",
        "- Your name is Ana.",
    ]


async def test_small_talk_is_answered_without_any_memory(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "Good nights begin with a good book.")
    result = await say(recall, ana, "thanks, good night")
    assert (result.reply, result.memories) == ("Good night!", ())


async def test_what_was_asked_is_quoted_only_where_that_is_asked(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "Which lighthouse is the oldest?")
    assert (await say(recall, ana, "Tell me the oldest lighthouse")).reply == NOTHING
    assert "Which lighthouse" in (await say(recall, ana, "What did I ask about the oldest lighthouse?")).reply


async def test_another_users_words_are_never_quoted(plain: AsyncMemory, recall: Turns, ana: AsyncUser) -> None:
    await say(recall, plain.user("bob"), "The lighthouse stands behind the harbour.")
    assert (await say(recall, ana, "Where does the lighthouse stand?")).reply == NOTHING


async def test_a_question_about_somebody_is_answered_by_what_is_known_of_them(recall: Turns, ana: AsyncUser) -> None:
    since = datetime(2026, 10, 5, tzinfo=UTC)
    await ana.facts.set("allergy", "penicillin", valid_from=since)
    await ana.facts.set("allergy", "nuts", valid_from=since, about="Dani")
    await ana.facts.set("home", "Leeds", valid_from=since, about="my sister Jo")
    dani = await say(recall, ana, "What is Dani allergic to?")
    assert dani.reply == "Dani is allergic to nuts, since 5 Oct 2026."
    assert [each["content"] for each in dani.memories] == ["Dani: allergy: nuts"]
    assert (await say(recall, ana, "Where does Jo live?")).reply == "Your sister Jo's home is Leeds, since 5 Oct 2026."
    mine = (await say(recall, ana, "What am I allergic to?")).reply
    assert mine == "You are allergic to penicillin, since 5 Oct 2026."
    assert "Leeds" not in (await say(recall, ana, "Where do I live?")).reply


async def test_what_is_known_of_others_is_not_what_is_known_of_the_user(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("name", "Ana")
    await ana.facts.set("home", "Leeds", about="Dani")
    reply = (await say(recall, ana, "What do you know about me?")).reply
    assert reply.startswith(KNOWN) and "Ana" in reply and "Leeds" not in reply


async def test_that_nothing_is_known_from_before_is_said(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("home", "Lisbon", valid_from=datetime(2026, 3, 1, tzinfo=UTC))
    for asked in ("Where did I live before?", "Where did I use to live?"):
        assert (await say(recall, ana, asked)).reply == (
            "I don't know your home before that; you never told me. Your home is Lisbon, since March 2026."
        )
    await say(recall, ana, "I lived in Oslo until 2022.")
    before = (await say(recall, ana, "Where did I live before?")).reply
    assert "“I lived in Oslo until 2022.”" in before and "don't know" not in before


async def test_what_names_the_time_that_is_asked_for_is_told(recall: Turns, ana: AsyncUser) -> None:
    for told in ("I live in York.", "My sister lives in Bath.", "I lived in Oslo until 2022."):
        await say(recall, ana, told)
    reply = (await say(recall, ana, "Where did I live in 2020?")).reply
    assert "Oslo" in reply and "York" not in reply and "Bath" not in reply


async def test_what_somebody_did_since_is_no_newer_word_on_what_is_asked_of_them(recall: Turns, ana: AsyncUser) -> None:
    for told in ("Leila got engaged to Omar.", "Leila moved to London for a job."):
        await say(recall, ana, told)
    reply = (await say(recall, ana, "Who is Leila engaged to?")).reply
    assert reply.index("Omar") < (reply + "London").index("London") and "Before that" not in reply


async def test_what_was_told_before_a_move_is_where_the_user_lived_before(recall: Turns, ana: AsyncUser) -> None:
    for told in ("I live in Headingley.", "We moved to Leeds last week.", "I lived in Oslo until 2022."):
        await say(recall, ana, told)
    reply = (await say(recall, ana, "Where do I live?")).reply
    assert reply.startswith("Your home is Leeds, since ") and "Before that it was Headingley." in reply
    assert "Oslo" not in reply


async def test_the_same_words_are_quoted_once(recall: Turns, ana: AsyncUser) -> None:
    for chat in ("a", "b"):
        await ana.chat(chat).add("user", "The lighthouse stands behind the harbour.")
    reply = (await say(recall, ana, "Where does the lighthouse stand?")).reply
    assert reply.count("lighthouse") == 1


async def test_it_says_what_it_can_do(recall: Turns, ana: AsyncUser) -> None:
    for asked in ("What can you do?", "Hi, who are you?", "help"):
        assert (await say(recall, ana, asked)).reply == ABLE, asked
    assert (await say(recall, ana, "Was kannst du?")).reply == ABLE_IN_GERMAN
    assert (await say(recall, ana, "What can you do about the boiler?")).reply == NOTHING
