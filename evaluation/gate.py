"""`python -m evaluation.gate --data FOLDER`: how well a small logistic tells which sentences say something of a life.

The labels (`gate_labels.jsonl`) name messages of public data sets by their ids: how far each was read, and where its
statements stand. The texts stay outside. Every conversation is judged by weights that were trained without it; with
`--write`, those that are trained on all of them become the product's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evaluation.logistic import Bools, Floats, Matrix, fitted, likelihood
from ltst.learn import gate
from ltst.learn.gate import PRECISION, WEIGHTS, features
from ltst.learn.statements import LEAST, candidates, plain
from ltst.records import STATEMENT_KINDS
from ltst.support.sentences import spans

LABELS = Path(__file__).with_name("gate_labels.jsonl")
LEAST_OFTEN, MOST_NAMES = 3, 4_000
PENALTY = 4.0
FOLDS = 10
NO_STATEMENT = "-"


class Sentence(NamedTuple):
    """A sentence with its features, and what a reader called it; one that is no candidate has no features."""

    message: str
    conversation: str
    features: Mapping[str, float]
    kind: str

    @property
    def states(self) -> bool:
        """Whether a reader called it a statement."""
        return self.kind != NO_STATEMENT


def main() -> None:
    """Report the agreement of the readers, and what leaving each conversation out gives; write weights if wanted."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.gate", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the evaluation data")
    parser.add_argument("--write", action="store_true", help="train on all labels, and write the product's weights")
    options = parser.parse_args()
    read = [*_sentences(options.data)]
    print(f"{len(read):,} sentences of {len({each.message for each in read}):,} messages")
    if options.write:
        _write(read)
        return
    print(f"two readers agree: {_agreement()}")
    found, kinds = _left_out(read)
    _report("by sentence", found, np.array([each.states for each in read]))
    _report("by message", *_by_message(read, found))
    right = [guess == each.kind for each, guess in zip(read, kinds, strict=True) if each.states]
    print(f"kinds: {np.mean(right):.3f} of {len(right):,} statements")


def judged(data: Path) -> Iterator[tuple[Sentence, float]]:
    """Return each labelled sentence with its probability by weights that were trained without its conversation."""
    read = [*_sentences(data)]
    yield from zip(read, map(float, _left_out(read)[0]), strict=True)


def _sentences(data: Path) -> Iterator[Sentence]:
    texts = dict(_texts(data))
    for line in LABELS.read_text("utf-8").splitlines():
        label = json.loads(line)
        text, before = texts[label["id"]]
        text = plain(text)
        kinds = {start: kind for start, _, kind in label["statements"]}
        places = candidates(text)
        seen = dict(zip(places, features(text, places, before), strict=True))
        for place in spans(text):
            if place[0] < label["read"]:
                kind = kinds.get(place[0], NO_STATEMENT)
                yield Sentence(label["id"], _conversation(label["id"]), dict(seen.get(place, ())), kind)


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
            pairs[one != NO_STATEMENT, other != NO_STATEMENT] += 1
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


def _left_out(read: Sequence[Sentence]) -> tuple[Floats, list[str]]:
    """The probability and the kind of each sentence, by weights that were trained on the other conversations."""
    found, kinds = np.zeros(len(read)), np.full(len(read), NO_STATEMENT, object)
    conversations = np.array([each.conversation for each in read])
    for name in sorted(set(conversations)):
        out = conversations == name
        names, weights = _trained([each for each, left in zip(read, out, strict=True) if not left])
        left = [each for each, left in zip(read, out, strict=True) if left]
        matrix = Matrix([each.features for each in left], names)
        candidate = np.array([bool(each.features) for each in left])
        found[out] = np.where(candidate, likelihood(matrix.times(weights[:, 0])), 0.0)
        scores = np.stack([matrix.times(column) for column in weights.T[1:]], axis=1)
        kinds[out] = np.array(STATEMENT_KINDS, object)[scores.argmax(axis=1)]
    return found, [*kinds]


def _trained(read: Sequence[Sentence]) -> tuple[dict[str, int], Floats]:
    """The weights of each feature: of the gate, by all candidates, then of each kind, by the statements."""
    known = [each for each in read if each.features]
    often = Counter(name for each in known for name in each.features)
    kept = sorted((name for name in often if often[name] >= LEAST_OFTEN), key=lambda name: (-often[name], name))
    names = {name: place for place, name in enumerate(kept[:MOST_NAMES])}
    stated = [each for each in known if each.states]
    gate_weights = fitted([each.features for each in known], [each.states for each in known], names, PENALTY)
    features = [each.features for each in stated]
    kinds = [fitted(features, [each.kind == kind for each in stated], names, PENALTY) for kind in STATEMENT_KINDS]
    return names, np.stack([gate_weights, *kinds], axis=1)


def _write(read: Sequence[Sentence]) -> None:
    """Write the weights that all labels give, those that round to nothing left out."""
    names, weights = _trained(read)
    rounded = np.rint(weights * PRECISION).astype(int)
    lines = ["\t".join([name, *map(str, rounded[place])]) for name, place in names.items() if rounded[place].any()]
    file = Path(gate.__file__).with_name(WEIGHTS)
    file.write_text("".join(f"{line}\n" for line in sorted(lines)), "utf-8")
    print(f"{len(lines):,} features, {file.stat().st_size / 1024:.0f} KiB")


def _by_message(read: Sequence[Sentence], found: Floats) -> tuple[Floats, Bools]:
    """A message states what its surest sentence does."""
    best: dict[str, tuple[float, bool]] = {}
    for each, probability in zip(read, found, strict=True):
        known = best.get(each.message, (0.0, False))
        best[each.message] = max(known[0], float(probability)), known[1] or each.states
    return np.array([one for one, _ in best.values()]), np.array([one for _, one in best.values()])


def _report(level: str, found: Floats, states: Bools) -> None:
    order = np.argsort(-found)
    right = np.cumsum(states[order])
    precision, recall = right / np.arange(1, len(order) + 1), right / states.sum()
    chosen = found >= LEAST
    told = [f"precision {precision[np.searchsorted(recall, at)]:.3f} at recall {at}" for at in (0.6, 0.75, 0.78, 0.8)]
    said = f"from {LEAST} on: precision {states[chosen].mean():.3f}, recall {chosen[states].mean():.3f}"
    print(f"{level}: {'; '.join(told)}; {said}")


if __name__ == "__main__":
    main()
