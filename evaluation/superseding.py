"""Trains the weights that tell how likely a message takes the place of what one before it states.

By the pairs that the training lives name. A pair is made and seen as the product makes and sees it: a message with each
of the nearest messages before it. Every life is judged by weights that were trained without it and some others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluation import stored
from evaluation.logistic import Floats, Matrix, likelihood, solved
from evaluation.stored import Message
from evaluation.training import Life
from ltst.doors.cli import show
from ltst.learn import superseding
from ltst.learn.compare import LEAST_DOUBT, NEAREST_BEFORE, pairs, rarity, terms_of
from ltst.learn.gate import telling
from ltst.learn.superseding import PRECISION, WEIGHTS, features
from ltst.rooms.search import Holders
from ltst.rooms.statements import COMPARED_LENGTH, ComparedMessage
from ltst.support.terms import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ltst.protocols import Embedder

FOLDS = 5
PENALTY = 10 / 3
BIAS = "bias"
# A word is weighed that stands in so many pairs of which the newer takes the older's place, of so many lives.
LEAST_PAIRS, LEAST_LIVES = 12, 8
LEAST_TELLING = 0.0  # below it a message is taken to state nothing, and is compared with none
THRESHOLDS = (LEAST_DOUBT, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Example(NamedTuple):
    """A message with one before it: what is seen of the two, and whether it takes the other's place."""

    life: str
    features: Mapping[str, float]
    takes: bool


@dataclass(frozen=True, slots=True)
class Score:
    """What is noted from one likelihood on: how much of it rightly, and how many of all pairs are found."""

    least: float
    noted: int
    precision: float | None
    recall: float


def examples(life: Life, embedder: Embedder) -> Iterator[Example]:
    """Return each message of a life with each of the nearest before it."""
    said = [each for each in stored.messages(life.history, embedder) if telling(each.turn.text) >= LEAST_TELLING]
    rare, near = rarity(_holders(life)), stored.nearness(said)
    for place, newer in enumerate(said):
        before = [*_nearest(said[:place], near[place, :place])]
        told = _told(newer, place, 1.0)
        for older, pair in zip(before, pairs(told, before, terms_of([told, *before]), rare), strict=True):
            takes = (newer.turn.id, older.message_id) in life.replaced
            yield Example(life.history.id, dict(features(pair)), takes)


def _holders(life: Life) -> Holders:
    """How many turns of a life hold each word."""
    turns = [turn for session in life.history.sessions for turn in session.turns]
    return Holders(Counter(term for turn in turns for term in {*terms(turn.text)}), len(turns))


def _nearest(before: Sequence[Message], near: NDArray[np.float32]) -> Iterator[ComparedMessage]:
    for place in np.argsort(-near, kind="stable")[:NEAREST_BEFORE]:
        yield _told(before[place], int(place), float(near[place]))


def _told(message: Message, place: int, near: float) -> ComparedMessage:
    return ComparedMessage(
        message.turn.id, message.turn.text[:COMPARED_LENGTH], message.session, message.at, place, near
    )


def trained(read: Sequence[Example]) -> dict[str, float]:
    """Return the weight of each feature."""
    names = {name: place for place, name in enumerate(_weighed(read))}
    seen, takes = [each.features for each in read], [each.takes for each in read]
    weights = solved(seen, takes, names, PENALTY, free=(BIAS,))
    return dict(zip(names, map(float, weights), strict=True))


def _weighed(read: Sequence[Example]) -> list[str]:
    """The names of what is weighed; of words only those that many people use where they say that something changed."""
    often, lives = Counter[str](), defaultdict[str, set[str]](set)
    for each in (each for each in read if each.takes):
        often.update(each.features.keys())
        for name in each.features:
            lives[name].add(each.life)
    words = {name for name in often if name.startswith(":")}
    enough = {name for name in words if often[name] >= LEAST_PAIRS and len(lives[name]) >= LEAST_LIVES}
    return sorted({*often} - words | enough)


def left_out(read: Sequence[Example]) -> Floats:
    """Return how likely each pair is, by weights that were trained without its life."""
    lives = {name: place for place, name in enumerate(dict.fromkeys(each.life for each in read))}
    folds, found = np.array([lives[each.life] % FOLDS for each in read]), np.zeros(len(read))
    for fold in range(FOLDS):
        weights = trained([each for each, of in zip(read, folds, strict=True) if of != fold])
        out = [each.features for each, of in zip(read, folds, strict=True) if of == fold]
        matrix = Matrix(out, {name: place for place, name in enumerate(weights)})
        found[folds == fold] = likelihood(matrix.times(np.array([*weights.values()])))
    return found


def scored(read: Sequence[Example], found: Floats, wanted: int) -> list[Score]:
    """Return the scores from each threshold on; `wanted` pairs are named, of which some are not among the nearest."""
    takes = np.array([each.takes for each in read])
    return [_score(least, takes[found >= least], wanted) for least in THRESHOLDS]


def _score(least: float, noted: NDArray[np.bool_], wanted: int) -> Score:
    right = int(noted.sum())
    return Score(least, len(noted), right / len(noted) if len(noted) else None, right / wanted)


def written(weights: Mapping[str, float]) -> str:
    """Return the weights as the product reads them, those that round to nothing left out."""
    rounded = {name: round(weight * PRECISION) for name, weight in weights.items()}
    return "".join(f"{name}\t{weight}\n" for name, weight in sorted(rounded.items()) if weight)


def write(weights: Mapping[str, float]) -> Path:
    """Write the product's weights; where they are."""
    file = Path(superseding.__file__).with_name(WEIGHTS)
    file.write_text(written(weights), "utf-8")
    return file


def present(scores: Sequence[Score]) -> None:
    """Show a table on standard output."""
    title = "What takes the place of what was said before, each life by weights trained without it"
    show.records(False, scores, COLUMNS, title=title, empty="There are no pairs.")


COLUMNS: show.Columns = {
    "From": "least",
    "Pairs": "noted",
    "Precision": lambda score: "" if score.precision is None else f"{score.precision:.3f}",
    "Recall": lambda score: f"{score.recall:.3f}",
}
