"""The weights that questions are read by: found in the model's file, changed for questions alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ltst.providers import local
from ltst.providers.adapter import FILE, adapted
from ltst.providers.local import QUESTION, LocalEmbedder
from ltst.providers.tensors import tensors

TEXTS = ["Where do I live?", "I moved to Lisbon in March.", "ok", ""]
THIN = Path(local.__file__).with_name("data") / FILE


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder(threads=1)


@pytest.fixture(scope="module")
def file() -> Path:
    return local.weights_file()


def field(number: int, content: bytes) -> bytes:
    """A field of a message in the format of protocol buffers, of up to 127 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def stored(name: str, kind: int, shape: bytes, content: bytes) -> bytes:
    return field(5, shape + bytes([2 << 3, kind]) + field(8, name.encode()) + field(9, content))


# --- tensors


def test_tensors_are_found_by_name_in_either_way_of_writing_a_shape() -> None:
    packed = stored("packed", 3, field(1, bytes([2, 3])), bytes([1, 2, 3, 255, 254, 253]))
    single = stored("single", 1, bytes([1 << 3, 2]), np.array([0.5, -2], "<f4").tobytes())
    skipped = bytes([1 << 3, 172, 2]) + bytes([2 << 3 | 5, 0, 0, 0, 0]) + bytes([3 << 3 | 1]) + bytes(8)
    unknown = stored("unknown", 7, b"", bytes(8))
    found = tensors(bytearray(skipped + field(7, unknown + packed + single)), {"packed", "single", "missing"})
    assert {*found} == {"packed", "single"}
    assert found["packed"].tolist() == [[1, 2, 3], [-1, -2, -3]] and found["single"].tolist() == [0.5, -2]


def test_to_write_into_a_tensor_changes_the_model() -> None:
    model = bytearray(field(7, stored("one", 3, field(1, bytes([3])), bytes([1, 2, 3]))))
    tensors(model, {"one"})["one"][...] = 7
    assert tensors(model, {"one"})["one"].tolist() == [7, 7, 7]


def test_every_matrix_that_is_changed_is_in_the_model_in_the_right_shape(file: Path) -> None:
    with np.load(THIN) as thin:
        shapes = {name: thin[name].shape for name in thin.files}
    names = {name.rpartition(".")[0] for name in shapes}
    found = tensors(bytearray(file.read_bytes()), {f"{name}_{part}" for name in names for part in ("q", "scale")})
    for name in names:
        height, width = found[f"{name}_q"].shape
        assert (shapes[f"{name}.down"][0], shapes[f"{name}.up"][1]) == (height, width)
        assert found[f"{name}_scale"].shape == (1, width)


# --- the changed model


def test_only_the_matrices_that_are_named_are_changed_by_what_is_stored(file: Path) -> None:
    plain, changed = bytearray(file.read_bytes()), bytearray(adapted(file))
    assert len(plain) == len(changed)
    with np.load(THIN) as thin:
        name = next(each for each in thin.files).rpartition(".")[0]
        down, up = (thin[f"{name}.{part}"] * thin[f"{name}.{part}_scale"] for part in ("down", "up"))
    wanted = {f"{name}_q", f"{name}_scale"}
    before, after = (
        found[f"{name}_q"] * found[f"{name}_scale"] for found in (tensors(plain, wanted), tensors(changed, wanted))
    )
    assert np.abs(after - before - down @ up).max() <= np.abs(after).max() / 127
    words = "inner.embeddings.word_embeddings.weight_q"
    np.testing.assert_array_equal(tensors(plain, {words})[words], tensors(changed, {words})[words])


def test_the_file_of_the_model_stays_as_it_is(file: Path) -> None:
    before = file.read_bytes()
    adapted(file)
    assert file.read_bytes() == before


def test_a_question_has_another_vector_that_is_still_near(embedder: LocalEmbedder) -> None:
    plain, asked = embedder.embed(TEXTS), embedder.embed([QUESTION + text for text in TEXTS])
    alike = (plain * asked).sum(axis=1)
    assert (alike < 0.999).all() and alike[0] > 0.3
    assert np.linalg.norm(asked, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)


def test_what_is_told_has_the_same_vector_beside_questions(embedder: LocalEmbedder) -> None:
    alone = embedder.embed(TEXTS)
    mixed = embedder.embed([each for text in TEXTS for each in (text, QUESTION + text)])
    assert (alone * mixed[::2]).sum(axis=1).min() > 0.99999
    assert (embedder.embed([QUESTION + text for text in TEXTS]) * mixed[1::2]).sum(axis=1).min() > 0.99999


def test_a_question_is_marked_and_what_is_told_is_not(embedder: LocalEmbedder) -> None:
    assert embedder.prompted("Where?", True) == QUESTION + "Where?"
    assert embedder.prompted("Where?", False) == "Where?"
    assert embedder.lengths([QUESTION + "Where?"]) == embedder.lengths(["Where?"])


@pytest.mark.parametrize(
    "text",
    [f"I live {QUESTION} in Lisbon.", f"I live in Lisbon.{QUESTION}", "\x02I live in Lisbon.", f" {QUESTION}I live"],
)
def test_the_mark_within_a_text_is_harmless(embedder: LocalEmbedder, text: str) -> None:
    (marked,) = embedder.embed([text])
    (without,) = embedder.embed([text.replace("\x02", "").replace("\x03", "")])
    assert float(marked @ without) > 0.99999, "what cannot be seen is not read, and the text is no question"


def test_a_text_that_is_a_mark_alone_or_begins_with_two_has_a_vector(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed([QUESTION, QUESTION * 2, QUESTION + "a" * 5000])
    assert np.isfinite(vectors).all() and np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
