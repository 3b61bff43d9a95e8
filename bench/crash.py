"""`python -m bench.crash`: kills the server and the client in the middle of their work, and looks for what was lost.

An acknowledged message must be there afterwards, word for word, under its index. A control with synchronous_commit
off, where Postgres acknowledges before it writes, must lose some: it shows that this test would notice.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Literal

import psycopg
from rich.console import Console

from bench import commands
from bench.crash_check import Acknowledgement, check
from bench.crash_process import Client, await_server, kill_server
from ltst import Memory, Settings
from ltst.db.embedded import EmbeddedServer

ROUNDS, CONTROL_ROUNDS = 50, 4
EARLIEST, LATEST = 0.05, 0.8  # seconds from the first acknowledgement to the kill
AFTERWARDS = 0.3  # seconds that a surviving client goes on

Kind = Literal["server", "client", "both"]
KINDS: tuple[Kind, ...] = ("server", "client", "both")
CONTROL_KINDS: tuple[Kind, ...] = ("both", "server")  # a client alone takes nothing with it

# Postgres acknowledges first and writes when it gets round to it, which these settings put off as long as they can.
FORGETFUL = {"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"}


@dataclass(slots=True)
class Outcome:
    """What came of one round."""

    user: str
    kind: Kind
    acknowledged: Sequence[Acknowledgement]
    refused: int
    missing: int = 0
    problems: list[str] = field(default_factory=list)


def run(
    rounds: int,
    seed: int,
    *,
    kinds: Sequence[Kind] = KINDS,
    forgetful: bool = False,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Play the rounds in a folder of their own; all are checked again at the end, since a crash may reach back."""
    chance = random.Random(seed)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="ltst-crash-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve() / "home"
        _prepare(home, FORGETFUL if forgetful else {})
        for number, kind in enumerate(islice(cycle(kinds), rounds), start=1):
            outcome = _play(home, f"round-{number}", kind, chance)
            with _restarted(home) as dsn:
                _check(outcome, dsn)
            outcomes.append(outcome)
            tell(outcome)
        with _restarted(home) as dsn:
            for outcome in outcomes:
                _check(outcome, dsn)
    return outcomes


def _prepare(home: Path, settings: dict[str, str]) -> None:
    with Memory(settings=Settings(home=home)), _restarted(home) as dsn, psycopg.connect(dsn, autocommit=True) as owner:
        for name, value in settings.items():
            owner.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())


@contextmanager
def _restarted(home: Path) -> Iterator[str]:
    server = EmbeddedServer.acquire(home)
    try:
        yield server.dsn
    finally:
        server.release()


def _play(home: Path, user: str, kind: Kind, chance: random.Random) -> Outcome:
    client = Client(home, user, chance.randrange(2**32))
    problems: list[str] = []
    try:
        problems += client.await_more()
        time.sleep(chance.uniform(EARLIEST, LATEST))
        if kind in ("server", "both"):
            problems += kill_server(home)
        if kind == "server":
            problems += _carry_on(client, home)
    finally:
        client.kill()
    return Outcome(user, kind, client.acknowledged, client.refused, problems=problems)


def _carry_on(client: Client, home: Path) -> list[str]:
    """A client outlives its server: it goes on by itself, and ends well."""
    stuck = await_server(home) or client.await_more()
    if stuck:
        return stuck
    time.sleep(AFTERWARDS)
    return client.finish()


def _check(outcome: Outcome, dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        # One moment for all of it: what a killed client had asked for may still be on its way in.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        missing, problems = check(connection, outcome.user, outcome.acknowledged)
    outcome.missing = max(outcome.missing, missing)
    outcome.problems += (each for each in problems if each not in outcome.problems)


def main() -> int:
    """Play the rounds, then the control, and sum up; 1 if something was lost, or the control lost nothing."""
    options = _options()
    told = "killed every time: the server (its client lives on), the client, or both"
    console, seed = commands.begun(options.seed, told)
    good = options.control or _rounds(console, options.rounds, seed)
    return 0 if _control(console, seed) and good else 1


def _options() -> argparse.Namespace:
    parser = commands.parser("crash", __doc__)
    commands.numbers(parser, rounds=(ROUNDS, "how many"))
    parser.add_argument("--control", action="store_true", help="only the control, which is otherwise played at the end")
    return commands.seeded(parser)


def _rounds(console: Console, rounds: int, seed: int) -> bool:
    outcomes = run(rounds, seed, tell=_teller(console, "round", rounds))
    _sum_up(console, outcomes)
    return not any(outcome.missing or outcome.problems for outcome in outcomes)


def _control(console: Console, seed: int) -> bool:
    tell = _teller(console, "control", CONTROL_ROUNDS)
    outcomes = run(CONTROL_ROUNDS, seed, kinds=CONTROL_KINDS, forgetful=True, tell=tell)
    lost = _sum_up(console, outcomes)
    if not lost:
        console.print("[red]the control lost nothing: this test cannot see a loss[/]")
    return lost > 0


def _teller(console: Console, name: str, rounds: int) -> Callable[[Outcome], None]:
    numbers = iter(range(1, rounds + 1))

    def tell(outcome: Outcome) -> None:
        console.print(
            f"{name} {next(numbers)}/{rounds}  killed: {outcome.kind:<6}  "
            f"acknowledged {len(outcome.acknowledged):>5}  refused {outcome.refused:>3}  missing {outcome.missing}"
        )
        for problem in outcome.problems:
            console.print(f"  {problem}", style="red", markup=False)

    return tell


def _sum_up(console: Console, outcomes: Sequence[Outcome]) -> int:
    acknowledged = sum(len(outcome.acknowledged) for outcome in outcomes)
    missing = sum(outcome.missing for outcome in outcomes)
    problems = sum(len(outcome.problems) for outcome in outcomes)
    console.print(
        f"{len(outcomes)} rounds: {acknowledged:,} acknowledged, {acknowledged:,} checked after the crash and again "
        f"at the end, {missing:,} missing, {problems} other problems\n"
    )
    return missing


if __name__ == "__main__":
    commands.run(main)
