"""Events: `ltst events …`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, named, opened, remembered
from ltst.records import Event

app = typer.Typer(
    no_args_is_help=True, help="The ledger of every change, without contents.\n\nExample: ltst events list"
)

PAUSE_SECONDS = 1.0

After = Annotated[str, named("--after", "CURSOR", "Only what follows the event with this cursor or id.")]

COLUMNS: show.Columns = {
    "Cursor": "cursor",
    "When": "occurred_at",
    "By": "actor",
    "Change": lambda event: f"{event.action} {event.noun}",
    "Row": "row_id",
    "Details": lambda event: json.dumps(dict(event.details)) if event.details else "",
}


@command(app, "list", user=True)
def list_events(options: Options, after: After = "0", limit: Limit = 100) -> None:
    """List changes, oldest first.

    Example: ltst events list --limit 20
    """
    with remembered(options) as user:
        known = user.events.list(after=_place(after), limit=limit)
    _present(options, known)


@command(app, "feed", user=True)
def feed(
    options: Options,
    after: After = "0",
    limit: Limit = 100,
    everyone: Annotated[bool, typer.Option("--everyone", help="The changes of all users.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C, one change a line.")] = False,
) -> None:
    """Read changes for a program: none is skipped, none comes twice.

    Go on from the cursor of the last one. A change appears once all that were begun before it have ended.

    Example: ltst events feed --after 0 --json
    """
    with opened(options) as memory:
        read = memory.feed if everyone else memory.user(memory.settings.user).events.feed
        known = read(after=_place(after), limit=limit)
        if not follow:
            _present(options, known)
            return
        _follow(options, read, known, after)


def _follow(options: Options, read: Callable[..., Sequence[Event]], known: Sequence[Event], after: str) -> None:
    while True:
        for event in known:
            after = event.cursor
            if options.json:
                show.line(event)
            else:
                told = f"{show.when(event.occurred_at)}  {event.actor}  {event.action} {event.noun} {event.row_id}"
                show.say(told)
        if not known:
            time.sleep(PAUSE_SECONDS)
        known = read(after=_place(after), limit=100)


def _present(options: Options, known: Sequence[Event]) -> None:
    show.records(options.json, known, COLUMNS, title="Events", empty="Nothing has changed since.")


def _place(after: str) -> int | str:
    """The number of an event is a number; a cursor is a text."""
    return int(after) if after.isascii() and after.isdigit() else after
