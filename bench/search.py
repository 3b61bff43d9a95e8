"""What a search costs beside pgvector asked by hand, a context beside a search, and what of the nearest is found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bench import bare, corpus, crowd, library
from bench.cpu import Meter, postmaster
from bench.library import AGENT
from bench.plain import Plain, written
from bench.report import Comparison, Reading, Row, milliseconds
from bench.shelf import Shelf
from bench.stage import Block, Samples, Stage, metered, timed_async
from ltst import AsyncMemory

CONTEXT_BOUND = 1.8
BEST = 10
EXACT, NEAREST = 1.0, 0.98
ROUNDING = 1e-6  # two vectors may be as near as each other but for the last bit


class Ask(NamedTuple):
    """A question, and its vector for whoever asks by hand."""

    text: str
    vector: str


@dataclass(frozen=True, slots=True)
class Bench:
    """Both sides, ready to be asked about one shelf."""

    stage: Stage
    runner: asyncio.Runner
    memory: AsyncMemory
    connection: bare.AsyncConnection
    shelf: Shelf
    plain: Plain
    asks: Iterator[Ask]

    @property
    def large(self) -> bool:
        """Whether the vectors are found by an index, on both sides."""
        return _large(self.stage, self.shelf)


def rows(stage: Stage) -> Iterator[Row]:
    """For each shelf: search, context and recall, one after the other as they share what was filled; then a crowd."""
    settings = replace(stage.settings, large_memory=stage.plan.large_memory, worker=False)
    with (
        asyncio.Runner() as runner,
        stage.memory(runner, settings, corpus.embedder()) as memory,
        stage.connections(runner, 1) as (connection,),
    ):
        for shelf in stage.plan.shelves:
            plain = Plain(connection, shelf.name, hnsw=_large(stage, shelf))
            bench = Bench(stage, runner, memory, connection, shelf, plain, _asks(shelf))
            yield from _filled(bench)
            yield from _searches(bench)
            yield from _contexts(bench)
            yield from runner.run(_recalls(bench))
    yield from crowd.rows(stage)


def _large(stage: Stage, shelf: Shelf) -> bool:
    return shelf.messages > stage.plan.large_memory


def _asks(shelf: Shelf) -> Iterator[Ask]:
    """Questions about a shelf, no two the same, without end."""
    for text in corpus.questions(shelf.numbers):
        yield Ask(text, written(corpus.embedder().embed([text])[0]))


def _filled(bench: Bench) -> Iterator[Reading]:
    """Fill both sides; what ltst's index takes for a message, and what vectors take that lie in the rows themselves."""
    stage, runner, shelf = bench.stage, bench.runner, bench.shelf
    before = _sizes(bench)
    runner.run(library.fill(stage, bench.memory, shelf))
    index, rows = (after - size for after, size in zip(_sizes(bench), before, strict=True))
    yield Reading(f"index of a message, {shelf}", index / shelf.messages, "bytes")
    yield Reading(f"vectors in the row of a message, {shelf}", rows / shelf.messages, "bytes")
    stage.say(f"{bench.plain.name}, {shelf}")
    runner.run(bench.plain.fill(shelf.user_id))
    runner.run(bench.plain.check(shelf.user_id, next(bench.asks).vector))


def _sizes(bench: Bench) -> tuple[int, int]:
    library.vacuum(bench.stage)
    run, connection = bench.runner.run, bench.connection
    return run(bare.index_bytes(connection)), run(bare.column_bytes(connection, "embedding"))


def _searches(bench: Bench) -> Iterator[Row]:
    """`user.search` beside the ten nearest by hand, with the same questions, and what both take of the processors."""
    shelf, plain = bench.shelf, bench.plain
    bench.stage.say(f"search {shelf}")

    def by_hand(ask: Ask) -> Any:
        return plain.nearest(shelf.user_id, ask.vector)

    ours, other = _side_by_side(bench, partial(_search, bench), by_hand)
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    yield Comparison(f"search, {shelf}", figures[0], plain.name, figures[1], shelf.bound)
    yield from _spent(f"a search, {shelf}", ours)
    yield from _spent(f"{plain.name}, {shelf}", other)
    yield _beside(f"a search beside {plain.name}, {shelf}", ours, other)


def _spent(what: str, samples: Samples) -> Iterator[Reading]:
    yield Reading(f"CPU of {what}: client", 1000 * samples.spent.client, "ms")
    yield Reading(f"CPU of {what}: Postgres", 1000 * samples.spent.postgres, "ms")


def _beside(what: str, ours: Samples, other: Samples) -> Reading:
    """How many times the processors' time, which tells more than the clock where others work on them too."""
    return Reading(f"CPU of {what}", ours.spent.both / other.spent.both, "times")


def _contexts(bench: Bench) -> Iterator[Row]:
    """`chat.context` beside `user.search`, and what it takes of the processors."""
    bench.stage.say(f"context {bench.shelf}")

    def context(ask: Ask) -> Any:
        return bench.memory.user(bench.shelf.user_id).chat("session-0", agent=AGENT).context(ask.text)

    ours, other = _side_by_side(bench, context, partial(_search, bench))
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    yield Comparison(f"context, {bench.shelf}", figures[0], "search", figures[1], CONTEXT_BOUND)
    yield from _spent(f"a context, {bench.shelf}", ours)
    yield _beside(f"a context beside a search, {bench.shelf}", ours, other)


def _search(bench: Bench, ask: Ask) -> Any:
    return bench.memory.user(bench.shelf.user_id).search(ask.text)


def _side_by_side(bench: Bench, ours: Callable[[Ask], Any], other: Callable[[Ask], Any]) -> tuple[Samples, Samples]:
    """Blocks of both; the same questions, each of which a side hears only once."""
    size, blocks = bench.stage.plan.questions, bench.stage.plan.question_blocks
    asked = [*islice(bench.asks, size * (blocks + 1))]  # one more: the first block is for warming up
    meter = Meter(postmaster(bench.stage.dsn))

    def side(ask: Callable[[Ask], Any]) -> Callable[[], Block]:
        left = iter(asked)
        block = lambda: bench.runner.run(timed_async(partial(ask, each) for each in islice(left, size)))  # noqa: E731
        return metered(meter, block)

    return bench.stage.alternate(blocks, side(ours), side(other))


async def _recalls(bench: Bench) -> Sequence[Reading]:
    """How many of the truly nearest are the nearest of what the vectors alone bring; by hand too, where it may miss."""
    bench.stage.say(f"recall {bench.shelf}")
    user_id = bench.shelf.user_id
    if await bare.by_index(bench.connection, user_id, next(bench.asks).vector) != bench.large:
        raise RuntimeError(f"the vectors of {bench.shelf} are {'not ' if bench.large else ''}found by the index")
    ids, stored = await bare.vectors(bench.connection, user_id)
    shares, by_hand = [], []
    for ask in islice(bench.asks, bench.stage.plan.recalls):
        scores = stored @ np.array(ask.vector[1:-1].split(","), np.float32)
        shares.append(_share(await bare.nearest(bench.connection, user_id, ask.vector, BEST), ids, scores))
        by_hand.append(_share(await bench.plain.ids(user_id, ask.vector), ids, scores))
    named = f"recall@{BEST} of {{}}, {bench.shelf}"
    ours = Reading(named.format("the vectors"), float(np.mean(shares)), "of 1", least=NEAREST if bench.large else EXACT)
    return [ours, Reading(named.format(bench.plain.name), float(np.mean(by_hand)), "of 1")]


def _share(found: Iterable[UUID], ids: Sequence[UUID], scores: NDArray[np.float32]) -> float:
    """How many of the best were found; one that is as near as the last of them is as good."""
    owners, owner = np.unique(np.array([each.bytes for each in ids], "V16"), return_inverse=True)
    nearest = np.full(len(owners), -2.0, np.float32)
    np.maximum.at(nearest, owner, scores)
    least = float(np.partition(nearest, -BEST)[-BEST]) - ROUNDING
    best = {owners[place].tobytes() for place in np.flatnonzero(nearest >= least)}
    return sum(each.bytes in best for each in found) / BEST
