"""`python -m bench.server_kills`: kills servers while clients chat with them, and looks for turns that were lost.

A server runs in two processes. One after the other they get `kill -9`, and their parent must replace them; now and
then the parent is killed, or all of them at once, and the server is started again. Afterwards every acknowledged turn
must be in the database once, message before reply; any other may be there whole or as the message alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Literal

import psutil
import psycopg

from bench import commands
from bench.chatters import Notes, chat
from bench.served import Server
from bench.server_kills_check import check
from ltst.db.embedded import EmbeddedServer

KILLS = 40
CLIENTS, PROCESSES = 8, 2
EARLIEST, LATEST = 0.05, 1.5  # seconds from an acknowledgement to the kill
PATIENCE = 120.0  # seconds for whatever must happen next

Kind = Literal["process", "parent", "all"]
KINDS: tuple[Kind, ...] = ("process", "process", "parent", "process", "all")


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    broken: int = 0
    missing: int = 0
    problems: list[str] = field(default_factory=list)


def run(kills: int, seed: int, home: Path, *, tell: Callable[[str], None] = print) -> Outcome:
    """Kill so often, in a folder of its own, and look at what is there afterwards."""
    outcome, notes = Outcome(), Notes()
    # Held here too, so that Postgres itself lives on when nobody else is left.
    postgres = EmbeddedServer.acquire(home)
    try:
        asyncio.run(_Battle(home, kills, seed, outcome, notes, tell).fight())
        with psycopg.connect(postgres.dsn) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            outcome.missing, problems = check(connection, notes.acknowledged)
    finally:
        postgres.release()
    outcome.acknowledged, outcome.broken = len(notes.acknowledged), notes.broken
    outcome.problems += problems + notes.unexpected
    return outcome


class _Battle:
    """Clients on one side, kills on the other."""

    def __init__(
        self, home: Path, kills: int, seed: int, outcome: Outcome, notes: Notes, tell: Callable[[str], None]
    ) -> None:
        self._home, self._kills, self._seed, self._tell = home, kills, seed, tell
        self._outcome, self._notes = outcome, notes
        self._chance = random.Random(seed)

    async def fight(self) -> None:
        """Start, kill, and stop in the end as one should."""
        self._server = await asyncio.to_thread(Server, self._home, processes=PROCESSES)
        over = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as group:
                for who in range(CLIENTS):
                    group.create_task(chat(self._server.port, who, self._seed, self._notes, over))
                await self._kill_them()
                over.set()
            code = await asyncio.to_thread(self._server.stop)
            if code != 0:
                self._outcome.problems.append(f"the server ended with {code}: {self._server.said[-500:]}")
        finally:
            self._server.kill()

    async def _kill_them(self) -> None:
        ways: dict[Kind, Callable[[], Awaitable[None]]] = {
            "process": self._kill_process,
            "parent": self._kill_parent,
            "all": self._kill_all,
        }
        for kind in islice(cycle(KINDS), self._kills):
            await self._await_more()
            await asyncio.sleep(self._chance.uniform(EARLIEST, LATEST))
            before = self._notes.broken
            await ways[kind]()
            await self._await_more()
            self._outcome.kills[kind] += 1
            done, seen = self._outcome.kills.total(), len(self._notes.acknowledged)
            self._tell(
                f"kill {done}/{self._kills}  {kind:<7}  acknowledged {seen:>6,}  "
                f"broken off {self._notes.broken - before:>3}"
            )

    async def _kill_process(self) -> None:
        """One that clients are talking to: to kill one that has just been started is no great thing."""
        await self._until(lambda: bool(self._at_work()), "no process has a client")
        victim = self._chance.choice(self._at_work())
        victim.kill()

        def replaced() -> bool:
            living = self._server.workers()
            return len(living) == PROCESSES and victim.pid not in [each.pid for each in living]

        await self._until(replaced, "the parent did not replace a process that was killed")

    def _at_work(self) -> list[psutil.Process]:
        return [each for each in self._server.workers() if _has_clients(each, self._server.port)]

    async def _kill_parent(self) -> None:
        """The processes that are left must go by themselves, or the port would stay taken."""
        orphans = self._server.workers()
        os.kill(self._server.process.pid, signal.SIGKILL)
        self._server.process.wait()
        await self._until(lambda: not any(map(_lives, orphans)), "processes outlive their parent")
        await self._restart()

    async def _kill_all(self) -> None:
        self._server.kill()
        await self._restart()

    async def _restart(self) -> None:
        port = self._server.port
        self._server.kill()
        self._server = await asyncio.to_thread(Server, self._home, processes=PROCESSES, port=port)

    async def _await_more(self) -> None:
        before = len(self._notes.acknowledged)
        enough = before + CLIENTS
        await self._until(lambda: len(self._notes.acknowledged) >= enough, "no turn is acknowledged any more")

    async def _until(self, condition: Callable[[], bool], problem: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{problem}; the server said: {self._server.said[-1000:]}")
            await asyncio.sleep(0.02)


def _has_clients(process: psutil.Process, port: int) -> bool:
    with suppress(psutil.Error):
        found = process.net_connections("tcp")
        return any(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == port for each in found)
    return False


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def main() -> int:
    """Kill, look, and sum up; 1 if anything is not as it should be."""
    options = _options()
    told = f"{options.kills} kills of a server with {PROCESSES} processes and {CLIENTS} clients"
    console, seed = commands.begun(options.seed, told)
    with tempfile.TemporaryDirectory(prefix="ltst-server-kills-", ignore_cleanup_errors=True) as folder:
        outcome = run(options.kills, seed, Path(folder).resolve() / "home", tell=console.print)
    killed = ", ".join(f"{kind} {times}" for kind, times in outcome.kills.items())
    console.print(
        f"killed: {killed}; {outcome.acknowledged:,} turns acknowledged, {outcome.broken:,} attempts broken off, "
        f"{outcome.missing} missing, {len(outcome.problems)} other problems"
    )
    commands.complain(console, outcome.problems)
    return 1 if outcome.missing or outcome.problems else 0


def _options() -> argparse.Namespace:
    parser = commands.parser("server_kills", __doc__)
    commands.numbers(parser, kills=(KILLS, "how many"))
    return commands.seeded(parser)


if __name__ == "__main__":
    commands.run(main)
