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


def test_a_number_may_end_a_sentence() -> None:
    text = "We are in room 5. December is cold."
    assert [text[start:end] for start, end in spans(text)] == ["We are in room 5.", "December is cold."]
