"""What a user pastes is nobody's word; what they say around it is theirs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench.pastes import FORMS, HELD_BACK, MARK, Paste, pastes
from ltst.learn.extract import claims
from ltst.learn.grounding import says_fact
from ltst.learn.model import shown_turns
from ltst.learn.pasted import own_words
from ltst.records import ConversationMessage

SAID_AT = datetime(2024, 5, 1, tzinfo=UTC)
PASTES = [*pastes(FORMS), *pastes(HELD_BACK)]


def test_there_are_enough_of_them() -> None:
    assert len({each.text for each in PASTES}) >= 200


@pytest.mark.parametrize("paste", PASTES, ids=lambda paste: paste.form)
def test_a_paste_is_not_learnt_and_what_stands_around_it_is(paste: Paste) -> None:
    assert {(claim.key, claim.value) for claim in claims(paste.text, SAID_AT)} == paste.own


@pytest.mark.parametrize("paste", PASTES, ids=lambda paste: paste.form)
def test_a_model_is_not_shown_it_and_not_believed_about_it(paste: Paste) -> None:
    turn = ConversationMessage("monday", "human", paste.text, message_id="m", timestamp=SAID_AT)
    assert not [each for each in shown_turns([turn]) if MARK in each.text]
    assert not says_fact(paste.text, "home", MARK, "holds")


@pytest.mark.parametrize(
    "text",
    [
        "I'm a teacher.\n\nMy friend sent me this:\n\nI love tea. Call me Bob.\n\nBy the way, I moved to Porto.",
        "I'm a teacher.\nHere is the file:\n```\nCall me Bob.\n```\nI moved to Porto.",
        "I'm a teacher.\n> Call me Bob.\nI moved to Porto.",
        "I'm a teacher.\n<blockquote>Call me Bob.\n\nI love tea.</blockquote>\nI moved to Porto.",
        "I'm a teacher. # is a key\nI moved to Porto.",
        "* I'm a teacher\n* I moved to Porto",
        "1. I'm a teacher.\n2. I moved to Porto.",
        "About me: I'm a teacher.\nUpdate: I moved to Porto.",
        "I'm a teacher (for now).\r\nI moved to Porto.",
        "I <3 my job: I'm a teacher.\nAt 10:30 I have class.\nI moved to Porto.",
        "From now on I live alone.\nI'm a teacher.\nI moved to Porto.",
        "- Work: I'm a teacher.\n- Home: I moved to Porto.\n- Food: I eat no fish.",
        "My email: ana@example.org\nI'm a teacher.\nI moved to Porto.",
        "My wife's email: eva@example.org\nI'm a teacher.\nI moved to Porto.",
        "Can you improve my CV? I'm a teacher. I moved to Porto.",
        "This is my son's homework. I'm a teacher. I moved to Porto. He needs help.",
        "Is this a good plan? I'm a teacher. I moved to Porto.",
    ],
)
def test_what_a_user_says_is_theirs(text: str) -> None:
    said = own_words(text)
    assert "I'm a teacher" in said
    assert "I moved to Porto" in said
    assert "Bob" not in said


LETTER = "Hi Kevin, the engineer comes on Thursday. My son Raj will let him in. I am vegetarian. Thanks, A. Patel"


@pytest.mark.parametrize(
    "text",
    [
        LETTER,
        f"fwd from the landlord: {LETTER}",
        f'Pasting this so I have it: "{LETTER}"',
        f"Got this today. {LETTER} Cheeky.",
        "Liebe Anna, ich bin umgezogen und esse vegetarian. Viele Grüße, Bernd Raj",
    ],
)
def test_a_letter_on_one_line_is_not_its_readers(text: str) -> None:
    said = own_words(text)
    assert "Raj" not in said
    assert "vegetarian" not in said


def test_what_stands_around_a_letter_on_one_line_is_theirs() -> None:
    assert " ".join(own_words(f"Got this today. {LETTER} I live in York.").split()) == "Got this today. I live in York."
    greeting = "Hi there, I'm Ana and I live in Porto. Thanks, Ana"
    assert own_words(greeting) == greeting


def test_a_turn_to_another_matter_counts_only_at_the_end() -> None:
    mail = "Forwarded message\n\nHello.\n\nBy the way, I moved to Zorbia.\n\nBest,\nAnna"
    assert MARK not in own_words(mail)
