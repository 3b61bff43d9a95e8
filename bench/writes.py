"""What a write costs: one at a time, many writers at once, many messages at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field

import psycopg

from bench import bare
from bench.plan import Stage
from bench.report import Comparison, milliseconds, throughput
from ltst import AsyncMemory, Memory

ASYNC_BOUND, SYNC_BOUND, CONCURRENT_BOUND, BULK_BOUND = 1.5, 2.5, 0.6, 0.5

AsyncConnection = psycopg.AsyncConnection[bare.Row]


@dataclass(slots=True)
class Taken:
    """What one side needed: the seconds of each operation, the operations per second of each block."""

    seconds: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)


async def add_async(stage: Stage) -> Comparison:
    """`chat.add` beside an INSERT, both awaited."""
    ours, other = Taken(), Taken()
    async with AsyncMemory(settings=stage.settings) as memory, await bare.connect_async(stage.dsn) as connection:
        chat, session = memory.user("ltst").chat("async"), stage.bare_session("async")

        async def add() -> None:
            for number in range(stage.plan.block):
                ours.seconds.append(await _timed(lambda number=number: chat.add("user", bare.text(number))))

        async def insert() -> None:
            for row in session.rows(stage.plan.block):
                other.seconds.append(await _timed(lambda row=row: connection.execute(bare.INSERT, row)))

        await _alternate(stage, stage.plan.add_blocks, ours, other, add, insert)
    return Comparison("AsyncMemory: add", milliseconds(ours.seconds), "INSERT, async", milliseconds(other.seconds), ASYNC_BOUND)


def add_sync(stage: Stage) -> Comparison:
    """`chat.add` beside an INSERT, neither awaited."""
    ours, other = Taken(), Taken()
    with Memory(settings=stage.settings) as memory, closing(bare.connect(stage.dsn)) as connection:
        chat, session = memory.user("ltst").chat("sync"), stage.bare_session("sync")
        ...
