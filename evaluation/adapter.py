"""Trains what a question's weights differ by from the local model's: a thin change of each of its matrices.

Memories keep the vectors of the model as it is. Only this needs torch, which nothing else here does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation import beam, locomo, realtalk, training
from evaluation.asked import Placing, Remembered, placing, remembered
from evaluation.lives import data as lives
from ltst.doors.cli import show
from ltst.errors import Invalid, ModelUnavailable
from ltst.providers import adapter, local
from ltst.providers.adapter import FILE, MOST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluation.benchmark import Benchmark
    from evaluation.minilm import MiniLM
    from ltst.protocols import Embedder

    Thin = tuple[NDArray[np.float32], NDArray[np.float32]]

RANK = 8
SEED = 1
OWN = "training"
SETS = (OWN, locomo.NAME, realtalk.NAME, beam.NAME)
LIVES = "lives"  # are measured and never trained on
SAMPLE = ("Where do I live?", "I moved to Lisbon in March.")
ALIKE = 0.999

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the data lies, and what is left out: data sets by their names, training lives by their ids."""

    data: Path
    realtalk: Path | None = None
    beam: Path | None = None
    left_out: Collection[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Histories with their questions, and whether they are trained on or only measured."""

    name: str
    trained: bool
    histories: list[Remembered]


@dataclass(frozen=True, slots=True)
class Score:
    """How the cosine alone places the evidence of one data set, before the training and after it."""

    data: str
    trained: bool
    before: Placing
    after: Placing


def read(sources: Sources, embedder: Embedder) -> list[DataSet]:
    """Return the data sets that there are, with the vectors of the plain model."""
    own = training.read()
    ids = {life.history.id for life in own}
    if unknown := sorted({*sources.left_out} - {*SETS} - ids):
        raise Invalid(f"{unknown[0]} cannot be left out: name one of {', '.join(SETS)}, or a training life as a01")
    out = ids if OWN in sources.left_out else ids & {*sources.left_out}
    found = [
        DataSet(OWN, trained, [remembered(each.history, embedder, each.reworded) for each in chosen])
        for trained in (True, False)
        if (chosen := [each for each in own if (each.history.id not in out) == trained])
    ]
    for each, trained in public(sources):
        found.append(DataSet(each.name, trained, [remembered(one, embedder) for one in each.histories]))
    return found


def public(sources: Sources) -> Iterator[tuple[Benchmark, bool]]:
    """Yield the data sets of others, and whether each is trained on."""
    yield locomo.read(sources.data), locomo.NAME not in sources.left_out
    if sources.realtalk is not None:
        yield realtalk.read(sources.realtalk), realtalk.NAME not in sources.left_out
    if sources.beam is not None:
        yield beam.read(sources.beam), beam.NAME not in sources.left_out
    if (sources.data / LIVES).is_dir():
        yield lives.read(sources.data / LIVES), False


def train(found: Sequence[DataSet], *, epochs: int, tell: Tell) -> tuple[list[Score], dict[str, Thin]]:
    """Train a change of the model on the data sets that are to be trained on; the scores, and the change."""
    minilm, tuning, torch = with_torch()
    torch.manual_seed(SEED)
    model: MiniLM = minilm.MiniLM(local.weights_file(), RANK)
    _check(model)
    before = _placings(found, model)
    chosen = [history for each in found if each.trained for history in each.histories if history.questions]
    if not chosen:
        raise Invalid("everything is left out: there is nothing to train on")
    tuning.tune(model, chosen, epochs=epochs, seed=SEED, tell=lambda epoch, loss: tell(f"{epoch}: loss {loss:.3f}"))
    after = _placings(found, model)
    compared = zip(found, before, after, strict=True)
    return [Score(each.name, each.trained, first, second) for each, first, second in compared], model.change()


def with_torch() -> tuple[Any, Any, Any]:
    """Return the modules that need torch, and torch itself."""
    try:
        import torch

        from evaluation import minilm, tuning
    except ImportError as problem:
        raise ModelUnavailable(
            f"training needs torch, which is not part of ltst ({problem}): {sys.executable} -m pip install torch"
        ) from problem
    return minilm, tuning, torch


def _check(model: MiniLM) -> None:
    """Refuse to train a model that is not the product's."""
    alike = (model.vectors(SAMPLE) * local.LocalEmbedder().embed(SAMPLE)).sum(axis=1).min()
    if alike < ALIKE:
        raise ModelUnavailable(f"the model in torch is not {local.NAME} as ltst runs it: their vectors differ")


def _placings(found: Sequence[DataSet], model: MiniLM) -> list[Placing]:
    return [placing(each.histories, model.vectors) for each in found]


def packed(change: Mapping[str, Thin]) -> dict[str, NDArray[Any]]:
    """Return the thin matrices as bytes, with a scale for each of the columns down and the rows up."""
    found: dict[str, NDArray[Any]] = {}
    for name, (down, up) in change.items():
        found[f"{name}.down"], found[f"{name}.down_scale"] = as_bytes(down, axis=0)
        found[f"{name}.up"], found[f"{name}.up_scale"] = as_bytes(up, axis=1)
    return found


def as_bytes(matrix: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix as bytes, and the scale of each of its columns (axis 0) or rows (axis 1)."""
    scale = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True), 1e-12) / MOST
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)


def write(change: Mapping[str, Thin], file: Path | None = None) -> Path:
    """Write what the product changes its model by, unless another file is named; where it is."""
    target = file or Path(adapter.__file__).with_name("data") / FILE
    np.savez_compressed(target, **packed(change))  # type: ignore[arg-type]
    return target


def present(scores: Sequence[Score]) -> None:
    """Show a table on standard output."""
    title = "Evidence by the cosine alone, before and after"
    show.records(False, scores, COLUMNS, title=title, empty="There are no data.")


def _both(name: str) -> Callable[[Score], str]:
    return lambda score: f"{getattr(score.before, name):.3f} {getattr(score.after, name):.3f}"


COLUMNS: show.Columns = {
    "Data": "data",
    "Trained on": lambda score: "yes" if score.trained else "no",
    "Questions": lambda score: score.before.questions,
    "First": _both("first"),
    "First three": _both("first_three"),
    "Recall of ten": _both("recall"),
}
