"""What a message wants of an agent without a model, told by its words."""

from __future__ import annotations

import pytest

from ltst.agents.intents import agrees, courtesy, is_everything, is_lookup, refuses, to_forget
from ltst.agents.parts import parts


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
        "wo wohne ich",
        "Wie heißt meine Schwester",
    ],
)
def test_questions(text: str) -> None:
    assert parts(text).asked


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
        "Merk dir: ich wohne in Leer",
    ],
)
def test_statements(text: str) -> None:
    assert not parts(text).asked


@pytest.mark.parametrize("text", ["zebra crossing quarterly", "wifi password", "my locker code"])
def test_a_few_words_look_something_up(text: str) -> None:
    assert is_lookup(text)


@pytest.mark.parametrize(
    "text",
    [
        "And cats.",
        "got a dog",
        "thesis submitted",
        "i am tired",
        "Lisbon",
        "locker code 4417",
        "code: 4417",
        "One line",
    ],
)
def test_a_few_words_that_tell_something(text: str) -> None:
    assert not is_lookup(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("thanks, good night", "Good night!"),
        ("Thank you so much!", "You're welcome!"),
        ("Hello!", "Hello! Tell me something, or ask me."),
        ("ok, bye", "See you!"),
        ("Vielen Dank", "Gern!"),
        ("Gute Nacht!", "Gute Nacht!"),
        ("ok", "All right."),
    ],
)
def test_who_is_polite_gets_a_polite_answer(text: str, answer: str) -> None:
    assert courtesy(text) == answer


@pytest.mark.parametrize("text", ["Thanks, I live in Porto now.", "Good morning?", "I am well", "Thank Ana", "", "42"])
def test_what_says_more_is_no_courtesy(text: str) -> None:
    assert courtesy(text) is None


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Forget my locker code", "my locker code"),
        ("please forget that I have diabetes.", "I have diabetes"),
        ("Could you please forget about the locker?", "the locker"),
        ("vergiss meinen Spindcode!", "meinen Spindcode"),
        ("Bitte vergiss, dass ich in Leer wohne", "ich in Leer wohne"),
        ("Forget my code. It was 4417.", "my code"),
        ("Forget that", ""),
        ("forget what I just told you", ""),
        ("Vergiss das", ""),
    ],
)
def test_what_is_to_be_forgotten(text: str, topic: str) -> None:
    assert to_forget(text) == topic


@pytest.mark.parametrize(
    "text", ["Don't forget my birthday", "I forget things", "You forgot it", "Never forget this", "forgetful"]
)
def test_what_is_not_to_be_forgotten(text: str) -> None:
    assert to_forget(text) is None


def test_everything_is_told_from_something() -> None:
    assert is_everything("everything") and is_everything("everything you know about me") and is_everything("alles")
    assert not is_everything("my code") and not is_everything("everything about the locker")


@pytest.mark.parametrize("text", ["yes", "Yes, please.", "ja", "Ja bitte", "ok do it", "sure", "yes, forget it"])
def test_a_yes(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize("text", ["yes?", "no", "yes, but keep the fact", "not yet", "", "forget it", "please"])
def test_what_is_no_yes(text: str) -> None:
    assert not agrees(text)


def test_a_no() -> None:
    assert refuses("no") and refuses("Nein, lass") and refuses("don't") and not refuses("yes") and not refuses("")
