"""`python -m bench.gate --data FOLDER`: how well a small logistic tells which sentences say something of a life.

The labels (`gate_labels.jsonl`) name messages of public data sets by their ids: how far each was read, and where its
statements stand. The texts stay outside. Every conversation is judged by weights that were trained without it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.gate_features import features
from bench.sentences import spans

LABELS = Path(__file__).with_name("gate_labels.jsonl")
LEAST = 0.5  # from this probability on a sentence counts as a statement
LEAST_OFTEN, MOST_NAMES = 3, 2_500
PENALTY, ROUNDS = 3.0, 250
FOLDS = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its features, and whether a reader called it a statement."""

    message: str
    conversation: str
    features: dict[str, float]
    states: bool


def main() -> None:
    """Report the agreement of the readers, and what leaving each conversation out gives."""
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the evaluation data")
    options = parser.parse_args()
    read = [*_sentences(options.data)]
    print(f"{len(read):,} sentences of {len({each.message for each in read}):,} messages")
    print(f"two readers agree: {_agreement()}")
    left_out = _left_out(read)
    _report("by sentence", left_out, np.array([each.states for each in read]))
    _report("by message", *_by_message(read, left_out))


def judged(data: Path) -> Iterator[tuple[Sentence, float]]:
    """Returns each labelled sentence with its probability by weights that were trained without its conversation."""
    read = [*_sentences(data)]
    yield from zip(read, map(float, _left_out(read)), strict=True)


def _sentences(data: Path) -> Iterator[Sentence]:
    texts = dict(_texts(data))
    for line in LABELS.read_text("utf-8").splitlines():
        label = json.loads(line)
        text, before = texts[label["id"]]
        stated = {start for start, _, _ in label["statements"]}
        for (start, _), seen in zip(spans(text), features(text, before), strict=False):
            if start < label["read"]:
                yield Sentence(label["id"], _conversation(label["id"]), dict(seen), start in stated)


def _conversation(message: str) -> str:
    """The conversation that is left out together; sessions of LongMemEval are many and short, so they go in groups."""
    name, place, *_ = message.split("/")
    if name != "longmemeval":
        return f"{name}/{place}"
    known = re.sub(r"_\d+$", "", place.removeprefix("answer_"))
    return f"{name}/{sum(map(ord, known)) % FOLDS}"


def _agreement() -> str:
    """How often two readers say the same of a sentence that both have read, and how much better than chance."""
    pairs: Counter[tuple[bool, bool]] = Counter()
    for line in LABELS.read_text("utf-8").splitlines():
        for one, other in json.loads(line).get("twice", ()):
            pairs[one != "-", other != "-"] += 1
    total = sum(pairs.values())
    same = (pairs[True, True] + pairs[False, False]) / total
    one, other = ((pairs[True, True] + pairs[each]) / total for each in ((True, False), (False, True)))
    chance = one * other + (1 - one) * (1 - other)
    return f"{same:.3f} of {total} sentences, kappa {(same - chance) / (1 - chance):.3f}"


def _texts(data: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every message of the sets by its id, with the turn before it."""
    for conversation in _json(data / "locomo_dev.json.gz"):
        for name, turns in conversation["conversation"].items():
            if re.fullmatch(r"session_\d+", name):
                named = [(each["dia_id"], each["text"], f"{each['speaker']}: {each['text']}") for each in turns]
                for place, (dia, text, _) in enumerate(named):
                    yield f"locomo/{conversation['sample_id']}/{dia}", (text, named[place - 1][2] if place else "")
    for session, turns in _json(data / "longmemeval_s_dev.json.gz")["sessions"].items():
        yield from _numbered(f"longmemeval/{session}", [each["content"] for each in turns])
    for file in sorted((data / "lives").glob("*.json")):
        life = _json(file)
        for session in life["sessions"]:
            yield from _numbered(f"lives/{life['id']}/{session['id']}", [text for _, text in session["turns"]])


def _numbered(name: str, said: Sequence[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for place, text in enumerate(said):
        yield f"{name}/{place}", (text, said[place - 1] if place else "")


def _json(file: Path) -> Any:
    raw = file.read_bytes()
    return json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)


def _left_out(read: Sequence[Sentence]) -> Floats:
    """The probability of each sentence by weights that were trained on the other conversations."""
    found, conversations = np.zeros(len(read)), np.array([each.conversation for each in read])
    for name in sorted(set(conversations)):
        out = conversations == name
        names, weights = _trained([each for each, left in zip(read, out, strict=True) if not left])
        total = _matrix([each for each, left in zip(read, out, strict=True) if left], names) @ weights
        found[out] = 1 / (1 + np.exp(-total))
    return found


def _trained(read: Sequence[Sentence]) -> tuple[dict[str, int], Floats]:
    """Weights by accelerated gradient descent on the logistic loss with a penalty on their squares."""
    often = Counter(name for each in read for name in each.features)
    kept = sorted((name for name, times in often.items() if times >= LEAST_OFTEN), key=lambda name: -often[name])
    names = {name: place for place, name in enumerate(kept[:MOST_NAMES])}
    matrix, states = _matrix(read, names), np.array([each.states for each in read], np.float64)
    weights = ahead = np.zeros(len(names))
    step = 4 / (_steepness(matrix) + 4 * PENALTY)
    for number in range(ROUNDS):
        slope = matrix.T @ (1 / (1 + np.exp(-(matrix @ ahead))) - states) + PENALTY * ahead
        before, weights = weights, ahead - step * slope
        ahead = weights + number / (number + 3) * (weights - before)
    return names, weights


def _steepness(matrix: Floats) -> float:
    """The largest eigenvalue of the matrix with itself, or a little more."""
    vector = np.ones(matrix.shape[1])
    for _ in range(30):
        vector = matrix.T @ (matrix @ (vector / np.linalg.norm(vector)))
    return 1.05 * float(np.linalg.norm(vector))


def _matrix(read: Iterable[Sentence], names: dict[str, int]) -> Floats:
    rows = [*read]
    matrix: Floats = np.zeros((len(rows), len(names)))
    for row, each in enumerate(rows):
        for name, value in each.features.items():
            if name in names:
                matrix[row, names[name]] = value
    return matrix


def _by_message(read: Sequence[Sentence], found: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """A message states what its surest sentence does."""
    best: dict[str, tuple[float, bool]] = {}
    for each, probability in zip(read, found, strict=True):
        known = best.get(each.message, (0.0, False))
        best[each.message] = max(known[0], float(probability)), known[1] or each.states
    return np.array([one for one, _ in best.values()]), np.array([one for _, one in best.values()])


def _report(level: str, found: Floats, states: NDArray[np.bool_]) -> None:
    order = np.argsort(-found)
    right = np.cumsum(states[order])
    precision, recall = right / np.arange(1, len(order) + 1), right / states.sum()
    chosen = found >= LEAST
    told = [f"precision {precision[np.searchsorted(recall, at)]:.3f} at recall {at}" for at in (0.6, 0.75, 0.87)]
    said = f"from {LEAST} on: precision {states[chosen].mean():.3f}, recall {chosen[states].mean():.3f}"
    print(f"{level}: {'; '.join(told)}; {said}")


if __name__ == "__main__":
    main()
