"""Training of the thin change of the model, by which a question comes to lie near the messages that answer it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch.nn import functional

from evaluation.asked import Asked, Remembered
from evaluation.minilm import MiniLM, Tensor

PACE, WARMING, LEAST_PACE = 1e-3, 20, 1e-6
DECAY, STEEPEST = 0.01, 1.0
AT_ONCE = 40  # questions
SHARPNESS = 0.05  # the temperature of the softmax over all messages of a history
NEAR = 2.0  # what it costs a question to leave the vector that the plain model gives it

Tell = Callable[[int, float], None]


class Batch(NamedTuple):
    """Some questions about one history."""

    history: Remembered
    questions: Sequence[Asked]


def tune(model: MiniLM, histories: Sequence[Remembered], *, epochs: int, seed: int, tell: Tell) -> None:
    """Train the change of a model on all questions, so many times; `tell` hears the mean loss of each time."""
    chance = random.Random(seed)  # noqa: S311 - the same every time is what is wanted
    pace = torch.optim.AdamW(model.parameters, lr=PACE, weight_decay=DECAY)
    steps = epochs * sum(1 for each in histories for _ in range(0, len(each.questions), AT_ONCE))
    step = 0
    for epoch in range(1, epochs + 1):
        losses = []
        for batch in _batches(histories, chance):
            for group in pace.param_groups:
                group["lr"] = PACE * min(1.0, (step + 1) / WARMING) * (1 - step / steps) + LEAST_PACE
            losses.append(_step(model, pace, batch))
            step += 1
        tell(epoch, sum(losses) / len(losses))


def _batches(histories: Sequence[Remembered], chance: random.Random) -> list[Batch]:
    """All questions in an order of chance, those about one history together."""
    found = [batch for history in histories for batch in _of(history, chance)]
    chance.shuffle(found)
    return found


def _of(history: Remembered, chance: random.Random) -> Iterator[Batch]:
    asked = chance.sample(history.questions, len(history.questions))
    for start in range(0, len(asked), AT_ONCE):
        yield Batch(history, asked[start : start + AT_ONCE])


def _step(model: MiniLM, pace: Tensor, batch: Batch) -> float:
    loss = _loss(model, batch)
    pace.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters, STEEPEST)
    pace.step()
    return float(loss.detach())


def _loss(model: MiniLM, batch: Batch) -> Tensor:
    """How unlikely the messages that answer are among all of a history, and how far the questions went."""
    vectors = model.embed([each.text for each in batch.questions])
    likely = functional.log_softmax(vectors @ torch.tensor(batch.history.vectors).T / SHARPNESS, 1)
    missed = [-likely[place, each.evidence].mean() for place, each in enumerate(batch.questions)]
    plain = torch.stack([torch.tensor(each.vector) for each in batch.questions])
    return torch.stack(missed).mean() + NEAR * (1 - (vectors * plain).sum(1)).mean()
