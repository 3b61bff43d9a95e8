"""Sessions: `ltst sessions …`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, Yes, command, found, remembered

app = typer.Typer(no_args_is_help=True, help="The conversations of a user.\n\nExample: ltst sessions list")

SessionId = Annotated[str, typer.Argument(metavar="ID", help="Which conversation.")]

COLUMNS = {
    "Session": "session_id",
    "Name": "session_name",
    "Agent": "agent_name",
    "Status": "status",
    "Messages": "session_length",
    "Last activity": "last_activity",
}
SUMMARY = {
    "Session": "session_id",
    "Name": "session_name",
    "Status": "status",
    "Messages": "message_count",
    "Tokens": "token_count",
    "Created": "created_at",
    "Last activity": "last_activity",
}


@command(app, "list", user=True)
def list_sessions(
    options: Options,
    status: Annotated[str | None, typer.Option("--status", help="Only active or archived ones.")] = None,
    limit: Limit = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="How many to pass over.")] = 0,
) -> None:
    """List conversations, the most recently active first.

    Example: ltst sessions list --user ann --status active
    """
    with remembered(options) as user:
        known = user.sessions.list(status=status, limit=limit, offset=offset)
    show.records(options.json, known, COLUMNS, title="Sessions", empty="There are no conversations yet.")


@command(app, "show", user=True)
def show_session(
    options: Options,
    session_id: SessionId,
    limit: Limit = 100,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="How many to pass over.")] = 0,
) -> None:
    """Show a conversation from its beginning, with its counts.

    Example: ltst sessions show monday
    """
    with remembered(options) as user:
        found(user.sessions.get(session_id), f"session {session_id!r}")
        summary = user.sessions.summary(session_id)
        said = user.chat(session_id).history(limit=limit, offset=offset)
    if options.json:
        show.document({**asdict(summary), "messages": said})
        return
    show.record(False, summary, SUMMARY)
    show.out().print(show.messages(said))


@command(app, "archive", user=True)
def archive(options: Options, session_id: SessionId) -> None:
    """Put a conversation aside.

    A new message makes it active again.

    Example: ltst sessions archive monday
    """
    with remembered(options) as user:
        archived = user.sessions.archive(session_id)
    show.done(options.json, archived, f"{session_id} is archived.")


@command(app, "delete", user=True)
def delete(options: Options, session_id: SessionId, yes: Yes = False) -> None:
    """Delete a conversation and all that hangs on it.

    Example: ltst sessions delete monday
    """
    with remembered(options) as user:
        known = found(user.sessions.get(session_id), f"session {session_id!r}")
        if not yes:
            typer.confirm(f"Delete {session_id} with {known.session_length} messages?", abort=True, err=True)
        user.sessions.delete(session_id)
    show.done(options.json, {"deleted": session_id}, f"{session_id} is deleted.")
