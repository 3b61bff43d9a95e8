"""Users: `ltst users …`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, named, opened

app = typer.Typer(no_args_is_help=True, help="Everyone of whom something is stored.\n\nExample: ltst users list")

COLUMNS: show.Columns = {
    "User": "user_id",
    "Conversations": "sessions",
    "Messages": "messages",
    "Last activity": "last_activity",
}


@command(app, "list")
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
    show.records(options.json, known, COLUMNS, title="Users", empty="Nothing of anybody is stored.")
    if not options.json and len(known) == limit:
        show.hint(f"There may be more: --after {known[-1].user_id}")
