"""The joined embedder: reads each text with the local and the multilingual model, and combines both into one vector.

The local model knows English better, the multilingual one 16 languages; together they find more than either.
`evaluation/joined.py` fitted what is stored beside this: how the multilingual model reads statements and questions, and
the projection that brings both vectors to the length of one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from ltst.providers import local, multilingual
from ltst.providers.local import QUESTION, LocalEmbedder
from ltst.providers.runtime import LOADING, loaded
from ltst.providers.vectors import check_vectors, product

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ltst.providers.vectors import Vectors

NAME = "ltst-joined-1"
DIMENSIONS = local.DIMENSIONS
FILE = "joined.npz"
TOLD, ASKED = "told", "asked"
# Marks a text that only the local model reads; nobody types it.
PUBLISHED = "\x02=\x03"
# The matrices of the multilingual model that are changed: those after the sum of a text's pieces.
MATRICES = ("cnn_W", "d0", "d1", "p1", "d2", "p3", "d3")


class JoinedEmbedder(LocalEmbedder):
    """all-MiniLM-L6-v2 and the universal sentence encoder in one vector: no key, no network, 16 languages."""

    name = NAME
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector for each text; the local model reads the first 256 word pieces."""
        if not texts:
            return check_vectors([], 0, DIMENSIONS)
        import numpy as np

        by_local = super().embed([text.removeprefix(PUBLISHED) for text in texts])
        both = product(np.hstack([by_local, _read_multilingual(texts)]), _changes()["projection"])
        alone = np.array([[text.startswith(PUBLISHED)] for text in texts])
        return check_vectors(np.where(alone, by_local, both), len(texts), DIMENSIONS)

    def published(self, text: str) -> str:
        """Returns the text marked for the local model alone, as it was published."""
        return PUBLISHED + text

    def warm(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Loads both models in a few steps, asking before each whether to go on."""
        readers = (partial(_reader, way) for way in (ASKED, TOLD))  # questions come first
        steps: list[Callable[[], Any]] = [multilingual.tokenizer, multilingual.model, _changes, *readers]
        if loaded(steps, go_on):
            super().warm(go_on)


def _read_multilingual(texts: Sequence[str]) -> NDArray[np.float32]:
    """Returns the vectors of the multilingual model, which reads questions with weights of their own."""
    import numpy as np

    vectors = np.empty((len(texts), multilingual.READ), dtype=np.float32)
    for way in (TOLD, ASKED):
        chosen = [number for number, text in enumerate(texts) if text.startswith(QUESTION) == (way == ASKED)]
        if chosen:
            vectors[chosen] = _reader(way).encode([texts[number].removeprefix(QUESTION) for number in chosen])
    return vectors


@cache
def _reader(way: str) -> Any:
    """Returns the multilingual model with the weights for statements or questions; both share the table of pieces."""
    with LOADING:
        reader = copy.copy(multilingual.model())
        for name in MATRICES:
            setattr(reader, name, getattr(reader, name) + _changes()[f"{way}.{name}"])
        return reader


@cache
def _changes() -> Mapping[str, NDArray[np.float32]]:
    """Returns what is added to each matrix, and the projection; the file stores them as bytes with scales."""
    import numpy as np

    with as_file(files("ltst.providers.data") / FILE) as beside, np.load(beside) as stored:
        packed = {name: stored[name] for name in stored.files}
    whole = {name: packed[name] * packed[f"{name}_scale"] for name in packed if f"{name}_scale" in packed}
    changed = [f"{way}.{name}" for way in (TOLD, ASKED) for name in MATRICES]
    products = {name: product(whole[f"{name}.down"], whole[f"{name}.up"]).astype(np.float32) for name in changed}
    return products | {"projection": whole["projection"].astype(np.float32)}
