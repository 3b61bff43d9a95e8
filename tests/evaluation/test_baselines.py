"""The baselines: BM25, the cosine and their fusion rank as they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation import baselines, locomo, longmemeval
from helpers.evaluation_data import LOCOMO, LONGMEMEVAL, CountingEmbedder, write

TEXTS = ["the cat sat on the mat", "dogs run and run in the park", "a cat and a dog in the long grass of the park"]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Where do the dogs run?", [1, 2, 0]),  # of the two with dogs, the one that also runs
        ("cats", [0, 2, 1]),  # the shorter of two texts with the same word
        ("mat", [0, 1, 2]),
        ("something else entirely", [0, 1, 2]),  # no word in common: the order of the texts
    ],
)
def test_bm25(question: str, order: list[int]) -> None:
    assert baselines.by_words(TEXTS)(question) == order


def test_bm25_weighs_a_rare_word_more_than_a_common_one() -> None:
    assert baselines.by_words(["park", "park", "park", "owl"])("owl park")[0] == 3


def test_the_cosine() -> None:
    assert baselines.by_meaning(TEXTS, CountingEmbedder())("cat mat")[0] == 0


class Wanting(CountingEmbedder):
    """Its model wants to be told what is a question."""

    def prompted(self, text: str, question: bool) -> str:
        return f"{'query' if question else 'passage'}: {text}"


def test_a_model_is_told_what_it_wants_to_hear() -> None:
    embedder = Wanting("wanting")
    baselines.by_meaning(["the cat"], embedder)("a cat?")
    assert embedder.asked == ["passage: the cat", "query: a cat?"]


def test_another_model_goes_by_its_own_name(tmp_path: Path) -> None:
    history = locomo.read(write(tmp_path / "locomo.json", LOCOMO)).histories[0]
    assert [*baselines.bare_turns(history, CountingEmbedder("other")).rankers] == ["BM25", "other", "RRF"]


def test_fusion_prefers_what_both_have_near_the_top() -> None:
    orders = {"first": [0, 1, 2, 3], "second": [3, 1, 2, 0]}
    rank = baselines.fused(*(lambda _, order=order: order for order in orders.values()))
    # Two second places are a little more than a first and a last.
    assert rank("") == [1, 0, 3, 2]


def test_turns_are_ranked_one_by_one(tmp_path: Path) -> None:
    benchmark = locomo.read(write(tmp_path / "locomo.json", LOCOMO))
    history = benchmark.histories[0]
    field = baselines.field(benchmark, history, CountingEmbedder())
    assert [*field.rankers] == ["BM25, prefix", "BM25, window", "MiniLM", "MiniLM, prefix", "RRF, prefix"]
    assert [result.ids for result in field.results] == [("D1:1",), ("D1:2",), ("D1:3",), ("D2:1",), ("D2:3",)]
    scores = baselines.score(benchmark, history, history.questions[0], field)
    assert scores["BM25, prefix"]["turn any@5"] == scores["RRF, prefix"]["session any@5"] == 1.0


def test_a_window_brings_the_neighbours_of_the_same_session(tmp_path: Path) -> None:
    history = locomo.read(write(tmp_path / "locomo.json", LOCOMO)).histories[0]
    rank = baselines.turns(history, CountingEmbedder()).rankers["BM25, window"]
    assert set(rank("Albatross")[:2]) == {1, 2}
    assert set(rank("violin")[:2]) == {3, 4}


def test_bare_turns_are_ranked_by_their_words_alone(tmp_path: Path) -> None:
    history = locomo.read(write(tmp_path / "locomo.json", LOCOMO)).histories[0]
    embedder = CountingEmbedder()
    field = baselines.bare_turns(history, embedder)
    assert [*field.rankers] == ["BM25", "MiniLM", "RRF"]
    assert embedder.asked[0] == "I bought a sailing boat in Lisbon."
    assert next(results for _, results in field.ranked("violin"))[0].ids == ("D2:1",)


def test_sessions_are_ranked_whole_and_by_what_the_user_said(tmp_path: Path) -> None:
    benchmark = longmemeval.read(write(tmp_path / "longmemeval.json", LONGMEMEVAL))
    embedder = CountingEmbedder()
    field = baselines.field(benchmark, benchmark.histories[0], embedder)
    assert [*field.rankers] == ["BM25", "MiniLM, user turns", "RRF"]
    assert embedder.asked == ["How do I prune roses?", "I adopted a greyhound named Comet.", "How do I prune roses?"]
    (question,) = benchmark.histories[0].questions
    for scores in baselines.score(benchmark, benchmark.histories[0], question, field).values():
        assert scores["session ndcg@10"] == 1.0
