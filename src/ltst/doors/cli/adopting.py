"""Tables of other programs: `ltst db adopt`, `ltst db adopt-predecessor`, their dry runs and ways back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, agreed, command, named, opened
from ltst.errors import Invalid

if TYPE_CHECKING:
    from ltst.adoption.outcomes import Adoption, Predecessor
    from ltst.sync import Memory

app = typer.Typer()

ADOPTED: show.Columns = {
    "Table": "table",
    "Shape": lambda it: "LangChain's" if it.shape == "langchain" else "session_id, role, content",
    "Rows": "rows",
    "Messages": "messages",
    "Sessions": "sessions",
    "Users": "users",
    "From": "first",
    "To": "last",
    "Rows without a date": "undated",
    "Rows without words": "blank",
    "Roles": lambda it: ", ".join(f"{word} → {role}" for role, word in it.words.items()),
    "Columns left behind": lambda it: ", ".join(it.left_behind) or None,
    "Cannot be taken over": lambda it: _reasons(it),
    "Rows left out": lambda it: it.rows - it.messages,
    "Kept as": "kept",
    "Digest": "digest",
}
TAKEN_OVER: show.Columns = {
    "Schema": "schema",
    "Rows": lambda it: ", ".join(f"{table} {count:,}" for table, count in it.rows.items()),
    "Users": "users",
    "Cannot be taken over": lambda it: _reasons(it),
    "Compared": lambda it: ", ".join(it.digests) or None,
    "Names mean": lambda it: "ltst's tables" if it.switched else "the old tables",
}
FAULTS: show.Columns = {"Row": "row", "Why it cannot be taken over": "reason"}

SWITCH = "Copy what is new, then put ltst in the place of the old tables."
Dry = Annotated[bool, typer.Option("--dry-run", help="Read and judge all rows; write nothing.")]
Back = Annotated[bool, typer.Option("--back", help="Give the tables back, with what was written since.")]
LeaveOut = Annotated[bool, typer.Option("--leave-out", help="Leave out rows that cannot be taken over.")]
Zone = Annotated[str, named("--zone", "NAME", "The zone of dates that do not say theirs.")]


@command(app, "adopt", user=True)
def adopt(
    options: Options,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Such as conversation_memory, or app.messages.")],
    dry_run: Dry = False,
    back: Back = False,
    keep: Annotated[bool, typer.Option("--keep", help="With --back: ltst keeps the conversations too.")] = False,
    leave_out: LeaveOut = False,
    zone: Zone = "UTC",
    no_index: Annotated[bool, typer.Option("--no-index", help="Leave the vectors to the worker.")] = False,
    yes: Yes = False,
) -> None:
    """Take over another program's chat table.

    Its rows become conversations with dates and order; under its name stands a view, so that the program goes on.

    Example: ltst db adopt conversation_memory --dry-run
    """
    if (back and (dry_run or leave_out)) or (keep and not back):
        raise Invalid("--back goes with --keep and --yes alone, and --keep with --back")
    with opened(options) as memory:
        if back:
            _give_back(options, memory, table, keep=keep, yes=yes)
            return
        if dry_run or not yes:
            with show.working(f"Reading {table}"):
                plan = memory.adopt(table, user_id=options.user, dry_run=True, zone=zone)
            if dry_run:
                _tell(options, plan, ADOPTED)
                return
            agreed(f"Make {plan.messages:,} rows of {plan.table} messages in {plan.sessions:,} conversations?")
        with show.working(f"Adopting {table}"):
            done = memory.adopt(table, user_id=options.user, leave_out=leave_out, zone=zone)
        if not no_index:
            # Everything is stored already, so stopping here loses nothing.
            with show.progress("Indexing and learning") as progress:
                memory.settle(progress=progress)
        _tell(options, done, ADOPTED)


def _give_back(options: Options, memory: Memory, table: str, *, keep: bool, yes: bool) -> None:
    agreed(f"Give {table} back{'' if keep else ', and forget its conversations'}?", yes)
    with show.working(f"Giving {table} back"):
        done = memory.give_back(table, keep=keep)
    sentence = f"{done.table} is a table again: {done.rows:,} rows, {done.added:,} of them written since."
    show.done(options.json, done, sentence)


@command(app, "adopt-predecessor", user=True)
def adopt_predecessor(
    options: Options,
    schema: Annotated[str, named("--schema", "NAME", "Where the old tables are.")] = "public",
    own: Annotated[str, named("--own", "NAME", "The schema for ltst's tables.")] = "ltst",
    dry_run: Dry = False,
    switch: Annotated[bool, typer.Option("--switch", help=SWITCH)] = False,
    back: Back = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="With --back: remove ltst's schema and all that is in it.")
    ] = False,
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
    with open_beside(options, own, schema) as memory:
        if back:
            agreed(f"Give the tables in {schema} back{', and drop ' + own if drop else ''}?", yes)
            with show.working("Giving back"):
                outcome = memory.give_predecessor_back(schema, user_id=options.user, zone=zone, drop=drop)
        else:
            agreed(f"Let names mean ltst's tables instead of those in {schema}?", yes or not switch)
            with show.working("Reading" if dry_run else "Copying and comparing"):
                outcome = memory.adopt_predecessor(
                    schema, user_id=options.user, dry_run=dry_run, leave_out=leave_out, zone=zone, switch=switch
                )
        _tell(options, outcome, TAKEN_OVER)


@contextmanager
def open_beside(options: Options, own: str, old: str) -> Iterator[Memory]:
    """Opens a memory in a schema beside the old tables, creating the schema if it is missing."""
    from ltst.adoption import predecessor
    from ltst.sync import Memory

    settings = options.settings
    if settings.database_url is None:
        raise Invalid("name the database of the system before: --database-url, or DATABASE_URL")
    if own == old:
        raise Invalid("--own must be another schema than --schema")
    url = asyncio.run(predecessor.create_beside(settings.database_url, own, old))
    with Memory(settings=replace(settings, database_url=url, worker=False, warm=False)) as memory:
        yield memory


def _tell(options: Options, outcome: Adoption | Predecessor, lines: show.Columns) -> None:
    show.record(options.json, outcome, lines)
    if not options.json and outcome.faults:
        show.out().print(show.table(outcome.faults, FAULTS, title="Rows that cannot be taken over, the first of them"))


def _reasons(outcome: Adoption | Predecessor) -> str | None:
    return "; ".join(f"{count:,} × {why}" for why, count in outcome.reasons.items()) or None
