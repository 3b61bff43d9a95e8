"""Checks of input, one by one: what passes, and how it looks afterwards."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from ltst.errors import Invalid
from ltst.settings import Settings
from ltst.support import validate

ROOM = 1000


class Word(StrEnum):
    KEY = "key"


@pytest.mark.parametrize("given", ["a", "x" * 255, "😀" * 255, " a ", "%_\\'\"", "a\nb"])
def test_an_identifier_passes_unchanged(given: str) -> None:
    assert validate.identifier(given, "id") == given
    assert validate.optional_identifier(given, "id") == given


def test_a_word_of_an_enumeration_is_text() -> None:
    assert type(validate.identifier(Word.KEY, "id")) is str
    assert validate.choice(Word.KEY, "type", ("key", "other")) == "key"


@pytest.mark.parametrize(
    "optional",
    [
        lambda: validate.optional_identifier(None, "id"),
        lambda: validate.optional_text(None, "name", 5),
        lambda: validate.optional_moment(None, "at"),
        lambda: validate.duration(None, "ttl"),
    ],
)
def test_what_is_optional_may_be_none(optional: Callable[[], Any]) -> None:
    assert optional() is None


def test_every_refusal_names_the_argument() -> None:
    for refuse in (
        lambda: validate.identifier("", "the_name"),
        lambda: validate.content("", "the_name", ROOM),
        lambda: validate.choice("x", "the_name", ("a",)),
        lambda: validate.json_text({1}, "the_name", ROOM),
        lambda: validate.limit(0, "the_name"),
        lambda: validate.score(2, "the_name"),
        lambda: validate.number("x", "the_name"),
        lambda: validate.moment(5, "the_name"),
        lambda: validate.duration(0, "the_name"),
    ):
        with pytest.raises(Invalid, match="the_name"):
            refuse()


@pytest.mark.parametrize(("text", "most"), [("x" * 10, 10), ("é" * 5, 10), ("😀😀", 8)])
def test_content_is_measured_in_bytes(text: str, most: int) -> None:
    assert validate.content(text, "content", most) == text
    with pytest.raises(Invalid, match=f"up to {most - 1} bytes of UTF-8, not {most}"):
        validate.content(text, "content", most - 1)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (None, {}),
        ({}, {}),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({"": {"": [None, True, 1.5, "é"]}}, {"": {"": [None, True, 1.5, "é"]}}),
    ],
)
def test_metadata_is_written_as_json(given: Any, written: Any) -> None:
    assert json.loads(validate.metadata(given, ROOM)) == written


def test_metadata_is_measured_in_bytes_of_its_json() -> None:
    assert validate.metadata({"a": "é" * 3}, len('{"a": ""}') + 6)
    with pytest.raises(Invalid, match="up to 14 bytes"):
        validate.metadata({"a": "é" * 3}, len('{"a": ""}') + 5)


@pytest.mark.parametrize("given", [1, 100_000])
def test_a_limit_is_a_whole_number_in_bounds(given: int) -> None:
    assert validate.limit(given) == given


@pytest.mark.parametrize(
    "check",
    [
        lambda huge: validate.limit(huge),
        lambda huge: validate.offset(huge),
        lambda huge: validate.score(huge, "score"),
        lambda huge: validate.number(huge, "number"),
        lambda huge: validate.duration(huge, "ttl"),
        lambda huge: validate.role(huge),
        lambda huge: validate.choice(huge, "type", ("a",)),
        lambda huge: validate.json_text({huge: 1}, "metadata", ROOM),
        lambda huge: validate.json_text(huge, "metadata", ROOM),
    ],
    ids=["limit", "offset", "score", "number", "duration", "role", "choice", "key", "value"],
)
def test_a_number_too_large_to_be_shown_is_refused_like_any_other(check: Callable[[int], Any]) -> None:
    with pytest.raises(Invalid):
        check(10**5000)


class Nameless:
    """Something of a caller's own that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr here")


@pytest.mark.parametrize(
    "check",
    [
        lambda value: validate.limit(value),
        lambda value: validate.offset(value),
        lambda value: validate.score(value, "score"),
        lambda value: validate.number(value, "number"),
        lambda value: validate.flag(value, "flag"),
        lambda value: validate.duration(value, "ttl"),
        lambda value: validate.role(value),
        lambda value: validate.choice(value, "type", ("a",)),
        lambda value: validate.function(value, "progress"),
        lambda value: validate.json_text({value: 1}, "metadata", ROOM),
        lambda value: validate.json_text(value, "metadata", ROOM),
        lambda value: Settings(pool_size=value),
        lambda value: Settings(lease=value),
    ],
)
def test_a_value_that_cannot_be_shown_is_refused_like_any_other(check: Callable[[object], Any]) -> None:
    with pytest.raises(Invalid):
        check(Nameless())


@pytest.mark.parametrize("given", [10**400, -(10**400)], ids=["huge", "deep"])
def test_a_number_beyond_all_floats_is_refused(given: int) -> None:
    with pytest.raises(Invalid, match="finite"):
        validate.number(given, "relevance")


def test_a_moment_comes_back_in_utc() -> None:
    given = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert validate.moment(given, "at") == given
    assert validate.moment(given, "at").tzinfo is UTC


@pytest.mark.parametrize(
    ("given", "span"),
    [(1, timedelta(seconds=1)), (0.5, timedelta(seconds=0.5)), (timedelta(days=2), timedelta(days=2))],
)
def test_a_duration_is_a_timedelta_or_seconds(given: Any, span: timedelta) -> None:
    assert validate.duration(given, "ttl") == span


@pytest.mark.parametrize("given", [None, []])
def test_an_embedding_may_be_missing(given: Any) -> None:
    assert validate.embedding(given) is None


def test_an_embedding_has_as_many_numbers_as_the_column() -> None:
    validate.embedding([0.0] * 383 + [1])
    validate.embedding((0.5,) * 384)
    for wrong in ([0.5] * 383, [0.0] * 384, [True] * 384, "x" * 384):
        with pytest.raises(Invalid):
            validate.embedding(wrong)
