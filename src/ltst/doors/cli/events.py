"""Events: `ltst events …`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, named, opened
from ltst.doors.cli.parameters import whole_or_text
from ltst.doors.cli.verbs import Noun, listed
from ltst.records import Event

app = Noun("events", "The ledger of every change, without contents.", "list")

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


_shown = listed(COLUMNS, "Events", "Nothing has changed since.")
app.verb("list", "List changes, oldest first.", "--limit 20", _shown)


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
        known = read(after=whole_or_text(after), limit=limit)
        if not follow:
            _shown(options.json, known, {})
            return
        _follow(options, read, known, after)


def _follow(options: Options, read: Callable[..., Sequence[Event]], known: Sequence[Event], after: str) -> None:
    while True:
        for event in known:
            after = event.cursor
            if options.json:
                show.line(event)
            else:
                line = f"{show.when(event.occurred_at)}  {event.actor}  {event.action} {event.noun} {event.row_id}"
                show.say(line)
        if not known:
            time.sleep(PAUSE_SECONDS)
        known = read(after=whole_or_text(after), limit=100)
