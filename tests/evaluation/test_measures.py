"""The metrics, against cases computed by hand."""

from __future__ import annotations

import math

import pytest

from evaluation import metrics
from evaluation.metrics import Result


def results(*ids: str, characters: int = 0) -> list[Result]:
    return [Result((id,), characters) for id in ids]


FOUND = results("x", "a", "y", "z", "w", "b", "c")
EVIDENCE = frozenset({"a", "b"})


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("any@1", 0.0),
        ("any@5", 1.0),
        ("all@5", 0.0),
        ("all@10", 1.0),
        ("rec@1", 0.0),
        ("rec@5", 0.5),
        ("rec@10", 1.0),
        # Evidence at 2 and 6, where 1 and 2 would be ideal.
        ("ndcg@10", (1 / math.log2(3) + 1 / math.log2(7)) / (1 / math.log2(2) + 1 / math.log2(3))),
        ("ndcg@5", (1 / math.log2(3)) / (1 / math.log2(2) + 1 / math.log2(3))),
    ],
)
def test_each_metric(metric: str, expected: float) -> None:
    assert metrics.measure(metric, FOUND, EVIDENCE) == pytest.approx(expected)


@pytest.mark.parametrize("metric", ["any@5", "all@5", "rec@10", "ndcg@10", "rec@2k"])
def test_nothing_found_is_zero(metric: str) -> None:
    assert metrics.measure(metric, [], EVIDENCE) == 0.0


def test_with_more_evidence_than_places_the_ideal_fills_the_places() -> None:
    evidence = frozenset(f"e{number}" for number in range(12))
    found = results(*(f"e{number}" for number in range(10)))
    assert metrics.measure("ndcg@10", found, evidence) == pytest.approx(1.0)
    assert metrics.measure("rec@10", found, evidence) == pytest.approx(10 / 12)
    assert metrics.measure("all@10", found, evidence) == 0.0


def test_what_fits_into_8000_characters_ends_with_the_first_that_does_not() -> None:
    found = [Result(("a",), 5_000), Result(("b",), 3_000), Result(("c",), 1)]
    assert metrics.measure("rec@2k", found, frozenset({"a", "b", "c"})) == pytest.approx(2 / 3)
    long_first = [Result(("a",), 9_000), Result(("b",), 10)]
    assert metrics.measure("rec@2k", long_first, frozenset({"b"})) == 0.0


def test_a_repetition_takes_no_place_and_a_result_of_nothing_does() -> None:
    found = [Result(("a",)), Result(("a",)), Result(()), Result(("a", "b")), Result(())]
    assert metrics.distinct(found) == [Result(("a",)), Result(()), Result(("a", "b")), Result(())]


def test_evidence_that_was_shown_before_gains_nothing_again() -> None:
    found = [Result(("a",)), Result(("a", "x"))]
    assert metrics.measure("ndcg@10", found, frozenset({"a"})) == pytest.approx(1.0)


def test_a_turn_counts_as_its_session_where_it_appears_first() -> None:
    sessions = {"1:1": "s1", "1:2": "s1", "2:1": "s2"}
    lifted = metrics.distinct(metrics.lifted(results("1:2", "1:1", "2:1"), sessions))
    assert [each.ids for each in lifted] == [("s1",), ("s2",)]
    assert metrics.rank(lifted, "s2") == 2
    assert metrics.rank(lifted, "s3") is None


def test_mean_and_percentiles() -> None:
    assert metrics.mean([]) is None
    assert metrics.mean([1.0, 0.0]) == 0.5
    waits = [float(number) for number in range(1, 101)]
    assert (metrics.percentile(waits, 0.5), metrics.percentile(waits, 0.95)) == (50.0, 95.0)
    assert metrics.percentile([7.0], 0.95) == 7.0
    assert metrics.percentile([], 0.5) is None


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([3.0, 4.0], [1.0, 2.0], 1.0),
        ([1.0, 2.0], [3.0, 4.0], 0.0),
        ([1.0], [1.0], 0.5),
        ([2.0, 0.0], [1.0], 0.5),
        # Of the six pairs 0.9 wins three, and 0.5 wins one and ties one.
        ([0.9, 0.5], [0.1, 0.5, 0.7], (3 + 1.5) / 6),
    ],
)
def test_auroc(positive: list[float], negative: list[float], expected: float) -> None:
    assert metrics.auroc(positive, negative) == pytest.approx(expected)


def test_auroc_of_one_side_alone_is_unknown() -> None:
    assert metrics.auroc([], [1.0]) is metrics.auroc([1.0], []) is None
