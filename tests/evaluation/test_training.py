"""What the small models are trained on, and what their training writes."""

from __future__ import annotations

import gzip
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from evaluation import adapter, asked, joined, stored, superseding, training
from evaluation.commands import app
from evaluation.logistic import fitted, solved
from evaluation.superseding import Example
from evaluation.training import Life
from helpers.evaluation_data import LIFE, LOCOMO, CountingEmbedder, write
from ltst.errors import Invalid, ModelUnavailable
from ltst.learn.superseding import Pair, features, weights
from ltst.providers import joined as product
from ltst.providers import multilingual
from ltst.providers.adapter import FILE
from ltst.providers.joined import MATRICES
from ltst.support.speech import label

PRODUCT = Path(adapter.adapter.__file__).parent / "data" / FILE
PAIRED = LIFE | {
    "questions": [each | {"also": ["the price of a jar"]} for each in LIFE["questions"]],
    "replaced": [[["s2", 0], ["s1", 0]]],
}


@pytest.fixture(scope="module")
def lives() -> list[Life]:
    return training.read()


def packed_life(folder: Path, given: dict[str, Any]) -> Path:
    file = folder / "lives.jsonl.gz"
    file.write_bytes(gzip.compress(f"{json.dumps(given)}\n".encode()))
    return file


@pytest.fixture
def life(tmp_path: Path) -> Life:
    (only,) = training.read(packed_life(tmp_path, PAIRED))
    return only


# --- the lives


def test_there_are_fifty_five_lives_each_with_questions_and_pairs(lives: list[Life]) -> None:
    assert len({life.history.id for life in lives}) == len(lives) == 55
    assert all(life.history.questions and life.replaced for life in lives)


def test_every_question_has_evidence_or_is_of_what_was_never_said(lives: list[Life]) -> None:
    for life in lives:
        for question in life.history.questions:
            assert question.turns <= {*life.history.session_of}, question.id
            assert question.scored != (question.category == "absent"), question.id
            assert len({question.text, *life.reworded[question.id]}) == 3, question.id


def test_the_newer_one_of_a_pair_is_later_and_both_are_the_persons(lives: list[Life]) -> None:
    for life in lives:
        turns = {turn.id: turn for session in life.history.sessions for turn in session.turns}
        for newer, older in life.replaced:
            assert turns[newer].role == turns[older].role == "user"
            assert (turns[newer].at or 0) > (turns[older].at or 0), (life.history.id, newer, older)


def test_a_pair_of_a_turn_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="there is no turn s9/0; accepted is a line for each life"):
        training.read(packed_life(tmp_path, PAIRED | {"replaced": [[["s9", 0], ["s1", 0]]]}))


# --- what is stored


def test_a_message_is_stored_between_its_words_and_its_words_with_date_and_speaker(life: Life) -> None:
    embedder = CountingEmbedder()
    said = stored.messages(life.history, embedder)
    assert [each.turn.role for each in said] == ["user"] * len(said)
    first = said[0]
    ways = embedder.embed([label(first.at, None, "User") + first.turn.text, first.turn.text])
    assert first.vector == pytest.approx(ways.sum(axis=0) / np.linalg.norm(ways.sum(axis=0)), abs=1e-6)


def test_a_question_is_asked_in_all_its_words_and_placed_by_its_own(life: Life) -> None:
    known = asked.remembered(life.history, CountingEmbedder(), life.reworded)
    assert [each.reworded for each in known.questions] == [False, True] * (len(known.questions) // 2)
    exact = asked.placing([known], lambda texts: np.stack([known.vectors[_evidence(known, text)] for text in texts]))
    assert (exact.questions, exact.first, exact.first_three) == (len(known.questions) // 2, 1.0, 1.0)
    assert asked.placing([], lambda _: known.vectors).questions == 0


def _evidence(known: asked.Remembered, text: str) -> int:
    return next(each.evidence[0] for each in known.questions if each.text == text)


# --- what takes whose place


def test_a_message_is_seen_with_those_before_it(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(superseding, "LEAST_TELLING", -1.0)
    found = [*superseding.examples(life, CountingEmbedder())]
    said = len(stored.messages(life.history, CountingEmbedder()))
    assert len(found) == said * (said - 1) // 2
    assert sum(each.takes for each in found) == 1


def test_a_feature_that_tells_gets_the_weight() -> None:
    telling = [Example(f"life {number}", {"bias": 1.0, "near": 1.0, ":now": 0.5}, True) for number in range(20)] + [
        Example(f"life {number}", {"bias": 1.0, ":then": 0.5}, False) for number in range(20)
    ]
    found = superseding.trained(telling)
    assert {*found} == {"bias", "near", ":now"} and found["near"] > 1 > 0 > found["bias"]
    likely = superseding.left_out(telling)
    assert likely[:20].min() > 0.5 > likely[20:].max()
    (*_, surest) = superseding.scored(telling, likely, 40)
    assert superseding.scored(telling, likely, 40)[4] == superseding.Score(0.5, 20, 1.0, 0.5) and surest.least == 0.9


def test_what_is_not_penalised_comes_to_the_odds() -> None:
    seen = [{"bias": 1.0}] * 100
    right = [number < 20 for number in range(100)]
    (free,), (held,) = (solved(seen, right, {"bias": 0}, 50.0, free) for free in (("bias",), ()))
    assert free == pytest.approx(np.log(0.25), abs=1e-4) and free < held < 0


def test_both_ways_of_fitting_come_to_the_same() -> None:
    chance = np.random.default_rng(2)
    seen = [{"bias": 1.0, "one": one, "other": other} for one, other in chance.normal(size=(200, 2)).tolist()]
    right = [each["one"] + chance.normal() > 0.5 for each in seen]
    names = {"bias": 0, "one": 1, "other": 2}
    assert solved(seen, right, names, 2.0) == pytest.approx(fitted(seen, right, names, 2.0), abs=1e-3)


def test_weights_are_written_as_the_product_reads_them() -> None:
    assert superseding.written({"near": 1.234, "bias": -3.0, ":a": 0.001}) == "bias\t-300\nnear\t123\n"


def test_the_products_weights_are_of_what_it_sees() -> None:
    lines = (Path(superseding.superseding.__file__).with_name(superseding.WEIGHTS)).read_text("utf-8").splitlines()
    assert all(before < after for before, after in pairwise(line.split("\t")[0] for line in lines))
    seen = dict(features(Pair("now 3, not 2, I quit", "2 of them?", 0.5, 0, 0.1, [1.0], (2.0, 2.0), 3.0, True)))
    named = {name for name in weights() if not name.startswith(":")}
    assert {"bias", "near", "shared", "days"} <= named <= {*seen, *(f"{sign}{more}" for sign in
        ("corrects", "changes", "ends", "other numbers") for more in ("", " near", " shared"))}  # fmt: skip


# --- the weights of questions


def test_thin_matrices_are_nearly_the_same_after_they_were_packed(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    down, up = (chance.normal(size=shape).astype(np.float32) for shape in ((6, 2), (2, 4)))
    file = adapter.write({"val_1": (down, up), "val_2": (down, np.zeros_like(up))}, tmp_path / "thin.npz")
    with np.load(file) as thin:
        assert {*thin.files} == {f"val_{n}.{part}" for n in (1, 2) for part in ("down", "down_scale", "up", "up_scale")}
        assert thin["val_1.down"].dtype == np.int8 and thin["val_1.down_scale"].dtype == np.float32
        assert thin["val_1.down"] * thin["val_1.down_scale"] == pytest.approx(down, abs=0.02)
        assert thin["val_1.up"] * thin["val_1.up_scale"] == pytest.approx(up, abs=0.02)
        assert not thin["val_2.up"].any()


def test_the_product_has_a_change_of_each_matrix_in_the_shape_that_is_written() -> None:
    with np.load(PRODUCT) as thin:
        found = {name: (thin[name].shape, thin[name].dtype) for name in thin.files}
    names = {name.rpartition(".")[0] for name in found}
    assert len(names) == 36
    for name in names:
        (height, rank), (again, width) = found[f"{name}.down"][0], found[f"{name}.up"][0]
        assert rank == again == adapter.RANK and {height, width} <= {384, 1536}
        made = adapter.packed({name: (np.ones((height, rank), np.float32), np.ones((rank, width), np.float32))})
        assert {part: (each.shape, each.dtype) for part, each in made.items()} == {
            part: each for part, each in found.items() if part.startswith(f"{name}.")
        }


def test_what_is_left_out_is_measured_and_not_trained_on(
    tmp_path: Path, lives: list[Life], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "read", lambda: lives[:2])
    write(tmp_path / "locomo10.json", LOCOMO)
    sources = adapter.Sources(data=tmp_path, left_out=["locomo", lives[0].history.id])
    found = [(each.name, each.trained, len(each.histories)) for each in adapter.read(sources, CountingEmbedder())]
    assert found == [("training", True, 1), ("training", False, 1), ("locomo", False, 2)]
    with pytest.raises(Invalid, match="z99 cannot be left out: name one of training, locomo, realtalk, beam"):
        adapter.read(adapter.Sources(data=tmp_path, left_out=["z99"]), CountingEmbedder())


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelUnavailable, match=r"training needs torch, .* -m pip install torch"):
        adapter.with_torch()
    result = CliRunner().invoke(app, ["adapter", "--data", str(tmp_path), "--json"])
    assert result.exit_code != 0 and "pip install torch" in result.output


def test_the_model_in_torch_is_the_products_and_learns(life: Life) -> None:
    pytest.importorskip("torch")
    from ltst.providers.local import LocalEmbedder

    embedder = LocalEmbedder(threads=1)
    found = [adapter.DataSet("training", True, [asked.remembered(life.history, embedder, life.reworded)])]
    (score,), change = adapter.train(found, epochs=2, tell=lambda _: None)
    assert score.trained and score.before.questions == score.after.questions == 2
    assert {*adapter.packed(change)} == {*np.load(PRODUCT).files}


# --- the commands


def test_the_command_tells_before_and_after_and_writes_only_when_asked(
    tmp_path: Path, lives: list[Life], monkeypatch: pytest.MonkeyPatch
) -> None:
    change = {"val_1": (np.ones((2, 1), np.float32), np.ones((1, 2), np.float32))}

    def train(found: list[adapter.DataSet], *, epochs: int, tell: Any) -> tuple[list[adapter.Score], dict[str, Any]]:
        before, after = (asked.Placing(3, first, 0.5, 0.75) for first in (0.25, epochs / 10))
        return [adapter.Score(each.name, each.trained, before, after) for each in found], change

    written: list[Any] = []
    monkeypatch.setattr(training, "read", list)
    monkeypatch.setattr(adapter, "with_torch", lambda: None)
    monkeypatch.setattr(adapter, "train", train)
    monkeypatch.setattr(adapter, "write", written.append)
    write(tmp_path / "locomo10.json", LOCOMO)
    given = ["adapter", "--data", str(tmp_path), "--epochs", "5", "--cache", str(tmp_path / "vectors.db")]
    shown = CliRunner().invoke(app, given, env={"COLUMNS": "120"})
    assert shown.exit_code == 0 and "0.250 0.500" in shown.stdout and not written, shown.output
    (score,) = json.loads(CliRunner().invoke(app, [*given, "--leave-out", "locomo", "--write", "--json"]).stdout)
    assert (score["data"], score["trained"], score["after"]["first"]) == ("locomo", False, 0.5)
    assert [{*each} for each in written] == [{"val_1"}]


def test_the_command_judges_lives_by_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"{json.dumps(PAIRED | {'id': f'life {number}'})}\n" for number in range(10))
    file = tmp_path / "lives.jsonl.gz"
    file.write_bytes(gzip.compress(lines.encode()))
    known, written = training.read(file), list[Any]()
    monkeypatch.setattr(training, "read", lambda: known)
    monkeypatch.setattr(superseding, "LEAST_TELLING", -1.0)
    monkeypatch.setattr(superseding, "write", written.append)
    given = ["superseding", "--cache", str(tmp_path / "vectors.db"), "--json"]
    result = CliRunner().invoke(app, [*given, "--write"])
    assert result.exit_code == 0, result.output
    scores = json.loads(result.stdout)
    assert [each["least"] for each in scores] == [*superseding.THRESHOLDS]
    assert scores[4] == {"least": 0.5, "noted": 10, "precision": 1.0, "recall": 1.0}
    assert written[0]["bias"] < 0 < written[0]["near"]


# --- the joined embedder


def test_every_pair_has_questions_and_messages_that_only_look_alike() -> None:
    with gzip.open(joined.PAIRS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert len({row["told"] for row in rows}) == len(rows) == 2_780
    assert {row["language"] for row in rows} >= {"de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "tr"}
    for row in rows:
        assert {*row} == {"language", "told", "asked", "beside"}
        assert len(row["asked"]) == 3
        assert len(row["beside"]) == 2
        assert all(map(str.strip, (row["told"], *row["asked"], *row["beside"])))


def test_the_projection_keeps_what_differs_most() -> None:
    chance = np.random.default_rng(1)
    spread = np.concatenate([np.full(joined.DIMENSIONS, 1.0), np.full(512, 0.01)])
    vectors = (chance.normal(size=(2_000, len(spread))) * spread).astype(np.float32)
    projection = joined._projection([vectors])
    assert projection.shape == (len(spread), joined.DIMENSIONS)
    assert np.linalg.norm(vectors @ projection) > 0.99 * np.linalg.norm(vectors)


def test_what_is_written_is_what_the_product_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed:
        def change(self) -> dict[str, tuple[Any, Any]]:
            shapes = {name: getattr(multilingual.model(), name).shape for name in MATRICES}
            return {name: (np.ones((high, 1)), np.full((1, wide), 0.01)) for name, (high, wide) in shapes.items()}

    file = joined.write(joined._packed(Changed(), Changed(), np.eye(896, 384)), tmp_path / "joined.npz")  # type: ignore[arg-type]
    monkeypatch.setattr("ltst.providers.joined.files", lambda _: tmp_path)
    read = product._changes.__wrapped__()
    assert file.name == product.FILE
    assert np.allclose(read["told.d0"], 0.01, atol=1e-4)
    assert np.allclose(read["projection"], np.eye(896, 384))
