"""The system before ltst: `ltst db adopt-predecessor`, its dry run, its switch and its way back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, command, named
from ltst.errors import Invalid

if TYPE_CHECKING:
    from ltst.adoption.outcomes import Predecessor
    from ltst.sync import Memory

app = typer.Typer()

PLAN: show.Columns = {
    "Schema": "schema",
    "Rows": lambda told: ", ".join(f"{table} {count:,}" for table, count in told.rows.items()),
    "Users": "users",
    "Cannot be taken over": lambda told: "; ".join(f"{count:,} × {why}" for why, count in told.reasons.items()) or None,
    "Compared": lambda told: ", ".join(told.digests) or None,
    "Names mean": lambda told: "ltst's tables" if told.switched else "the old tables",
}

Schema = Annotated[str, named("--schema", "NAME", "Where the old tables are.")]
Own = Annotated[str, named("--own", "NAME", "The schema for ltst's tables.")]
Dry = Annotated[bool, typer.Option("--dry-run", help="Read and judge all rows; copy nothing.")]
Switch = Annotated[
    bool, typer.Option("--switch", help="Copy what is new, then put ltst in the place of the old tables.")
]
Back = Annotated[bool, typer.Option("--back", help="Give the old tables what was written since, and use them again.")]
Drop = Annotated[bool, typer.Option("--drop", help="With --back: remove ltst's schema and all that is in it.")]
LeaveOut = Annotated[bool, typer.Option("--leave-out", help="Leave out rows that cannot be taken over.")]
Zone = Annotated[str, named("--zone", "NAME", "The zone of dates that do not say theirs.")]


@command(app, "adopt-predecessor", user=True)
def adopt_predecessor(
    options: Options,
    schema: Schema = "public",
    own: Own = "ltst",
    dry_run: Dry = False,
    switch: Switch = False,
    back: Back = False,
    drop: Drop = False,
    leave_out: LeaveOut = False,
    zone: Zone = "UTC",
    yes: Yes = False,
) -> None:
    """Take over the database of the system before ltst, in three steps.

    Plain, it copies the old tables into a schema beside them. --switch lets names mean the copies; --back undoes it.

    Example: ltst db adopt-predecessor --dry-run
    """
    if (back and (dry_run or switch or leave_out)) or (drop and not back) or (dry_run and switch):
        raise Invalid("--dry-run, --switch and --back exclude each other, and --drop goes with --back")
    with beside(options, own, schema) as memory:
        if back:
            if not yes:
                typer.confirm(
                    f"Give the tables in {schema} back{', and drop ' + own if drop else ''}?", abort=True, err=True
                )
            with show.working("Giving back"):
                told = memory.give_predecessor_back(schema, user_id=options.user, zone=zone, drop=drop)
        else:
            if switch and not yes:
                typer.confirm(f"Let names mean ltst's tables instead of those in {schema}?", abort=True, err=True)
            with show.working("Reading" if dry_run else "Copying and comparing"):
                told = memory.adopt_predecessor(
                    schema, user_id=options.user, dry_run=dry_run, leave_out=leave_out, zone=zone, switch=switch
                )
        _tell(options, told)


@contextmanager
def beside(options: Options, own: str, old: str) -> Iterator[Memory]:
    """Open a memory in a schema beside the old tables; the schema is made if it is missing."""
    from ltst.adoption import predecessor
    from ltst.sync import Memory

    settings = options.settings
    if settings.database_url is None:
        raise Invalid("name the database of the system before: --database-url, or DATABASE_URL")
    if own == old:
        raise Invalid("--own must be another schema than --schema")
    url = asyncio.run(predecessor.beside(settings.database_url, own, old))
    with Memory(settings=replace(settings, database_url=url, worker=False, warm=False)) as memory:
        yield memory


def _tell(options: Options, told: Predecessor) -> None:
    show.record(options.json, told, PLAN)
    if not options.json and told.faults:
        columns: show.Columns = {"Row": "row", "Why it cannot be taken over": "reason"}
        show.out().print(show.table(told.faults, columns, title="The first rows that cannot be taken over"))
