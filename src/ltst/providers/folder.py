"""Folder models: runs any sentence model that is stored in a folder as ONNX with its tokenizer, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltst.errors import ModelUnavailable
from ltst.providers import layout
from ltst.providers.parts import LONGEST_STRETCH, by_pieces, encoded
from ltst.providers.runtime import LOADING, load, padded, runs, summed, threads_for
from ltst.providers.vectors import check_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from ltst.providers.vectors import Vectors

MOST_PIECES_AT_ONCE = 512
# Pieces of a background batch: a tenth of a second for a small model, under a second for a base model.
PIECES_A_MOMENT = 256
SENTENCE = "sentence_embedding"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
WHOLE_NUMBERS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}


class FolderEmbedder:
    """The model of a folder. Its files are checked at once; it is loaded at first use, once per process."""

    def __init__(self, folder: str | Path, *, threads: int | None = None) -> None:
        """`threads` compute; unset means one for each processor, four at most."""
        self._threads = threads_for(threads)
        self.folder = Path(folder).expanduser().absolute()
        self._layout = layout.read(self.folder)

    @cached_property
    def name(self) -> str:
        """The folder's name and a hash of its files, which are read for it."""
        try:
            return self._layout.name()
        except OSError as problem:
            raise ModelUnavailable(f"the model in {self.folder} cannot be read: {problem}") from problem

    @cached_property
    def dimensions(self) -> int:
        """The length of its vectors; the model is loaded and run once to find it."""
        return int(self._vectors(["dimensions"]).shape[1])

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """Returns the text cut into parts that the model reads whole, with room for `room` pieces before each."""
        pieces = self._pieces
        taken = pieces.marks + pieces.count(self._layout.passage_prefix) + max(room, 0)
        longest = max(self._layout.longest - taken, self._layout.longest // 2)
        return by_pieces(text, longest, pieces.read)

    def prompted(self, text: str, question: bool) -> str:
        """Returns the text after the words that this model expects before a question, or before a text to be found."""
        return (self._layout.question_prefix if question else self._layout.passage_prefix) + text

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many pieces of each text are read."""
        return [len(self._pieces.ids(text, self._layout.longest)) for text in texts]

    def moment(self, lengths: Sequence[int]) -> int:
        """Returns how many texts of these lengths, longest first, go together in the background."""
        return max(1, min(len(lengths), PIECES_A_MOMENT // max(lengths[0], 1)))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector for each text, of which as much counts as the model reads."""
        if not texts:
            return check_vectors([], 0, self.dimensions)
        return check_vectors(self._vectors(texts), len(texts), self.dimensions)

    def warm(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Loads the model, unless it is no longer wanted."""
        if go_on():
            self._vectors(["warm"])

    def _vectors(self, texts: Sequence[str]) -> NDArray[Any]:
        import numpy as np

        model, rows = self._loaded(), [self._pieces.ids(text, self._layout.longest) for text in texts]
        found: list[Any] = [None] * len(rows)
        for run in runs([len(row) for row in rows], MOST_PIECES_AT_ONCE):
            for number, vector in zip(run, model.vectors([rows[number] for number in run]), strict=True):
                found[number] = vector
        return np.array(found)

    @cached_property
    def _pieces(self) -> _Pieces:
        with LOADING:
            return _Pieces(self._layout.tokenizer)

    def _loaded(self) -> _Model:
        """Returns the model; a forked child loads its own, since threads stay with the parent."""
        key = os.getpid(), self._layout, self._threads
        with LOADING:
            if key not in _models:
                _models[key] = _Model(self._layout, self._threads)
            return _models[key]


_models: dict[tuple[int, layout.Layout, int], _Model] = {}


class _Pieces:
    """Reads texts with the model's tokenizer."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        except Exception as problem:
            raise ModelUnavailable(f"{path} is not a tokenizer of the package `tokenizers`: {problem}") from problem
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # "[SEP]" written in a text is read as text.
        self._tokenizer.encode_special_tokens = True
        self._around = self._tokenizer.encode("", add_special_tokens=True).ids
        self.marks = len(self._around)

    def ids(self, text: str, longest: int) -> list[int]:
        """Returns the ids of the pieces with their marks, at most `longest`; the rest is not read."""
        read = self.read(text[:LONGEST_STRETCH])
        read.truncate(max(longest - self.marks, 0))
        return [int(each) for each in self._tokenizer.post_process(read, add_special_tokens=True).ids]

    def count(self, text: str) -> int:
        """Returns how many pieces a text has, without the marks."""
        return len(self.read(text)) if text else 0

    def read(self, text: str) -> Encoding:
        """Returns the pieces of a text without the marks."""
        return encoded(self._tokenizer, text)


class _Model:
    """The loaded weights: turns the pieces of texts into vectors."""

    def __init__(self, said: layout.Layout, threads: int) -> None:
        try:
            self._session = load(said.weights, threads)
        except ModelUnavailable:
            raise
        except Exception as problem:
            raise ModelUnavailable(f"{said.weights} cannot be loaded as an ONNX model: {problem}") from problem
        self._weights, self._pooling = said.weights, said.pooling
        self._inputs = {each.name: self._kind(each) for each in self._session.get_inputs()}
        if "input_ids" not in self._inputs:
            raise ModelUnavailable(f"{self._weights} takes no input_ids: it is not a model of texts")
        self._output = self._output_name()

    def vectors(self, rows: Sequence[Sequence[int]]) -> NDArray[Any]:
        """Returns a vector for the pieces of each text."""
        import numpy as np

        given = padded(rows)
        asked = {name: given[name].astype(kind) for name, kind in self._inputs.items()}
        (states,) = self._session.run([self._output], asked)
        if states.ndim == 2:
            return np.asarray(states)
        shape = given["input_ids"].shape
        if states.ndim != 3 or states.shape[:2] != shape:
            raise ModelUnavailable(
                f"{self._weights} gives numbers in the shape {states.shape} for texts of the shape {shape}: "
                "a vector for each piece is needed, or one for each text"
            )
        if self._pooling == layout.CLS:
            return np.asarray(states[:, 0])
        return np.asarray(summed(given, states))

    def _kind(self, given: Any) -> str:
        if given.name not in INPUTS or given.type not in WHOLE_NUMBERS:
            raise ModelUnavailable(
                f"{self._weights} takes {given.name} as {given.type}; accepted are {', '.join(INPUTS)} of whole numbers"
            )
        return WHOLE_NUMBERS[given.type]

    def _output_name(self) -> str:
        """Returns the output to read: one vector per text if the model has that, else the last layer's states."""
        outputs = [each.name for each in self._session.get_outputs()]
        return next((name for name in (SENTENCE, "last_hidden_state") if name in outputs), str(outputs[0]))
