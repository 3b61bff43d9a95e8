"""`python -m bench.kills`: kills workers at random moments, and looks for what is stuck, missing or done twice.

Several workers index, learn, tell and consolidate what is written meanwhile; one after the other they are killed
(SIGKILL) and replaced. In the end one worker does what is left, and all must be as in a database with the same messages
where nobody was killed.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import psycopg
from rich.console import Console

from bench import commands
from bench.kills_check import check
from bench.kills_corpus import sessions
from bench.kills_process import opened, work
from ltst.db.embedded import EmbeddedServer

KILLS = 200
WORKERS = 2
USERS_A_KILL = 1
EARLIEST, LATEST = 0.02, 0.5  # seconds from the first work to the kill
STARTING = 5.0  # seconds that a worker may take to begin
PATIENCE = 600.0  # seconds for the last worker

HELD = b"SELECT task, max(attempts) FROM derived_work WHERE leased_until > now() GROUP BY task"


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    kills: int = 0
    in_the_middle: Counter[str] = field(default_factory=Counter)
    most_attempts: int = 0
    set_aside: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def run(kills: int, seed: int, url: str, undisturbed_url: str, *, tell: Callable[[str], None] = print) -> Outcome:
    """Kill workers on one database, then compare it with another; both are empty at the beginning."""
    outcome = Outcome()
    users = range(USERS_A_KILL * kills)
    _kill_workers(outcome, random.Random(seed), kills, url, tell)
    outcome.set_aside = asyncio.run(_settle(url))
    asyncio.run(_undisturbed(undisturbed_url, users))
    with psycopg.connect(url) as killed, psycopg.connect(undisturbed_url) as undisturbed:
        outcome.counts, outcome.problems = check(killed, undisturbed)
    return outcome


def _kill_workers(outcome: Outcome, chance: random.Random, kills: int, url: str, tell: Callable[[str], None]) -> None:
    # Forked from a server that has everything imported, and no thread that a fork would lose.
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["bench.kills_process"])
    living: list[BaseProcess] = []
    try:
        with psycopg.connect(url, autocommit=True) as watcher, asyncio.Runner() as runner:
            for number in range(kills):
                while len(living) < WORKERS:
                    living.append(forks.Process(target=work, args=(url,), daemon=True))
                    living[-1].start()
                runner.run(_write(url, range(number * USERS_A_KILL, (number + 1) * USERS_A_KILL)))
                _wait_for_work(watcher)
                time.sleep(chance.uniform(EARLIEST, LATEST))
                victim = living.pop(chance.randrange(len(living)))
                held = dict(watcher.execute(HELD).fetchall())
                victim.kill()
                victim.join()
                outcome.kills += 1
                outcome.in_the_middle.update(held.keys())
                outcome.most_attempts = max(outcome.most_attempts, *held.values(), 0)
                if outcome.kills % 20 == 0:
                    tell(f"{outcome.kills}/{kills} kills")
    finally:
        for process in living:
            process.kill()
            process.join()


def _wait_for_work(watcher: psycopg.Connection) -> None:
    """A worker that has not begun yet, as on a busy machine, is not worth killing."""
    deadline = time.monotonic() + STARTING
    while not watcher.execute(HELD).fetchall() and time.monotonic() < deadline:
        time.sleep(EARLIEST / 4)


async def _write(url: str, users: range) -> None:
    async with opened(url, worker=False) as memory:
        for number in users:
            for each in sessions(number):
                await memory.user(each.user).chat(each.session_id).add_many(each.turns)


async def _settle(url: str) -> int:
    """Do what is left; how much was set aside, since its worker was killed five times, and had to be asked for."""
    async with opened(url, worker=False) as memory, asyncio.timeout(PATIENCE):
        await memory.settle()
        set_aside = await memory.retry()
        await memory.settle()
    return set_aside


async def _undisturbed(url: str, users: range) -> None:
    await _write(url, users)
    await _settle(url)


def main() -> int:
    """Kill, compare, and sum up; 1 if anything is not as it should be."""
    options = _options()
    told = f"{options.kills} workers are killed, {WORKERS} are at work at a time"
    console, seed = commands.begun(options.seed, told)
    with tempfile.TemporaryDirectory(prefix="ltst-kills-", ignore_cleanup_errors=True) as folder:
        server = EmbeddedServer.acquire(Path(folder).resolve() / "home")
        try:
            urls = [_database(server, name) for name in ("killed", "undisturbed")]
            outcome = run(options.kills, seed, urls[0], urls[1], tell=console.print)
        finally:
            server.release()
    _sum_up(console, outcome)
    return 1 if outcome.problems else 0


def _database(server: EmbeddedServer, name: str) -> str:
    with psycopg.connect(server.dsn, dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return psycopg.conninfo.make_conninfo(server.dsn, dbname=name)


def _options() -> argparse.Namespace:
    parser = commands.parser("kills", __doc__)
    commands.numbers(parser, kills=(KILLS, "how many"))
    return commands.seeded(parser)


def _sum_up(console: Console, outcome: Outcome) -> None:
    middle = ", ".join(f"{task} {times}" for task, times in outcome.in_the_middle.most_common())
    console.print(f"{outcome.kills} kills; work that somebody was at then: {middle}")
    console.print(f"most attempts at one piece of work: {outcome.most_attempts}; set aside: {outcome.set_aside}")
    console.print(", ".join(f"{noun} {count:,}" for noun, count in outcome.counts.items()))
    commands.complain(console, outcome.problems)
    console.print(f"{len(outcome.problems)} problems")


if __name__ == "__main__":
    commands.run(main)
