"""Texts cut into parts that, joined, are the text again; tokens estimated; ids that sort by time."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import unicodedata
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltst.support.ids import is_id, new_id
from ltst.support.terms import terms
from ltst.support.text import composed, mended, scoped_hash, sha256, split
from ltst.support.tokens import count

PIECES = st.sampled_from(["\n", "\n\n", " ", ". ", "。", "!? ", "word", "x" * 30, "\r\n", "\u2028", "…\n", "😀", "\t"])
TEXTS = st.text(max_size=300) | st.lists(PIECES, max_size=60).map("".join)


@given(TEXTS, st.integers(1, 50))
def test_the_parts_of_a_text_joined_are_the_text(text: str, longest: int) -> None:
    parts = split(text, longest)
    assert "".join(parts) == text
    assert all(0 < len(part) <= longest for part in parts)


@given(TEXTS, st.integers(1, 50))
def test_no_two_neighbours_would_fit_into_one_part(text: str, longest: int) -> None:
    assert all(len(one) + len(two) > longest for one, two in itertools.pairwise(split(text, longest)))


def test_a_text_is_cut_at_paragraphs_else_at_sentences_else_anywhere() -> None:
    assert split("one two\n\nthree four\n\nfive", 13) == ["one two\n\n", "three four\n\n", "five"]
    assert split("One is one. Two is two! Three is three?", 15) == ["One is one. ", "Two is two! ", "Three is three?"]
    assert split("abcdefgh", 3) == ["abc", "def", "gh"]
    assert split("fits", 10) == ["fits"]
    assert split("", 10) == []


@pytest.mark.parametrize("unit", [".", "?!", "。", "\n", " ", "\n ", "x", ". ", "…\t", "\r", "a.b"])
def test_a_megabyte_of_anything_is_cut_in_a_moment(unit: str) -> None:
    script = (
        "import sys; from ltst.support.text import split; "
        "text = sys.argv[1] * (1000000 // len(sys.argv[1])); assert ''.join(split(text, 1200)) == text"
    )
    try:
        done = subprocess.run([sys.executable, "-c", script, unit], timeout=60, capture_output=True)
    except subprocess.TimeoutExpired:
        pytest.fail("the time grows with the square of the length")
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_stored_is_mended() -> None:
    assert mended("a\x00b \ud83d\ude00 \ud800 é世") == "ab 😀 \ufffd é世"


def test_hashes_tell_texts_and_places_apart() -> None:
    assert sha256("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    assert len(sha256("")) == 64
    assert scoped_hash("a", "b") == sha256("a:b")
    assert len({scoped_hash("s", "human", "x"), scoped_hash("s", "ai", "x"), scoped_hash("t", "human", "x")}) == 3


@pytest.mark.parametrize("text", ["", "a", "abcd", "abcde", "é" * 4, "😀", "\n" * 9, "a\n\tb"])
def test_tokens_are_at_least_one_and_at_most_the_bytes(text: str) -> None:
    assert bool(text) <= count(text) <= len(text.encode())


def test_an_id_is_a_uuid_of_version_seven_made_now() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(new_id())
    after = time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_of_different_milliseconds_sort_by_time() -> None:
    made = []
    for _ in range(20):
        made.append(new_id())
        time.sleep(0.002)
    assert made == sorted(made)


def test_ids_of_one_millisecond_are_unique() -> None:
    assert len({new_id() for _ in range(20_000)}) == 20_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("01900000-0000-7000-8000-000000000000", True),
        ("01900000-0000-7000-8000-00000000000A", True),
        ("0190000000007000800000000000000a", False),
        ("{01900000-0000-7000-8000-000000000000}", False),
        ("urn:uuid:01900000-0000-7000-8000-000000000000", False),
        ("０1900000-0000-7000-8000-000000000000", False),
        ("", False),
        ("monday", False),
        (None, False),
        (5, False),
        (uuid.UUID(int=0), False),
    ],
)
def test_an_id_is_text_in_the_usual_form(given: object, expected: bool) -> None:
    assert is_id(given) is expected


def test_a_heap_of_marks_on_one_letter_is_composed_in_no_time() -> None:
    """With all of its marks it would take minutes, in which no other thread runs."""
    heap = "e" + "\u0301\u0316" * 250_000
    assert len(composed(f"{heap} caf{heap}")) < 100
    assert terms(f"the caf{heap}")[0].startswith("caf")


@given(st.text(st.sampled_from("ae\u0301\u0316\u0327½ﬁ각。―😀 "), max_size=60))
def test_texts_as_people_write_them_are_composed_as_unicode_says(text: str) -> None:
    assert composed(text[:30]) == unicodedata.normalize("NFKC", text[:30])
