"""The stage of a run: the server it happens on, how much is measured, and the clock that alternates two sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from bench import bare
from bench.shelf import Shelf
from ltst import AsyncMemory, Settings
from ltst.protocols import Embedder


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured, on each side."""

    blocks: int = 60
    operations: int = 25
    crowd_blocks: int = 24
    crowds: Sequence[int] = (8, 32)
    crowd_operations: int = 12
    learning_blocks: int = 10
    learning_operations: int = 100
    backlog: int = 20
    bulk_blocks: int = 8
    bulk: int = 5_000
    conversations: int = 1_000
    short: int = 100
    long: int = 100_000
    window_messages: int = 10_000
    shelves: Sequence[Shelf] = (
        Shelf("ten", 1, 10_000),
        Shelf("crowd", 100, 1_000, turn=20),
        Shelf("hundred", 1, 100_000),
    )
    large_memory: int = 50_000
    question_blocks: int = 25
    questions: int = 8
    recalls: int = 200
    embedding_blocks: int = 15
    http_blocks: int = 12
    http_clients: Sequence[int] = (1, 8, 32)
    http_operations: int = 15

    @property
    def write_steps(self) -> int:
        """How many steps the writes make, for the display of their progress."""
        fill = self.long // self.bulk
        crowds = len(self.crowds) * self.crowd_blocks + self.learning_blocks
        return 4 * self.blocks + crowds + self.bulk_blocks + fill

    @property
    def window_steps(self) -> int:
        """How many steps the windows make: three ways, each in two situations."""
        return 6 * self.blocks

    @property
    def import_steps(self) -> int:
        """How many steps the imports make, beside two others."""
        return 4 * self.bulk_blocks

    @property
    def search_steps(self) -> int:
        """How many steps the searches make."""
        return sum(2 * self.question_blocks + shelf.steps + shelf.users for shelf in self.shelves)

    @property
    def http_steps(self) -> int:
        """How many steps the calls over HTTP make."""
        return (2 * len(self.http_clients) + 1) * self.http_blocks


QUICK = Plan(
    blocks=12,
    crowd_blocks=5,
    learning_blocks=3,
    bulk_blocks=3,
    bulk=2_000,
    conversations=200,
    long=20_000,
    shelves=(Shelf("one", 1, 1_000), Shelf("crowd", 10, 200, turn=20), Shelf("three", 1, 3_000)),
    large_memory=2_000,
    question_blocks=5,
    recalls=40,
    embedding_blocks=3,
    http_blocks=3,
    http_operations=8,
)


@dataclass(slots=True)
class Block:
    """A few operations in a row: the seconds of each, and of all together."""

    seconds: Sequence[float]
    elapsed: float


@dataclass(slots=True)
class Samples:
    """The blocks of one side."""

    blocks: list[Block] = field(default_factory=list)

    @property
    def seconds(self) -> list[float]:
        """Of every operation."""
        return [seconds for block in self.blocks for seconds in block.seconds]

    def rates(self, rows: int = 1) -> list[float]:
        """Per second, of every block; `rows` is what one operation counts for."""
        return [rows * len(block.seconds) / block.elapsed for block in self.blocks]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a run happens."""

    settings: Settings
    dsn: str
    plan: Plan
    say: Callable[[str], None]
    tick: Callable[[], None]

    def bare_session(self, session_id: str) -> bare.Session:
        """A session that only psycopg writes to."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return bare.Session(connection, session_id)

    @contextmanager
    def memory(
        self, runner: asyncio.Runner, settings: Settings | None = None, embedder: Embedder | None = None
    ) -> Iterator[AsyncMemory]:
        """An open memory on the loop of a runner."""
        memory = AsyncMemory(settings=settings or self.settings, embedder=embedder)
        runner.run(memory.open())
        try:
            yield memory
        finally:
            runner.run(memory.close())

    @contextmanager
    def connections(self, runner: asyncio.Runner, amount: int) -> Iterator[list[bare.AsyncConnection]]:
        """Connections of psycopg alone, on the loop of a runner."""
        opened = [runner.run(bare.connect_async(self.dsn)) for _ in range(amount)]
        try:
            yield opened
        finally:
            for connection in opened:
                runner.run(connection.close())

    def alternate(self, blocks: int, ours: Callable[[], Block], other: Callable[[], Block]) -> tuple[Samples, Samples]:
        """Take blocks of both sides in turn, so that what else the machine does falls on both alike."""
        sides = ((Samples(), ours), (Samples(), other))
        for _, block in sides:
            block()  # the first one opens connections and fills caches
        for number in range(blocks):
            for samples, block in sides if number % 2 else reversed(sides):
                samples.blocks.append(block())
            self.tick()
        return sides[0][0], sides[1][0]


def timed(operations: Iterable[Callable[[], object]]) -> Block:
    """Do one after the other."""
    seconds = []
    began = time.perf_counter()
    for operation in operations:
        start = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - start)
    return Block(seconds, time.perf_counter() - began)


async def timed_async(operations: Iterable[Callable[[], Awaitable[object]]]) -> Block:
    """Do one after the other, awaiting each."""
    seconds = []
    began = time.perf_counter()
    for operation in operations:
        start = time.perf_counter()
        await operation()
        seconds.append(time.perf_counter() - start)
    return Block(seconds, time.perf_counter() - began)


async def timed_crowd(writers: Iterable[Iterable[Callable[[], Awaitable[object]]]]) -> Block:
    """Let all writers work at once, each doing one after the other."""
    began = time.perf_counter()
    done = await asyncio.gather(*(timed_async(operations) for operations in writers))
    return Block([seconds for block in done for seconds in block.seconds], time.perf_counter() - began)
