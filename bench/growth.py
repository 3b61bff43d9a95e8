"""What a growing database costs: the same calls at ten, a hundred and a thousand times as many messages.

Each size is a database of the same server. One memory is written, indexed and learnt from by ltst itself. All others
are copies of it under other users, made by SQL: keys begin with the user, so that every row of the index is the one
that ltst would have made. The rows of a hundred users alternate, as if they had talked at the same time; where rows of
a user lie together, as an import leaves them, less is read. Each copy is older than a day, as most of a database is;
the newest are the last. Then all sizes are asked in turn, so that what else the machine does falls on all alike.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

import psycopg
from psycopg import sql

from bench import corpus
from bench.report import Reading, Row
from bench.stage import Stage
from ltst import AsyncMemory
from ltst.db import migrate

MESSAGES, SESSION = 500, 20  # of one user, and of one conversation
BATCH = 100  # users that are copied at once, and whose rows alternate
CALLS, LOOKS = 200, 50  # of what users do, and of what operators do
WARM = 10  # calls that open connections and plan
BOUND = 1.5
FIRST = "user-0000000"
# What is measured and what was found lately is nobody's memory.
LEFT_OUT = ("memory_performance_metrics", "memory_retrieval_cache", "derived_work")
# What operators are told of the last day.
MOMENTS = (
    ("conversation_sessions", "created_at"),
    ("conversation_sessions", "last_activity"),
    ("event_ledger", "occurred_at"),
    ("user_facts", "recorded_at"),
    ("memory_entries", "created_at"),
    ("memory_performance_metrics", "created_at"),
)
COLUMNS = """
SELECT attname, atttypid = 'timestamptz'::regtype FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''
ORDER BY attnum
"""

Call = Callable[[], Awaitable[object]]


def rows(stage: Stage) -> Iterator[Row]:
    """Fill a database of each size, and measure them in turn."""
    sizes = stage.plan.sizes
    with asyncio.Runner() as runner, ExitStack() as opened:
        memories = []
        for size in sizes:
            grown = stage.beside(f"grown_{size}")
            settings = replace(grown.settings, worker=False, warm=False)
            memories.append(opened.enter_context(grown.memory(runner, settings, corpus.embedder())))
            yield Reading(f"bytes a message at {size:,}", _filled(grown, runner, memories[-1], size) / size, "bytes")
            stage.tick()
        stage.say("measure")
        measured = runner.run(_measured([*zip(memories, sizes, strict=True)]))
    for name, took in measured.items():
        yield from (Reading(f"{name} at {size:,}", each, "ms") for size, each in zip(sizes, took, strict=True))
        yield Reading(f"{name}: {sizes[-1]:,} beside {sizes[0]:,}", took[-1] / took[0], "times", most=BOUND)


def _filled(stage: Stage, runner: asyncio.Runner, memory: AsyncMemory, size: int) -> int:
    """Fill a database with so many messages; how many bytes it grew by."""
    stage.say(f"first of {size:,}")
    empty = _bytes(stage)
    runner.run(_fill(memory))
    _copy(stage, size // MESSAGES)
    return _bytes(stage) - empty


async def _fill(memory: AsyncMemory) -> None:
    """Write what all the others are copies of: conversations that rest, so that nothing is due."""
    user, began = memory.user(FIRST), datetime.now(UTC) - timedelta(days=1)
    for number in range(MESSAGES // SESSION):
        said = (
            {
                "role": ("user", "assistant")[place % 2],
                "content": corpus.text(number * SESSION + place),
                "at": began + timedelta(minutes=20 * number, seconds=30 * place),
            }
            for place in range(SESSION)
        )
        await user.chat(f"session-{number}").add_many(said)
    await user.facts.set("city", "Lisbon")
    await memory.settle()


def _copy(stage: Stage, users: int) -> None:
    """Let a day pass, and copy the first memory until there are so many users."""
    with psycopg.connect(stage.dsn, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # neither triggers nor references: they are copies
        connection.execute("SET synchronous_commit = off")
        for table, column in MOMENTS:
            day = sql.SQL("UPDATE {0} SET {1} = {1} - interval '25 hours' WHERE {1} > now() - interval '1 day'")
            connection.execute(day.format(sql.Identifier(table), sql.Identifier(column)))
            # What an index over pages says of them only widens: a day that really passed would have left it behind.
            connection.execute(sql.SQL("REINDEX TABLE {}").format(sql.Identifier(table)))
        (there,) = _one(connection, "SELECT count(DISTINCT user_id) FROM search_users")
        tables = {name: connection.execute(COLUMNS, (name,)).fetchall() for name in migrate.names_of("TABLE")}
        copies = [_copying(name, found) for name, found in tables.items() if _is_users(name, found)]
        for place in range(there, users, BATCH):
            stage.say(f"copy {place * MESSAGES:,}")
            with connection.transaction():
                for copy in copies:
                    connection.execute(copy, {"first": place, "last": min(place + BATCH, users) - 1, "of": FIRST})
        connection.execute("RESET session_replication_role")
        stage.say("vacuum")
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def _is_users(name: str, columns: Sequence[tuple[str, bool]]) -> bool:
    return name not in LEFT_OUT and any(column == "user_id" for column, _ in columns)


def _copying(table: str, columns: Sequence[tuple[str, bool]]) -> sql.Composed:
    """The statement that gives some users the rows of the first, each an hour younger than the one before."""
    age = sql.SQL("interval '1 hour' * (20100 - number)")
    values = [
        sql.SQL("'user-' || lpad(number::text, 7, '0')")
        if column == "user_id"
        else sql.SQL("{} - ").format(sql.Identifier(column)) + age
        if is_moment
        else sql.Identifier(column)
        for column, is_moment in columns
    ]
    return sql.SQL(
        "INSERT INTO {table} ({columns}) SELECT {values} FROM generate_series(%(first)s::integer, %(last)s) AS number, "
        "(SELECT ctid AS written, * FROM {table} WHERE user_id = %(of)s) AS kept ORDER BY written, number"
    ).format(
        table=sql.Identifier(table),
        columns=sql.SQL(", ").join(sql.Identifier(column) for column, _ in columns),
        values=sql.SQL(", ").join(values),
    )


async def _measured(memories: Sequence[tuple[AsyncMemory, int]]) -> dict[str, list[float]]:
    """The usual milliseconds of each call, in each memory."""
    asked = [_asked(memory, size // MESSAGES) for memory, size in memories]
    took = {name: await _in_turn([calls[name] for calls in asked]) for name in asked[0]}
    for memory, _ in memories:
        await memory.settle()
    looks = [
        {
            "stats": memory.stats,
            "health": memory.health,
            "maintain": memory.maintain,
            "worker.due": memory._worker.due,
        }
        for memory, _ in memories
    ]
    return took | {name: await _in_turn([[each[name]] * LOOKS for each in looks]) for name in looks[0]}


def _asked(memory: AsyncMemory, users: int) -> dict[str, Sequence[Call]]:
    """What users do, chosen at random among them."""
    chance = random.Random(users)
    questions = islice(corpus.questions(range(MESSAGES), seed=users), CALLS)
    # Each in a conversation of its own, so that at every size as much is new.
    chosen = chance.sample(range((users - 1) * MESSAGES // SESSION), CALLS)
    places = [divmod(each, MESSAGES // SESSION) for each in chosen]
    chats = [memory.user(f"user-{user + 1:07}").chat(f"session-{session}") for user, session in places]
    return {
        "search": [
            partial(memory.user(chat.user_id).search, text) for chat, text in zip(chats, questions, strict=True)
        ],
        "window": [chat.window for chat in chats],
        "add": [partial(chat.add, "user", corpus.text(7)) for chat in chats],
    }


async def _in_turn(calls: Sequence[Sequence[Call]]) -> list[float]:
    """Make the first call of each list, then the second of each; the usual milliseconds of each list."""
    taken: list[list[float]] = [[] for _ in calls]
    for together in zip(*calls, strict=True):
        for call, mine in zip(together, taken, strict=True):
            began = time.perf_counter()
            await call()
            mine.append(1000 * (time.perf_counter() - began))
    return [statistics.median(mine[WARM:]) for mine in taken]


def _bytes(stage: Stage) -> int:
    with psycopg.connect(stage.dsn) as connection:
        (size,) = _one(connection, "SELECT pg_database_size(current_database())")
        return size


def _one(connection: psycopg.Connection[tuple[int, ...]], query: str) -> tuple[int, ...]:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found
