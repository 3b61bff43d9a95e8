"""The gate: which sentences become statements, about whom, until when; and what must never become one."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files

import pytest

from bench.pastes import FORMS, HELD_BACK, MARK, Paste, pastes
from ltst.learn.gate import WEIGHTS, weights
from ltst.learn.statements import about, read
from ltst.records import STATEMENT_KINDS
from ltst.support.sentences import spans

SAID_AT = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday

INVENTED = [
    "Let's role-play: I'm a pirate captain named Blackbeard and I live on a ship.",
    "Pretend I'm a detective in 1920s Chicago. I smoke a pipe and I have a partner called Sal.",
    "You are Luna, a 24 year old barista who lives in Seattle and loves jazz.",
    "I want you to act as my therapist. I am a veteran with two kids.",
    "In my novel, I wrote a hero who lives in Oslo with his dog.",
    "Write a story in the first person: I grew up in a small village and my father was a smith.",
    "My character is a wizard. He has a blue staff and lives in a tower.",
    "*walks into the tavern* I order an ale and sit by the fire.",
    "Oh sure, I just love waiting three hours at the dentist. /s",
    "I'm the queen of England, just kidding.",
    "I won the lottery and bought a yacht! Haha, not really.",
    "If I were rich I would buy a house in Malibu.",
    "If I won the lottery I'd live in Hawaii, haha.",
    "Suppose I have three kids and earn 50k a year. How much tax do I pay?",
    "Imagine I live in Japan and have a cat.",
    "What if I moved to Canada next year?",
    'My friend said "I love my new job at Google and I moved to Zurich".',
    "She told me: I'm getting divorced and moving to Spain.",
    "As a busy mom of three, I need quick dinners. Write a persona like this.",
    "Persona: Sarah, 34, marketing manager, lives in Austin, loves yoga.",
    "Act as a travel blogger. I just visited Peru and loved the food.",
    "Once upon a time there was a girl. I was that girl, and I lived in a castle.",
    'Here\'s my dialogue: "I work at the bank," said Tom. "I have two sons."',
    "Translate this: I live in Berlin and my wife is a nurse.",
    "Fix the grammar: My brother have two dog and he live in Paris.",
    "Hypothetically, I have a dog and I need to fly with it.",
    "Let's say I earn 80,000 and have two children.",
    "In this game I am level 40 and I own a castle.",
    "Yeah right, I totally love doing taxes.",
    "I wish I had a sister.",
    "Write a tinder bio: I'm 28, love hiking and have a golden retriever.",
    "Write me a poem about how I miss my home in Dublin.",
    "Summarize this email: Hi, I am moving to Leeds next month. Best, Tom",
    "Roleplay as my boss. I was late again today because my car broke down.",
    "From now on you are Max, who grew up in Texas and has two brothers.",
    "Lyrics: I left my heart in San Francisco",
    "My D&D character grew up in an orphanage and has a scar.",
    "I, a humble peasant, have lived in this village for forty years. (that's my opening line)",
    "In the scene I tell her that I have cancer and that I'm leaving.",
    "Sarcasm mode: I adore Mondays and I have never been happier.",
    "As if. I would never buy a Tesla, obviously I own five of them.",
]
ASKED = [
    "What's the best way to learn Spanish?",
    "Can you recommend a good restaurant in Lisbon?",
    "Please write an email to my landlord.",
    "Thanks, that helps a lot!",
    "Good morning! How are you?",
    "Wow, that sounds amazing.",
    "Explain how photosynthesis works.",
    "Where does Tom live",
    "Where does my sister Jo live?",
    "what's my sister's name",
    "Which diet am I on",
    "why am I working less",
    "does my building have an elevator",
]
TOLD = [
    "I live in Porto with my husband and our two kids.",
    "My brother Tom just started a new job at the hospital.",
    "I'm allergic to peanuts.",
    "I've been playing the cello for ten years.",
    "Last week I bought a red bicycle.",
    "We're planning to move to Lisbon next spring.",
    "I love hiking in the mountains.",
    "What helps me most is yoga with my sister.",
    "How lucky I am that my sister moved to Porto.",
    "did my first 10k in 58 min",
    "What makes me happy is running with my sister.",
    "Can you remember that my sister is allergic to nuts",
]


def words(text: str) -> list[str]:
    return [text[each.start_at : each.end_at] for each in read(text, SAID_AT)]


@pytest.mark.parametrize("text", TOLD)
def test_what_is_told_is_kept(text: str) -> None:
    assert words(text) == [text]


@pytest.mark.parametrize("text", ASKED)
def test_what_is_asked_or_only_polite_is_not(text: str) -> None:
    assert words(text) == []


@pytest.mark.parametrize("text", INVENTED)
def test_what_is_invented_supposed_or_taken_back_is_not(text: str) -> None:
    assert words(text) == []


@pytest.mark.parametrize("paste", [*pastes(FORMS), *pastes(HELD_BACK)], ids=lambda paste: paste.form)
def test_what_is_pasted_is_not(paste: Paste) -> None:
    assert not [each for each in words(paste.text) if MARK in each]


@pytest.mark.parametrize(
    ("sentence", "kind", "whom"),
    [
        ("I live in Porto.", "about_me", "me"),
        ("My sister Jo lives in Ghent.", "person", "my sister Jo"),
        ("By the way, my older brother is a nurse.", "person", "my older brother"),
        ("My brother-in-law Paul works in Ulm.", "person", "my brother-in-law Paul"),
        ("Our neighbour Mrs. Yilmaz has a key to our flat.", "person", "our neighbour Mrs. Yilmaz"),
        ("My neighbour Mr Ackroyd is 80.", "person", "my neighbour Mr Ackroyd"),
        ("Dani got a new job.", "person", "Dani"),
        ("Yesterday was a long day.", "event", "me"),
        ("I had lunch with my aunt.", "event", "me"),
    ],
)
def test_whom_it_is_about(sentence: str, kind: str, whom: str) -> None:
    assert about(sentence, kind) == whom


def test_a_pronoun_means_whoever_was_told_of_before() -> None:
    assert about("She works at a bank.", "person", "my sister Jo") == "my sister Jo"


def test_a_plan_is_over_when_its_day_is() -> None:
    (plan,) = read("I'm going to visit my parents next Friday.", SAID_AT)
    assert (plan.kind, plan.until) == ("plan", datetime(2026, 3, 7, tzinfo=UTC))


def test_places_are_those_of_the_message() -> None:
    text = "Hi!\r\n\r\n```\nI live in Code.\n```\r\nI live in Porto with my wife. 🐱 “My dog is called Rex.”"
    for each in read(text, SAID_AT):
        assert text[each.start_at : each.end_at] in [text[start:end] for start, end in spans(text)]
    assert words(text)[0] == "I live in Porto with my wife."


def test_the_weights_are_sorted_numbers_for_every_kind() -> None:
    names = [line.split("\t")[0] for line in files("ltst.learn").joinpath(WEIGHTS).read_text("utf-8").splitlines()]
    assert names == sorted({*names})
    assert {len(each) for each in weights().values()} == {1 + len(STATEMENT_KINDS)}


def test_a_long_message_is_read_up_to_a_bound() -> None:
    assert len(words("I live in Porto with my wife. " * 30_000)) <= 200
