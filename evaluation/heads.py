"""The upper part of the multilingual model in torch, with a thin change of each of its matrices to be trained.

It begins at the sum of a text's pieces, which stays as it is; everything above it is small and is trained in minutes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from evaluation.minilm import SCALE, Tensor, ThinChange
from ltst.providers import multilingual
from ltst.providers.joined import MATRICES

PACE, WARMING = 2e-3, 20
DECAY, STEEPEST = 0.01, 1.0
AT_ONCE = 120  # questions
SHARPNESS = 0.05  # the temperature of the softmax over all that is told
# What it costs a question, and what is told, to leave the vector that the model gives it as it is.
NEAR_ASKED, NEAR_TOLD = 2.0, 4.0

Floats = NDArray[np.float32]
Tell = Callable[[int, float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What was told, as sums of pieces with and without dates and speakers, and questions with what answers each."""

    told: Tensor
    labelled: Tensor
    asked: Sequence[tuple[Tensor, Sequence[int]]]


class Head(ThinChange):
    """The upper part of the model with a thin change of each matrix; of rank 0 it is the model as it is."""

    def __init__(self, rank: int) -> None:
        """Begin with a change that is none."""
        whole = multilingual.model()
        self._bias = torch.tensor(whole.cnn_b)
        self._plain = {name: torch.tensor(getattr(whole, name)) for name in MATRICES}
        super().__init__(self._plain if rank else {}, rank)

    def __call__(self, sums: Tensor) -> Tensor:
        """Return a vector of length one for each sum; its last number is the root of how many pieces there were."""
        whole = self._by("cnn_W", sums[:, :-1]) + sums[:, -1:] * self._bias
        first = functional.relu(self._by("p1", whole) + self._by("d1", functional.relu(self._by("d0", whole))))
        second = self._by("p3", first) + self._by("d3", functional.relu(self._by("d2", first)))
        return functional.normalize(torch.tanh(second), dim=1)

    def _by(self, name: str, values: Tensor) -> Tensor:
        product = values @ self._plain[name]
        if name not in self.thin:
            return product
        down, up = self.thin[name]
        return product + values @ down @ up * SCALE


def sums(texts: Sequence[str]) -> Tensor:
    """Return the sum of each text's pieces as the model makes it, over the root of their number, and that root."""
    reader, seen = multilingual.model(), _Seen(multilingual.model().cnn_W)
    reader = _with(reader, cnn_W=seen)
    reader.encode([*texts])
    roots = np.sqrt([len(reader.sp.encode(text)) for text in texts]).astype(np.float32)[:, None]
    return torch.tensor(np.hstack([np.concatenate(seen.sums) / roots, roots]))


def tune(data: Sequence[Sums], ranks: tuple[int, int], *, epochs: int, seed: int, tell: Tell) -> tuple[Head, Head]:
    """Train how questions and how what is told is read; `tell` hears the mean loss of each round."""
    torch.manual_seed(seed)
    chance, plain = random.Random(seed), Head(0)  # noqa: S311 - the same every time is what is wanted
    asked, told = Head(ranks[0]), Head(ranks[1])
    parameters = asked.parameters + told.parameters
    pace = torch.optim.AdamW(parameters, lr=PACE, weight_decay=DECAY)
    order, steps, step = [*data], epochs * len(data), 0
    for epoch in range(1, epochs + 1):
        chance.shuffle(order)
        losses = []
        for each in order:
            for group in pace.param_groups:
                group["lr"] = PACE * min(1.0, (step + 1) / WARMING) * (1 - step / steps)
            missed, far = _loss(each, asked, told, plain, chance)
            pace.zero_grad()
            (missed + far).backward()
            torch.nn.utils.clip_grad_norm_(parameters, STEEPEST)
            pace.step()
            losses.append(float(missed.detach()))
            step += 1
        tell(epoch, sum(losses) / len(losses))
    return asked, told


def vectors(head: Head, given: Sums) -> Floats:
    """Return the vectors of what was told, each in the middle of its two readings."""
    with torch.no_grad():
        found: Floats = functional.normalize(head(given.told) + head(given.labelled), dim=1).numpy()
    return found


def _loss(given: Sums, asked: Head, told: Head, plain: Head, chance: random.Random) -> tuple[Tensor, Tensor]:
    """How unlikely what answers is among all that was told, and how far both sides went."""
    chosen = chance.sample(given.asked, min(AT_ONCE, len(given.asked)))
    questions = torch.stack([each for each, _ in chosen])
    found, read = asked(questions), told(given.told)
    middle = functional.normalize(read + told(given.labelled), dim=1)
    likely = functional.log_softmax(found @ middle.T / SHARPNESS, 1)
    missed = torch.stack([-likely[place, [*evidence]].mean() for place, (_, evidence) in enumerate(chosen)]).mean()
    with torch.no_grad():
        before, after = plain(questions), plain(given.told)
    far = NEAR_ASKED * (1 - (found * before).sum(1)).mean() + NEAR_TOLD * (1 - (read * after).sum(1)).mean()
    return missed, far


class _Seen:
    """A matrix that keeps what it is multiplied with."""

    __array_ufunc__ = None  # so that numpy leaves the product to it

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        self.sums: list[Floats] = []

    def __rmatmul__(self, values: Floats) -> Floats:
        self.sums.append(values)
        product: Floats = values @ self._matrix
        return product


def _with(reader: Any, **changed: object) -> Any:
    import copy

    found = copy.copy(reader)
    for name, value in changed.items():
        setattr(found, name, value)
    return found
