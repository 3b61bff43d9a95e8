"""What a window costs: from Postgres alone, over the memory of the process and over Redis, beside a bare SELECT."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial

from bench import bare, redis_server
from bench.report import Comparison, milliseconds
from bench.stage import Block, Stage, timed_async
from ltst import Settings
from ltst.memory import AsyncChat

WINDOW = 50
USER, SESSION = "windows", "long"
# Of one's time by a bare SELECT's: when nothing is new, and when a message came since the last reading.
BOUNDS = {"Postgres": (2.0, 2.0), "process cache": (1.5, 1.8), "Redis": (2.5, 2.8)}

Read = Callable[[], Awaitable[object]]


def rows(stage: Stage) -> Iterator[Comparison]:
    """Each way of reading, again and after another message."""
    # The worker would make vectors of all that was filled in, while others are being timed.
    settings = replace(stage.settings, worker=False)
    with redis_server.running() as url:
        ways = {
            "Postgres": replace(settings, window_cache="off"),
            "process cache": replace(settings, window_cache="memory"),
            "Redis": replace(settings, redis_url=url),
        }
        _fill(stage, settings)
        for way, chosen in ways.items():
            stage.say(f"window, {way}")
            yield from _compare(stage, way, chosen)


def _fill(stage: Stage, settings: Settings) -> None:
    stage.say("filling")
    with asyncio.Runner() as runner, stage.memory(runner, settings) as memory:
        turns = ({"role": "user", "content": bare.text(number)} for number in range(stage.plan.window_messages))
        runner.run(memory.user(USER).chat(SESSION).add_many(turns))


def _compare(stage: Stage, way: str, settings: Settings) -> Iterator[Comparison]:
    with (
        asyncio.Runner() as runner,
        stage.memory(runner, settings) as memory,
        stage.connections(runner, 1) as (connection,),
    ):
        chat = memory.user(USER).chat(SESSION)
        ours, other = partial(chat.window, WINDOW), partial(bare.window, connection, USER, SESSION, WINDOW)
        again, later = BOUNDS[way]
        name = f"window({WINDOW}) of {stage.plan.window_messages:,}, {way}"
        yield _row(stage, runner, name, partial(_again, stage), (ours, other), again)
        yield _row(stage, runner, f"{name}, a message later", partial(_later, stage, chat), (ours, other), later)


def _row(
    stage: Stage,
    runner: asyncio.Runner,
    name: str,
    block: Callable[[Read], Awaitable[Block]],
    sides: tuple[Read, Read],
    bound: float,
) -> Comparison:
    async def take(read: Read) -> Block:
        return await block(read)

    ours, other = stage.alternate(stage.plan.blocks, *(lambda read=read: runner.run(take(read)) for read in sides))
    return Comparison(name, milliseconds(ours.seconds), "async SELECT", milliseconds(other.seconds), bound)


async def _again(stage: Stage, read: Read) -> Block:
    return await timed_async([read] * stage.plan.operations)


async def _later(stage: Stage, chat: AsyncChat, read: Read) -> Block:
    """The message is not timed, only the reading after it."""
    seconds: list[float] = []
    for number in range(stage.plan.operations):
        await chat.add("user", bare.text(number))
        began = time.perf_counter()
        await read()
        seconds.append(time.perf_counter() - began)
    return Block(seconds, sum(seconds))
