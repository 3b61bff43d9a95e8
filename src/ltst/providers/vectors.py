"""Vectors: multiplies matrices, and checks what embedders return: one vector of length one for each text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ltst.errors import ModelUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


def product(rows: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the product of two matrices, row by row.

    For a whole product numpy would wake a second thread, which then spins for some 25 ms in case more work comes.
    """
    import numpy as np

    return np.array([row @ matrix for row in rows])


class TextRefused(ModelUnavailable):
    """The model refuses these texts; it may accept others."""


def check_vectors(array: object, n: int, dimensions: int | None = None) -> Vectors:
    """Returns the vectors as an array scaled to length one; raises unless there is one for each of `n` texts.

    Without `dimensions` any width is accepted, as long as it is the same for all.
    """
    import numpy as np

    vectors = _table(array, n, dimensions)
    if not np.isfinite(vectors).all():
        raise TextRefused("the embedding model gave a vector with numbers that are not finite")
    # Divided by the largest number first, because squares of very small or large numbers would be lost.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise TextRefused("the embedding model gave a vector of zeros, which has no direction to compare")
    vectors /= largest
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def _table(array: object, n: int, dimensions: int | None) -> NDArray[np.float64]:
    import numpy as np

    try:
        table = np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelUnavailable("the embedding model gave something else than rows of numbers of one length") from None
    if n == 0 and table.size == 0:
        return table.reshape(0, dimensions or 0)
    if table.ndim != 2 or len(table) != n or not table.shape[1]:
        raise ModelUnavailable(f"the embedding model gave numbers in the shape {table.shape} for {n} texts")
    if dimensions is not None and table.shape[1] != dimensions:
        raise ModelUnavailable(
            f"the embedding model gave vectors of {table.shape[1]} dimensions where {dimensions} are expected"
        )
    return table
