"""A logistic over named features of which nearly all are zero, fitted with numpy alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 200
MOST_STEPS, TINY = 25, 1e-6

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

    def table(self) -> Floats:
        """All of it, with its zeros."""
        found = np.zeros((self.height, self.width))
        found[self._rows, self._columns] = self._values
        return found


def likelihood(scores: Floats) -> Floats:
    """Return how likely each thing is, by the sum of its weights."""
    found: Floats = 1 / (1 + np.exp(-scores))
    return found


def fitted(
    read: Sequence[Mapping[str, float]], wanted: Sequence[bool], names: Mapping[str, int], penalty: float
) -> Floats:
    """Return weights by accelerated gradient descent on the logistic loss with a penalty on their squares."""
    matrix, right = Matrix(read, names), np.array(wanted, np.float64)
    weights = ahead = np.zeros(len(names))
    step = 4 / (_steepness(matrix) + 4 * penalty)
    for number in range(ROUNDS):
        slope = matrix.back(likelihood(matrix.times(ahead)) - right) + penalty * ahead
        before, weights = weights, ahead - step * slope
        ahead = weights + number / (number + 3) * (weights - before)
    return weights


def solved(
    read: Sequence[Mapping[str, float]],
    wanted: Sequence[bool],
    names: Mapping[str, int],
    penalty: float,
    free: Collection[str] = (),
) -> Floats:
    """Return the weights that fit best, by Newton's method, which is for hundreds of names and not for thousands.

    Those of the `free` names are not penalised.
    """
    table, right = Matrix(read, names).table(), np.array(wanted, np.float64)
    penalties = np.array([TINY if name in free else penalty for name in names])
    weights = np.zeros(len(names))
    for _ in range(MOST_STEPS):
        likely = likelihood(table @ weights)
        slope = table.T @ (likely - right) + penalties * weights
        bend = (table.T * (likely * (1 - likely))) @ table + np.diag(penalties)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < TINY:
            break
    return weights


def _steepness(matrix: Matrix) -> float:
    """The largest eigenvalue of the matrix with itself, or a little more."""
    vector = np.ones(matrix.width)
    for _ in range(30):
        vector = matrix.back(matrix.times(vector / np.linalg.norm(vector)))
    return 1.05 * float(np.linalg.norm(vector))
