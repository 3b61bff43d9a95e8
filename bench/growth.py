"""What a growing database costs: the same calls at ten, a hundred and a thousand times as many messages.

One memory is written, indexed and learnt from by ltst itself. All others are copies of it under other users, made by
SQL: keys begin with the user, so that every row of the index is the one that ltst would have made. Each copy is older
than a day, as most of a database is; the newest are the last.
"""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

import psycopg
from psycopg import sql

from bench import corpus
from bench.report import Reading, Row
from bench.stage import Stage, timed_async
from ltst import AsyncMemory
from ltst.db import migrate

MESSAGES, SESSION = 500, 20  # of one user, and of one conversation
BATCH = 20  # users that are copied at once
CALLS, LOOKS = 200, 25  # of what users do, and of what operators do
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

Times = Mapping[str, float]


def rows(stage: Stage) -> Iterator[Row]:
    """Grow from size to size, and measure at each."""
    settings = replace(stage.settings, worker=False, warm=False)
    with asyncio.Runner() as runner, stage.memory(runner, settings, corpus.embedder()) as memory:
        stage.say("first memory")
        empty = _bytes(stage)
        runner.run(_fill(memory))
        measured: list[tuple[int, Times]] = []
        for size in stage.plan.sizes:
            _copy(stage, size // MESSAGES)
            stage.say(f"measure {size:,}")
            measured.append((size, runner.run(_measure(memory, size // MESSAGES))))
            stage.tick()
            yield from (Reading(f"{name} at {size:,} messages", took, "ms") for name, took in measured[-1][1].items())
            yield Reading(f"bytes a message at {size:,}", (_bytes(stage) - empty) / size, "bytes")
    (least, first), (most, last) = measured[0], measured[-1]
    for name, took in last.items():
        yield Reading(f"{name}: {most:,} beside {least:,}", took / first[name], "times", most=BOUND)


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
        "(SELECT * FROM {table} WHERE user_id = %(of)s) AS kept"
    ).format(
        table=sql.Identifier(table),
        columns=sql.SQL(", ").join(sql.Identifier(column) for column, _ in columns),
        values=sql.SQL(", ").join(values),
    )


async def _measure(memory: AsyncMemory, users: int) -> Times:
    """The usual milliseconds of each call, for users chosen at random."""
    chance = random.Random(users)
    questions = islice(corpus.questions(range(MESSAGES), seed=users), CALLS + 1)
    # Each in a conversation of its own, so that at every size as much is new.
    chosen = chance.sample(range((users - 1) * MESSAGES // SESSION), CALLS + 1)
    places = [divmod(each, MESSAGES // SESSION) for each in chosen]
    chats = [memory.user(f"user-{user + 1:07}").chat(f"session-{session}") for user, session in places]
    asked = [(memory.user(chat.user_id), text) for chat, text in zip(chats, questions, strict=True)]
    took = {
        "search": await _usual(partial(user.search, text) for user, text in asked),
        "window": await _usual(chat.window for chat in chats),
        "add": await _usual(partial(chat.add, "user", corpus.text(7)) for chat in chats),
    }
    await memory.settle()
    looks: dict[str, Callable[[], Awaitable[object]]] = {
        "stats": memory.stats,
        "health": memory.health,
        "maintain": memory.maintain,
        "worker.due": memory._worker.due,
    }
    return took | {name: await _usual([look] * LOOKS) for name, look in looks.items()}


async def _usual(calls: Iterator[Callable[[], Awaitable[object]]] | Sequence[Callable[[], Awaitable[object]]]) -> float:
    first, *others = calls
    await first()  # it opens connections and plans
    return statistics.median((await timed_async(others)).seconds) * 1000


def _bytes(stage: Stage) -> int:
    with psycopg.connect(stage.dsn) as connection:
        (size,) = _one(connection, "SELECT pg_database_size(current_database())")
        return size


def _one(connection: psycopg.Connection[tuple[int, ...]], query: str) -> tuple[int, ...]:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found
