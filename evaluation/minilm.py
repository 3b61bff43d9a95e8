"""The local model in torch, from the weights that the product runs, with a thin change of each matrix to be trained.

What changes a matrix is a product of two thin ones, "down" and "up"; as long as "up" is zero the model is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ltst.providers.local import DIMENSIONS, LONGEST
from ltst.providers.runtime import runs
from ltst.providers.tensors import tensors
from ltst.providers.wordpieces import word_pieces

LAYERS, HEADS = 6, 12
PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
TINY = 1e-12  # keeps a norm from dividing by nothing
SCALE = 2.0  # of the change; with it the usual pace of learning fits
MOST_PIECES = 2_048  # of texts that are read at once
NAMES_TRIED = 1_000

Tensor = Any  # torch is no part of what developers install
Thin = tuple[Tensor, Tensor]


def _thin(shape: Sequence[int], rank: int) -> Thin:
    height, width = shape
    return (torch.randn(height, rank) / height**0.5).requires_grad_(), torch.zeros(rank, width).requires_grad_()


class ThinChange:
    """A thin change of some matrices, all of one rank; it begins as none."""

    def __init__(self, matrices: Mapping[str, Tensor], rank: int) -> None:
        self.thin: dict[str, Thin] = {name: _thin(each.shape, rank) for name, each in matrices.items()}

    @property
    def parameters(self) -> list[Tensor]:
        """What is trained."""
        return [each for thin in self.thin.values() for each in thin]

    def change(self) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Return the two thin matrices by the name of the one that their product is added to."""
        return {name: ((down * SCALE).detach().numpy(), up.detach().numpy()) for name, (down, up) in self.thin.items()}


class MiniLM(ThinChange):
    """The model with a thin change of each of its matrices, all of one rank."""

    def __init__(self, file: Path, rank: int) -> None:
        """Read the weights of a file, and begin with a change that is none."""
        model = bytearray(file.read_bytes())
        self._plain = {name: torch.tensor(np.array(value)) for name, value in _plain(model).items()}
        self._matrices = {name: torch.tensor(value) for name, value in _matrices(model).items()}
        self._names = [*self._matrices]
        super().__init__(self._matrices, rank)

    def embed(self, texts: Sequence[str]) -> Tensor:
        """Return a vector of length one for each text."""
        rows = [word_pieces().ids(text, LONGEST) for text in texts]
        vectors: list[Tensor] = [None] * len(rows)
        for run in runs([len(row) for row in rows], MOST_PIECES):
            for number, vector in zip(run, self._vectors([rows[number] for number in run]), strict=True):
                vectors[number] = vector
        return torch.stack(vectors)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same outside of torch, with nothing to learn from."""
        with torch.no_grad():
            found: NDArray[np.float32] = self.embed(texts).numpy()
        return found

    def _vectors(self, rows: Sequence[Sequence[int]]) -> Tensor:
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        mask = torch.zeros(ids.shape)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        states = self._begun(ids)
        hidden = (1 - mask[:, None, None, :]) * -1e9
        for layer in range(LAYERS):
            states = self._layer(layer, states, hidden)
        return functional.normalize((states * mask[:, :, None]).sum(1), dim=-1)

    def _begun(self, ids: Tensor) -> Tensor:
        """What stands before the first layer: the piece, and its place."""
        words, places, kinds = (
            self._plain[f"inner.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        return self._normed("embeddings.LayerNorm", words[ids] + places[: ids.shape[1]] + kinds[0])

    def _layer(self, layer: int, states: Tensor, hidden: Tensor) -> Tensor:
        texts, length, _ = states.shape
        heads = (self._linear(layer, part, states).view(texts, length, HEADS, -1).transpose(1, 2) for part in range(3))
        seen = functional.scaled_dot_product_attention(*heads, attn_mask=hidden)
        seen = seen.transpose(1, 2).reshape(texts, length, DIMENSIONS)
        before, after = (f"encoder.layer.{layer}.{norm}" for norm in NORMS)
        states = self._normed(before, states + self._linear(layer, 3, seen))
        wide = functional.gelu(self._linear(layer, 4, states))
        return self._normed(after, states + self._linear(layer, 5, wide))

    def _linear(self, layer: int, part: int, states: Tensor) -> Tensor:
        name = self._names[layer * len(PARTS) + part]
        down, up = self.thin[name]
        bias = self._plain[f"inner.encoder.layer.{layer}.{PARTS[part]}.bias"]
        return states @ self._matrices[name] + bias + states @ down @ up * SCALE

    def _normed(self, name: str, states: Tensor) -> Tensor:
        weight, bias = (self._plain[f"inner.{name}.{each}"] for each in ("weight", "bias"))
        return functional.layer_norm(states, (DIMENSIONS,), weight, bias, TINY)


def _matrices(model: bytearray) -> dict[str, NDArray[np.float32]]:
    """The matrices of all layers, in the order of their use, which is that of the numbers in their names."""
    stored = _whole(model, [f"val_{number}" for number in range(NAMES_TRIED)])
    if len(stored) != LAYERS * len(PARTS):
        raise ValueError(f"the model has {len(stored)} matrices, not {LAYERS * len(PARTS)}")
    return stored


def _plain(model: bytearray) -> Mapping[str, NDArray[Any]]:
    """Everything that is not changed: embeddings, norms and biases."""
    whole = _whole(model, [f"inner.embeddings.{name}_embeddings.weight" for name in ("word", "position")])
    return tensors(model, {*_plain_names()}) | whole


def _plain_names() -> Iterator[str]:
    yield "inner.embeddings.token_type_embeddings.weight"
    norms = [f"encoder.layer.{layer}.{norm}" for layer in range(LAYERS) for norm in NORMS]
    for norm in ("embeddings.LayerNorm", *norms):
        yield from (f"inner.{norm}.{each}" for each in ("weight", "bias"))
    yield from (f"inner.encoder.layer.{layer}.{part}.bias" for layer in range(LAYERS) for part in PARTS)


def _whole(model: bytearray, names: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Matrices that are stored as bytes with scales, as far as the model has them."""
    wanted = {f"{name}_{part}" for name in names for part in ("q", "scale")}
    stored: Mapping[str, NDArray[Any]] = tensors(model, wanted)
    return {name: stored[f"{name}_q"] * stored[f"{name}_scale"] for name in names if f"{name}_q" in stored}
