"""Ranking: pure functions from the scores of single turns to one order over everything.

Each arm is scaled to its own range and the arms are added: a convex combination is steadier over different kinds of
conversation than fusing ranks. A turn also counts by what stands beside it and by its whole session, because the
answer often comes in the turn after, and a name is not repeated in every line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = NDArray[np.float32]  # whole numbers, which these hold exactly up to millions

# BM25: how fast repetition of a word saturates, and how much a long text is discounted.
SATURATION = 0.9
LENGTH_DISCOUNT = 0.3
REACH = 2
# Fitted to LoCoMo, REALTALK, BEAM and lives that were written for it, and checked on lives that were left out;
# docs/evaluation.md has the figures. What a code and a retold memory weigh was set by examples, not by these sets.
WEIGHTS = {"lexical": 0.8, "window": 0.6, "dense": 1.7, "session_lexical": 0.3, "session_dense": 0.8}
NEIGHBOURS = 0.07
# Words tell most where people chat with each other; where one talks with an assistant, meaning counts for more.
MEANING_WITH_ASSISTANT = 5.0
COVERAGE = 0.6
# How far apart cosines must be for their difference to count in full: of a few texts, all alike, none is much nearer.
SPREAD = 0.3
# What a question says about who and when lifts what it says it of; and a user's own words come before an assistant's.
SPEAKER = 0.35
OWN_WORDS = 2.6
TEMPORAL = 1.0
# What states something comes before small talk and questions; what no longer holds comes after what took its place, and
# of two things that someone told an assistant the later one counts for a little more.
TELLS = 0.4
OUTDATED = 2.5
OUTDATED_BY_WORDS = 0.46  # where nothing is compared by meaning: words alone add up to less
RECENT = 0.3
RECENT_NOW = 1.2  # where the question asks for what holds now, in so many words
ROUNDED = 1e-3  # scores of hits have four digits
# A question of how many, how long or how old is answered by what holds a number, a duration or an age.
ANSWER = 0.25
# Who names a code or a number means what is called so.
IDENTIFIER = 1.0
# How important an entry is, and how lately it was used, settles what is nearly equal.
STRENGTH = 0.1
# What was said comes before what is retold of it.
RETOLD = 1.0
# A turn of this many distinct words speaks for itself; a shorter one leans on its neighbours.
TERSE_WORDS = 10.0


@dataclass(frozen=True, slots=True)
class Whole:
    """A memory of which only some units are ranked."""

    units: int
    words: float | None  # of a unit, on average
    conversations: int
    holders: Floats  # how many units hold each term


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
    whole: Whole | None = None  # of what these are a part, where not all were looked at
    assisted: bool = False  # whether an assistant takes part

    @property
    def said(self) -> int:
        """How many there are in all, without what is retold of them."""
        retold = 0 if self.retold is None else int(self.retold.sum())
        return self.whole.units if self.whole else len(self.sessions) - retold or len(self.sessions)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The order's score of every unit, the arms that it is made of, and how relevant each is by itself."""

    total: Floats
    arms: dict[str, Floats]
    relevance: Floats


def outdated(*, compared: bool) -> float:
    """Return what is taken from a unit of which nothing holds any more; less where there are no vectors to compare."""
    return OUTDATED if compared else OUTDATED_BY_WORDS


def surely_outdated(scores: Mapping[str, float]) -> bool:
    """Return whether the scores of a hit say that nothing of it holds any more."""
    return scores.get("outdated", 0.0) <= ROUNDED - outdated(compared="dense" in scores)


def rank(scores: Scores, boost: Floats | None = None) -> Ranked:
    """One score per unit."""
    order = np.lexsort((scores.positions, scores.sessions))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    line = _Line.of(scores.sessions[order], scores.positions[order])
    said = _said(scores.retold, order)
    whole, rows = scores.whole, place[scores.matched]
    idf = rarity(whole.holders if whole else held(scores.frequencies[said[rows]]), scores.said)
    words, dense = scores.words[order], scores.dense[order]
    usual = max(whole.words if whole and whole.words else float(words[said].mean()), 1.0)
    compared, known = bool((dense > -2).any()), _known(dense)
    held_by = line.table(rows, scores.frequencies)
    near, around = line.around(rows, held_by)
    lexical = portions(line.spread(rows, bm25(scores.frequencies, idf, words[rows] / usual)), said)
    by_session = scaled(_session_lexical(line, held_by, said, whole.conversations if whole else None), said)
    arms = {
        "lexical": lexical,
        "window": portions(line.spread(near, bm25(around, idf, None)), said),
        # What waits for its vector must not fall behind what has one and says less. What is retold may never get one.
        "dense": np.where(dense > -2, scaled(known, said, SPREAD), lexical * said if compared else 0.0),
        "session_lexical": by_session,
        "session_dense": np.where(
            _compared(dense, line),
            scaled(_session_dense(known, line), said, SPREAD),
            by_session if compared else 0.0,
        ),
    }
    # Terse turns lean on what stands around them; long ones speak for themselves.
    lean = min(1.0, TERSE_WORDS / usual)
    own = (
        WEIGHTS["lexical"] * arms["lexical"]
        + (WEIGHTS["dense"] + scores.assisted * MEANING_WITH_ASSISTANT) * arms["dense"]
        + lean * WEIGHTS["window"] * arms["window"]
    )
    total = own + lean * NEIGHBOURS * line.beside(own)
    for arm in ("session_lexical", "session_dense"):
        total += WEIGHTS[arm] * arms[arm]
    total = total[place]
    return Ranked(
        total if boost is None else total + boost,
        {arm: values[place] for arm, values in arms.items() if compared or not arm.endswith("dense")},
        relevance(dense, line.spread(near, coverage(around, idf)))[place],
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The units in a line, those of a session beside each other in the order of their positions."""

    groups: Integers  # of the session that each belongs to
    positions: Integers
    starts: Integers  # where each session begins

    @classmethod
    def of(cls, sessions: Integers, positions: Integers) -> _Line:
        """Of units that are sorted by session and position."""
        begins = np.ones(len(sessions), dtype=bool)
        np.not_equal(sessions[1:], sessions[:-1], out=begins[1:])
        return cls(np.cumsum(begins) - 1, positions, begins.nonzero()[0])

    def table(self, rows: Integers, frequencies: Floats) -> Counts:
        """How often all rows hold each term, term by term, where only some hold any."""
        table = np.zeros((frequencies.shape[1], len(self.groups)), np.float32)
        table[:, rows] = frequencies.T
        return table

    def around(self, rows: Integers, table: Counts) -> tuple[Integers, Floats]:
        """The rows that stand near those that hold any, which are few, and the sums of what stands around each."""
        reached = np.zeros(len(self.groups) + 2 * REACH, dtype=bool)
        for step in range(2 * REACH + 1):
            reached[rows + step] = True
        near = reached[REACH : len(reached) - REACH].nonzero()[0]
        sums = table.copy()
        for step in range(1, min(REACH, len(self.groups) - 1) + 1):
            counted = self._beside(step, REACH).astype(np.float32)
            sums[:, step:] += table[:, :-step] * counted
            sums[:, :-step] += table[:, step:] * counted
        return near, np.ascontiguousarray(sums[:, near].T, np.float64)

    def beside(self, values: Floats) -> Floats:
        """The sum of the two neighbours in the same session."""
        same = self._beside(1, 1)
        total = np.zeros(len(values))
        total[1:] = np.where(same, values[:-1], 0.0)
        total[:-1] += np.where(same, values[1:], 0.0)
        return total

    def spread(self, rows: Integers, values: Floats) -> Floats:
        """Values of some rows as values of all; 0 for the others."""
        total = np.zeros(len(self.groups))
        total[rows] = values
        return total

    def _beside(self, step: int, reach: int) -> NDArray[np.bool_]:
        """Of each row but the first ones, whether the one so many steps before it stands near, in the same session.

        Rows may be missing in between, so what stands next in the line need not stand near.
        """
        near: NDArray[np.bool_] = self.positions[step:] - self.positions[:-step] <= reach
        same: NDArray[np.bool_] = near & (self.groups[step:] == self.groups[:-step])
        return same


def _said(retold: NDArray[np.bool_] | None, order: Integers) -> NDArray[np.bool_]:
    """What the others are measured by: all that was said, or everything where nothing else is there."""
    if retold is None or retold.all():
        return np.ones(len(order), dtype=bool)
    return ~retold[order]


def held(frequencies: Floats) -> Floats:
    """How many hold each term."""
    return np.asarray((frequencies > 0).sum(axis=0), np.float64)


def rarity(holders: Floats, total: int) -> Floats:
    """How rare each term is within the user's own memories; more may hold it than the total that passes a filter."""
    rare: Floats = np.log(1 + (np.maximum(total - holders, 0.0) + 0.5) / (holders + 0.5))
    return rare


def bm25(frequencies: Floats, idf: Floats, lengths: Floats | None) -> Floats:
    """The sum over the terms of rarity times saturated frequency, discounted by relative length where it is given."""
    relative = 1.0 if lengths is None else lengths[:, None]
    damping = SATURATION * (1 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * relative)
    weighed: Floats = (frequencies / (frequencies + damping)) @ (idf * (SATURATION + 1))
    return weighed


def scaled(values: Floats, said: NDArray[np.bool_], spread: float = 1e-9) -> Floats:
    """From 0, the least, to 1, the most; where they differ by less than `spread`, they are not drawn apart to that."""
    measured = values[said]
    low, high = float(measured.min()), float(measured.max())
    return np.minimum(np.maximum((values - low) / max(high - low, spread), 0.0), 1.0)


def portions(values: Floats, said: NDArray[np.bool_]) -> Floats:
    """Of the most, where 0 means nothing: what holds a term has a part, however few there are."""
    return np.minimum(values / max(float(values[said].max()), 1e-9), 1.0)


def coverage(frequencies: Floats, idf: Floats) -> Floats:
    """The share of the query's weight that a unit holds."""
    share: Floats = ((frequencies > 0) @ idf) / max(float(idf.sum()), 1e-9)
    return share


def relevance(dense: Floats, covered: Floats) -> Floats:
    """From 0 to 1, and comparable between questions: similarity, and how much of the question stands around."""
    return (np.maximum(dense, 0.0) + COVERAGE * covered) / (1 + COVERAGE)


def _known(dense: Floats) -> Floats:
    """Where there is no vector, the least similar."""
    known = dense > -2
    return np.where(known, dense, dense[known].min() if known.any() else 0.0)


def _session_lexical(line: _Line, table: Counts, said: NDArray[np.bool_], conversations: int | None) -> Floats:
    """How well the whole session of each unit matches."""
    totals = np.ascontiguousarray(np.add.reduceat(table, line.starts, axis=1).T, np.float64)
    counted = said[line.starts]
    weighed = bm25(totals, rarity(held(totals[counted]), conversations or int(counted.sum())), None)
    return weighed[line.groups]


def _compared(dense: Floats, line: _Line) -> NDArray[np.bool_]:
    """Whether any unit of each unit's session has a vector; one that waits for all of them is judged by its words."""
    has_any: NDArray[np.bool_] = np.logical_or.reduceat(dense > -2, line.starts)[line.groups]
    return has_any


def _session_dense(known: Floats, line: _Line, best: int = 3) -> Floats:
    """The mean of the most similar units of each unit's session."""
    groups = line.groups
    order = np.argsort(4.0 * groups - known)  # similarities differ by two at the most
    top = order[np.arange(len(order)) - line.starts[groups] < best]
    owners = groups[top]
    return (np.bincount(owners, weights=known[top]) / np.bincount(owners))[groups]
