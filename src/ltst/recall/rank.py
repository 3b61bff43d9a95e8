"""Ranking: pure functions from the scores of single turns to one order over everything.

Each arm is scaled to its own range and the arms are added: a convex combination is steadier over different kinds of
conversation than fusing ranks. A turn also counts by what stands beside it and by its whole session, because the
answer often comes in the turn after, and a name is not repeated in every line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# BM25: how fast repetition of a word saturates, and how much a long text is discounted.
SATURATION = 0.9
LENGTH_DISCOUNT = 0.3
REACH = 2
WEIGHTS = {"lexical": 1.0, "window": 0.5, "dense": 0.8, "session_lexical": 0.5, "session_dense": 0.4}
NEIGHBOURS = 0.2
COVERAGE = 0.6
# How far apart cosines must be for their difference to count in full: of a few texts, all alike, none is much nearer.
SPREAD = 0.3
# What a question says about who and when lifts what it says it of; and a user's own words come before an assistant's.
SPEAKER = 0.3
OWN_WORDS = 0.5
TEMPORAL = 0.75
# A question of how many, how long or how old is answered by what holds a number, a duration or an age.
ANSWER = 0.3
# How important an entry is, and how lately it was used, settles what is nearly equal.
STRENGTH = 0.1
# What was said comes before what is retold of it.
RETOLD = 1.0
# A turn of this many distinct words speaks for itself; a shorter one leans on its neighbours.
TERSE_WORDS = 10.0


@dataclass(frozen=True, slots=True)
class Scores:
    """What the database found: one value per unit, in the same order."""

    sessions: Integers
    positions: Integers
    dense: Floats  # cosine; -2 where there is no vector
    words: Floats
    matched: Integers  # the units that hold any term of the query
    frequencies: Floats  # (matched, terms): how often
    retold: NDArray[np.bool_] | None = None  # what was drawn from the others: it is measured by them, not they by it
    units: int | None = None  # how many there are in all, where not all were looked at
    conversations: int | None = None  # how many sessions there are in all, likewise

    @property
    def said(self) -> int:
        """How many there are in all, without what is retold of them."""
        retold = 0 if self.retold is None else int(self.retold.sum())
        return self.units or len(self.sessions) - retold or len(self.sessions)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The order's score of every unit, the arms that it is made of, and how relevant each is by itself."""

    total: Floats
    arms: dict[str, Floats]
    relevance: Floats


def rank(scores: Scores, boost: Floats | None = None) -> Ranked:
    """One score per unit."""
    order = np.lexsort((scores.positions, scores.sessions))
    positions, groups = scores.positions[order], np.unique(scores.sessions[order], return_inverse=True)[1]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    said = _said(scores.retold, order)
    rows = place[scores.matched]
    spread = np.zeros((len(order), scores.frequencies.shape[1]))
    spread[rows] = scores.frequencies
    idf = rarity(spread[said], scores.said)
    words, dense = scores.words[order], scores.dense[order]
    usual = max(float(words[said].mean()), 1.0)
    compared = bool((dense > -2).any())
    around = windowed(spread, groups, positions, REACH)
    lexical = portions(bm25(spread, idf, words / usual), said)
    arms = {
        "lexical": lexical,
        "window": portions(bm25(around, idf, None), said),
        # What waits for its vector must not fall behind what has one and says less.
        "dense": np.where(dense > -2, scaled(_known(dense), said, SPREAD), lexical if compared else 0.0),
        "session_lexical": scaled(_session_lexical(spread, groups, said, scores.conversations), said),
        "session_dense": scaled(_session_dense(dense, groups), said, SPREAD),
    }
    # Terse turns lean on what stands around them; long ones speak for themselves.
    lean = min(1.0, TERSE_WORDS / usual)
    own = (
        WEIGHTS["lexical"] * arms["lexical"]
        + WEIGHTS["dense"] * arms["dense"]
        + lean * WEIGHTS["window"] * arms["window"]
    )
    total = own + lean * NEIGHBOURS * beside(own, groups, positions)
    total += sum(WEIGHTS[arm] * arms[arm] for arm in ("session_lexical", "session_dense"))
    total = total[place]
    return Ranked(
        total if boost is None else total + boost,
        {arm: values[place] for arm, values in arms.items() if compared or not arm.endswith("dense")},
        relevance(dense, coverage(around, idf))[place],
    )


def _said(retold: NDArray[np.bool_] | None, order: Integers) -> NDArray[np.bool_]:
    """What the others are measured by: all that was said, or everything where nothing else is there."""
    if retold is None or retold.all():
        return np.ones(len(order), dtype=bool)
    return ~retold[order]


def rarity(frequencies: Floats, total: int) -> Floats:
    """How rare each term is within the user's own memories."""
    holders = (frequencies > 0).sum(axis=0)
    rare: Floats = np.log(1 + (total - holders + 0.5) / (holders + 0.5))
    return rare


def bm25(frequencies: Floats, idf: Floats, lengths: Floats | None) -> Floats:
    """The sum over the terms of rarity times saturated frequency, discounted by relative length where it is given."""
    relative = np.ones(len(frequencies)) if lengths is None else lengths
    damping = SATURATION * (1 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * relative)
    weighed: Floats = (idf * frequencies * (SATURATION + 1) / (frequencies + damping[:, None])).sum(axis=1)
    return weighed


def windowed(values: Floats, groups: Integers, positions: Integers, reach: int) -> Floats:
    """Each row with the rows around it in its own session added."""
    total = values.copy()
    for step in range(1, reach + 1):
        # Rows may be missing in between, so what stands next in the list need not stand near.
        same = (groups[step:] == groups[:-step]) & (positions[step:] - positions[:-step] <= reach)
        total[step:] += np.where(same[:, None], values[:-step], 0)
        total[:-step] += np.where(same[:, None], values[step:], 0)
    return total


def beside(values: Floats, groups: Integers, positions: Integers) -> Floats:
    """The sum of the two neighbours in the same session."""
    return windowed(values[:, None], groups, positions, 1)[:, 0] - values


def scaled(values: Floats, said: NDArray[np.bool_], spread: float = 1e-9) -> Floats:
    """From 0, the least, to 1, the most; where they differ by less than `spread`, they are not drawn apart to that."""
    low, high = float(values[said].min()), float(values[said].max())
    return np.clip((values - low) / max(high - low, spread), 0.0, 1.0)


def portions(values: Floats, said: NDArray[np.bool_]) -> Floats:
    """Of the most, where 0 means nothing: what holds a term has a part, however few there are."""
    return np.minimum(values / max(float(values[said].max()), 1e-9), 1.0)


def coverage(frequencies: Floats, idf: Floats) -> Floats:
    """The share of the query's weight that a unit holds."""
    share: Floats = ((frequencies > 0) * idf).sum(axis=1) / max(float(idf.sum()), 1e-9)
    return share


def relevance(dense: Floats, covered: Floats) -> Floats:
    """From 0 to 1, and comparable between questions: similarity, and how much of the question stands around."""
    return (np.maximum(dense, 0.0) + COVERAGE * covered) / (1 + COVERAGE)


def _known(dense: Floats) -> Floats:
    """Where there is no vector, the least similar."""
    known = dense > -2
    return np.where(known, dense, dense[known].min() if known.any() else 0.0)


def _session_lexical(
    frequencies: Floats, groups: Integers, said: NDArray[np.bool_], conversations: int | None
) -> Floats:
    """How well the whole session of each unit matches."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    totals: Floats = np.add.reduceat(frequencies, starts, axis=0)
    counted = said[starts]
    return bm25(totals, rarity(totals[counted], conversations or int(counted.sum())), None)[groups]


def _session_dense(dense: Floats, groups: Integers, best: int = 3) -> Floats:
    """The mean of the most similar units of each unit's session."""
    known = _known(dense)
    order = np.lexsort((-known, groups))
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1 if len(groups) else 0))
    ranks = np.arange(len(order)) - starts[groups[order]]
    top = order[ranks < best]
    sums = np.bincount(groups[top], weights=known[top])
    return (sums / np.bincount(groups[top]))[groups]
