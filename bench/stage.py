"""The stage of a run: the server it happens on, how much is measured, and the clock that alternates two sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from bench import bare
from bench.cpu import Meter, Spent
from bench.shelf import Crowd, Shelf
from ltst import AsyncMemory, Settings
from ltst.protocols import Embedder

CROWD = Crowd(1_000, 1_000, 1.3)


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
        Shelf("one", 1_000, 4.0),
        Shelf("ten", 10_000, 2.0),
        Shelf("hundred", 100_000, 4.0),
    )
    crowd: Crowd = CROWD
    large_memory: int = 50_000
    question_blocks: int = 25
    questions: int = 8
    recalls: int = 200
    embedding_blocks: int = 15
    http_blocks: int = 12
    http_clients: Sequence[int] = (1, 8, 32)
    http_operations: int = 15
    sizes: Sequence[int] = (10_000, 100_000, 1_000_000)

    @property
    def write_steps(self) -> int:
        """How many steps the writes make, for the display of their progress."""
        fill = self.long // self.bulk
        crowds = 2 * len(self.crowds) * self.crowd_blocks + self.learning_blocks
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
        filled = sum(shelf.steps for shelf in self.shelves) + 3 * self.crowd.alone.steps
        return filled + (2 * len(self.shelves) + 1) * self.question_blocks

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
    shelves=(Shelf("one", 1_000, 4.0), Shelf("three", 3_000, 4.0)),
    crowd=Crowd(20, 1_000, 1.3),
    large_memory=2_000,
    question_blocks=5,
    recalls=40,
    embedding_blocks=3,
    http_blocks=3,
    http_operations=8,
    sizes=(10_000, 50_000),
)
FULL = (10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(slots=True)
class Block:
    """A few operations in a row: the seconds of each, of all together, and of the processors where that was read."""

    seconds: Sequence[float]
    elapsed: float
    spent: Spent = field(default_factory=Spent)


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

    @property
    def spent(self) -> Spent:
        """Of the processors, for one operation."""
        amount = len(self.seconds)
        return Spent(
            sum(block.spent.client for block in self.blocks) / amount,
            sum(block.spent.postgres for block in self.blocks) / amount,
        )


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

    def beside(self, name: str) -> Stage:
        """A stage on another database of the same server, which is made for it."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(Composed([SQL("CREATE DATABASE "), Identifier(name)]))
        dsn = make_conninfo(self.dsn, dbname=name)
        return replace(self, dsn=dsn, settings=replace(self.settings, database_url=dsn))

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


def metered(meter: Meter, block: Callable[[], Block]) -> Callable[[], Block]:
    """The same block, with what it took of the processors."""

    def read() -> Block:
        spent = Spent()
        with meter.adding_to(spent):
            done = block()
        return replace(done, spent=spent)

    return read


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
