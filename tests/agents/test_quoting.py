"""The agent without a model: it quotes what it remembers, says when it knows nothing, and notes what it is told."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from ltst import AsyncMemory, AsyncUser
from ltst.agents.quoting import NOTED, NOTHING, REMEMBERED, is_question
from ltst.agents.turns import TurnResult, Turns


@pytest.fixture
async def recall(plain: AsyncMemory) -> AsyncIterator[Turns]:
    made = Turns(plain)
    yield made
    await made.close()


@pytest.fixture
def ana(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"ana-{uuid.uuid4().hex}")


async def say(turns: Turns, user: AsyncUser, text: str, chat: str = "today") -> TurnResult:
    return await (await turns.begin(user, text, chat_id=chat)).done()


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "where do i live",
        "Hi, what's my name",
        "Tell me about my sister.",
        "please tell me what I said",
        "Do you remember my dog",
        "Do you remember that I live in Porto?",
        "What do you know about me",
        "How many children do I have",
        "Could you look that up",
        "Remind me what I wanted to buy",
        "¿Dónde vivo?",
        "私はどこに住んでいますか？",
        "أين أعيش؟",
        'I said "where am I?" and left.',
        "I moved. Where did I live before?",
    ],
)
def test_questions(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Lisbon.",
        "When I was a child I had a dog.",
        "What I like is tea.",
        "Can you remember that I live in Porto?",
        "Remember that my cat is called Mia.",
        "Remind me to buy milk.",
        "Do not call me Annie.",
        "Hello!",
        "See https://example.com/?q=1 for more.",
        "Have a nice day.",
        "What a lovely day!",
        "Vivo en Lisboa.",
    ],
)
def test_statements(text: str) -> None:
    assert not is_question(text)


async def test_a_statement_is_noted_with_what_was_learnt_from_it(recall: Turns, ana: AsyncUser) -> None:
    result = await say(recall, ana, "I live in Lisbon.")
    assert result.reply == f"{NOTED} I now know: home: Lisbon."
    assert result.agent == "recall" and result.model is None
    assert [(each["kind"], each["content"], each["sources"]) for each in result.memories] == [
        ("fact", "home: Lisbon", [result.message_id])
    ]
    assert (await say(recall, ana, "The weather is fine.")).reply == NOTED


async def test_a_question_is_answered_with_quotes_dates_and_sources(recall: Turns, ana: AsyncUser) -> None:
    said = await say(recall, ana, "The lighthouse stands behind the harbour.", "monday")
    result = await say(recall, ana, "Where does the lighthouse stand?", "tuesday")
    first, quoted = result.reply.split("\n")
    assert first == REMEMBERED
    assert quoted.startswith("- “The lighthouse stands behind the harbour.” (you, 20")
    assert f"chat monday, message {said.message_id})" in quoted
    assert [(each["kind"], each["id"], each["session_id"]) for each in result.memories] == [
        ("message", said.message_id, "monday")
    ]
    assert result.memories[0]["score"] > 0 and result.memories[0]["date"].startswith("20")


async def test_facts_come_first_and_only_those_that_hold(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("home", "Porto")
    await ana.facts.set("home", "Lisbon")
    result = await say(recall, ana, "What is my home?")
    assert result.reply.startswith(f"{REMEMBERED}\n- home: Lisbon (since ") and "Porto" not in result.reply


async def test_nothing_is_said_where_nothing_is_known(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "Where is the lighthouse?")).reply == NOTHING
    again = await say(recall, ana, "Where is the lighthouse?")
    assert again.reply == NOTHING, "neither the question nor the answer to it is quoted"
    assert (await say(recall, ana, "where is the lighthouse", "other")).reply == NOTHING
    assert again.memories == ()


async def test_its_own_words_are_not_quoted(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The lighthouse stands behind the harbour.")
    for _ in range(3):
        result = await say(recall, ana, "Where does the lighthouse stand?")
        assert result.reply.count("lighthouse") == 1


async def test_what_tools_and_documents_said_is_labelled(recall: Turns, ana: AsyncUser) -> None:
    await ana.chat("agent").add("tool", "The lighthouse opens at nine.")
    assert (
        "(from a tool or another source, not said by you, "
        in (await say(recall, ana, "When does the lighthouse open at nine?")).reply
    )
    await ana.documents.add("The boiler has a pressure of 1.5 bar.", title="Boiler manual")
    assert "(from the document Boiler manual, " in (await say(recall, ana, "What pressure has the boiler?")).reply
    await ana.entries.add("The thesis worries Ana.")
    assert "(from my notes, " in (await say(recall, ana, "What about the thesis?")).reply


async def test_what_do_you_know_about_me(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "What do you know about me?")).reply == NOTHING
    await say(recall, ana, "My name is Ana and I live in Lisbon.")
    told = (await say(recall, ana, "What do you know about me?")).reply
    assert "- name: Ana" in told and "- home: Lisbon" in told


async def test_what_was_asked_is_quoted_only_where_that_is_asked(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "Which lighthouse is the oldest?")
    assert (await say(recall, ana, "Tell me the oldest lighthouse")).reply == NOTHING
    assert "Which lighthouse" in (await say(recall, ana, "What did I ask about the oldest lighthouse?")).reply


async def test_another_users_words_are_never_quoted(plain: AsyncMemory, recall: Turns, ana: AsyncUser) -> None:
    await say(recall, plain.user("bob"), "The lighthouse stands behind the harbour.")
    assert (await say(recall, ana, "Where does the lighthouse stand?")).reply == NOTHING
