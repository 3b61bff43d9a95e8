"""Whom a question is about: what is known of the user answers no question about somebody else."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from helpers.chats import say
from ltst import AsyncMemory, AsyncUser
from ltst.agents.people import asked_about
from ltst.agents.turns import Turns
from ltst.agents.wording import NOTHING


@pytest.fixture
def tom(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"tom-{uuid.uuid4().hex}")


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("I'm allergic to peanuts.", "What is my son allergic to?"),
        ("I'm allergic to peanuts.", "What is Tim allergic to?"),
        ("My birthday is May 3.", "When is my wife's birthday?"),
        ("My birthday is May 3.", "When is Jo's birthday?"),
        ("My birthday is May 3.", "Wann ist der Geburtstag meines Sohnes?"),
        ("I'm Tom.", "What's my mother's name?"),
        ("I'm Tom.", "What's my wife's name?"),
        ("I live in Leeds.", "Where does my mother live?"),
        ("I live in Leeds.", "Do you know where my older sister lives?"),
        ("Ich wohne in Leeds.", "Wo wohnt meine Mutter?"),
        ("My dog is called Rex.", "What's my cat's name?"),
        ("My mother's birthday is on 4 June.", "When is my birthday?"),
    ],
)
async def test_what_was_told_of_one_answers_nothing_of_another(
    recall: Turns, tom: AsyncUser, told: str, asked: str
) -> None:
    await say(recall, tom, told)
    assert (await say(recall, tom, asked)).reply == NOTHING


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("My son Ben is allergic to nuts.", "What is my son allergic to?", "“My son Ben is allergic to nuts.”"),
        ("My mum lives in Hull.", "Where does my mother live?", "“My mum lives in Hull.”"),
        ("My sister Jo lives in Bath.", "Where does Jo live?", "“My sister Jo lives in Bath.”"),
        ("Meine Schwester Jo wohnt in Bath.", "Wo wohnt meine Schwester?", "Bath"),
        ("My wife is called Sue.", "What's my wife's name?", "Your partner is Sue"),
        ("My dog is called Rex.", "What's my dog's name?", "Your pet is Rex."),
        ("I'm Tom.", "What is Tom's name?", "Your name is Tom."),
    ],
)
async def test_what_was_told_of_somebody_answers_by_relation_and_by_name(
    recall: Turns, tom: AsyncUser, told: str, asked: str, answer: str
) -> None:
    await say(recall, tom, told)
    assert answer in (await say(recall, tom, asked)).reply


async def test_only_what_is_about_whom_was_asked_is_told(recall: Turns, tom: AsyncUser) -> None:
    for told in (
        "I'm Tom.",
        "My wife is called Sue.",
        "My sister Jo lives in Bath.",
        "Sorry, I live in York, not Leeds.",
    ):
        await say(recall, tom, told)
    wife = (await say(recall, tom, "What's my wife's name?")).reply
    assert "Sue" in wife and not any(word in wife for word in ("Tom", "Jo", "York"))
    home = (await say(recall, tom, "Where do I live?")).reply
    assert "York" in home and "Bath" not in home
    name = (await say(recall, tom, "What is my name?")).reply
    assert name.startswith("Your name is Tom.") and "Jo" not in name and name.count("“I'm Tom") == 1


async def test_a_person_is_followed_into_the_turns_that_say_she(recall: Turns, tom: AsyncUser) -> None:
    for told in ("My mum called today.", "She lives in Hull now.", "My aunt called too.", "She lives in Bath."):
        await tom.chat("calls").add("user", told)
    reply = (await say(recall, tom, "Where does my mother live?")).reply
    assert "Hull" in reply and "Bath" not in reply


async def test_names_of_relatives_are_known(recall: Turns, tom: AsyncUser) -> None:
    since = datetime(2026, 10, 5, tzinfo=UTC)
    await tom.facts.set("partner", "Sue")
    await tom.facts.set("allergy", "nuts", about="Sue", valid_from=since)
    await tom.facts.set("home", "Hull", about="my mother", valid_from=since)
    assert (
        await say(recall, tom, "What is my wife allergic to?")
    ).reply == "Sue is allergic to nuts, since 5 Oct 2026."
    assert (await say(recall, tom, "Where does my mum live?")).reply == "Your mother's home is Hull, since 5 Oct 2026."


@pytest.mark.parametrize(
    "asked",
    [
        "Where do I live?",
        "What did I buy for my wife's birthday?",
        "What's the time?",
        "How's it going?",
        "Is Friday free?",
    ],
)
def test_who_asks_about_themselves_or_nobody_asks_about_no_one_else(asked: str) -> None:
    assert asked_about(asked) == ()
