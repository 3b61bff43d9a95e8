"""What happened at a time and what is planned, answered from the dates that the user's own words name."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from helpers.chats import say
from ltst import AsyncMemory, AsyncUser
from ltst.agents.days import _period
from ltst.agents.passages import UserQuestion
from ltst.agents.turns import Turns

NOW = datetime(2026, 11, 18, 14, tzinfo=UTC)


@pytest.fixture
def ana(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"ana-{uuid.uuid4().hex}")


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("What happened on November 11?", "2026-11-11", "2026-11-12"),
        ("whats on 28 november", "2026-11-28", "2026-11-29"),
        ("what did i do last weekend", "2026-11-14", "2026-11-16"),
        ("What happened in August?", "2026-08-01", "2026-09-01"),
        ("What are my plans for December?", "2026-12-01", "2027-01-01"),
        ("Was war am 5. Dezember?", "2026-12-05", "2026-12-06"),
        ("What are my plans?", "2026-11-18", "9999-12-31"),
    ],
)
def test_the_time_that_a_question_is_about(asked: str, first: str, last: str) -> None:
    period = _period(UserQuestion.of(asked), NOW)
    assert period is not None
    assert (f"{period.start:%Y-%m-%d}", f"{period.end:%Y-%m-%d}") == (first, last)


@pytest.mark.parametrize(
    "asked",
    [
        "What happened to Emeka?",
        "What is my plan for the kitchen?",
        "What did I buy in August?",
        "Where did I live in 2020?",
        "When is Christmas?",
        "What is my name?",
    ],
)
def test_other_questions_ask_for_more_than_a_time(asked: str) -> None:
    assert _period(UserQuestion.of(asked), NOW) is None


async def test_plans_are_told_the_next_first(recall: Turns, ana: AsyncUser) -> None:
    now = datetime.now(UTC)
    later, soon, past = (f"{now + timedelta(days=days):%-d %B %Y}" for days in (40, 10, -10))
    chat = ana.chat("told")
    for text in (
        f"I am going to move to Toronto on {later}.",
        f"I went to the dentist on {past}.",
        f"I will sit my exam on {soon}.",
    ):
        await chat.add("user", text, at=now - timedelta(days=20))
    await ana.learning.catch_up()
    reply = (await say(recall, ana, "What are my plans?")).reply
    assert "exam" in reply
    assert reply.index("exam") < reply.index("Toronto")
    assert "dentist" not in reply


async def test_what_happened_on_a_day_is_what_names_it(recall: Turns, ana: AsyncUser) -> None:
    chat = ana.chat("told")
    await chat.add("user", "My knee operation was moved to the 2nd of June.", at=datetime(2026, 5, 12, tzinfo=UTC))
    await chat.add("user", "My sister Jo lives in Ghent.", at=datetime(2026, 5, 13, tzinfo=UTC))
    await ana.learning.catch_up()
    result = await say(recall, ana, "What happened on June 2, 2026?")
    assert result.reply == "You told me on 12 May 2026: “My knee operation was moved to the 2nd of June.”"
    assert [each["kind"] for each in result.memories] == ["message"]


async def test_what_was_said_that_day_is_told_if_nothing_else_is_dated(recall: Turns, ana: AsyncUser) -> None:
    await ana.chat("told").add("user", "I sold my red bike to Tom.", at=datetime(2026, 5, 12, 9, tzinfo=UTC))
    await ana.learning.catch_up()
    reply = (await say(recall, ana, "What happened on May 12, 2026?")).reply
    assert reply == "You told me on 12 May 2026: “I sold my red bike to Tom.”"


async def test_a_day_of_which_nothing_is_known_is_searched_for(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "What happened on May 12, 2026?")).reply == "I don't know that; you never told me."
