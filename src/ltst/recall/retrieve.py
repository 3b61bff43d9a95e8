"""Retrieval: from a question to the best of everything that a user owns, scored in one round trip to the database."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np

from ltst.db.pool import SingleCall
from ltst.recall import rank, temporal
from ltst.records import Hit
from ltst.rooms import search
from ltst.rooms.search import Asked, Filters
from ltst.support import answers
from ltst.support.speech import speaker
from ltst.support.terms import SLOTS, distinct, terms
from ltst.support.text import sha256

# How many of the nearest the index brings, at the least, for users whose vectors are not all compared.
DEPTH = 200
# The relevance that the best of many memories must have; of many unrelated texts the best looks similar by chance, so
# the floor rises with their number up to here.
FLOOR = 0.35
FULL_FLOOR_AT = 600
LEAST_FLOOR = 0.1
# What scores less than this share of the best is not worth showing.
LEAST_SHARE = 0.1
FADING_DAYS = 30.0
QUESTION_MARKS = ("?", "？", "؟")
# What the assistant did, not what it could do: "you told me", "did you find", but not "can you recommend".
ADDRESSED = re.compile(
    r"\b(?:did|have|had) you\b"
    r"|\byou(?:['’](?:ve|d)| have| had)?(?: just| already| also)? (?:\w+ed|said|told|gave|made|wrote|sent|found)\b",
    re.IGNORECASE,
)
# The database tells how often a term stands in a text by a sum of inverse squares; this finds the number again.
FREQUENCIES = np.cumsum(1 / np.arange(1, 257) ** 2) / 1.64493406685

# One unit in the bytes that the database sends; `facets` are whether it is retold, whether it only asks the same,
# whether it holds what is asked for, how many words it has, its strength, whether a nameless machine said it, and
# whether it has ranks.
UNIT = np.dtype(
    [
        ("id", "V16"),
        ("session", ">i8"),
        ("microseconds", ">i8"),
        ("speaker", ">i4"),
        ("position", ">i4"),
        ("facets", ">i4"),
        ("dense", ">f4"),
    ]
)
# An array of numbers as Postgres sends it: a head, then each with its size.
RANKS = np.dtype([("head", "V20"), ("each", [("size", ">i4"), ("rank", ">f4")], SLOTS)])
EPOCH = datetime(2000, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, when, and its vector, of which model; none if there is no model."""

    text: str
    now: datetime
    model: str | None = None
    vector: str | None = None
    given: bool = False  # whether the time is the caller's, not this machine's clock


@dataclass(frozen=True, slots=True)
class Found:
    """The best of a search, by their keys; and whether the user's memory, or the model, was changing meanwhile."""

    best: list[dict[str, Any]]
    changing: bool
    other_model: bool = False


async def retrieve(
    calls: SingleCall, question: Question, filters: Filters, *, limit: int, floor: float | None, large: bool
) -> Found:
    """The keys and scores of the best, best first; none when even the best is below the floor."""
    moment = question.now if question.given else None
    asked = Asked(
        question.model,
        question.vector,
        distinct(question.text)[:SLOTS],
        moment,
        answer=kind.term if (kind := answers.wanted(question.text)) else None,
        echo=_echo(question.text),
    )
    changing, packed = await search.candidates(calls, asked, filters, large=large, depth=max(DEPTH, limit))
    if not packed["units"]:
        return Found([], changing)
    if question.model is not None and not packed["same_model"]:
        return Found([], changing, other_model=True)
    units = np.frombuffer(packed["units"], UNIT)
    ranks = np.frombuffer(packed["ranks"] or b"", RANKS)["each"]["rank"][:, : len(asked.terms)]
    echoes = (units["facets"] >> 29 & 1).astype(bool)
    ranked = echoes[np.flatnonzero(units["facets"] & 1)]
    # What only asks the same is for when nothing answers: it is something that was said, too.
    best = _answers(question, units[~echoes], ranks[~ranked], packed, limit, floor)
    return Found(best or _answers(question, units[echoes], ranks[ranked], packed, limit, floor), changing)


def _answers(
    question: Question, units: Any, ranks: Any, packed: Mapping[str, Any], limit: int, floor: float | None
) -> list[dict[str, Any]]:
    """The best of these units; none when even the best is below the floor."""
    if not len(units):
        return []
    scores = _scores(units, ranks, packed)
    boosts = _boosts(question, units, packed["speakers"] or {})
    ranked = rank.rank(scores, sum(boosts.values(), np.zeros(len(units))))
    best = float(ranked.relevance.max())
    if best < (default_floor(scores.said) if floor is None else floor):
        return []
    order = _once(units, np.argsort(-ranked.total, kind="stable"), limit)
    order = order[np.argsort(-ranked.total[order], kind="stable")]
    return _best(units, order, ranked, {**ranked.arms, **boosts}, best)


async def hits(calls: SingleCall, best: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """What was found, with its content; what is gone meanwhile is left out."""
    keys = [str(each["key"]) for each in best]
    rows = await search.hits(calls, keys) if keys else {}
    return [_hit(rows[key], each) for key, each in zip(keys, best, strict=True) if key in rows]


def default_floor(memories: int) -> float:
    """The least relevance of the best, for so many memories."""
    return max(LEAST_FLOOR, FLOOR * min(1.0, (math.log1p(memories) / math.log(FULL_FLOOR_AT)) ** 2))


def _echo(text: str) -> str | None:
    """The hash of what only asks the same, if this is a question."""
    return sha256(text) if text.rstrip().endswith(QUESTION_MARKS) else None


def _scores(units: Any, ranks: Any, packed: Mapping[str, Any]) -> rank.Scores:
    ranks = ranks.astype(np.float64)
    frequencies = np.where(ranks > 0, np.searchsorted(FREQUENCIES, ranks - 1e-4) + 1, 0).astype(np.float64)
    return rank.Scores(
        sessions=units["session"].astype(np.int64),
        positions=units["position"].astype(np.int64),
        dense=units["dense"].astype(np.float64),
        words=(units["facets"] >> 9 & 0x7FFFF).astype(np.float64),
        matched=np.flatnonzero(units["facets"] & 1),
        frequencies=frequencies,
        retold=(units["facets"] >> 30 & 1).astype(bool),
        units=packed["messages"] and max(int(packed["messages"]), len(units)),
        conversations=packed["sessions"],
    )


def _boosts(question: Question, units: Any, speakers: Mapping[str, int]) -> dict[str, rank.Floats]:
    """What the question says about who and when lifts, and never excludes."""
    boosts: dict[str, rank.Floats] = {}
    named = _named(question.text, speakers)
    if named is not None:
        boosts["speaker"] = rank.SPEAKER * (units["speaker"] == speakers[named])
    elif not ADDRESSED.search(question.text) and (by_machine := (units["facets"] & 2) > 0).any():
        # An assistant's long turns match everything: what the user said, or what was kept of it, comes first, unless
        # the question is about what the assistant said.
        boosts["speaker"] = rank.OWN_WORDS * ~by_machine
    if (kind := answers.wanted(question.text)) is not None:
        counted = (units["facets"] & 2) == 0 if kind.own else True
        boosts["answer"] = rank.ANSWER * ((units["facets"] >> 28 & 1) & counted)
    if (strength := (units["facets"] >> 2 & 127) / 127).any():
        boosts["strength"] = rank.STRENGTH * strength
    if (retold := units["facets"] >> 30 & 1).any() and not retold.all():
        boosts["retold"] = -rank.RETOLD * retold
    intervals = temporal.intervals(question.text, question.now)
    if intervals:
        moments = EPOCH + units["microseconds"] / 1e6
        boosts["temporal"] = rank.TEMPORAL * np.exp(-_days_apart(intervals, moments) / FADING_DAYS)
    return boosts


def _days_apart(intervals: Sequence[temporal.Interval], moments: Any) -> rank.Floats:
    """Days from each moment to the nearest interval."""
    early = [each.start.timestamp() - moments for each in intervals]
    late = [moments - each.end.timestamp() for each in intervals]
    apart: rank.Floats = np.min([np.maximum(*pair) for pair in zip(early, late, strict=True)], axis=0)
    return np.maximum(apart, 0.0) / 86_400


def _named(text: str, speakers: Iterable[str]) -> str | None:
    """The one speaker whose name the question says; with two it is about both."""
    asked = set(terms(text))
    found = [name for name in speakers if asked & set(terms(name))]
    return found[0] if len(found) == 1 else None


def _once(units: Any, order: rank.Integers, limit: int) -> rank.Integers:
    """The first ones, each once: a fork has copies of what was said before it, of the same moment and place.

    The original, whose id is older, stands for its copies. Without a vector nothing tells a copy from another message
    of that moment, so all stay.
    """
    seen: dict[tuple[int, ...], int] = {}
    kept: list[int] = []
    for number in map(int, order):
        *told, dense = (units[name][number].item() for name in ("microseconds", "position", "facets", "dense"))
        known = seen.setdefault((*told, dense), len(kept)) if dense > -2 and told[1] > 0 else len(kept)
        if known < len(kept):
            kept[known] = min(kept[known], number, key=lambda each: units["id"][each].tobytes())
        elif len(kept) == limit:
            break
        else:
            kept.append(number)
    return np.array(kept, dtype=np.int64)


def _best(
    units: Any, order: rank.Integers, ranked: rank.Ranked, arms: Mapping[str, rank.Floats], best: float
) -> list[dict[str, Any]]:
    shares = ranked.total[order] / top if (top := float(ranked.total[order[0]])) > 0 else np.ones(len(order))
    return [
        {
            "key": str(UUID(bytes=units["id"][number].tobytes())),
            "score": best * float(share),
            "scores": {arm: round(float(values[number]), 4) for arm, values in arms.items()},
        }
        for number, share in zip(order, shares, strict=True)
        if share >= LEAST_SHARE
    ]


def _hit(row: Mapping[str, Any], found: Mapping[str, Any]) -> Hit:
    return Hit(
        kind=row["kind"],
        id=row["id"],
        content=row["content"],
        score=found["score"],
        scores=found["scores"],
        occurred_at=row["occurred_at"] and row["occurred_at"].astimezone(UTC),
        session_id=row["session_id"],
        role=row["role"],
        sources=tuple(row["sources"]),
        speaker=speaker(row["role"], row["said_by"]),
        trusted=row["trusted"],
        metadata=row["place"] or {},
    )
