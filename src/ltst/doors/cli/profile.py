"""The profile of a user: `ltst profile`."""

from __future__ import annotations

from typing import Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, informed
from ltst.doors.cli.preferences import HIDDEN, Reveal

app = typer.Typer()

FACTS: show.Columns = {
    "Key": lambda fact: fact["key"],
    "Value": lambda fact: fact["value"],
    "Confidence": lambda fact: fact["confidence"],
}
PREFERENCES: show.Columns = {"Key": lambda row: row[0], "Value": lambda row: HIDDEN if row[1] is None else row[1]}


@command(app, "profile", user=True)
def profile(options: Options, reveal: Reveal = False) -> None:
    """Show who a user is, in facts and preferences.

    What holds now, and how things are wanted. Sensitive values stay hidden unless asked for.

    Example: ltst profile --user ann
    """
    with informed(options) as user:
        known = user.profile()
        hidden = set() if reveal else {each.key for each in user.preferences.list() if each.sensitive}
    wanted: dict[str, Any] = {key: None if key in hidden else value for key, value in known["preferences"].items()}
    if options.json:
        show.document({**known, "preferences": wanted})
        return
    title = f"Facts about {known['user_id']}"
    show.records(False, known["facts"], FACTS, title=title, empty="Nothing is known yet.")
    empty = "No preferences are set yet."
    show.records(False, [*wanted.items()], PREFERENCES, title="Preferences", empty=empty)
    show.notes(known["notes"])
