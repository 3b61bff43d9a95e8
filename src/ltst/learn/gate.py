"""The gate: judges by wording and shape whether a sentence tells something of its writer's life, and which kind.

A logistic model over `features`; evaluation/gate.py fitted its weights to labelled messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from ltst.records import STATEMENT_KINDS
from ltst.support.questions import TELLS_NOTHING, only_asks
from ltst.support.sentences import spans
from ltst.support.smalltalk import is_small_talk
from ltst.support.tables import Table

WEIGHTS = "gate_weights.tsv"
PRECISION = 100  # weights are written as hundredths
MOST_WORDS = 40
LONGEST = 1_000
LONGEST_TOLD, MOST_TOLD = 3_000, 20  # how much of a message `telling` reads, in characters and sentences
ASKING = 0.5  # subtracted if a message ends with a question
BEFORE = 3  # last words of the turn before, which may be a question

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[?!]")
_NAME = re.compile(r"[A-Z](?<!\w.)[a-z]")
_PATTERNS = (
    ("=code", re.compile(r"[{}<>=;|\\]|```")),
    ("=quotes", re.compile(r"[\"“”«»„]")),
    ("=listed", re.compile(r"\A[-*•\d]+[.)]?\s")),
    (
        "=amount",
        re.compile(r"[$€£]\s?\d|\b\d+\s?(?:%|km|miles?|kg|lbs?|pounds|hours?|minutes|days|weeks|months|years)\b"),
    ),
)
_LOOKED = re.compile(r"[{}<>=;|\\`\"“”«»„\d*•-]")  # everything that the patterns match holds one of these

_TABLE = Table(__package__, "gate.txt")
_FILLERS = _TABLE.words("fillers")
_CLASSES = {name: _TABLE.words(name) for name in _TABLE.lines if name != "fillers"}
_BY_WORD = {
    word: tuple(name for name, members in _CLASSES.items() if word in members)
    for word in frozenset().union(*_CLASSES.values())
}
_NAMES = frozenset(_CLASSES)
_CROSSED = ("self", "we", "you", "ask", "request", "not", "if")


Named = tuple[str, float]
_CROSSES = {one: {name: f"={one}*{name}" for name in _NAMES} for one in (*_CROSSED, "asks")}
_BESIDE = {
    side: {name: f"={side} {name}" for name in ("self", "we", "you", "thanks", "ask", "request", "story", "if")}
    for side in ("prev", "next")
}


class Judged(NamedTuple):
    """How likely a sentence is a statement, and which kind it would be."""

    probability: float
    kind: str


class Seen(NamedTuple):
    """The features of the sentences of a message: those they share, and the signs and length of each."""

    shared: list[Named]
    signs: list[list[str]]
    lengths: list[float]


@cache
def weights() -> dict[str, tuple[float, ...]]:
    """Returns the weights of each feature: for the gate, then for each kind of statement."""
    lines = files("ltst.learn").joinpath(WEIGHTS).read_text("utf-8").splitlines()
    named = (line.split("\t") for line in lines)
    return {name: tuple(int(value) / PRECISION for value in values) for name, *values in named}


def judged(text: str, places: Sequence[tuple[int, int]], before: str, least: float) -> Iterator[Judged | None]:
    """Yields the judgement of each sentence of a text; None for one that is less likely than `least`."""
    seen = _read_sentences(text, places, before)
    for number, score in enumerate(_scores(seen, 0)):
        probability = _probability(score)
        yield Judged(probability, _kind(seen, number)) if probability >= least else None


def telling(text: str) -> float:
    """Returns how likely a message's first sentences say something lasting; less if it ends with a question."""
    if only_asks(text) or is_small_talk(text):
        return TELLS_NOTHING
    begun = text[:LONGEST_TOLD]
    scores = _scores(_read_sentences(begun, spans(begun)[:MOST_TOLD]), 0)
    best = _probability(max(scores)) if scores else 0.0
    return best - ASKING if text.rstrip().endswith("?") else best


def features(text: str, places: Sequence[tuple[int, int]], before: str = "") -> Iterator[list[Named]]:
    """Yields the named features of each sentence of a text; `before` is the turn that it answers."""
    seen = _read_sentences(text, places, before)
    for signs, length in zip(seen.signs, seen.lengths, strict=True):
        yield [*((name, 1.0) for name in signs), ("=length", length), *seen.shared]


def words(text: str) -> list[str]:
    """Returns the words of a text as the gate knows them; every number becomes "0"."""
    return ["0" if word.isdigit() else word for word in _WORD.findall(text.lower())]


@cache
def _column(place: int) -> dict[str, float]:
    return {name: values[place] for name, values in weights().items()}


def _scores(seen: Seen, place: int) -> list[float]:
    """Returns the weighted sum of each sentence, for the gate (`place` 0) or for a kind of statement."""
    weight = _column(place)
    shared = sum(weight.get(name, 0.0) * value for name, value in seen.shared)
    of_length = weight.get("=length", 0.0)
    return [
        shared + of_length * length + sum([weight[name] for name in signs if name in weight])
        for signs, length in zip(seen.signs, seen.lengths, strict=True)
    ]


def _probability(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def _kind(seen: Seen, number: int) -> str:
    """Returns the kind whose weights score one sentence highest."""
    alone = Seen(seen.shared, [seen.signs[number]], [seen.lengths[number]])
    scores = [_scores(alone, place)[0] for place in range(1, len(STATEMENT_KINDS) + 1)]
    return STATEMENT_KINDS[scores.index(max(scores))]


def _read_sentences(text: str, places: Sequence[tuple[int, int]], before: str = "") -> Seen:
    text = text.replace("’", "'")
    said = [text[start : min(end, start + LONGEST)] for start, end in places]
    read = [words(each)[:MOST_WORDS] for each in said]
    classes = [{name for word in each if word in _BY_WORD for name in _BY_WORD[word]} for each in read]
    asks = [text[end - 1] == "?" for _, end in places]
    looked = _LOOKED.search(text) is not None
    signs = [
        [
            *_grams(read[number]),
            *_shape(sentence, read[number], looked),
            *_class_features(classes[number], asks[number]),
            *_neighbour_features("prev", classes, asks, number - 1),
            *_neighbour_features("next", classes, asks, number + 1),
        ]
        for number, sentence in enumerate(said)
    ]
    if signs:
        signs[0].append("=first")
        signs[-1].append("=last")
    return Seen(_around(text, before, classes, asks), signs, [len(each) / 20 for each in read])


def _around(text: str, before: str, classes: Sequence[set[str]], asks: Sequence[bool]) -> list[Named]:
    """Returns the features of the whole message and of the turn before it."""
    count = max(len(classes), 1)
    told = [(f"before {word}", 1.0) for word in set(words(before[-200:].replace("’", "'"))[-BEFORE:])]
    return [
        *told,
        ("=answers", float(before.rstrip().endswith("?"))),
        ("=opens", float(not before)),
        ("=long text", min(len(text), 3_000) / 3_000),
        ("=sentences", min(count, 15) / 15),
        ("=share self", sum("self" in each or "we" in each for each in classes) / count),
        ("=share asks", sum(asks) / count),
        ("=requests", float(any("request" in each and "self" not in each for each in classes))),
    ]


def _grams(read: Sequence[str]) -> Iterator[str]:
    """Yields words, pairs of them, how long words begin and end, and how the sentence begins."""
    yield from set[str]().union(*map(_forms, read))
    yield from map(" ".join, {*pairwise(["^", *read, "$"])})
    plain = [word for word in read if word not in _FILLERS][:3]
    yield from map("{}:{}".format, range(3), plain)
    yield f">{' '.join(plain[:2])}"
    yield f">{' '.join(plain)}"


@lru_cache(maxsize=10_000)
def _forms(word: str) -> tuple[str, ...]:
    return (word, f"{word[:5]}-", f"-{word[-3:]}") if len(word) > 5 else (word,)


def _shape(sentence: str, read: Sequence[str], looked: bool) -> Iterator[str]:
    """Yields what the sentence looks like; `looked` is whether the message holds any sign that the patterns need."""
    length = len(read)
    yield "=always"
    if length < 4:
        yield "=under 4 words"
    if length < 7:
        yield "=under 7 words"
    if length > 20:
        yield "=over 20 words"
    if _NAME.search(sentence, 1):
        yield "=name"
    if looked:
        yield from (name for name, pattern in _PATTERNS if pattern.search(sentence))
    yield from (name for sign, name in (("!", "=exclaims"), (",", "=comma")) if sign in sentence)
    if sentence.endswith(":"):
        yield "=announces"
    if any(word.endswith("ed") and len(word) > 4 for word in read):
        yield "=past"
    if sentence[:1].islower():
        yield "=low"


def _class_features(classes: set[str], asks: bool) -> Iterator[str]:
    yield from map("={}".format, classes)
    for one in _CROSSED:
        if one in classes:
            yield from map(_CROSSES[one].__getitem__, classes - {one})
    if asks:
        yield "=asks"
        yield from map(_CROSSES["asks"].__getitem__, classes)


def _neighbour_features(side: str, classes: Sequence[set[str]], asks: Sequence[bool], number: int) -> Iterator[str]:
    """Yields what the sentence before or after looks like."""
    if not 0 <= number < len(classes):
        return
    named = _BESIDE[side]
    yield from (named[name] for name in named.keys() & classes[number])
    if asks[number]:
        yield f"={side} asks"
