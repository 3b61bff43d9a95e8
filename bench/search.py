"""What a search costs beside its own SQL by hand, a context beside a search, and what of the nearest is found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import bare, corpus, library
from bench.library import AGENT
from bench.report import Comparison, Figure, Reading, Row, milliseconds
from bench.shelf import Shelf
from bench.stage import Block, Stage, timed_async
from ltst import AsyncMemory
from ltst.db.pool import user_scope
from ltst.learn.index import written
from ltst.recall.retrieve import UNIT, Question, retrieve
from ltst.rooms.search import Filters

SEARCH_BOUND, CONTEXT_BOUND = 2.0, 2.0
BEST = 10
EXACT, NEAREST = 1.0, 0.98
ROUNDING = 1e-6  # two vectors may be as near as each other but for the last bit


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to one user's memory, and what ltst would send to the database for it."""

    user_id: str
    text: str
    parameters: Mapping[str, Any]


def rows(stage: Stage) -> Iterator[Row]:
    """For each shelf: search, context and recall, one after the other as they share what was filled."""
    settings = replace(stage.settings, large_memory=stage.plan.large_memory, worker=False)
    with (
        asyncio.Runner() as runner,
        stage.memory(runner, settings, corpus.embedder()) as memory,
        stage.connections(runner, 1) as (connection,),
    ):
        for shelf in stage.plan.shelves:
            runner.run(library.fill(stage, memory, shelf))
            asks = _Asks(shelf, runner.run(_large(stage, connection, shelf)))
            stage.say(f"search {shelf.total:,}")
            yield _searches(stage, runner, memory, connection, asks)
            stage.say(f"context {shelf.total:,}")
            yield _contexts(stage, runner, memory, asks)
            stage.say(f"recall {shelf.total:,}")
            yield runner.run(_recall(stage, connection, asks))


class _Asks:
    """Questions to the users of a shelf in turn, each asked once on a side."""

    def __init__(self, shelf: Shelf, large: bool) -> None:
        """A large one is asked by way of the index."""
        self.shelf, self.large = shelf, large
        self._users = cycle(
            [(user_id, corpus.questions(shelf.numbers(user))) for user, user_id in enumerate(shelf.user_ids)]
        )

    async def take(self, amount: int) -> list[Ask]:
        """The next ones."""
        return [await self._ask(user_id, next(texts)) for user_id, texts in islice(self._users, amount)]

    async def _ask(self, user_id: str, text: str) -> Ask:
        return Ask(user_id, text, await _parameters(user_id, text, large=self.large))


def _searches(
    stage: Stage, runner: asyncio.Runner, memory: AsyncMemory, connection: bare.AsyncConnection, asks: _Asks
) -> Comparison:
    """`user.search` beside the SQL that finds its candidates, with the same questions."""

    def search(ask: Ask) -> Any:
        return memory.user(ask.user_id).search(ask.text)

    ours, other = _side_by_side(stage, runner, asks, search, partial(_by_hand, connection))
    return Comparison(f"search, {asks.shelf}", ours, "its SQL alone", other, SEARCH_BOUND)


def _contexts(stage: Stage, runner: asyncio.Runner, memory: AsyncMemory, asks: _Asks) -> Comparison:
    """`chat.context` beside `user.search`, by their 95th percentiles."""

    def context(ask: Ask) -> Any:
        return memory.user(ask.user_id).chat("session-0", agent=AGENT).context(ask.text)

    def search(ask: Ask) -> Any:
        return memory.user(ask.user_id).search(ask.text)

    ours, other = map(_p95, _side_by_side(stage, runner, asks, context, search))
    return Comparison(f"context, {asks.shelf}, p95", ours, "search, p95", other, CONTEXT_BOUND)


def _side_by_side(
    stage: Stage,
    runner: asyncio.Runner,
    asks: _Asks,
    ours: Callable[[Ask], Any],
    other: Callable[[Ask], Any],
) -> tuple[Figure, Figure]:
    """The times of both; the same questions, each of which a side hears only once."""
    size, blocks = stage.plan.questions, stage.plan.question_blocks
    asked = runner.run(asks.take(size * (blocks + 1)))  # one more: the first block is for warming up

    def side(ask: Callable[[Ask], Any]) -> Callable[[], Block]:
        left = iter(asked)
        return lambda: runner.run(timed_async(partial(ask, each) for each in islice(left, size)))

    samples = stage.alternate(blocks, side(ours), side(other))
    return milliseconds(samples[0].seconds), milliseconds(samples[1].seconds)


def _p95(figure: Figure) -> Figure:
    assert figure.p95_ms is not None, "times of single operations have percentiles"
    return Figure(figure.p95_ms, figure.unit)


async def _by_hand(connection: bare.AsyncConnection, ask: Ask) -> bytes:
    return await bare.candidates(connection, ask.user_id, ask.parameters)


async def _recall(stage: Stage, connection: bare.AsyncConnection, asks: _Asks) -> Reading:
    """How many of the truly nearest are the nearest of what the vectors alone bring."""
    asked = await asks.take(stage.plan.recalls)
    shares = []
    for user_id in dict.fromkeys(ask.user_id for ask in asked):
        ids, stored = await bare.vectors(connection, user_id)
        for ask in (each for each in asked if each.user_id == user_id):
            # Without its words, or what holds them would stand in for what the index misses.
            given = await _parameters(user_id, ask.text, large=asks.large, recall=True)
            found = _nearest(await bare.candidates(connection, user_id, given))
            shares.append(_share(found, ids, stored @ corpus.embedder().embed([ask.text])[0]))
        stage.tick()
    least = NEAREST if asks.large else EXACT
    return Reading(f"recall@{BEST} of the vectors, {asks.shelf}", float(np.mean(shares)), "of 1", least)


def _nearest(packed: bytes) -> list[bytes]:
    """The messages nearest to the question, by the scores that the database sends."""
    units = np.frombuffer(packed, UNIT)
    return [each.tobytes() for each in units["id"][np.argsort(-units["dense"], kind="stable")[:BEST]]]


def _share(found: Iterable[bytes], ids: Sequence[bytes], scores: NDArray[np.float32]) -> float:
    """How many of the best were found; one that is as near as the last of them is as good."""
    owners, owner = np.unique(np.array(ids, "V16"), return_inverse=True)
    nearest = np.full(len(owners), -2.0, np.float32)
    np.maximum.at(nearest, owner, scores)
    least = float(np.partition(nearest, -BEST)[-BEST]) - ROUNDING
    best = {owners[place].tobytes() for place in np.flatnonzero(nearest >= least)}
    return sum(each in best for each in found) / BEST


async def _parameters(user_id: str, text: str, *, large: bool, recall: bool = False) -> Mapping[str, Any]:
    """What ltst sends with its query, taken from ltst itself; for `recall`, of messages alone and without words."""
    heard = _Listener(user_id)
    vector = written(corpus.embedder().embed([text])[0])
    question = Question("" if recall else text, datetime.now(UTC), corpus.embedder().name, vector)
    filters = Filters(kinds=("message",)) if recall else Filters()
    await retrieve(heard, question, filters, limit=BEST, floor=None, large=large)  # type: ignore[arg-type]
    return heard.parameters


class _Listener:
    """Stands where the database would, and notes what it is asked."""

    def __init__(self, user_id: str) -> None:
        """Be asked for one user."""
        self.scope = user_scope(user_id)
        self.parameters: Mapping[str, Any] = {}

    async def packed(self, first: str, name: str, parameters: Mapping[str, Any]) -> tuple[bool, Mapping[str, Any]]:
        """Find nothing."""
        self.parameters = parameters
        return False, {"units": None}


async def _large(stage: Stage, connection: bare.AsyncConnection, shelf: Shelf) -> bool:
    """Whether the index finds the vectors of its users, as it must from some number on."""
    known = bool(await (await connection.execute(bare.LARGE, (shelf.user_ids[0],))).fetchone())
    if known != (shelf.messages > stage.plan.large_memory):
        raise RuntimeError(f"the vectors of {shelf} are {'' if known else 'not '}found by the index")
    return known
