"""The metrics: how much of the evidence stands among the first results. Pure functions, the same for everything ranked.

A result covers ids; one that covers only what stands above it is skipped and takes no place, and one that covers
nothing takes its place, since whoever reads the results reads it too.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

FITTING_CHARACTERS = 8_000

Evidence = frozenset[str]


class Result(NamedTuple):
    """One result: the ids of what it shows, and the length of its text."""

    ids: tuple[str, ...]
    characters: int = 0


def distinct(results: Iterable[Result]) -> list[Result]:
    """The results without those that repeat what others above them show."""
    seen: set[str] = set()
    kept = []
    for result in results:
        if not result.ids or not seen.issuperset(result.ids):
            kept.append(result)
        seen.update(result.ids)
    return kept


def lifted(results: Iterable[Result], above: Mapping[str, str]) -> list[Result]:
    """The results by the ids of what they stand in, as a turn stands in its session."""
    return [Result(tuple(dict.fromkeys(above[id] for id in each.ids)), each.characters) for each in results]


def measure(metric: str, results: Sequence[Result], evidence: Evidence) -> float:
    """A metric by its name, such as `rec@10`, of results that are distinct."""
    kind, _, depth = metric.partition("@")
    if metric == "rec@2k":
        return recall(fitting(results, FITTING_CHARACTERS), evidence)
    first = results[: int(depth)]
    if kind == "ndcg":
        return gain(first, evidence) / ideal_gain(min(int(depth), len(evidence)))
    found = recall(first, evidence)
    return {"rec": found, "any": float(found > 0), "all": float(found == 1)}[kind]


def recall(results: Iterable[Result], evidence: Evidence) -> float:
    """The share of the evidence that the results cover."""
    return len(evidence & _covered(results)) / len(evidence)


def gain(results: Iterable[Result], evidence: Evidence) -> float:
    """The discounted gain: each result that shows evidence not shown before counts, the further down the less."""
    missing, gained = set(evidence), 0.0
    for rank, result in enumerate(results, start=1):
        if not missing.isdisjoint(result.ids):
            gained += 1 / math.log2(rank + 1)
        missing.difference_update(result.ids)
    return gained


def ideal_gain(count: int) -> float:
    """The discounted gain of results of which the first `count` are evidence and count in full."""
    return sum(1 / math.log2(rank + 1) for rank in range(1, count + 1))


def fitting(results: Iterable[Result], characters: int) -> list[Result]:
    """The results from the top whose texts, taken together, are no longer than this."""
    kept = []
    for result in results:
        characters -= result.characters
        if characters < 0:
            break
        kept.append(result)
    return kept


def rank(results: Iterable[Result], id: str) -> int | None:
    """The place of the first result that covers an id."""
    return next((place for place, result in enumerate(results, start=1) if id in result.ids), None)


def mean(values: Sequence[float]) -> float | None:
    """The mean, if there is anything to take it of."""
    return sum(values) / len(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that this share of all values does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1] if values else None


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """How often a positive has a higher score than a negative, over all pairs; equal scores count half."""
    if not positive or not negative:
        return None
    ordered = sorted(negative)
    won = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in positive) / 2
    return won / (len(positive) * len(negative))


def _covered(results: Iterable[Result]) -> set[str]:
    return {id for result in results for id in result.ids}
