"""`python -m bench`: one run that compares ltst with what one would write by hand, in a folder of its own."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import commands, embedding, growth, http, imports, lengths, search, start, windows, writes
from bench.report import Report, Row, readable
from bench.stage import FULL, QUICK, Plan, Stage
from ltst import Memory, Settings
from ltst.db.embedded import EmbeddedServer

PARTS = ("writes", "imports", "windows", "search", "embedding", "http")
APART = ("growth",)  # takes long, and is run where it is named


def main() -> int:
    """Measure, print, save; the exit code says something about the bounds only when asked."""
    options = _options()
    plan = QUICK if options.quick else Plan(sizes=FULL) if options.full else Plan()
    with tempfile.TemporaryDirectory(prefix="ltst-bench-", ignore_cleanup_errors=True) as folder:
        report = Report([*_rows(Path(folder), plan, options.only or PARTS)])
    report.show(readable())
    if options.json:
        report.save(options.json)
    return 1 if options.strict and not report.ok else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look in two minutes, with fewer repetitions and rows")
    parser.add_argument("--full", action="store_true", help="grow to 10,000,000 messages instead of 1,000,000")
    chosen = [*PARTS, *APART]
    parser.add_argument("--only", action="append", choices=chosen, help="measure this part; may be given several times")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bound does not hold")
    return parser.parse_args()


def _rows(home: Path, plan: Plan, parts: Collection[str]) -> Iterator[Row]:
    planned = {
        "writes": plan.write_steps,
        "imports": plan.import_steps,
        "windows": plan.window_steps,
        "search": plan.search_steps,
        "http": plan.http_steps,
        "growth": len(plan.sizes),
    }
    steps = sum(planned.get(part, 0) for part in parts)
    with _progress(steps) as (say, tick):
        say("starting")
        yield from start.imports("ltst")
        if "embedding" in parts:
            say("embedding")
            yield from embedding.rows(plan.embedding_blocks)
            yield from embedding.readings()
        if "writes" in parts:
            yield from _writes(home / "writes", plan, say, tick)
        for part in (imports, windows, search, http, growth):
            name = part.__name__.removeprefix("bench.")
            # Each has a server of its own: a database has one embedding model, and some use one that takes no time.
            if name in parts:
                with _stage(home / name, plan, say, tick) as stage:
                    yield from part.rows(stage)


def _writes(home: Path, plan: Plan, say: Callable[[str], None], tick: Callable[[], None]) -> Iterator[Row]:
    say("starting")
    yield from start.starts(home)
    with _stage(home, plan, say, tick) as stage:
        yield start.resident(home)
        yield from writes.rows(stage)
        yield from lengths.compare(stage)


@contextmanager
def _stage(home: Path, plan: Plan, say: Callable[[str], None], tick: Callable[[], None]) -> Iterator[Stage]:
    server = EmbeddedServer.acquire(home)
    try:
        stage = Stage(Settings(home=home), server.dsn, plan, say, tick)
        with Memory(settings=stage.settings):
            pass  # brings the schema that both sides write to
        yield stage
    finally:
        server.release()


@contextmanager
def _progress(steps: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """A bar on standard error, so that a redirected report holds the report alone."""
    columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Drawn seldom: the thread that draws takes time from what is measured.
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=1) as progress:
        task = progress.add_task("", total=steps)
        yield (lambda what: progress.update(task, description=what)), (lambda: progress.advance(task))


if __name__ == "__main__":
    commands.run(main)
