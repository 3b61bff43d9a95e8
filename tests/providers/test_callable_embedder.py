"""A function as an embedder."""

from collections.abc import Sequence

import numpy as np
import pytest

from ltst import Invalid, ModelUnavailable
from ltst.providers.embedding import CallableEmbedder


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[len(text), 1.0] for text in texts]


def test_what_the_function_gives_is_made_of_length_one():
    embedder = CallableEmbedder(lengths, "lengths", 2)
    vectors = embedder.embed(["", "abc"])
    assert (embedder.name, embedder.dimensions) == ("lengths", 2)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    assert vectors[0].tolist() == [0, 1]


def test_a_function_that_gives_arrays_will_do():
    vectors = CallableEmbedder(lambda texts: np.ones((len(texts), 3)), "ones", 3).embed(["a", "b"])
    assert vectors.shape == (2, 3)


def test_no_texts_are_not_asked_for():
    def never(texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError

    assert CallableEmbedder(never, "never", 2).embed([]).shape == (0, 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: [[1.0, 2.0]],
        lambda texts: [[1.0] for _ in texts],
        lambda texts: [[0.0, 0.0] for _ in texts],
        lambda texts: [[1.0, float("nan")] for _ in texts],
        lambda texts: None,
    ],
)
def test_wrong_vectors_are_refused(function):
    with pytest.raises(ModelUnavailable):
        CallableEmbedder(function, "wrong", 2).embed(["a", "b"])


def test_a_failing_function_is_a_model_that_is_not_available():
    def fail(texts: Sequence[str]) -> list[list[float]]:
        raise RuntimeError("no more memory")

    with pytest.raises(ModelUnavailable, match="no more memory") as caught:
        CallableEmbedder(fail, "failing", 2).embed(["a"])
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("wrong", [{"name": " "}, {"dimensions": 0}, {"longest": 0}])
def test_bad_arguments_are_refused(wrong):
    arguments = {"name": "lengths", "dimensions": 2, **wrong}
    with pytest.raises(Invalid):
        CallableEmbedder(lengths, **arguments)


def test_long_texts_are_cut_by_characters():
    embedder = CallableEmbedder(lengths, "lengths", 2, longest=100)
    text = "One sentence here. " * 20
    parts = embedder.parts(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 100
    assert max(map(len, embedder.parts(text, room=10))) <= 60
    assert embedder.parts("short") == ["short"]
    assert embedder.parts("") == [""]
