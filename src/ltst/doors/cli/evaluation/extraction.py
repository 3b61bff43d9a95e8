"""How well facts are read from single messages: labelled sentences, and what the extractor makes of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ltst.doors.cli import show
from ltst.errors import Invalid
from ltst.learn.extract import claims
from ltst.records import Claim

SENTENCES = Path(__file__).with_name("sentences.jsonl")
SAID_AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
OVERALL = "all"
_ARTICLE = re.compile(r"^(?:a|an|the|my|our) ")


@dataclass(frozen=True, slots=True)
class Label:
    """A claim that a sentence makes; an optional one may be read or not."""

    noun: str
    key: str
    values: tuple[str, ...]
    change: str
    optional: bool
    date: str | None

    @property
    def name(self) -> str:
        """The key, or the noun of what has none."""
        return self.key or self.noun

    def is_said_by(self, claim: Claim) -> bool:
        """Whether the claim says the same, the date aside."""
        same = (claim.noun, claim.key, claim.change) == (self.noun, self.key, self.change)
        return same and plain(claim.value) in self.values


@dataclass(frozen=True, slots=True)
class Sentence:
    """A message, what it says, and the kind of trap that it is, if it is one."""

    id: str
    text: str
    split: str
    trap: str | None
    labels: tuple[Label, ...]


@dataclass(slots=True)
class Tally:
    """Counts of one key or of all."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float | None:
        """Share of what was read that is there."""
        return _share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float | None:
        """Share of what is there that was read."""
        return _share(self.right, self.right + self.missed)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two."""
        return _share(2 * self.right, 2 * self.right + self.wrong + self.missed)

    def document(self) -> dict[str, Any]:
        """For programs."""
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {"right": self.right, "wrong": self.wrong, "missed": self.missed, **figures}


@dataclass(frozen=True, slots=True)
class Failure:
    """One claim too many or too few, or one with the wrong date."""

    sentence: Sentence
    kind: str
    key: str
    value: str
    change: str


@dataclass(slots=True)
class Score:
    """What was found on the sentences of one split."""

    name: str
    sentences: int = 0
    overall: Tally = field(default_factory=Tally)
    keys: dict[str, Tally] = field(default_factory=dict)
    traps: Counter[str] = field(default_factory=Counter)
    sprung: Counter[str] = field(default_factory=Counter)
    dates: int = 0
    dates_right: int = 0
    failures: list[Failure] = field(default_factory=list)

    def count(self, what: str, key: str) -> None:
        """One more that is right, wrong or missed."""
        for tally in (self.overall, self.keys.setdefault(key, Tally())):
            setattr(tally, what, getattr(tally, what) + 1)

    def document(self) -> dict[str, Any]:
        """For programs, with every failure."""
        return {
            "sentences": self.sentences,
            **self.overall.document(),
            "keys": {name: tally.document() for name, tally in sorted(self.keys.items())},
            "dates": {"compared": self.dates, "right": self.dates_right, "share": _share(self.dates_right, self.dates)},
            "traps": {
                "sentences": self.traps.total(),
                "became_claims": self.sprung.total(),
                "share": _share(self.sprung.total(), self.traps.total()),
                "kinds": {
                    kind: {"sentences": self.traps[kind], "became_claims": self.sprung[kind]}
                    for kind in sorted(self.traps)
                },
            },
            "failures": [
                {"id": each.sentence.id, "kind": each.kind, "key": each.key, "value": each.value, "change": each.change}
                for each in self.failures
            ],
        }


def read(path: Path = SENTENCES) -> list[Sentence]:
    """The labelled sentences of a file, one JSON object a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [_sentence(json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"{path} holds no labelled sentences, one JSON object a line: {error}") from error


def evaluate(sentences: Iterable[Sentence]) -> list[Score]:
    """A score for each split, and one for all."""
    scores: dict[str, Score] = {}
    for sentence in sentences:
        found = claims(sentence.text, SAID_AT)
        for name in (sentence.split, OVERALL):
            _score(scores.setdefault(name, Score(name)), sentence, found)
    return sorted(scores.values(), key=lambda score: (score.name == OVERALL, score.name))


def present(scores: Sequence[Score], verbose: bool) -> None:
    """Tables on standard output."""
    columns: show.Columns = {
        "Split": "name",
        "Sentences": "sentences",
        "Precision": lambda score: _figure(score.overall.precision),
        "Recall": lambda score: _figure(score.overall.recall),
        "F1": lambda score: _figure(score.overall.f1),
        "Dates right": lambda score: f"{_figure(_share(score.dates_right, score.dates))} of {score.dates}",
        "Traps that became claims": _trapped,
    }
    show.records(False, scores, columns, title="Extraction", empty="There are no sentences.")
    for score in scores:
        rows = [*sorted(score.keys.items())]
        show.records(False, rows, _KEYS, title=f"By key: {score.name}", empty="There is nothing to be read.")
    for score in scores[-1:]:
        kinds = [(kind, score.traps[kind], score.sprung[kind]) for kind in sorted(score.traps)]
        show.records(False, kinds, _TRAPS, title="By kind of trap", empty="There are no traps.")
        if verbose:
            show.records(False, score.failures, _FAILURES, title="Failures", empty="There are no failures.")


_KEYS: show.Columns = {
    "Key": lambda row: row[0],
    "Right": lambda row: row[1].right,
    "Wrong": lambda row: row[1].wrong,
    "Missed": lambda row: row[1].missed,
    "Precision": lambda row: _figure(row[1].precision),
    "Recall": lambda row: _figure(row[1].recall),
    "F1": lambda row: _figure(row[1].f1),
}
_TRAPS: show.Columns = {
    "Trap": lambda row: row[0],
    "Sentences": lambda row: row[1],
    "Became claims": lambda row: row[2],
}
_FAILURES: show.Columns = {
    "Split": lambda failure: failure.sentence.split,
    "Failure": "kind",
    "Key": "key",
    "Value": "value",
    "Change": "change",
    "Sentence": lambda failure: failure.sentence.text,
}


def _score(score: Score, sentence: Sentence, found: Sequence[Claim]) -> None:
    score.sentences += 1
    score.traps.update([sentence.trap] if sentence.trap else [])
    left = [*sentence.labels]
    sprung = False
    for claim in found:
        label = next((each for each in left if each.is_said_by(claim)), None)
        if label is None:
            sprung = sprung or claim.change == "holds"
            score.count("wrong", claim.key or claim.noun)
            score.failures.append(Failure(sentence, "wrong", claim.key or claim.noun, claim.value, claim.change))
            continue
        left.remove(label)
        if not label.optional:
            score.count("right", label.name)
            _compare_dates(score, sentence, label, claim)
    score.sprung.update([sentence.trap] if sentence.trap and sprung else [])
    for label in left:
        if not label.optional:
            score.count("missed", label.name)
            score.failures.append(Failure(sentence, "missed", label.name, label.values[0], label.change))


def _compare_dates(score: Score, sentence: Sentence, label: Label, claim: Claim) -> None:
    said = _date(claim)
    if label.date is None and said is None:
        return
    score.dates += 1
    if said == label.date:
        score.dates_right += 1
    else:
        score.failures.append(Failure(sentence, f"date, not {label.date}", label.name, str(said), label.change))


def _date(claim: Claim) -> str | None:
    planned = claim.details.get("date")
    return str(planned) if planned else claim.valid_from.date().isoformat() if claim.valid_from else None


def plain(value: str) -> str:
    """A value as it is compared: without capitals, articles and outer punctuation."""
    return _ARTICLE.sub("", " ".join(value.lower().replace("’", "'").split()).strip(" .,;:!?'\"()"))


def _sentence(line: Mapping[str, Any]) -> Sentence:
    labels = tuple(_label(each) for each in line["claims"])
    return Sentence(str(line["id"]), str(line["text"]), str(line["split"]), line.get("trap"), labels)


def _label(label: Mapping[str, Any]) -> Label:
    date = label.get("valid_from") or label.get("details", {}).get("date")
    return Label(
        noun=str(label.get("noun", "fact")),
        key=str(label["key"]),
        values=tuple(plain(str(each)) for each in (label["value"], *label.get("or", ()))),
        change=str(label.get("change", "holds")),
        optional=bool(label.get("optional", False)),
        date=str(date)[:10] if date else None,
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _figure(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def _trapped(score: Score) -> str:
    share = _share(score.sprung.total(), score.traps.total())
    return f"{score.sprung.total()} of {score.traps.total()}" + ("" if share is None else f" ({share:.1%})")
