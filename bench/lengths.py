"""Whether the length of a session is felt: the window and the next message at many messages beside few."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import count

from bench import bare
from bench.report import Comparison, milliseconds
from bench.stage import Block, Stage, timed_async
from ltst import AsyncMemory
from ltst.memory import AsyncChat

BOUND = 1.3
WINDOW = 50
USER = "lengths"


def compare(stage: Stage) -> Iterator[Comparison]:
    """Reading and writing, each at the end of a long session and of a short one."""
    stage.say("long sessions")
    with asyncio.Runner() as runner, stage.memory(runner) as memory:
        long = memory.user(USER).chat("long")
        for _ in range(stage.plan.long // stage.plan.bulk):
            runner.run(_fill(long, stage.plan.bulk))
            stage.tick()
        yield _windows(stage, runner, memory, long)
        yield _adds(stage, runner, memory, long)


def _windows(stage: Stage, runner: asyncio.Runner, memory: AsyncMemory, long: AsyncChat) -> Comparison:
    short = memory.user(USER).chat("short")
    runner.run(_fill(short, stage.plan.short))

    def read(chat: AsyncChat) -> Block:
        return runner.run(timed_async([partial(chat.window, WINDOW)] * stage.plan.operations))

    ours, other = stage.alternate(stage.plan.blocks, partial(read, long), partial(read, short))
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    return Comparison(
        f"window({WINDOW}) at {stage.plan.long:,}", figures[0], f"at {stage.plan.short}", figures[1], BOUND
    )


def _adds(stage: Stage, runner: asyncio.Runner, memory: AsyncMemory, long: AsyncChat) -> Comparison:
    fresh = count()

    def write(chat: AsyncChat) -> Block:
        numbers = range(stage.plan.operations)
        return runner.run(timed_async(partial(chat.add, "user", bare.text(each)) for each in numbers))

    def write_short() -> Block:
        # A new one each time, or it would not stay short.
        short = memory.user(USER).chat(f"short-{next(fresh)}")
        runner.run(_fill(short, stage.plan.short))
        return write(short)

    ours, other = stage.alternate(stage.plan.blocks, partial(write, long), write_short)
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    return Comparison(f"add at {stage.plan.long:,}", figures[0], f"at {stage.plan.short}", figures[1], BOUND)


async def _fill(chat: AsyncChat, amount: int) -> None:
    await chat.add_many({"role": "user", "content": bare.text(number)} for number in range(amount))
