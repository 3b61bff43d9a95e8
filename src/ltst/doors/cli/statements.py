"""Statements: `ltst statements …`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, found, informed, named, remembered
from ltst.records import STATEMENT_KINDS

app = typer.Typer(
    no_args_is_help=True,
    help="What a user said of their life, in their words.\n\nExample: ltst statements list --about me",
)

StatementId = Annotated[str, typer.Argument(metavar="ID", help="Which statement.")]

COLUMNS: show.Columns = {
    "Statement": "statement_id",
    "Said": "said_at",
    "Kind": "kind",
    "About": "about",
    "Words": "content",
    "Until": lambda each: each.superseded_at or each.until,
}
WHOLE: show.Columns = {
    **COLUMNS,
    "In its place": "superseded_by",
    "Confidence": "confidence",
    "Origin": "origin",
    "Message": "message_id",
    "Conversation": "session_id",
    "Rejected": "rejected_at",
}


@command(app, "list", user=True)
def list_statements(
    options: Options,
    about: Annotated[str | None, named("--about", "WHOM", "me, or a name or relation as said.")] = None,
    kind: Annotated[
        str | None,
        named("--kind", "KIND", f"{', '.join(STATEMENT_KINDS)}.", *STATEMENT_KINDS),
    ] = None,
    current: Annotated[bool, typer.Option("--current", help="Only what holds.")] = False,
    over: Annotated[bool, typer.Option("--over", help="Only what does not hold any more.")] = False,
    chat: Annotated[str | None, named("--chat", "ID", "Only of this conversation.")] = None,
    limit: Limit = 100,
) -> None:
    """List what was said, the newest first.

    Example: ltst statements list --about me --current
    """
    # Both together are everything, as neither is.
    held = None if current == over else current
    with informed(options) as user:
        known = user.statements.list(about=about, kind=kind, current=held, session_id=chat, limit=limit)
    show.records(options.json, known, COLUMNS, title="Statements", empty="Nothing is known yet.")


@command(app, "show", user=True)
def show_statement(options: Options, statement_id: StatementId) -> None:
    """Show one statement, and where it stands.

    Example: ltst statements show 01900000-0000-7000-8000-000000000000
    """
    with informed(options) as user:
        statement = found(user.statements.get(statement_id), f"statement {statement_id!r}")
    show.record(options.json, statement, WHOLE)


@command(app, "reject", user=True)
def reject(options: Options, statement_id: StatementId) -> None:
    """Strike a statement out for good: it is not read from those words again.

    Example: ltst statements reject 01900000-0000-7000-8000-000000000000
    """
    with remembered(options) as user:
        struck = user.statements.reject(statement_id)
    show.done(options.json, struck, f"{statement_id} is rejected.")
