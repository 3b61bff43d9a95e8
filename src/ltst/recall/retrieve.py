"""Retrieval: finds the units (indexed rows of any kind) of a user that answer a question, and scores them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltst.arguments import Filters
from ltst.db.connections import Reals
from ltst.db.pool import Database
from ltst.recall import later, rank, temporal
from ltst.records import Hit
from ltst.rooms import search
from ltst.rooms.search import Asked, Look
from ltst.support import answers
from ltst.support.questions import TELLS_NOTHING, may_ask
from ltst.support.speech import speaker
from ltst.support.terms import SLOTS, distinct, terms
from ltst.support.text import sha256

# Up to EVERY units, all are ranked. In a larger memory only candidates are: the DEPTH nearest by vector, the DEPTH best
# by words, and the neighbours of the first BESIDE of either. Where more pass a narrow filter, words choose only by the
# question's rarest terms, up to MOST_POSTINGS postings.
EVERY = 2_000
DEPTH = 100
BESIDE = 30
MOST_POSTINGS = 2_000
# The best hit must be at least this relevant. Among many unrelated texts the best one looks similar by chance, so the
# floor rises with their number and reaches FLOOR at FULL_FLOOR_AT.
FLOOR = 0.325
FULL_FLOOR_AT = 600
LEAST_FLOOR = 0.1
# Where no unit shares a word with the question, the best must be at least this near, even in a small memory.
WORDLESS_FLOOR = 0.16
# Hits that score less than this share of the best one are dropped.
LEAST_SHARE = 0.1
FADING_DAYS = 30.0
RECENT_DAYS = 120.0
# Matches what the assistant did, not what it could do: "you told me", "did you find", but not "can you recommend".
ADDRESSED = re.compile(
    r"\b(?:did|have|had) you\b"
    r"|\byou(?:['’](?:ve|d)| have| had)?(?: just| already| also)? (?:\w+ed|said|told|gave|made|wrote|sent|found)\b",
    re.IGNORECASE,
)
# Matches questions about the past rather than about what holds now.
BEFORE = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|earlier|back then|in the past|ago"
    r"|early on|to begin with|vorher|früher|damals|ursprünglich|zuerst|antes|avant|autrefois)\b",
    re.IGNORECASE,
)
# A unit as the database sends it: the fields of the column `ranked` of `search_units`, in order.
UNIT = np.dtype(
    [
        ("number", ">i4"),
        ("place", ">i8"),
        ("position", ">i4"),
        ("microseconds", ">i8"),
        ("words", ">i4"),
        ("speaker", ">i4"),
        ("by_machine", "?"),
        ("retold", "?"),
        ("importance", ">f4"),
        ("used", ">i8"),
        ("said", ">i8"),
        ("tells", ">f4"),
        ("outdated", ">f4"),
    ]
)
NEAR = np.dtype([("number", ">i4"), ("similarity", ">f4")])
# The postings of a block, counted in 16-bit words: a Postgres array header, then each posting after its size.
HEAD, POSTING = 10, 3
BLOCK = 1024
# The fields that tell a copy of a message from another message of the same moment.
TELLING = ("microseconds", "position", "words", "said")
COPIES = 20  # at most this many copies of each message among the best
# The strength of an entry halves for each half year in which it is not used (in microseconds).
HALF_LIFE = 15_552_000e6
FEW = 3  # a number or code counts as an identifier if at most this many units hold it
EPOCH = datetime(2000, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Question:
    """A question, the time it was asked, and its vector with the model that made it; both None without a model."""

    text: str
    now: datetime
    model: str | None = None
    vector: Reals | None = None
    given: bool = False  # whether the time is the caller's, not this machine's clock

    @cached_property
    def terms(self) -> list[str]:
        """The distinct terms of the question that are compared."""
        return distinct(self.text)[:SLOTS]

    @cached_property
    def answer(self) -> answers.AnswerKind | None:
        """The kind of answer that the question asks for, or None."""
        return answers.wanted(self.text)

    @property
    def sought(self) -> list[str]:
        """The terms to look up: those of the question, then the term of the answer kind if there is one."""
        return [*self.terms, *([self.answer.term] if self.answer else [])]

    @cached_property
    def intervals(self) -> list[temporal.Interval]:
        """The intervals of time that the question names."""
        return temporal.intervals(self.text, self.now)

    @property
    def about_now(self) -> bool:
        """Whether it asks for what holds now: it names no time, or one that goes on ("this year", "since June")."""
        return all(each.end > self.now for each in self.intervals) and not BEFORE.search(self.text)

    def postings(self, seen: Look) -> _Postings:
        """Returns the postings of the sought terms, parsed once although both choosing and ranking need them."""
        if not self._read or self._read[0][0] is not seen.postings:
            self._read[:] = [(seen.postings, _Postings.of(seen, self.sought))]
        return self._read[0][1]

    @cached_property
    def _read(self) -> list[tuple[bytes | None, _Postings]]:
        return []

    @property
    def asks(self) -> bool:
        """Whether it is a question rather than a few words to look for."""
        return may_ask(self.text)


async def look(
    database: Database, user_id: str, question: Question, filters: Filters, cache_key: str, *, limit: int, anyway: bool
) -> Look:
    """Reads from the database what there is to rank for a question."""
    moment = question.now if question.given else None
    asked, depth = Asked(cache_key, question.model, question.vector, question.sought, moment), max(DEPTH, limit)
    bounds = {"every": EVERY, "depth": depth, "most": MOST_POSTINGS}
    seen = await search.look(database, user_id, asked, filters, anyway=anyway, **bounds)
    # A narrow filter has no total of words: the database chose by it already, and if it chose none, nothing passes.
    if seen.units is not None or seen.total is None or seen.total_words is None:
        return seen
    units, dense = await search.candidates(database, user_id, asked, filters, _choose_candidates(question, seen, depth))
    return replace(seen, units=units, dense=dense)


def _choose_candidates(question: Question, seen: Look, depth: int) -> list[int]:
    """Returns the numbers of the candidates: the best by words, the nearest by vector, and their neighbours."""
    by_words = question.postings(seen).best(depth, seen.total or 0, len(question.terms))
    nearest = np.array(seen.nearest or (), dtype=np.int64)
    first = np.concatenate([by_words[:BESIDE], nearest[:BESIDE]])
    beside = first[:, None] + np.arange(-rank.REACH, rank.REACH + 1)
    chosen: list[int] = np.unique(np.concatenate([by_words, nearest, np.maximum(beside, 0).ravel()])).tolist()
    return chosen


def ranked(question: Question, seen: Look, *, limit: int, floor: float | None) -> list[dict[str, Any]]:
    """Returns the numbers and scores of the best units, best first; none if even the best is below the floor."""
    units = np.frombuffer(seen.units or b"", UNIT)
    if not len(units):
        return []
    numbers = units["number"].astype(np.int64)
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers)
        units, numbers = units[order], numbers[order]
    postings = question.postings(seen)
    memory = _Memory(units, _nearness(numbers, seen.dense), postings.table(numbers), postings.holders)
    echoes = _echoes(question, memory, seen)
    # A unit that only repeats the question is returned only when nothing answers it: better that than nothing.
    best = _answers(question, memory.only(~echoes), seen, limit, floor)
    return best or _answers(question, memory.only(echoes), seen, limit, floor)


@dataclass(frozen=True, slots=True)
class _Memory:
    """Units with their nearness, how often each holds each term of the question, and how many units hold each term."""

    units: Any
    near: rank.Floats
    frequencies: rank.Floats
    holders: rank.Floats

    def only(self, chosen: Any) -> _Memory:
        """Returns the units that a mask selects."""
        if chosen.all():
            return self
        return _Memory(self.units[chosen], self.near[chosen], self.frequencies[chosen], self.holders)


def _echoes(question: Question, memory: _Memory, seen: Look) -> NDArray[np.bool_]:
    """Marks units that only ask the same: the same text, or (to an assistant) all its terms without a statement."""
    if not question.asks:
        return np.zeros(len(memory.units), dtype=bool)
    echoes: NDArray[np.bool_] = memory.units["said"] == search.beginning(sha256(question.text))
    if question.terms and not seen.speakers:
        held = (memory.frequencies[:, : len(question.terms)] > 0).all(axis=1)
        echoes |= held & (memory.units["tells"] < 0)
    return echoes


def _nearness(numbers: Any, packed: bytes | None) -> rank.Floats:
    """Returns the similarity of each unit, which is that of its most similar part; -2 where it has no vector."""
    parts = np.frombuffer(packed or b"", NEAR)
    owners, similarities = parts["number"].astype(np.int64), parts["similarity"].astype(np.float64)
    if np.array_equal(owners, numbers) and (similarities >= -1.5).all():  # the common case: one vector for each unit
        return similarities
    near = np.full(len(numbers), -2.0)
    place = np.minimum(np.searchsorted(numbers, owners), len(numbers) - 1)
    known = (numbers[place] == owners) & (similarities >= -1.5)  # NaN compares false, so it is left out
    if (owners[1:] > owners[:-1]).all():
        near[place[known]] = similarities[known]
    else:
        np.maximum.at(near, place[known], similarities[known])
    return near


@dataclass(frozen=True, slots=True)
class _Postings:
    """Which units hold which terms and how often, and how many units hold each term."""

    columns: rank.Integers  # the index of each posting's term among those asked for
    numbers: rank.Integers
    times: rank.Integers
    holders: rank.Floats

    @classmethod
    def of(cls, seen: Look, asked: Sequence[str]) -> _Postings:
        """Parses the postings of these terms. Each block is sent as a Postgres array: a header, then the numbers."""
        column = {term: place for place, term in enumerate(asked)}
        columns = np.array([column.get(term, -1) for term in seen.terms or ()], dtype=np.int64)
        blocks, sizes = (np.array(each or (), dtype=np.int64) for each in (seen.blocks, seen.sizes))
        heads = np.repeat(HEAD * np.arange(1, len(sizes) + 1), sizes)  # the size of all headers before each posting
        values = heads + POSTING * np.arange(1, len(heads) + 1) - 1
        postings = np.frombuffer(seen.postings or b"", ">u2")[values].astype(np.int64)
        owners = np.repeat(columns, sizes)
        numbers = np.repeat(blocks * BLOCK, sizes) + (postings & BLOCK - 1)
        times = postings // BLOCK
        if len(columns) and columns.min() < 0:  # some postings are of terms that were not asked for
            wanted = owners >= 0
            owners, numbers, times = owners[wanted], numbers[wanted], times[wanted]
        holders = np.bincount(owners, minlength=len(asked)).astype(np.float64)
        return cls(owners, numbers, times, holders)

    def best(self, amount: int, total: int, terms: int) -> rank.Integers:
        """Returns the units that hold the first `terms` terms best, best first. Rare terms count for more."""
        columns, numbers, times = self.columns, self.numbers, self.times
        if terms < len(self.holders):
            among = columns < terms
            columns, numbers, times = columns[among], numbers[among], times[among]
        if not len(numbers):
            return numbers
        weights = rank.rarity(self.holders, total)[columns] * times / (times + rank.SATURATION)
        totals = np.bincount(numbers, weights)
        held = totals.nonzero()[0]  # usually few, even in a large memory
        scores = totals[held]
        best = np.argpartition(-scores, min(amount, len(scores) - 1))[:amount]
        return held[best[np.argsort(-scores[best], kind="stable")]]

    def table(self, numbers: Any) -> rank.Floats:
        """Returns how often each of these units, which must be sorted, holds each term."""
        frequencies = np.zeros((len(numbers), len(self.holders)))
        place = np.minimum(np.searchsorted(numbers, self.numbers), len(numbers) - 1)
        known = numbers[place] == self.numbers
        frequencies[place[known], self.columns[known]] = self.times[known]
        return frequencies


def _answers(question: Question, memory: _Memory, seen: Look, limit: int, floor: float | None) -> list[dict[str, Any]]:
    """Ranks these units and returns the best; none if even the best is below the floor."""
    units = memory.units
    if not len(units):
        return []
    scores = _scores(memory, len(question.terms), seen)
    boosts = _boosts(question, memory, seen.speakers or ())
    ranked = rank.rank(scores, sum(boosts.values(), np.zeros(len(units))))
    best = float(ranked.relevance.max())
    if best < (_floor(scores) if floor is None else floor):
        return []
    order = np.argsort(-ranked.total, kind="stable")
    if question.terms and not seen.speakers:
        order = order[_is_worth_finding(units, scores.matched)[order]]
    order = _drop_copies(memory, order, limit)
    order = order[np.argsort(-ranked.total[order], kind="stable")]
    return _describe_best(units, order, ranked, {**ranked.arms, **boosts}, best) if len(order) else []


def _is_worth_finding(units: Any, matched: rank.Integers) -> NDArray[np.bool_]:
    """Returns which units tell something, or hold a word of the question; "hm" is near to everything."""
    worth: NDArray[np.bool_] = units["tells"] > TELLS_NOTHING
    worth[matched] = True
    return worth


async def hits(database: Database, user_id: str, best: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """Returns the hits with their content. Rows that were deleted in the meantime are left out."""
    numbers = [int(each["key"]) for each in best]
    rows = await search.found(database, user_id, numbers) if numbers else {}
    return [_hit(each, *rows[number]) for number, each in zip(numbers, best, strict=True) if number in rows]


def _floor(scores: rank.Scores) -> float:
    """Returns how relevant the best unit must be; higher where no unit shares a word with the question."""
    usual = default_floor(scores.said)
    return usual if len(scores.matched) else max(usual, WORDLESS_FLOOR)


def default_floor(memories: int) -> float:
    """Returns how relevant the best unit must be in a memory of this size."""
    return max(LEAST_FLOOR, FLOOR * min(1.0, (math.log1p(memories) / math.log(FULL_FLOOR_AT)) ** 3))


def _scores(memory: _Memory, terms: int, seen: Look) -> rank.Scores:
    frequencies = memory.frequencies[:, :terms]
    matched = (frequencies @ np.ones(terms)).nonzero()[0]  # the same as any(axis=1), in a tenth of the time
    return rank.Scores(
        sessions=memory.units["place"].astype(np.int64),
        positions=memory.units["position"].astype(np.int64),
        dense=memory.near,
        words=memory.units["words"].astype(np.float64),
        matched=matched,
        frequencies=frequencies[matched],
        retold=memory.units["retold"],
        whole=None if seen.total is None else _make_whole(seen.total, seen, memory.holders[:terms]),
        assisted=bool(memory.units["by_machine"].any()),
    )


def _make_whole(total: int, seen: Look, holders: rank.Floats) -> rank.Whole:
    words = None if seen.total_words is None else seen.total_words / max(total, 1)
    return rank.Whole(total, words, max(seen.conversations or 0, 1), holders)


def _boosts(question: Question, memory: _Memory, speakers: Sequence[str]) -> dict[str, rank.Floats]:
    """Returns score boosts for units that match the speaker, time or answer asked for. Boosts never exclude a unit."""
    units = memory.units
    boosts: dict[str, rank.Floats] = {}
    named = _find_named_speaker(question.text, speakers)
    if named is not None:
        boosts["speaker"] = rank.SPEAKER * (units["speaker"] == _speaker(named))
    elif not ADDRESSED.search(question.text) and units["by_machine"].any():
        # An assistant's long turns match everything. Unless the question is about what the assistant said, the user's
        # own words, and what was kept of them, come first.
        boosts["speaker"] = rank.OWN_WORDS * ~units["by_machine"]
    if question.answer is not None:
        counted = ~units["by_machine"] if question.answer.own else True
        boosts["answer"] = rank.ANSWER * ((memory.frequencies[:, -1] > 0) & counted)
    if (coded := _identifiers(question, memory)).any():
        boosts["identifier"] = rank.IDENTIFIER * coded.astype(np.float64)
    if units["importance"].any():
        boosts["strength"] = rank.STRENGTH * _strength(units, question.now)
    if units["retold"].any() and not units["retold"].all():
        boosts["retold"] = -rank.RETOLD * units["retold"]
    if units["tells"].any():
        asked = rank.ASKED_BEFORE if question.asks and not speakers else 0.0
        boosts["tells"] = rank.TELLS * units["tells"].astype(np.float64) - asked * (units["tells"] <= TELLS_NOTHING)
    intervals = question.intervals
    if intervals:
        moments = EPOCH + units["microseconds"] / 1e6
        boosts["temporal"] = rank.TEMPORAL * np.exp(-temporal.days_apart(intervals, moments) / FADING_DAYS)
    if question.about_now and not speakers:
        boosts |= _boost_current(question, memory)
    return boosts


def _boost_current(question: Question, memory: _Memory) -> dict[str, rank.Floats]:
    """Returns boosts for what likely holds now. For talk with an assistant only: people who chat tell past events."""
    units, boosts = memory.units, dict[str, rank.Floats]()
    if units["outdated"].any():
        lost = rank.outdated(compared=bool((memory.near > -2).any()))
        boosts["outdated"] = -lost * units["outdated"].astype(np.float64)
    if units["by_machine"].any():
        age = np.maximum(question.now.timestamp() - EPOCH - units["microseconds"] / 1e6, 0.0) / 86_400
        weight = rank.RECENT_NOW if later.NOW.search(question.text) else rank.RECENT
        boosts["recent"] = weight * np.exp(-age / RECENT_DAYS)
    return boosts


def _identifiers(question: Question, memory: _Memory) -> NDArray[np.bool_]:
    """Marks units that hold a number or code of the question which hardly any other unit holds: "U217", "QS-204"."""
    columns = [
        place
        for place, term in enumerate(question.terms)
        if any(map(str.isdigit, term)) and 0 < memory.holders[place] <= FEW
    ]
    if not columns:
        return np.zeros(len(memory.units), bool)
    return np.asarray((memory.frequencies[:, columns] > 0).any(axis=1), bool)


def _strength(units: Any, now: datetime) -> rank.Floats:
    """Returns the importance of each unit, which fades while the unit is not used."""
    rested = np.maximum((now.timestamp() - EPOCH) * 1e6 - units["used"], 0.0)
    strength: rank.Floats = units["importance"] * np.power(0.5, np.minimum(rested / HALF_LIFE, 100.0))
    return strength


def _speaker(name: str) -> int:
    """Returns a speaker's name as the number that the index stores."""
    return int.from_bytes(md5(name.encode(), usedforsecurity=False).digest()[:4], signed=True)


def _find_named_speaker(text: str, speakers: Iterable[str]) -> str | None:
    """Returns the speaker whose name the question mentions; None if it mentions none or more than one."""
    names = [*speakers]
    asked = {*terms(text)} if names else set[str]()
    found = [name for name in names if asked & {*terms(name)}]
    return found[0] if len(found) == 1 else None


def _drop_copies(memory: _Memory, order: rank.Integers, limit: int) -> rank.Integers:
    """Returns the first `limit` units without copies: a fork repeats the earlier messages at the same time and place.

    The original, which was indexed first, stands for its copies. Where neither the text nor a vector can tell a copy
    from another message of the same moment, all are kept.
    """
    seen, kept = dict[tuple[Any, ...], int](), list[int]()
    for number, (moment, position, words, said, similarity) in _identify(memory, order, limit):
        near = 0.0 if said else similarity
        known = len(kept)
        if near > -2 and position > 0:
            known = seen.setdefault((moment, position, words, said, near), known)
        if known < len(kept):
            kept[known] = min(kept[known], number)
        elif len(kept) == limit:
            break
        else:
            kept.append(number)
    return np.array(kept, dtype=np.int64)


def _identify(memory: _Memory, order: rank.Integers, limit: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yields what distinguishes each unit from its copies, in ranked order. Reads a few at a time: few are needed."""
    for start in range(0, min(COPIES * limit, len(order)), 2 * limit):
        some = order[start : min(start + 2 * limit, COPIES * limit)]
        units, near = memory.units[some], memory.near[some].tolist()
        yield from zip(some.tolist(), zip(*(units[name].tolist() for name in TELLING), near, strict=True), strict=True)


def _describe_best(
    units: Any, order: rank.Integers, ranked: rank.Ranked, arms: Mapping[str, rank.Floats], best: float
) -> list[dict[str, Any]]:
    shares = ranked.total[order] / top if (top := float(ranked.total[order[0]])) > 0 else np.ones(len(order))
    columns = np.round([values[order] for values in arms.values()], 4).tolist()
    return [
        {"key": number, "score": best * share, "scores": dict(zip(arms, scores, strict=True))}
        for number, share, *scores in zip(units["number"][order].tolist(), shares.tolist(), *columns, strict=True)
        if share >= LEAST_SHARE
    ]


def _hit(
    found: Mapping[str, Any],
    kind: str,
    id: str,
    content: str,
    occurred_at: datetime | None,
    session_id: str | None,
    role: str | None,
    said_by: str | None,
    sources: Sequence[str],
    trusted: bool,
    details: Mapping[str, Any] | None,
) -> Hit:
    """Builds a hit from its score and the columns of its row."""
    return Hit(
        kind=kind,
        id=id,
        content=content,
        score=found["score"],
        scores=found["scores"],
        occurred_at=occurred_at and occurred_at.astimezone(UTC),
        session_id=session_id,
        role=role,
        sources=tuple(sources),
        speaker=speaker(role, said_by),
        trusted=trusted,
        metadata=details or {},
    )
