"""The words of a text as search compares them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltst import Memory
from ltst.support.terms import LONGEST_TERM, distinct, terms
from support.probes import superuser, value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I moved to Lisbon in March!", ["move", "lisbon", "march"]),
        ("running runner runs", ["run", "runner", "run"]),
        ("Ana's 3 dogs", ["ana", "3", "dog"]),
        ("who are you", []),
        ("CAFÉ ﬁne", ["café", "fine"]),
        ("我喜欢", ["我", "喜", "欢", "我喜", "喜欢"]),
        ("東京Tower", ["東", "京", "東京", "tower"]),
        ("서울에 산다", ["서", "울", "에", "서울", "울에", "산", "다", "산다"]),
        ("", []),
    ],
)
def test_terms(text: str, found: list[str]) -> None:
    assert terms(text) == found


def test_each_term_once() -> None:
    assert distinct("the dog and the other dog") == ["dog"]


@settings(max_examples=200)
@given(st.text())
def test_any_text_has_terms_of_bounded_length(text: str) -> None:
    assert all(0 < len(term) <= LONGEST_TERM and " " not in term for term in terms(text))


def test_postgres_reads_the_terms_back(sync_memory: Memory, database_url: str) -> None:
    text = "Where's 東京 — it's a café; O'Brien & 42 'quotes' \\ backslash " * 50
    sync_memory.user("ana").chat("monday").add("user", text)
    assert sync_memory.user("ana").search("O'Brien 東京")
    asked = " ".join(distinct(text))  # as a question's terms are sent
    with superuser(database_url) as connection:
        kept = dict(connection.execute("SELECT term, postings[1] / 1024 FROM search_terms").fetchall())
        assert value(connection, "SELECT string_to_array(%s, ' ')", asked) == distinct(text)
    assert {term: kept[term] for term in terms(text)} == dict.fromkeys(terms(text), 31), "as often as is counted"
