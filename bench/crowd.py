"""What a search costs in a database that very many others write to, beside one that holds the same user alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from bench import corpus, library
from bench.report import Comparison, milliseconds
from bench.shelf import Shelf
from bench.stage import Block, Stage, timed_async
from ltst import AsyncMemory

# What the database numbers or computes by itself comes anew; everything else is copied as it is.
COPIED = """
    SELECT relname, array_agg(attname ORDER BY attnum) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attgenerated = ''
    GROUP BY relname HAVING 'user_id' = ANY(array_agg(attname)) ORDER BY relname
"""
COPY = SQL(
    "INSERT INTO {table} (user_id{columns}) SELECT 'other-' || number{columns} "
    "FROM generate_series(%s::integer, %s::integer) AS number, {table} WHERE user_id = %s"
)


def rows(stage: Stage) -> Iterator[Comparison]:
    """The same messages of one user in two databases of one server, and the same questions to both."""
    crowd = stage.plan.crowd
    with asyncio.Runner() as runner, _memory(stage, runner, "alone") as (alone, quiet):
        runner.run(library.fill(alone, quiet, crowd.alone))
        library.vacuum(alone)
        with _memory(stage, runner, "crowded") as (crowded, busy):
            runner.run(library.fill(crowded, busy, crowd.template))
            with others(crowded.dsn, crowd.template) as copy:
                numbers = _ranges(crowd.users, crowd.each_turn)

                def between() -> None:
                    stage.say(f"others {crowd.total:,}")
                    copy(*next(numbers, (1, 0)))

                runner.run(library.fill(crowded, busy, crowd.alone, between))
            library.vacuum(crowded)
            stage.say("search, crowded")
            yield _compare(stage, runner, busy, quiet)


@contextmanager
def _memory(stage: Stage, runner: asyncio.Runner, name: str) -> Iterator[tuple[Stage, AsyncMemory]]:
    """A memory in a database of its own."""
    made = stage.beside(name)
    with made.memory(runner, replace(made.settings, worker=False), corpus.embedder()) as memory:
        yield made, memory


@contextmanager
def others(dsn: str, template: Shelf) -> Iterator[Callable[[int, int], None]]:
    """Makes users from one number to another: copies of all rows of a user, in every table that has users."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        statements = [*map(_statement, *zip(*connection.execute(COPIED).fetchall(), strict=True))]

        def copy(first: int, last: int) -> None:
            for each in statements:
                connection.execute(each, (first, last, template.user_id))

        yield copy


def _statement(table: str, columns: Sequence[str]) -> Composed:
    kept = [Identifier(each) for each in columns if each != "user_id"]
    listed = Composed([part for each in kept for part in (SQL(", "), each)])
    return COPY.format(table=Identifier(table), columns=listed)


def _ranges(amount: int, size: int) -> Iterator[tuple[int, int]]:
    """From one number to another, beginning with the second: the first is the one that is copied."""
    return ((first, min(first + size, amount) - 1) for first in range(1, amount, size))


def _compare(stage: Stage, runner: asyncio.Runner, busy: AsyncMemory, quiet: AsyncMemory) -> Comparison:
    crowd, size, blocks = stage.plan.crowd, stage.plan.questions, stage.plan.question_blocks
    asked = [*islice(corpus.questions(crowd.alone.numbers), size * (blocks + 1))]

    def side(memory: AsyncMemory) -> Callable[[], Block]:
        user, left = memory.user(crowd.alone.user_id), iter(asked)
        return lambda: runner.run(timed_async(partial(user.search, text) for text in islice(left, size)))

    ours, other = stage.alternate(blocks, side(busy), side(quiet))
    name = f"search, {crowd.alone} among {crowd.total:,} of others"
    return Comparison(name, milliseconds(ours.seconds), "alone", milliseconds(other.seconds), crowd.bound)
