"""What every embedder must give back."""

import numpy as np
import pytest

from ltst import ModelUnavailable
from ltst.providers.vectors import TextRefused, check_vectors


def test_they_are_made_of_length_one():
    vectors = check_vectors([[3, 4], [0, -2]], 2, 2)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == pytest.approx(np.array([[0.6, 0.8], [0, -1]]))


def test_what_was_given_is_left_alone():
    given = np.array([[3.0, 4.0]])
    check_vectors(given, 1, 2)
    assert given.tolist() == [[3, 4]]


@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e300])
def test_very_small_and_very_large_numbers_keep_their_direction(size: float):
    assert check_vectors([[size, size]], 1, 2)[0] == pytest.approx([0.5**0.5, 0.5**0.5])


def test_no_texts_have_no_vectors():
    assert check_vectors([], 0, 3).shape == (0, 3)
    assert check_vectors(np.empty((0, 3)), 0, 3).shape == (0, 3)


def test_any_width_will_do_where_none_is_expected():
    assert check_vectors([[1, 2, 3]], 1).shape == (1, 3)


@pytest.mark.parametrize("bad", [[[0, 0]], [[1, float("nan")]], [[float("inf"), 1]], [[-float("inf"), 1]]])
def test_a_vector_without_direction_is_refused(bad: object):
    with pytest.raises(TextRefused):
        check_vectors([[1, 2], *bad], 2, 2)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "text",
        1,
        [1, 2],
        [[1, 2]],
        [[1, 2], [3]],
        [[1], [2]],
        [[[1, 2]], [[3, 4]]],
        [["a", "b"], ["c", "d"]],
        [[], []],
    ],
)
def test_another_shape_is_refused(bad: object):
    with pytest.raises(ModelUnavailable):
        check_vectors(bad, 2, 2)
