"""Chat tables of other programs: `ltst db adopt`, its dry run and its way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, command, named, opened
from ltst.errors import Invalid

if TYPE_CHECKING:
    from ltst.adoption.outcomes import Adoption
    from ltst.sync import Memory

app = typer.Typer()

PLAN: show.Columns = {
    "Table": "table",
    "Shape": lambda told: "LangChain's" if told.shape == "langchain" else "session_id, role, content",
    "Rows": "rows",
    "Messages": "messages",
    "Sessions": "sessions",
    "Users": "users",
    "From": "first",
    "To": "last",
    "Rows without a date": "undated",
    "Rows without words": "blank",
    "Roles": lambda told: ", ".join(f"{word} → {role}" for role, word in told.words.items()),
    "Columns left behind": lambda told: ", ".join(told.left_behind) or None,
    "Rows left out": lambda told: told.rows - told.messages,
    "Kept as": "kept",
    "Digest": "digest",
}
FAULTS: show.Columns = {"Row": "row", "Why it cannot become a message": "reason"}

Table = Annotated[str, typer.Argument(metavar="TABLE", help="Such as conversation_memory, or app.messages.")]
Dry = Annotated[bool, typer.Option("--dry-run", help="Read and judge all rows; write nothing.")]
Back = Annotated[bool, typer.Option("--back", help="Give an adopted table back, with what was written since.")]
Keep = Annotated[bool, typer.Option("--keep", help="With --back: ltst keeps the conversations too.")]
LeaveOut = Annotated[bool, typer.Option("--leave-out", help="Leave out rows that cannot become messages.")]
Zone = Annotated[str, named("--zone", "NAME", "The zone of dates that do not say theirs.")]
NoIndex = Annotated[bool, typer.Option("--no-index", help="Leave the vectors to the worker.")]


@command(app, "adopt", user=True)
def adopt(
    options: Options,
    table: Table,
    dry_run: Dry = False,
    back: Back = False,
    keep: Keep = False,
    leave_out: LeaveOut = False,
    zone: Zone = "UTC",
    no_index: NoIndex = False,
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
        plan = None
        if dry_run or not yes:
            with show.working(f"Reading {table}"):
                plan = memory.adopt(table, user_id=options.user, dry_run=True, zone=zone)
        if dry_run:
            assert plan is not None, "it was made just now"
            _tell(options, plan)
            return
        if plan is not None:
            _ask(plan)
        with show.working(f"Adopting {table}"):
            done = memory.adopt(table, user_id=options.user, leave_out=leave_out, zone=zone)
        if not no_index:
            # All is kept already: stopping here loses nothing.
            with show.progress("Indexing and learning") as told:
                memory.settle(progress=told)
        _tell(options, done)


def _give_back(options: Options, memory: Memory, table: str, *, keep: bool, yes: bool) -> None:
    if not yes:
        typer.confirm(f"Give {table} back{'' if keep else ', and forget its conversations'}?", abort=True, err=True)
    with show.working(f"Giving {table} back"):
        done = memory.give_back(table, keep=keep)
    told = f"{done.table} is a table again: {done.rows:,} rows, {done.added:,} of them written since."
    show.done(options.json, done, told)


def _ask(plan: Adoption) -> None:
    typer.confirm(
        f"Make {plan.messages:,} rows of {plan.table} messages in {plan.sessions:,} conversations?",
        abort=True,
        err=True,
    )


def _tell(options: Options, told: Adoption) -> None:
    show.record(options.json, told, PLAN)
    if not options.json and told.faults:
        show.out().print(show.table(told.faults, FAULTS, title="Rows that cannot be taken over, the first of them"))
        for reason, count in told.reasons.items():
            show.say(f"{count:,} × {reason}")
