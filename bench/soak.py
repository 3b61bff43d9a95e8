"""`python -m bench.soak`: minutes of mixed load over HTTP; everything must succeed, and memory must stay flat.

Users chat, listen to streams and leave in the middle, add, search, ask for contexts, set facts and preferences, store
documents, follow the feed, send nonsense, and are erased now and then. A server with two processes answers. Any status
that is not the expected one fails the run, and so does resident memory that grows.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
import psycopg
from rich.console import Console

from bench import commands
from bench.report import percentile
from bench.served import Server
from bench.soak_visits import Chance, Strange, Visitor
from bench.wire import Broken
from ltst.db.embedded import EmbeddedServer

MINUTES, VISITORS, PROCESSES = 10.0, 12, 2
SAMPLE_SECONDS = 2.0
TELL_SECONDS = 15.0
# Models, pools, caches and plans are made in the beginning; what counts is what comes after.
WARM_UP_SHARE, LONGEST_WARM_UP = 0.4, 180.0
# Growth of the fitted line over the time after the warm-up, by its beginning; a share, and never less than some MB.
MOST_GROWTH, MOST_MEGABYTES = 0.05, 12.0
MOST_CONNECTIONS = 2 * 32 + 10  # two pools and whoever looks


class Sample(NamedTuple):
    """What was seen at one moment: the memory of each process in MB, and the connections of Postgres."""

    at: float
    resident: tuple[float, ...]
    connections: int


@dataclass(slots=True)
class Soak:
    """What came of it."""

    began: float = field(default_factory=time.monotonic)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many were answered as they should be."""
        return sum(map(len, self.seconds.values()))


class Line(NamedTuple):
    """Memory of one process after the warm-up, as a straight line."""

    began: float
    ended: float

    @property
    def growth(self) -> float:
        """How much more at the end than at the beginning, in MB."""
        return self.ended - self.began

    @property
    def flat(self) -> bool:
        """Whether that is within the bound."""
        return self.growth <= max(MOST_MEGABYTES, MOST_GROWTH * self.began)


def run(minutes: float, seed: int, home: Path, *, tell: Callable[[str], None]) -> tuple[Soak, list[str]]:
    """Load for so long; what was measured, and what is wrong."""
    postgres = EmbeddedServer.acquire(home)
    try:
        with Server(home, processes=PROCESSES) as server, psycopg.connect(postgres.dsn, autocommit=True) as watcher:
            soak = asyncio.run(_load(server, watcher, 60 * minutes, seed, tell))
            code = server.stop()
            wrong = [f"the server ended with {code}: {server.said[-500:]}"] if code else []
            wrong += _complaints(server.said)
    finally:
        postgres.release()
    return soak, [*wrong, *_wrong(soak, 60 * minutes)]


async def _load(
    server: Server, watcher: psycopg.Connection, seconds: float, seed: int, tell: Callable[[str], None]
) -> Soak:
    soak = Soak()
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(VISITORS):
            group.create_task(_visit(Visitor(server.port, number, Chance(f"{seed} {number}")), soak, over))
        group.create_task(_watch(server, watcher, soak, over))
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            await asyncio.sleep(min(left, TELL_SECONDS))
            tell(_progress(soak, seconds))
        over.set()
    return soak


async def _visit(visitor: Visitor, soak: Soak, over: asyncio.Event) -> None:
    while not over.is_set():
        visit = visitor.choose()
        began = time.perf_counter()
        try:
            await visit()
        except (Strange, Broken, TimeoutError, KeyError) as problem:
            soak.errors[f"{visit.__name__}: {problem!r}"[:300]] += 1
        else:
            soak.seconds.setdefault(visit.__name__, []).append(time.perf_counter() - began)
    await visitor.leave()


async def _watch(server: Server, watcher: psycopg.Connection, soak: Soak, over: asyncio.Event) -> None:
    while not over.is_set():
        resident = []
        for each in sorted(server.workers(), key=lambda process: process.pid):
            with suppress(psutil.NoSuchProcess):
                resident.append(each.memory_info().rss / 1e6)
        connections = await asyncio.to_thread(_connections, watcher)
        soak.samples.append(Sample(time.monotonic() - soak.began, tuple(resident), connections))
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), SAMPLE_SECONDS)


def _connections(watcher: psycopg.Connection) -> int:
    row = watcher.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchone()
    assert row is not None
    return int(row[0])


def _progress(soak: Soak, seconds: float) -> str:
    elapsed, last = time.monotonic() - soak.began, soak.samples[-1]
    resident = " ".join(f"{each:,.0f}" for each in last.resident)
    return (
        f"{elapsed:>5.0f}/{seconds:.0f} s  {soak.requests:>7,} answered, {soak.requests / elapsed:>5.1f}/s  "
        f"errors {soak.errors.total()}  memory {resident} MB  connections {last.connections}"
    )


def lines(samples: Sequence[Sample], seconds: float) -> list[Line]:
    """Memory of each process after the warm-up."""
    began = min(LONGEST_WARM_UP, WARM_UP_SHARE * seconds)
    kept = [each for each in samples if each.at >= began and len(each.resident) == PROCESSES]
    if len(kept) < 3:
        return []
    at = np.array([each.at for each in kept])
    fitted = []
    for resident in zip(*(each.resident for each in kept), strict=True):
        slope, start = np.polyfit(at, resident, 1)
        fitted.append(Line(float(start + slope * at[0]), float(start + slope * at[-1])))
    return fitted


def _wrong(soak: Soak, seconds: float) -> list[str]:
    fitted = lines(soak.samples, seconds)
    wrong = [f"{times} times {problem}" for problem, times in soak.errors.most_common()]
    wrong += [f"memory grew from {each.began:,.0f} to {each.ended:,.0f} MB" for each in fitted if not each.flat]
    if not fitted:
        wrong.append("too short to tell how memory develops, or processes were missing")
    most = max(each.connections for each in soak.samples)
    if most > MOST_CONNECTIONS:
        wrong.append(f"{most} connections to Postgres, more than {MOST_CONNECTIONS}")
    return wrong


def _complaints(said: str) -> list[str]:
    """What the server wrote beside its greeting: a warning of uvicorn or a traceback that nobody was told of."""
    greeting_ends = said.find("Ctrl-C.") + len("Ctrl-C.")
    rest = said[greeting_ends:].strip()
    return [f"the server complained: {rest[:1000]}"] if rest else []


def main() -> int:
    """Load, measure, sum up; 1 if anything is not as it should be."""
    options = _options()
    told = f"{options.minutes:g} minutes, {VISITORS} visitors, {PROCESSES} server processes"
    console, seed = commands.begun(options.seed, told)
    with tempfile.TemporaryDirectory(prefix="ltst-soak-", ignore_cleanup_errors=True) as folder:
        soak, wrong = run(options.minutes, seed, Path(folder).resolve() / "home", tell=console.print)
    _sum_up(console, soak, 60 * options.minutes)
    commands.complain(console, wrong)
    console.print(f"{len(wrong)} problems")
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = commands.parser("soak", __doc__)
    commands.numbers(parser, minutes=(MINUTES, "how long"))
    return commands.seeded(parser)


def _sum_up(console: Console, soak: Soak, seconds: float) -> None:
    for name, times in sorted(soak.seconds.items()):
        slow = percentile(times, 99) * 1000 if len(times) > 1 else times[0] * 1000
        console.print(f"{name:<22} {len(times):>7,}  p50 {np.median(times) * 1000:>8,.1f} ms  p99 {slow:>8,.1f} ms")
    console.print(f"{soak.requests:,} answered, {soak.requests / seconds:,.1f}/s, {soak.errors.total()} errors")
    for each in lines(soak.samples, seconds):
        judged = "flat" if each.flat else "growing"
        console.print(f"memory after the warm-up: {each.began:,.0f} MB to {each.ended:,.0f} MB, {judged}")
    console.print(f"connections to Postgres: at most {max(each.connections for each in soak.samples)}")


if __name__ == "__main__":
    commands.run(main)
