"""What the agent without a model does with messages that both tell and ask, that correct, paste or just chat."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from helpers.chats import say
from ltst import AsyncMemory, AsyncUser
from ltst.agents import quoting
from ltst.agents.intents import COMPANY, COMPANY_IN_GERMAN
from ltst.agents.memories import LONGEST_CONTENT
from ltst.agents.quoting import LISTED
from ltst.agents.turns import Turns
from ltst.agents.wording import KNOWN, NOTED, NOTHING, UNANSWERED

MAIL = (
    "Here's the mail I got from my landlord:\n\nDear tenant,\nI live in Hamburg now and the flat is sold.\n"
    "My name is Harald Meier and I am allergic to cats.\nBest, Harald"
)


@pytest.fixture
def ana(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"ana-{uuid.uuid4().hex}")


@pytest.mark.parametrize(
    ("said", "asked", "quote"),
    [
        (
            "Our anniversary is on June 7th. What should I get her?",
            "When is our anniversary?",
            "“Our anniversary is on June 7th.”",
        ),
        (
            "My sister Jo moved to Ghent. What's the weather like there?",
            "Where did my sister Jo move?",
            "“My sister Jo moved to Ghent.”",
        ),
        (
            "The code for the garage is 5512, ok?",
            "What is the code for the garage?",
            "“The code for the garage is 5512”",
        ),
        (
            "I parked the car on level 3, can you remember that?",
            "Where is the car parked?",
            "“I parked the car on level 3”",
        ),
        ("Guess what? I passed my driving test!", "Did I pass my driving test?", "“I passed my driving test!”"),
        ("Could you please remember my locker number is 88?", "What is my locker number?", "“my locker number is 88”"),
    ],
)
async def test_what_is_told_beside_a_question_is_noted_and_quoted(
    recall: Turns, ana: AsyncUser, said: str, asked: str, quote: str
) -> None:
    reply = (await say(recall, ana, said)).reply
    assert reply.startswith(NOTED) and NOTHING not in reply
    assert quote in (await say(recall, ana, asked)).reply


async def test_a_message_that_tells_and_asks_gets_both_replies(recall: Turns, ana: AsyncUser) -> None:
    first = await say(recall, ana, "I'm Lea. I live in Kassel. Any restaurant tips?")
    assert first.reply == f"{NOTED} I now know: home: Kassel; name: Lea. {UNANSWERED}"
    assert [each["content"] for each in first.memories] == ["home: Kassel", "name: Lea"]
    reply = (await say(recall, ana, "I sold my bike. Where do I live?")).reply
    assert reply.startswith(f"{NOTED} Your home is Kassel.")
    assert "“I sold my bike.”" in (await say(recall, ana, "What did I do with my bike? I sold it?")).reply


async def test_a_pasted_chat_is_noted(recall: Turns, ana: AsyncUser) -> None:
    chat = "Tom: hey, are you around?\nMia: yes, what's up?\nTom: dinner at eight at Luigi's?"
    assert (await say(recall, ana, chat)).reply == NOTED
    reply = (await say(recall, ana, "When is the dinner at Luigi's?")).reply
    assert reply.startswith("A text in your message of ") and "dinner at eight" in reply


async def test_what_was_pasted_is_not_what_the_user_said(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, MAIL)
    reply = (await say(recall, ana, "Am I allergic to cats?")).reply
    assert "You told me" not in reply and reply.startswith("A text in your message of ")
    assert (await say(recall, ana, "Where do I live?")).reply == NOTHING


async def test_all_values_of_a_key_are_told_in_the_order_they_were_said(recall: Turns, ana: AsyncUser) -> None:
    for food in ("peanuts", "shellfish", "kiwis", "celery", "almonds"):
        await say(recall, ana, f"I'm allergic to {food}.")
    await say(recall, ana, "I'm vegetarian.")
    listed = "You are allergic to peanuts, shellfish, kiwis, celery and almonds."
    asked = (await say(recall, ana, "What am I allergic to?")).reply
    assert asked.startswith(listed) and "Before that" not in asked
    for question in ("What can't I eat?", "What am I not allowed to eat?"):
        assert (await say(recall, ana, question)).reply.startswith(f"{listed} Your diet is vegetarian.")


async def test_names_stand_in_the_order_said_and_are_counted(recall: Turns, ana: AsyncUser) -> None:
    noted = (await say(recall, ana, "My kids are Zoe, Adam and Mia.")).reply
    assert noted == f"{NOTED} I now know: child: Zoe; child: Adam; child: Mia."
    assert (await say(recall, ana, "What are my kids called?")).reply.startswith("Your children are Zoe, Adam and Mia.")
    counted = (await say(recall, ana, "How many children do I have?")).reply
    assert counted.startswith("I know of 3: your children are Zoe, Adam and Mia.")


async def test_what_is_over_is_told_as_such(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I work at Siemens.")
    await say(recall, ana, "I have a dog called Rex.")
    await say(recall, ana, "I quit my job at Siemens.")
    await say(recall, ana, "My dog Rex died.")
    for asked in ("Where did I work before?", "Where do I work?"):
        assert (await say(recall, ana, asked)).reply.startswith("You worked for Siemens, until "), asked
    reply = (await say(recall, ana, "What pets do I have?")).reply
    assert reply.startswith("Your pet was Rex, until ") and "“My dog Rex died.”" in reply


async def test_what_was_ended_by_hand_is_told(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("employer", "Bosch", valid_from=datetime(2020, 5, 1, tzinfo=UTC))
    await ana.facts.end("employer", at=datetime(2024, 7, 1, tzinfo=UTC))
    assert (await say(recall, ana, "Where did I work before?")).reply == "You worked for Bosch, until July 2024."


async def test_a_year_ends_before_the_next_one_begins(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I moved to Graz in 2020.")
    assert (await say(recall, ana, "Where did I live in 2019?")).reply == NOTHING
    assert (await say(recall, ana, "Where did I live in 2021?")).reply.startswith("Your home was Graz then.")
    assert (await say(recall, ana, "Where do I live?")).reply.startswith("Your home is Graz, since 2020. You told me")


async def test_several_values_of_a_past_time(recall: Turns, ana: AsyncUser) -> None:
    since = datetime(2020, 5, 1, tzinfo=UTC)
    for pet in ("Mia", "Bo"):
        await ana.facts.set("pet", pet, valid_from=since, single_valued=False)
    assert (await say(recall, ana, "What pets did I have in 2021?")).reply == "Your pets were Mia and Bo then."
    await ana.facts.end("pet", "Bo", at=datetime(2023, 6, 1, tzinfo=UTC))
    reply = (await say(recall, ana, "What pets did I have in 2021?")).reply
    assert reply == "Your pet was Mia then. Your pet was Bo, until June 2023."


async def test_a_month_that_was_said_is_told(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I started at Bosch in January 2016.")
    assert (await say(recall, ana, "Where do I work?")).reply.startswith("You work for Bosch, since January 2016.")


async def test_what_was_posted_a_moment_ago_is_known(recall: Turns, ana: AsyncUser) -> None:
    await ana.chat("elsewhere").add("user", "I live in Lisbon.")
    assert (await say(recall, ana, "Where do I live?")).reply.startswith("Your home is Lisbon.")


@pytest.mark.parametrize(
    ("said", "then", "asked"),
    [
        ("My dentist appointment is on Monday at 10.", "Sorry, I meant Tuesday.", "When is my dentist appointment?"),
        ("My car is a 2014 Skoda Fabia.", "Actually it's a 2015.", "What car do I have?"),
        ("The meeting is at 3 pm.", "Sorry, 4 pm.", "When is the meeting?"),
    ],
)
async def test_a_correction_comes_first(recall: Turns, ana: AsyncUser, said: str, then: str, asked: str) -> None:
    await say(recall, ana, said)
    await say(recall, ana, then)
    reply = (await say(recall, ana, asked)).reply
    assert reply.index(then) < reply.index("Before that (") < reply.index(said)


async def test_what_only_begins_like_a_correction_is_none(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The wifi password is tulip.")
    await say(recall, ana, "Sorry, I was away.")
    assert "away" not in (await say(recall, ana, "What is the wifi password?")).reply


async def test_an_instruction_is_told(recall: Turns, ana: AsyncUser) -> None:
    reply = (await say(recall, ana, "Always answer in short sentences")).reply
    assert reply == f"{NOTED} I now know: instruction: Always answer in short sentences."
    known = (await say(recall, ana, "What do you know about me?")).reply
    assert known.splitlines() == [KNOWN, "- You want: “Always answer in short sentences”."]


async def test_what_no_memory_answers_is_answered_without_one(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I parked on level four today.")
    for asked in ("How are you?", "What's up?", "Tell me a joke.", "Hi, how are you doing today?"):
        result = await say(recall, ana, asked)
        assert (result.reply, result.memories) == (COMPANY, ()), asked
    assert (await say(recall, ana, "Wie geht's?")).reply == COMPANY_IN_GERMAN
    for asked in ("What day is it today?", "What time is it?", "Welcher Tag ist heute?"):
        reply = (await say(recall, ana, asked)).reply
        assert reply.startswith(f"It is {datetime.now(UTC):%A}, ") and "level" not in reply, asked


async def test_who_takes_note_confirms_nothing(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "thanks")
    assert (await say(recall, ana, "ok")).reply == "All right."


async def test_a_long_message_is_cut_in_the_memories_of_an_answer(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "My locker code is 4417. " + "The weather was awful on the whole way there. " * 2000)
    (memory,) = (await say(recall, ana, "What is my locker code?")).memories
    assert len(memory["content"]) == LONGEST_CONTENT and memory["content"].endswith("…")


async def test_that_more_is_known_than_is_listed_is_said(recall: Turns, ana: AsyncUser) -> None:
    for number in range(LISTED + 2):
        await ana.facts.set(f"code_{number}", str(number))
    lines = (await say(recall, ana, "What do you know about me?")).reply.splitlines()
    assert len(lines) == LISTED + 2 and lines[-1] == "- And 2 more: ask me about them."


async def test_a_question_does_not_wait_for_all_that_is_to_be_learned(
    recall: Turns, ana: AsyncUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        await ana.chat(f"chat-{number}").add("user", f"I live in Town{number}.")
    monkeypatch.setattr(quoting, "PATIENCE", 0.005)
    assert (await say(recall, ana, "What is the vault code?")).reply == NOTHING
    monkeypatch.setattr(quoting, "PATIENCE", 60)
    assert (await say(recall, ana, "Where do I live?")).reply.startswith("Your home is Town29.")


async def test_what_is_only_supposed_is_no_home(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "if i won the lottery id tell the lot of em to do one and live in tenerife")
    assert "tenerife" not in (await say(recall, ana, "where do i live")).reply


async def test_a_letter_on_one_line_is_told_as_one_and_says_nothing_of_its_reader(
    recall: Turns, ana: AsyncUser
) -> None:
    letter = "Dear Ana, the gala is on 20 August. My assistant Priya sends the contract. Kind regards, Helena Voss"
    await say(recall, ana, f'Pasting this so I have it: "{letter}"')
    assert "Priya" not in (await say(recall, ana, "Who is my assistant?")).reply
    assert (await say(recall, ana, "When is the gala?")).reply.startswith("A text in your message of ")


async def test_a_question_without_apostrophe_and_mark_is_no_statement(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "whats my landlords number")).reply == NOTHING
    await say(recall, ana, "My landlords number is 07700 900441.")
    assert "07700 900441" in (await say(recall, ana, "whats my landlords number")).reply
    assert "whats" not in (await say(recall, ana, "what is my landlord called")).reply


async def test_a_fact_answers_no_question_about_somebody_else(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "My birthday is on 3 October.")
    await say(recall, ana, "Got Chidinma a weekend at the pottery for her birthday.")
    assert "3 October" not in (await say(recall, ana, "What did I give Chidinma for her birthday?")).reply
