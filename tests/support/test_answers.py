"""The kinds of answers: which one a question asks for, and which a text holds."""

import pytest

from ltst.support.answers import KINDS, held, wanted
from ltst.support.terms import terms


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How old was I when Alex was born?", "=age"),
        ("How long have I been in my current role?", "=duration"),
        ("How many weeks did I spend on it?", "=duration"),
        ("How many different years did we count?", "=duration"),
        ("how much time does it take", "=duration"),
        ("How much did the bike cost?", "=money"),
        ("What was the price of the tent?", "=money"),
        ("How many museums did I visit?", "=number"),
        ("What is the total weight of the feed?", "=number"),
        ("How often do I run?", "=number"),
        ("How many months have passed since I moved?", None),
        ("How many days before the race did I buy the shoes?", None),
        ("Where do I live?", None),
        ("What did I say about the showcase?", None),
        ("", None),
    ],
)
def test_what_is_asked_for(question: str, kind: str | None) -> None:
    found = wanted(question)
    assert (found and found.term) == kind


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("I just turned 32 last month.", {"=age", "=number"}),
        ("My 4-year-old sings.", {"=age", "=duration", "=number"}),
        ("I have been here for a couple of months.", {"=duration", "=number"}),
        ("I've been at it since spring.", {"=duration"}),
        ("It cost $1,250.50.", {"=money", "=number"}),
        ("I paid 40 euros.", {"=money", "=number"}),
        ("We have seven chickens.", {"=number"}),
        ("The B2B fair is on the 12th.", set()),
        ("The lighthouse is white.", set()),
        ("", set()),
    ],
)
def test_what_a_text_holds(text: str, kinds: set[str]) -> None:
    assert set(held(text)) == kinds


@pytest.mark.parametrize("unit", ["1,", "1.", "1 ", "one ", "$", "a ", "how many ", "turn 1", "1-", "\n", "x"])
def test_hostile_texts_are_read_in_one_go(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    held(text)
    wanted(text)


def test_no_word_is_written_like_a_kind() -> None:
    assert all(kind.term not in terms(f"{kind.term} '{kind.term}'") for kind in KINDS)
