"""Ranking: pure functions that turn the scores of single units into one order over everything.

Each arm (one kind of score) is scaled to its own range and the arms are added: such a convex combination is steadier
over different kinds of conversation than fusing ranks. A turn also gains from its neighbours and its whole session,
because the answer often comes in the next turn, and a name is not repeated in every line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = NDArray[np.float32]  # whole numbers, which float32 holds exactly up to millions

# BM25: how fast repetition of a word saturates, and how much a long text is discounted.
SATURATION = 0.9
LENGTH_DISCOUNT = 0.3
REACH = 2
# Fitted to LoCoMo, REALTALK, BEAM and lives written for it, and checked on lives that were held out; docs/evaluation.md
# has the figures. The weights IDENTIFIER and RETOLD were set by examples, not by these sets.
WEIGHTS = {"lexical": 0.8, "window": 0.6, "dense": 1.7, "session_lexical": 0.3, "session_dense": 0.8}
NEIGHBOURS = 0.07
# Between people, shared words tell most; in talk with an assistant, meaning counts for more.
MEANING_WITH_ASSISTANT = 5.0
COVERAGE = 0.6
# How far apart cosines must be for their difference to count in full: among a few similar texts none is much nearer.
SPREAD = 0.3
# A question that names a speaker or a time lifts what matches it; and the user's own words come before an assistant's.
SPEAKER = 0.35
OWN_WORDS = 2.6
TEMPORAL = 1.0
# Statements come before small talk and questions, and what no longer holds after what replaced it. Of two things that
# someone told an assistant, the later one counts for a little more.
TELLS = 0.4
# To an assistant one asks the same again and again: what answers comes before what asked before.
ASKED_BEFORE = 1.0
OUTDATED = 2.5
OUTDATED_BY_WORDS = 0.46  # without vectors: word scores alone add up to less
RECENT = 0.3
RECENT_NOW = 1.2  # for a question that asks for now in so many words
ROUNDED = 1e-3  # scores of hits have four digits
# "How many", "how long" or "how old" is answered by a unit that holds a number, a duration or an age.
ANSWER = 0.25
# A question with a code or a number means the unit that holds it.
IDENTIFIER = 1.0
# Importance, and how recently an entry was used, decide between near equals.
STRENGTH = 0.1
# What was said comes before memories drawn from it.
RETOLD = 1.0
# A turn of this many distinct words stands on its own; a shorter one leans on its neighbours.
TERSE_WORDS = 10.0


@dataclass(frozen=True, slots=True)
class Whole:
    """Totals of a memory of which only some units are ranked."""

    units: int
    words: float | None  # average per unit
    conversations: int
    holders: Floats  # how many units hold each term


@dataclass(frozen=True, slots=True)
class Scores:
    """What the database found: arrays with one value per unit, in the same order."""

    sessions: Integers
    positions: Integers
    dense: Floats  # cosine; -2 where there is no vector
    words: Floats
    matched: Integers  # the units that hold any term of the query
    frequencies: Floats  # (matched, terms): how often each holds each
    retold: NDArray[np.bool_] | None = None  # memories drawn from others: not used to scale scores
    whole: Whole | None = None  # totals, if only a part of the memory was read
    assisted: bool = False  # whether an assistant takes part

    @property
    def said(self) -> int:
        """How many units the memory has, without those drawn from others."""
        retold = 0 if self.retold is None else int(self.retold.sum())
        return self.whole.units if self.whole else len(self.sessions) - retold or len(self.sessions)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The total score of every unit, the arms it is made of, and how relevant each unit is by itself."""

    total: Floats
    arms: dict[str, Floats]
    relevance: Floats


def outdated(*, compared: bool) -> float:
    """Returns what a unit loses if nothing of it holds any more; less where there are no vectors."""
    return OUTDATED if compared else OUTDATED_BY_WORDS


def surely_outdated(scores: Mapping[str, float]) -> bool:
    """Returns whether a hit's scores say that nothing of it holds any more."""
    return scores.get("outdated", 0.0) <= ROUNDED - outdated(compared="dense" in scores)


def rank(scores: Scores, boost: Floats | None = None) -> Ranked:
    """Combines all arms, and boosts if given, into one score per unit."""
    order = np.lexsort((scores.positions, scores.sessions))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    line = _Line.of(scores.sessions[order], scores.positions[order])
    said = _mark_said(scores.retold, order)
    whole, rows = scores.whole, place[scores.matched]
    idf = rarity(whole.holders if whole else held(scores.frequencies[said[rows]]), scores.said)
    words, dense = scores.words[order], scores.dense[order]
    usual = max(whole.words if whole and whole.words else float(words[said].mean()), 1.0)
    compared, known = bool((dense > -2).any()), _fill_missing(dense)
    held_by = line.table(rows, scores.frequencies)
    near, around = line.around(rows, held_by)
    lexical = portions(line.spread(rows, bm25(scores.frequencies, idf, words[rows] / usual)), said)
    by_session = scaled(_session_lexical(line, held_by, said, whole.conversations if whole else None), said)
    arms = {
        "lexical": lexical,
        "window": portions(line.spread(near, bm25(around, idf, None)), said),
        # A unit that still waits for its vector must not fall behind one that has a vector and says less, so its words
        # stand in. Retold units may never get a vector.
        "dense": np.where(dense > -2, scaled(known, said, SPREAD), lexical * said if compared else 0.0),
        "session_lexical": by_session,
        "session_dense": np.where(
            _has_vectors(dense, line),
            scaled(_session_dense(known, line), said, SPREAD),
            by_session if compared else 0.0,
        ),
    }
    # Terse turns lean on their neighbours; long ones speak for themselves.
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
    """The units in a row: sessions one after another, the units of each in the order of their positions."""

    groups: Integers  # the index of each unit's session
    positions: Integers
    starts: Integers  # where each session begins

    @classmethod
    def of(cls, sessions: Integers, positions: Integers) -> _Line:
        """Builds the line from units that are sorted by session and position."""
        begins = np.ones(len(sessions), dtype=bool)
        np.not_equal(sessions[1:], sessions[:-1], out=begins[1:])
        return cls(np.cumsum(begins) - 1, positions, begins.nonzero()[0])

    def table(self, rows: Integers, frequencies: Floats) -> Counts:
        """Returns how often every row holds each term, as (terms, rows), from the few rows that hold any."""
        table = np.zeros((frequencies.shape[1], len(self.groups)), np.float32)
        table[:, rows] = frequencies.T
        return table

    def around(self, rows: Integers, table: Counts) -> tuple[Integers, Floats]:
        """Returns the rows near those that hold any term, and the summed term counts around each."""
        reached = np.zeros(len(self.groups) + 2 * REACH, dtype=bool)
        for step in range(2 * REACH + 1):
            reached[rows + step] = True
        near = reached[REACH : len(reached) - REACH].nonzero()[0]
        sums = table.copy()
        for step in range(1, min(REACH, len(self.groups) - 1) + 1):
            counted = self._is_near(step, REACH).astype(np.float32)
            sums[:, step:] += table[:, :-step] * counted
            sums[:, :-step] += table[:, step:] * counted
        return near, np.ascontiguousarray(sums[:, near].T, np.float64)

    def beside(self, values: Floats) -> Floats:
        """Returns, for each row, the sum of the values of its two neighbours in the same session."""
        same = self._is_near(1, 1)
        total = np.zeros(len(values))
        total[1:] = np.where(same, values[:-1], 0.0)
        total[:-1] += np.where(same, values[1:], 0.0)
        return total

    def spread(self, rows: Integers, values: Floats) -> Floats:
        """Returns values for all rows from those of some; 0 for the others."""
        total = np.zeros(len(self.groups))
        total[rows] = values
        return total

    def _is_near(self, step: int, reach: int) -> NDArray[np.bool_]:
        """Returns, for each row from `step` on, whether the row `step` before it is near and in the same session.

        Rows may be missing in between, so the next row in the line need not be near.
        """
        near: NDArray[np.bool_] = self.positions[step:] - self.positions[:-step] <= reach
        same: NDArray[np.bool_] = near & (self.groups[step:] == self.groups[:-step])
        return same


def _mark_said(retold: NDArray[np.bool_] | None, order: Integers) -> NDArray[np.bool_]:
    """Marks the units by which scores are scaled: all that were said, or every unit if all are retold."""
    if retold is None or retold.all():
        return np.ones(len(order), dtype=bool)
    return ~retold[order]


def held(frequencies: Floats) -> Floats:
    """Returns how many units hold each term."""
    return np.asarray((frequencies > 0).sum(axis=0), np.float64)


def rarity(holders: Floats, total: int) -> Floats:
    """Returns how rare each term is in the user's memories. With a filter, more units may hold a term than `total`."""
    rare: Floats = np.log(1 + (np.maximum(total - holders, 0.0) + 0.5) / (holders + 0.5))
    return rare


def bm25(frequencies: Floats, idf: Floats, lengths: Floats | None) -> Floats:
    """Returns the BM25 score of each row: rarity times saturated frequency, discounted by relative length if given."""
    relative = 1.0 if lengths is None else lengths[:, None]
    damping = SATURATION * (1 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * relative)
    weighed: Floats = (frequencies / (frequencies + damping)) @ (idf * (SATURATION + 1))
    return weighed


def scaled(values: Floats, said: NDArray[np.bool_], spread: float = 1e-9) -> Floats:
    """Scales values to 0 (least) to 1 (most); a range smaller than `spread` is not stretched to all of it."""
    measured = values[said]
    low, high = float(measured.min()), float(measured.max())
    return np.minimum(np.maximum((values - low) / max(high - low, spread), 0.0), 1.0)


def portions(values: Floats, said: NDArray[np.bool_]) -> Floats:
    """Returns each value as a share of the largest, so that whatever holds a term keeps a share above 0."""
    return np.minimum(values / max(float(values[said].max()), 1e-9), 1.0)


def coverage(frequencies: Floats, idf: Floats) -> Floats:
    """Returns the share of the query's total term weight that each unit holds."""
    share: Floats = ((frequencies > 0) @ idf) / max(float(idf.sum()), 1e-9)
    return share


def relevance(dense: Floats, covered: Floats) -> Floats:
    """Returns scores from 0 to 1 that compare between questions: similarity, and how much of the question is near."""
    return (np.maximum(dense, 0.0) + COVERAGE * covered) / (1 + COVERAGE)


def _fill_missing(dense: Floats) -> Floats:
    """Returns the similarities, with the least one in place of missing vectors."""
    known = dense > -2
    return np.where(known, dense, dense[known].min() if known.any() else 0.0)


def _session_lexical(line: _Line, table: Counts, said: NDArray[np.bool_], conversations: int | None) -> Floats:
    """Returns, for each unit, how well its whole session matches the terms."""
    totals = np.ascontiguousarray(np.add.reduceat(table, line.starts, axis=1).T, np.float64)
    counted = said[line.starts]
    weighed = bm25(totals, rarity(held(totals[counted]), conversations or int(counted.sum())), None)
    return weighed[line.groups]


def _has_vectors(dense: Floats, line: _Line) -> NDArray[np.bool_]:
    """Returns whether any unit of each unit's session has a vector; without one, a session is judged by words."""
    has_any: NDArray[np.bool_] = np.logical_or.reduceat(dense > -2, line.starts)[line.groups]
    return has_any


def _session_dense(known: Floats, line: _Line, best: int = 3) -> Floats:
    """Returns, for each unit, the mean similarity of the `best` most similar units of its session."""
    groups = line.groups
    order = np.argsort(4.0 * groups - known)  # similarities differ by at most 2, so sessions stay apart
    top = order[np.arange(len(order)) - line.starts[groups] < best]
    owners = groups[top]
    return (np.bincount(owners, weights=known[top]) / np.bincount(owners))[groups]
