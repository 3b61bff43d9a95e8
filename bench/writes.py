"""What a write costs: one at a time, many writers at once, many messages at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count

from bench import bare
from bench.report import Comparison, milliseconds, throughput
from bench.stage import Block, Stage, timed, timed_async, timed_crowd
from ltst import Memory, Settings

ASYNC_BOUND, SYNC_BOUND, CROWD_BOUND, BULK_BOUND, LEARNING_BOUND = 1.3, 2.5, 0.6, 0.5, 1.1
BACKLOG_TURNS = 20


def rows(stage: Stage) -> Iterator[Comparison]:
    """All of them."""
    stage.say("add, async")
    yield add_async(stage)
    stage.say("add, sync")
    yield add_sync(stage)
    for size in stage.plan.crowds:
        stage.say(f"{size} writers")
        yield crowd(stage, size)
        yield crowd(stage, size, of_one=True)
    stage.say("add while learning")
    yield learning(stage)
    stage.say("add_many")
    yield bulk(stage)


def add_async(stage: Stage) -> Comparison:
    """`chat.add` beside an INSERT, both awaited."""
    with (
        asyncio.Runner() as runner,
        stage.memory(runner) as memory,
        stage.connections(runner, 1) as (connection,),
    ):
        chat, session = memory.user("ltst").chat("async"), stage.bare_session("async")
        numbers = range(stage.plan.operations)

        def add() -> Block:
            return runner.run(timed_async(partial(chat.add, "user", bare.text(each)) for each in numbers))

        def insert() -> Block:
            rows = session.rows(stage.plan.operations)
            return runner.run(timed_async(partial(connection.execute, bare.INSERT, row) for row in rows))

        ours, other = stage.alternate(stage.plan.blocks, add, insert)
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    return Comparison("add, AsyncMemory", figures[0], "async INSERT", figures[1], ASYNC_BOUND)


def add_sync(stage: Stage) -> Comparison:
    """`chat.add` beside an INSERT, neither awaited."""
    with Memory(settings=stage.settings) as memory, closing(bare.connect(stage.dsn)) as connection:
        chat, session = memory.user("ltst").chat("sync"), stage.bare_session("sync")
        numbers = range(stage.plan.operations)

        def add() -> Block:
            return timed(partial(chat.add, "user", bare.text(each)) for each in numbers)

        def insert() -> Block:
            rows = session.rows(stage.plan.operations)
            return timed(partial(connection.execute, bare.INSERT, row) for row in rows)

        ours, other = stage.alternate(stage.plan.blocks, add, insert)
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    return Comparison("add, Memory", figures[0], "sync INSERT", figures[1], SYNC_BOUND)


def crowd(stage: Stage, size: int, *, of_one: bool = False) -> Comparison:
    """Many writers on sessions of their own: tasks on one memory beside as many connections.

    Each writes for a user of its own, or all write for one, whose writes may wait for each other: that has no bound.
    """
    each_does, whose = stage.plan.crowd_operations, "one user" if of_one else "a user each"
    with (
        asyncio.Runner() as runner,
        stage.memory(runner) as memory,
        stage.connections(runner, size) as connections,
    ):
        names = [f"crowd-{size}-{number}-{whose}" for number in range(size)]
        chats = [memory.user("ltst" if of_one else name).chat(name) for name in names]
        sessions = [stage.bare_session(name) for name in names]

        def add() -> Block:
            work = [[partial(chat.add, "user", bare.text(each)) for each in range(each_does)] for chat in chats]
            return runner.run(timed_crowd(work))

        def insert() -> Block:
            work = [
                [partial(connection.execute, bare.INSERT, row) for row in session.rows(each_does)]
                for connection, session in zip(connections, sessions, strict=True)
            ]
            return runner.run(timed_crowd(work))

        ours, other = stage.alternate(stage.plan.crowd_blocks, add, insert)
    figures = throughput(ours.rates(), ours.seconds), throughput(other.rates(), other.seconds)
    bound = None if of_one else CROWD_BOUND
    return Comparison(f"add, {size} writers, {whose}", figures[0], f"{size} connections", figures[1], bound)


def learning(stage: Stage) -> Comparison:
    """Some writers, while the worker of the same process has conversations to learn from; beside one that need not."""
    writers, each_does, numbers = stage.plan.crowds[0], stage.plan.learning_operations, count()

    def side(settings: Settings) -> Callable[[], Block]:
        def add() -> Block:
            number = next(numbers)
            with asyncio.Runner() as runner, stage.memory(runner, settings) as memory:
                for session in range(stage.plan.backlog):
                    given = [{"role": "user", "content": bare.text(each)} for each in range(BACKLOG_TURNS)]
                    runner.run(memory.user(f"backlog-{number}").chat(f"{session}").add_many(given))
                chats = [memory.user("ltst").chat(f"learning-{number}-{writer}") for writer in range(writers)]
                work = [[partial(chat.add, "user", bare.text(each)) for each in range(each_does)] for chat in chats]
                return runner.run(timed_crowd(work))

        return add

    on = side(replace(stage.settings, worker=True))
    off = side(replace(stage.settings, worker=True, learn=()))
    ours, other = stage.alternate(stage.plan.learning_blocks, on, off)
    figures = milliseconds(ours.seconds), milliseconds(other.seconds)
    return Comparison(f"add, {writers} writers, learning", figures[0], "learning off", figures[1], LEARNING_BOUND)


def bulk(stage: Stage) -> Comparison:
    """`add_many` beside COPY into the same indexed table."""
    amount, numbers = stage.plan.bulk, count()
    with Memory(settings=stage.settings) as memory, closing(bare.connect(stage.dsn)) as connection:

        def add_many() -> Block:
            chat = memory.user("ltst").chat(f"bulk-{next(numbers)}")
            given = [{"role": "user", "content": bare.text(each)} for each in range(amount)]
            return timed([partial(chat.add_many, given)])

        def copy() -> Block:
            rows = stage.bare_session(f"bulk-{next(numbers)}").rows(amount)
            return timed([partial(bare.copy, connection, rows)])

        ours, other = stage.alternate(stage.plan.bulk_blocks, add_many, copy)
    figures = throughput(ours.rates(amount)), throughput(other.rates(amount))
    return Comparison(f"add_many of {amount:,}, rows", figures[0], "COPY", figures[1], BULK_BOUND)
