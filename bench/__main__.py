"""`python -m bench`: one run that compares ltst with psycopg alone, on the embedded Postgres in a folder of its own."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import lengths, start, writes
from bench.report import Comparison, Report
from bench.stage import QUICK, Plan, Stage
from ltst import Memory, Settings
from ltst.db.embedded import EmbeddedServer

READABLE_WIDTH = 120


def main() -> int:
    """Measure, print, save; the exit code says something about the bounds only when asked."""
    options = _options()
    console = Console()
    if not console.is_terminal:
        console.width = READABLE_WIDTH  # a file has no width, and 80 columns would fold every row
    plan = QUICK if options.quick else Plan()
    with tempfile.TemporaryDirectory(prefix="ltst-bench-", ignore_cleanup_errors=True) as folder:
        report = _measure(Path(folder, "home"), plan)
    report.show(console)
    if options.json:
        report.save(options.json)
    return 1 if options.strict and not report.ok else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look in half a minute, with fewer repetitions")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bound does not hold")
    return parser.parse_args()


def _measure(home: Path, plan: Plan) -> Report:
    with _progress(plan.steps) as (say, tick):
        say("starting")
        readings = [*start.starts(home)]
        server = EmbeddedServer.acquire(home)
        try:
            readings += start.processes(home)
            stage = Stage(Settings(home=home), server.dsn, plan, tick)
            with Memory(settings=stage.settings):
                pass  # brings the schema that both sides write to
            return Report([*_comparisons(stage, say)], readings)
        finally:
            server.release()


def _comparisons(stage: Stage, say: Callable[[str], None]) -> Iterator[Comparison]:
    say("add, async")
    yield writes.add_async(stage)
    say("add, sync")
    yield writes.add_sync(stage)
    for size in stage.plan.crowds:
        say(f"{size} writers")
        yield writes.crowd(stage, size)
    say("add_many")
    yield writes.bulk(stage)
    say("long sessions")
    yield from lengths.compare(stage)


@contextmanager
def _progress(steps: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """A bar on standard error, so that a redirected report holds the report alone."""
    columns = (TextColumn("{task.description:<14}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Drawn seldom: the thread that draws takes time from what is measured.
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=1) as progress:
        task = progress.add_task("", total=steps)
        yield (lambda what: progress.update(task, description=what)), (lambda: progress.advance(task))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
