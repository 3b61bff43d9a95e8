"""The words of a text as search compares them."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltst.db.embedded import EmbeddedServer
from ltst.support.terms import LONGEST_TERM, as_tsvector, distinct, terms


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
    assert all(0 < len(term) <= LONGEST_TERM for term in terms(text))


def test_postgres_reads_the_terms_back(server: EmbeddedServer) -> None:
    text = "Where's 東京 — it's a café; O'Brien & 42 'quotes' \\ backslash " * 50
    with psycopg.connect(server.dsn, dbname="postgres") as connection:
        found = connection.execute("SELECT tsvector_to_array(%s::tsvector)", (as_tsvector(terms(text)),)).fetchone()
    assert found is not None
    assert set(found[0]) == set(terms(text))
