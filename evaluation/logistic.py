"""A logistic over named features of which nearly all are zero, fitted with numpy alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 200

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Matrix:
    """Features as numbers, a row for each thing that has some, of which nearly all are zero."""

    def __init__(self, read: Sequence[Mapping[str, float]], names: Mapping[str, int]) -> None:
        """Number the features that have a name."""
        cells = [
            (row, names[name], value)
            for row, each in enumerate(read)
            for name, value in each.items()
            if value and name in names
        ]
        self.height, self.width = len(read), len(names)
        self._rows = np.array([row for row, _, _ in cells], np.intp)
        self._columns = np.array([column for _, column, _ in cells], np.intp)
        self._values = np.array([value for _, _, value in cells], np.float64)

    def times(self, weights: Floats) -> Floats:
        """The sum of each row's values, weighed."""
        return np.bincount(self._rows, self._values * weights[self._columns], self.height).astype(np.float64)

    def back(self, slopes: Floats) -> Floats:
        """The sum of each column's values, weighed by row."""
        return np.bincount(self._columns, self._values * slopes[self._rows], self.width).astype(np.float64)


def likelihood(scores: Floats) -> Floats:
    """Return how likely each thing is, by the sum of its weights."""
    found: Floats = 1 / (1 + np.exp(-scores))
    return found


def fitted(
    read: Sequence[Mapping[str, float]],
    wanted: Sequence[bool],
    names: Mapping[str, int],
    penalty: float,
    *,
    free: Collection[str] = (),
    rounds: int = ROUNDS,
) -> Floats:
    """Return weights by accelerated gradient descent on the logistic loss with a penalty on their squares.

    Those of the `free` names are not penalised.
    """
    matrix, right = Matrix(read, names), np.array(wanted, np.float64)
    penalties = np.array([0.0 if name in free else penalty for name in names])
    weights = ahead = np.zeros(len(names))
    step = 4 / (_steepness(matrix) + 4 * penalty)
    for number in range(rounds):
        slope = matrix.back(likelihood(matrix.times(ahead)) - right) + penalties * ahead
        before, weights = weights, ahead - step * slope
        ahead = weights + number / (number + 3) * (weights - before)
    return weights


def _steepness(matrix: Matrix) -> float:
    """The largest eigenvalue of the matrix with itself, or a little more."""
    vector = np.ones(matrix.width)
    for _ in range(30):
        vector = matrix.back(matrix.times(vector / np.linalg.norm(vector)))
    return 1.05 * float(np.linalg.norm(vector))
