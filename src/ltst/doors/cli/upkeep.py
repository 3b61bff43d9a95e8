"""Maintenance of a database: `ltst stats`, `health`, `maintain`, `users …`, `worker` and `bench`."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, named, opened
from ltst.doors.cli.verbs import Noun
from ltst.errors import NotFound
from ltst.measurements import OperationStats, TableStats
from ltst.records import Health, Verification

app = typer.Typer()
users = Noun("users", "The users of this memory.", "list")

REPOSITORY = Path(__file__).parents[4]

Once = Annotated[bool, typer.Option("--once", help="Do what is due now, then end.")]
Retry = Annotated[bool, typer.Option("--retry", help="First take up again what was set aside.")]

OPERATIONS = show.columns(
    "Operation: name, Count: count, Errors: errors, p50 ms: p50_ms, p95 ms: p95_ms, p99 ms: p99_ms, "
    "Max ms: max_ms, Cache hits",
    {"Cache hits": lambda each: _share(each)},
)
TABLES = show.columns(
    "Table: name, Rows: rows, Size, New in a day",
    {"Size": lambda each: show.size(each.bytes), "New in a day": lambda each: _growth(each)},
)
MODELS = show.columns(
    "Model: model, Calls: calls, Failures: failures, Tokens read: input_tokens, "
    "Tokens written: output_tokens, Seconds, Cost: cost",
    {"Seconds": lambda each: round(each.seconds, 1)},
)
USERS = show.columns("User: user_id, Conversations: sessions, Messages: messages, Last activity: last_activity")
CHECKS = {"Check": "name", "Status": "status", "What was seen": "detail"}


@command(app, "stats")
def stats(options: Options) -> None:
    """Show speed, sizes and growth.

    The operations of the last day in percentiles, the tables with their rows and bytes.

    Example: ltst stats --json
    """
    with opened(options) as memory:
        seen = memory.stats()
    if options.json:
        show.document(seen)
        return
    empty = "Nothing ran in the last day."
    show.records(False, seen.operations, OPERATIONS, title="Operations of the last day", empty=empty)
    show.records(False, seen.tables, TABLES, title="Tables", empty="There are no tables.")
    if seen.models:
        show.records(False, seen.models, MODELS, title="Language models")
    show.say(f"The whole database takes {show.size(seen.database_bytes)}.")


@command(app, "health")
def health(options: Options) -> None:
    """Check the database.

    The exit status is 1 when something is wrong.

    Example: ltst health
    """
    with opened(options) as memory:
        seen = memory.health()
    judge(options.json, seen, "Health")


def judge(as_json: bool, seen: Health | Verification, title: str) -> None:
    """Show what was checked; the exit status is 1 when something is wrong."""
    show.records(as_json, seen.checks, CHECKS, title=title, instead={"ok": seen.ok, **asdict(seen)})
    if not seen.ok:
        raise typer.Exit(1)


@command(app, "maintain")
def maintain(options: Options) -> None:
    """Apply expiry, retention and pruning, for all users.

    Example: ltst maintain
    """
    with opened(options) as memory, show.working("Maintaining"):
        touched = memory.maintain()
    rows = [(step.replace("_", " "), count) for step, count in touched.items()]
    show.records(options.json, rows, show.pairs("Step", "Rows"), title="Maintenance", instead=touched)


@command(users, "list")
def list_users(
    options: Options,
    limit: Limit = 100,
    after: Annotated[str | None, named("--after", "USER", "Go on after this one, the last that was shown.")] = None,
) -> None:
    """List everyone of whom something is stored, by id.

    Example: ltst users list --limit 20
    """
    with opened(options) as memory:
        known = memory.users.list(limit=limit, after=after)
    show.records(options.json, known, USERS, title="Users", empty="Nothing of anybody is stored.")
    if not options.json and len(known) == limit:
        show.hint(f"There may be more: --after {known[-1].user_id}")


@command(app, "worker")
def worker(options: Options, once: Once = False, retry: Retry = False) -> None:
    """Index and learn in a process of its own.

    It makes vectors, facts and episodes for all users until you stop it. Several may run at once, and any of them may
    be killed: another takes up its work. Servers then need no worker of their own: LTST_WORKER=off.

    Example: ltst worker
    """
    from ltst.support.network import signals_to_end
    from ltst.sync import Memory  # imported late because the driver is slow to import, which --help should not wait for

    with (
        nullcontext() if once else signals_to_end() as wait_for_one,
        Memory(settings=replace(options.settings, worker=not once, warm=False, actor="worker")) as memory,
    ):
        again = memory.retry() if retry else 0
        if wait_for_one is None:
            with show.progress("rows") as counted:
                memory.settle(progress=counted)
        else:
            show.hint("Working. Stop it with Ctrl-C.")
            wait_for_one()
        aside = next(check.detail for check in memory.health().checks if check.name == "derived work")
    sentence = f"{again} taken up again; {aside}." if retry else f"Done; {aside}." if once else f"Stopped; {aside}."
    show.done(options.json, {"retried": again, "set_aside": aside}, sentence)


@command(app, "bench", json=False, passes_on=True)
def bench(
    options: Options,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="For python -m bench.")] = None,
) -> None:
    """Compare its speed with plain psycopg and pgvector.

    It runs in a folder of its own and touches no memory of yours. `ltst bench -- --help` shows its options.

    Example: ltst bench --quick --only writes
    """
    if not (REPOSITORY / "bench" / "__main__.py").is_file():
        raise NotFound("the benchmarks are not installed with ltst: clone its repository, then run: make bench")
    run = [sys.executable, "-m", "bench", *(arguments or ())]
    raise typer.Exit(subprocess.run(run, cwd=REPOSITORY, check=False).returncode)  # noqa: S603 - our own program


def _share(operation: OperationStats) -> str | None:
    return None if operation.cache_hit_rate is None else f"{operation.cache_hit_rate:.0%}"


def _growth(table: TableStats) -> str | None:
    if table.added_last_day is None:
        return None
    before = table.rows - table.added_last_day
    percent = f" (+{table.added_last_day / before:.0%})" if before > 0 else ""
    return f"{table.added_last_day:,}{percent}"
