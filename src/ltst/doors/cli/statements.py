"""Statements: `ltst statements …`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.verbs import Noun, lined, listed, said

ABOUT = "What a user said of their life, in their words."
app = Noun("statements", ABOUT, "list --about me", missing="statement {statement_id!r}", learns=True)

ID = "01900000-0000-7000-8000-000000000000"
COLUMNS = show.columns(
    "Statement: statement_id, Said: said_at, Kind: kind, About: about, Words: content, Until",
    {"Until": lambda each: each.superseded_at or each.until},
)
WHOLE: show.Columns = {
    **COLUMNS,
    **show.columns(
        "In its place: superseded_by, Confidence: confidence, Origin: origin, "
        "Message: message_id, Conversation: session_id, Rejected: rejected_at"
    ),
}


Over = Annotated[bool, typer.Option("--over", help="Only what does not hold any more.")]

app.verb(
    "list",
    "List what was said, the newest first.",
    "--about me --current",
    listed(COLUMNS, "Statements", "Nothing is known yet."),
    help={"current": "Only what holds."},
    own={"over": (Over, False)},
    # Both flags together mean everything, as does neither.
    asks=lambda given: {"current": None if given["current"] == given["over"] else given["current"]},
)
app.verb("show", "Show one statement, and where it stands.", ID, lined(WHOLE), does="statements.get")
_struck = "Strike a statement out for good: it is not read from those words again."
app.verb("reject", _struck, ID, said("{statement_id} is rejected."))
