"""Sentences: where each begins and ends."""

from __future__ import annotations

import pytest

from ltst.support.sentences import spans


@pytest.mark.parametrize(
    "text",
    [
        "Silke hat am 5. Dezember Geburtstag.",
        "I saw Dr. Fallon.",
        "Is that so?",
    ],
)
def test_one_sentence(text: str) -> None:
    assert [text[start:end] for start, end in spans(text)] == [text]


@pytest.mark.parametrize(
    ("first", "second"), [("We are in room 5.", "December is cold."), ("I moved in 2019.", "August was hot.")]
)
def test_a_number_may_end_a_sentence(first: str, second: str) -> None:
    text = f"{first} {second}"
    assert [text[start:end] for start, end in spans(text)] == [first, second]
