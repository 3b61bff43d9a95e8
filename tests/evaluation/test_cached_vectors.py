"""The cache of vectors: nothing is computed twice, and no model gets another's."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from evaluation.vectors import CachedEmbedder
from helpers.evaluation_data import CountingEmbedder
from ltst.providers.joined import JoinedEmbedder
from ltst.providers.local import QUESTION, LocalEmbedder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "vectors.db"


def test_what_is_known_is_not_computed_again(file: Path) -> None:
    model = CountingEmbedder()
    with closing(CachedEmbedder(model, file)) as cached:
        first = cached.embed(["a boat", "a house", "a boat"])
    assert model.asked == ["a boat", "a house"]
    with closing(CachedEmbedder(model, file)) as cached:
        second = cached.embed(["a house", "a tree", "a boat"])
    assert model.asked == ["a boat", "a house", "a tree"]
    assert (cached.found, cached.computed) == (2, 1)
    np.testing.assert_array_equal(first[[1, 0]], second[[0, 2]])
    np.testing.assert_array_equal(first, model.embed(["a boat", "a house", "a boat"]))


def test_another_model_has_vectors_of_its_own(file: Path) -> None:
    with closing(CachedEmbedder(CountingEmbedder("one", 8), file)) as cached:
        cached.embed(["a boat"])
    other = CountingEmbedder("two", 16)
    with closing(CachedEmbedder(other, file)) as cached:
        assert cached.embed(["a boat"]).shape == (1, 16)
    assert other.asked == ["a boat"]


def test_it_is_the_model_in_everything_else(file: Path) -> None:
    model = CountingEmbedder("one", 8)
    with closing(CachedEmbedder(model, file)) as cached:
        assert (cached.name, cached.dimensions) == ("one", 8)
        assert cached.parts("word " * 1_000, room=10) == model.parts("word " * 1_000, room=10)
        assert len(cached.embed([])) == 0
        assert cached.prompted("a boat", True) == "a boat"


def test_what_is_timed_is_computed(file: Path) -> None:
    model = CountingEmbedder()
    with closing(CachedEmbedder(model, file)) as cached:
        cached.embed(["a boat"])
        with cached.anew():
            cached.embed(["a boat"])
        cached.embed(["a boat"])
    assert model.asked == ["a boat", "a boat"]
    assert (cached.found, cached.computed) == (1, 1)


def test_many_threads_share_it(file: Path) -> None:
    model = CountingEmbedder()
    texts = [f"text {number}" for number in range(40)]
    with closing(CachedEmbedder(model, file)) as cached, ThreadPoolExecutor(8) as threads:
        found = [*threads.map(lambda text: cached.embed([text])[0], texts * 4)]
    np.testing.assert_array_equal(found[:40], model.embed(texts))
    np.testing.assert_array_equal(found[:40], found[-40:])


def test_the_file_is_plain_float32_by_the_hash_of_model_and_text(file: Path) -> None:
    with closing(CachedEmbedder(CountingEmbedder("one", 8), file)) as cached:
        vector = cached.embed(["a boat"])[0]
    with closing(sqlite3.connect(file)) as opened:
        ((key, kept),) = opened.execute("SELECT key, vector FROM vectors").fetchall()
    assert key.hex() == "23cf60a4f76e44ad3e09afe36b5899bf1263d51981c6f31c8fa491e82d225605"
    assert kept == vector.astype(np.float32).tobytes()


def test_questions_are_computed_again_when_their_weights_are_others(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CountingEmbedder()
    with closing(CachedEmbedder(model, file)) as cached:
        cached.embed([QUESTION + "a boat?", "a boat"])
        monkeypatch.setattr("evaluation.vectors._weights", lambda _, asked: "trained anew" if asked else "")
        cached.embed([QUESTION + "a boat?", "a boat"])
    assert model.asked == [QUESTION + "a boat?", "a boat", QUESTION + "a boat?"]


def test_what_two_joined_models_are_compared_with_is_the_first_alone(file: Path) -> None:
    with closing(CachedEmbedder(JoinedEmbedder(threads=1), file)) as cached:
        both, alone = cached.embed(["a boat"]), cached.plain().embed(["a boat"])
        assert (cached.name, cached.plain().name) == ("ltst-joined-1", "all-MiniLM-L6-v2")
        assert not np.allclose(both, alone)
        assert np.allclose(alone, LocalEmbedder(threads=1).embed(["a boat"]), atol=1e-5)
    with closing(CachedEmbedder(CountingEmbedder(), file)) as cached:
        assert cached.plain() is cached
