"""Trains the joined embedder: how its multilingual model reads what is told and what is asked, and the projection.

The questions of the local model keep the weights of `evaluation/adapter.py`, so train those first. It needs torch.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation import adapter, stored, training
from evaluation.adapter import OWN, SEED, Score, Sources, Tell, as_bytes, public
from evaluation.asked import placed, placing_of
from ltst.errors import Invalid
from ltst.providers import joined, local
from ltst.providers.joined import ASKED, DIMENSIONS, TOLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluation.benchmark import History
    from evaluation.heads import Head, Sums
    from ltst.protocols import Embedder

    Vectors = NDArray[np.float32]

PAIRS = training.FILE.with_name("pairs.jsonl.gz")
TOGETHER = 40  # pairs that are told apart from each other
RANKS = (16, 8)  # of the change for questions, and for what is told


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A history as both models read it: the questions in their own words, with what answers them."""

    name: str
    trained: bool
    sums: Sums
    vectors: Vectors  # of what was told, by the local model
    asked: Vectors  # of the questions, by the local model
    evidence: Sequence[Sequence[int]]
    own: Sequence[int]  # the places of the questions that are in their own words


def read(sources: Sources, embedder: Embedder) -> list[Read]:
    """Return all histories that there are, as both models read them."""
    found = [
        _read(OWN, not {OWN, life.history.id} & {*sources.left_out}, life.history, embedder, life.reworded)
        for life in training.read()
    ]
    for benchmark, trained in public(sources):
        found += [_read(benchmark.name, trained, history, embedder, {}) for history in benchmark.histories]
    return [each for each in found if each.evidence]


def pairs(file: Path = PAIRS) -> list[Sums]:
    """Return the pairs of what is told and what is asked, some of one language at a time."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = []
    for language in dict.fromkeys(row["language"] for row in rows):
        of_one = [row for row in rows if row["language"] == language]
        found += [_together(of_one[start : start + TOGETHER]) for start in range(0, len(of_one), TOGETHER)]
    return found


def train(given: Sequence[Read], *, epochs: int, tell: Tell) -> tuple[list[Score], dict[str, NDArray[Any]]]:
    """Train on the histories that are to be trained on and on all pairs; the scores, and what the product reads."""
    _, _, torch = adapter.with_torch()
    from evaluation import heads

    torch.set_num_threads(1)  # its matrices are small
    chosen = [each.sums for each in given if each.trained]
    if not chosen:
        raise Invalid("everything is left out: there is nothing to train on")
    asked, told = heads.tune(
        [*chosen, *pairs()], RANKS, epochs=epochs, seed=SEED, tell=lambda epoch, loss: tell(f"{epoch}: loss {loss:.3f}")
    )
    both = [
        (_both(each.vectors, heads.vectors(told, each.sums)), _both(each.asked, _asked(asked, each))) for each in given
    ]
    projection = _projection([part for each in both for part in each])
    return _scores(given, both, projection), _packed(asked, told, projection)


def write(made: Mapping[str, NDArray[Any]], file: Path | None = None) -> Path:
    """Write what the product reads, unless another file is named; where it is."""
    target = file or Path(joined.__file__).with_name("data") / joined.FILE
    np.savez_compressed(target, **made)  # type: ignore[arg-type]
    return target


def _read(
    name: str, trained: bool, history: History, embedder: Embedder, reworded: Mapping[str, Sequence[str]]
) -> Read:
    from evaluation import heads

    said = stored.messages(history, embedder)
    places = {each.turn.id: place for place, each in enumerate(said)}
    asked = [
        (text, sorted(places[turn] for turn in question.turns if turn in places), number == 0)
        for question in history.questions
        for number, text in enumerate((question.text, *reworded.get(question.id, ())))
    ]
    asked = [each for each in asked if each[1]]
    texts = [text for text, _, _ in asked]
    evidence = [each for _, each, _ in asked]
    told = [each.turn.text for each in said]
    sums = heads.Sums(
        heads.sums(told),
        heads.sums([each.label + each.turn.text for each in said]),
        [*zip(heads.sums(texts), evidence, strict=True)] if texts else [],
    )
    questions = embedder.embed([local.QUESTION + text for text in texts])
    own = [place for place, each in enumerate(asked) if each[2]]
    return Read(name, trained, sums, np.stack([each.vector for each in said]), questions, evidence, own)


def _together(rows: Sequence[Mapping[str, Any]]) -> Sums:
    """What was told, each among what the others told and what only looks like it."""
    from evaluation import heads

    told = heads.sums([row["told"] for row in rows] + [each for row in rows for each in row["beside"]])
    asked = [(text, [place]) for place, row in enumerate(rows) for text in row["asked"]]
    questions = heads.sums([text for text, _ in asked])
    return heads.Sums(told, told, [(each, place) for each, (_, place) in zip(questions, asked, strict=True)])


def _asked(head: Head, given: Read) -> Vectors:
    _, _, torch = adapter.with_torch()
    with torch.no_grad():
        found: Vectors = head(torch.stack([each for each, _ in given.sums.asked])).numpy()
    return found


def _both(first: Vectors, second: Vectors) -> Vectors:
    return np.hstack([first, second]) * np.float32(0.5**0.5)


def _projection(parts: Sequence[Vectors]) -> Vectors:
    """The directions in which the vectors differ most, as many as a vector of the product has numbers."""
    every = np.concatenate(parts)
    spread, directions = np.linalg.eigh(every.T @ every)
    found: Vectors = directions[:, np.argsort(-spread)[:DIMENSIONS]]
    return found


def _scores(given: Sequence[Read], both: Sequence[tuple[Vectors, Vectors]], projection: Vectors) -> list[Score]:
    """How the local model alone places the evidence, and how both do together."""
    scores = []
    for name, trained in dict.fromkeys((each.name, each.trained) for each in given):
        chosen = [place for place, each in enumerate(given) if (each.name, each.trained) == (name, trained)]
        before = [one for place in chosen for one in _placed(given[place], given[place].vectors, given[place].asked)]
        after = [
            one
            for place in chosen
            for one in _placed(given[place], *(_unit(part @ projection) for part in both[place]))
        ]
        scores.append(Score(name, trained, placing_of(before), placing_of(after)))
    return scores


def _placed(given: Read, told: Vectors, asked: Vectors) -> list[tuple[float, float, float]]:
    return placed(asked[[*given.own]] @ told.T, [given.evidence[place] for place in given.own])


def _unit(vectors: Vectors) -> Vectors:
    found: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def _packed(asked: Head, told: Head, projection: Vectors) -> dict[str, NDArray[Any]]:
    """The thin matrices and the projection as bytes with scales."""
    whole = {"projection": (projection, 0)}
    for way, head in ((ASKED, asked), (TOLD, told)):
        for name, (down, up) in head.change().items():
            whole |= {f"{way}.{name}.down": (down, 0), f"{way}.{name}.up": (up, 1)}
    packed: dict[str, NDArray[Any]] = {}
    for name, (matrix, axis) in whole.items():
        packed[name], packed[f"{name}_scale"] = as_bytes(matrix, axis)
    return packed
