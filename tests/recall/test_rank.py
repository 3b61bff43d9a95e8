"""One order over all candidates: what each arm adds, and that it adapts to how people talk."""

from __future__ import annotations

import numpy as np
import pytest

from ltst.recall import rank


def scores(
    dense: list[float], frequencies: list[list[float]], *, sessions: list[int] | None = None, words: float = 10.0
) -> rank.Scores:
    count = len(dense)
    table = np.array(frequencies, dtype=float).reshape(count, -1)
    matched = np.flatnonzero((table > 0).any(axis=1))
    return rank.Scores(
        sessions=np.array(sessions or [1] * count, dtype=np.int64),
        positions=np.arange(count, dtype=np.int64),
        dense=np.array(dense, dtype=float),
        words=np.full(count, words),
        matched=matched,
        frequencies=table[matched],
    )


def best(found: rank.Scores, boost: list[float] | None = None) -> int:
    return int(np.argmax(rank.rank(found, None if boost is None else np.array(boost)).total))


def test_the_lexical_arm_finds_what_the_dense_arm_does_not() -> None:
    assert best(scores([0.3, 0.3, 0.3], [[0], [0], [2]], sessions=[1, 2, 3])) == 2


def test_the_dense_arm_finds_what_the_words_do_not() -> None:
    assert best(scores([0.1, 0.9, 0.1], [[0], [0], [0]], sessions=[1, 2, 3])) == 1


def test_a_rare_term_weighs_more_than_a_common_one() -> None:
    common, rare = [1.0, 0.0], [0.0, 1.0]
    assert best(scores([0.5] * 4, [common, common, common, rare], sessions=[1, 2, 3, 4])) == 3


def test_a_terse_turn_leans_on_its_neighbours_and_a_long_one_does_not() -> None:
    dense, terms = [0.2, 0.2, 0.2, 0.2], [[3], [0], [0], [0]]
    terse = rank.rank(scores(dense, terms, words=5.0)).total
    long = rank.rank(scores(dense, terms, words=500.0)).total
    assert terse[1] > terse[3]
    assert terse[1] - terse[3] > long[1] - long[3]


def test_neighbours_count_within_their_session_only() -> None:
    total = rank.rank(scores([0.2] * 4, [[3], [0], [0], [0]], sessions=[1, 2, 2, 3])).total
    assert total[1] == pytest.approx(total[3])


def test_a_session_lifts_its_turns() -> None:
    found = scores([0.2] * 6, [[1], [0], [0], [1], [1], [0]], sessions=[1, 1, 1, 2, 2, 2])
    total = rank.rank(found).total
    assert total[5] > total[2]


def test_a_boost_lifts_and_never_excludes() -> None:
    found = scores([0.5, 0.5], [[1], [1]], sessions=[1, 2])
    assert best(found, [0.0, 0.3]) == 1
    assert np.isfinite(rank.rank(found, np.array([0.0, 0.3])).total).all()


def test_relevance_can_be_compared_between_questions() -> None:
    near = rank.rank(scores([0.9], [[1]])).relevance.max()
    far = rank.rank(scores([0.1], [[0]])).relevance.max()
    assert 0 <= far < near <= 1


def test_units_without_a_vector_and_questions_without_terms_are_ranked_too() -> None:
    ranked = rank.rank(scores([-2.0, 0.4, 0.1], [[], [], []], sessions=[1, 2, 3]))
    assert np.isfinite(ranked.total).all()
    assert ranked.total[1] > ranked.total[0] == ranked.total[2]


def test_what_waits_for_its_vector_does_not_fall_behind_what_says_less() -> None:
    found = scores([0.9, 0.1, -2.0], [[1, 0], [0, 0], [1, 1]], sessions=[1, 2, 3], words=500.0)
    assert best(found) == 2
    assert rank.rank(found).arms["dense"].tolist() == pytest.approx([1.0, 0.0, 1.0])
