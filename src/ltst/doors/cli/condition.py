"""The condition of the database: `ltst stats`, `ltst health` and `ltst maintain`."""

from __future__ import annotations

from dataclasses import asdict

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, opened
from ltst.measurements import OperationStats, TableStats

app = typer.Typer()

OPERATIONS: show.Columns = {
    "Operation": "name",
    "Count": "count",
    "Errors": "errors",
    "p50 ms": "p50_ms",
    "p95 ms": "p95_ms",
    "p99 ms": "p99_ms",
    "Max ms": "max_ms",
    "Cache hits": lambda each: _share(each),
}
TABLES: show.Columns = {
    "Table": "name",
    "Rows": "rows",
    "Size": lambda each: show.size(each.bytes),
    "New in a day": lambda each: _growth(each),
}
MODELS: show.Columns = {
    "Model": "model",
    "Calls": "calls",
    "Failures": "failures",
    "Tokens read": "input_tokens",
    "Tokens written": "output_tokens",
    "Seconds": lambda each: round(each.seconds, 1),
    "Cost": "cost",
}
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
    show.records(
        False, seen.operations, OPERATIONS, title="Operations of the last day", empty="Nothing ran in the last day."
    )
    show.records(False, seen.tables, TABLES, title="Tables", empty="There are no tables.")
    if seen.models:
        show.records(False, seen.models, MODELS, title="Language models", empty="")
    show.say(f"The whole database takes {show.size(seen.database_bytes)}.")


@command(app, "health")
def health(options: Options) -> None:
    """Check the database.

    The exit status is 1 when something is wrong.

    Example: ltst health
    """
    with opened(options) as memory:
        seen = memory.health()
    if options.json:
        show.document({"ok": seen.ok, **asdict(seen)})
    else:
        show.records(False, seen.checks, CHECKS, title="Health", empty="")
    if not seen.ok:
        raise typer.Exit(1)


@command(app, "maintain")
def maintain(options: Options) -> None:
    """Apply expiry, retention and pruning, for all users.

    Example: ltst maintain
    """
    with opened(options) as memory, show.working("Maintaining"):
        touched = memory.maintain()
    if options.json:
        show.document(touched)
        return
    rows = [(step.replace("_", " "), count) for step, count in touched.items()]
    columns = {"Step": lambda row: row[0], "Rows": lambda row: row[1]}
    show.records(False, rows, columns, title="Maintenance", empty="")


def _share(operation: OperationStats) -> str | None:
    return None if operation.cache_hit_rate is None else f"{operation.cache_hit_rate:.0%}"


def _growth(table: TableStats) -> str | None:
    if table.added_last_day is None:
        return None
    before = table.rows - table.added_last_day
    percent = f" (+{table.added_last_day / before:.0%})" if before > 0 else ""
    return f"{table.added_last_day:,}{percent}"
