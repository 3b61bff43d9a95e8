"""Made-up conversations as people hold them with an assistant: short turns of a person, long ones of the assistant."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ltst import ImportedConversation, ImportedMessage

TURNS = 20  # messages of a conversation
FIRST_MOMENT = datetime(2024, 1, 8, 9, tzinfo=UTC)

THINGS = """
    kettle bicycle tent violin sewing-machine telescope raincoat carpet typewriter lamp canoe drill backpack bookshelf
    camera toaster hammock microscope wheelbarrow accordion ladder thermos helmet easel suitcase mirror freezer anvil
"""
PLACES = """
    Lisbon Tallinn Utrecht Bergen Ghent Trieste Cork Malmö Graz Porto Riga Bilbao Turku Leipzig Dundee Nantes Split
    Bologna Aarhus Lublin Girona Basel Galway Kaunas
"""
PEOPLE = "Marta Jonas Aylin Pieter Sofia Henrik Noor Tomas Greta Luca Ines Oskar Mila Anton Leila Victor"
TOPICS = """
    pruning-the-apple-tree the-tax-return marathon-training a-leaking-tap sourdough learning-Portuguese night-trains
    an-allergy-to-walnuts the-choir-rehearsal a-broken-boiler the-car-insurance the-allotment chess-openings the-dentist
    moving-house solar-panels a-job-interview knitting-patterns the-school-play bird-watching
"""
STATEMENTS = (
    "I bought a {thing} in {place} for {number} euros.",
    "{person} and I talked about {topic} for {number} minutes.",
    "My {thing} broke again, number {number} on the list of repairs.",
    "We are going to {place} with {person} on day {number} of the trip.",
    "I spent {number} minutes on {topic} today.",
    "{person} lent me a {thing} and wants it back in week {number}.",
)
QUESTIONS = (
    "What did I pay for the {thing} in {place}, was it {number}?",
    "When did {person} and I talk about {topic} for {number} minutes?",
    "Which repair of the {thing} was number {number}?",
    "Where did {person} want to go on day {number}?",
    "How long did I spend on {topic}, {number} minutes?",
    "Who lent me the {thing} until week {number}?",
)
ADVICE = (
    "The usual way to go about {topic} is to begin with what can be undone and to leave the rest for a later day.",
    "If the {thing} came from a shop in {place}, the receipt is worth keeping for at least {number} days.",
    "{person} may know somebody who has dealt with {topic} before, and asking costs nothing.",
    "As a rule of thumb, plan {number} minutes, and then half as much again for what nobody thought of.",
    "There are three things to look at: the age of the {thing}, what a new one costs, and how often it is used.",
    "In {place} there is a workshop that is open on Saturdays, and they take a {thing} without an appointment.",
    "I would write down what was agreed with {person}, because both sides tend to remember it differently.",
    "That depends on the weather: when it is wet, {topic} takes longer, and the tools need to be dried afterwards.",
    "A cheaper option is to rent a {thing}; the price is about {number} euros for a weekend.",
    "Let me know how it went, and whether {topic} is still on the list for next week.",
)


def statement(number: int) -> str:
    """Something that a person tells; no two of some thousands are the same."""
    return _filled(STATEMENTS[number % len(STATEMENTS)], random.Random(number), number)


def question(number: int) -> str:
    """Something that a person asks."""
    return _filled(QUESTIONS[number % len(QUESTIONS)], random.Random(number), number)


def message(number: int) -> tuple[str, str]:
    """A role and what is said: in turn a short turn of the person and a long one of the assistant."""
    if number % 2 == 0:
        return "user", question(number) if number % 6 == 0 else statement(number)
    chance = random.Random(number)
    return "assistant", " ".join(
        _filled(each, chance, number) for each in chance.sample(ADVICE, chance.randint(3, len(ADVICE)))
    )


def conversations(messages: int) -> Iterator[ImportedConversation]:
    """So many messages, as an export of another program holds them."""
    for first in range(0, messages, TURNS):
        numbers = range(first, min(first + TURNS, messages))
        yield ImportedConversation(f"talk-{first // TURNS}", [_imported(number, first) for number in numbers])


def _imported(number: int, first: int) -> ImportedMessage:
    role, text = message(number)
    at = FIRST_MOMENT + timedelta(minutes=7 * number)
    return ImportedMessage(f"{number}", role, text, at, parent=None if number == first else f"{number - 1}")


def _filled(sentence: str, chance: random.Random, number: int) -> str:
    named = {"thing": THINGS, "place": PLACES, "person": PEOPLE, "topic": TOPICS}
    drawn = {name: chance.choice(words.split()).replace("-", " ") for name, words in named.items()}
    return sentence.format(number=number, **drawn)
