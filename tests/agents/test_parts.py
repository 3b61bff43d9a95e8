"""What a message tells, what it asks and what was pasted into it."""

from __future__ import annotations

import pytest

from ltst.agents.parts import Parts, parts

MAIL = "Dear tenant,\nwhere is the rent? I live in Hamburg now.\nBest, Harald"
CHAT = "Tom: hey, are you around?\nMia: yes, what's up?\nTom: dinner at eight?"


@pytest.mark.parametrize(
    ("text", "told", "asked"),
    [
        (
            "Our anniversary is on June 7th. What should I get her?",
            "Our anniversary is on June 7th.",
            "What should I get her?",
        ),
        ("I'm Lea. I live in Kassel. Any restaurant tips?", "I'm Lea.\nI live in Kassel.", "Any restaurant tips?"),
        ("My sister is here on Friday, what should I cook?", "My sister is here on Friday", "what should I cook?"),
        ("Room 12 is mine, no. 12. Where is that?", "Room 12 is mine, no. 12.", "Where is that?"),
        ("Wir fahren im August nach Oslo. Hast du Tipps?", "Wir fahren im August nach Oslo.", "Hast du Tipps?"),
        ("私は東京に住んでいます。どこに住んでいますか？", "私は東京に住んでいます。", "どこに住んでいますか？"),
        ("I live in Porto.\r\nWhere do I live?", "I live in Porto.", "Where do I live?"),
    ],
)
def test_what_tells_and_asks(text: str, told: str, asked: str) -> None:
    assert parts(text) == Parts(told, asked, "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The code for the garage is 5512, ok?", "The code for the garage is 5512"),
        ("I parked the car on level 3, can you remember that?", "I parked the car on level 3"),
        ("I parked on level 3. Can you remember that?", "I parked on level 3."),
        ("Guess what? I passed my driving test!", "I passed my driving test!"),
        ("Could you please remember my locker number is 88?", "my locker number is 88"),
        ("Can you remember that I live in Porto?", "I live in Porto"),
        ("Please answer in German, ok?", "Please answer in German"),
        ("How lovely! I passed.", "How lovely! I passed."),
        ("Wifi: tulip", "Wifi: tulip"),
    ],
)
def test_what_only_looks_like_a_question(text: str, told: str) -> None:
    assert parts(text) == Parts(told, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "Thanks! Where do I live?",
        "So where is the lighthouse, then? I forgot.",
        "I wonder where the lighthouse is. Do you know?",
        "If I take the train at 9, when will I be there?",
        "My sister Jo, where does she live?",
        "I live in Paris, right?",
        "Can you remember my locker number?",
        "Can you remember where my car is?",
    ],
)
def test_what_only_asks(text: str) -> None:
    said = parts(text)
    assert said.asked and not said.told


def test_what_was_pasted_is_neither_told_nor_asked() -> None:
    assert parts(CHAT) == Parts("", "", CHAT)
    said = parts(f"Here's the mail I got from my landlord:\n\n{MAIL}\n\nBy the way, what's my name?")
    assert said.asked == "By the way, what's my name?" and not said.told and "Hamburg" in said.pasted
    assert parts("> Where is it?\nI answered him.") == Parts("I answered him.", "", "> Where is it?")


def test_a_long_text_is_read_only_at_its_beginning() -> None:
    assert len(parts("I live in Porto. " * 100_000).told) < 21_000


LETTER = "Hi Kevin, the engineer comes on Thursday. My son Raj will let him in. Thanks, A. Patel"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"fwd from the landlord: {LETTER}", ""),
        (f"Forwarding what the landlady wrote: {LETTER}", ""),
        (f"I moved to York. This is from the landlord: {LETTER}", "I moved to York."),
        (f"Got this in my post today. {LETTER} I live in York.", "Got this in my post today.\nI live in York."),
    ],
)
def test_what_only_announces_a_letter_tells_nothing(text: str, told: str) -> None:
    assert parts(text) == Parts(told, "", text)
