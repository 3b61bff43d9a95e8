"""Retention: `ltst retention …`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, found, lasting, remembered
from ltst.errors import Invalid
from ltst.records import RetentionPolicy

app = typer.Typer(
    no_args_is_help=True,
    help="When conversations are archived and deleted.\n\nExample: ltst retention set --archive-after 30d",
)

SessionType = Annotated[str, typer.Argument(metavar="TYPE", help="Sessions of which type; * for all others.")]


def _span(value: timedelta | None) -> str | None:
    return None if value is None else str(value).removesuffix(", 0:00:00")


COLUMNS: show.Columns = {
    "Type": "session_type",
    "Archived after": lambda policy: _span(policy.archive_after),
    "Deleted after": lambda policy: _span(policy.delete_after),
    "Since": "updated_at",
}


@command(app, "set", user=True)
def set_policy(
    options: Options,
    session_type: SessionType = "*",
    archive_after: Annotated[timedelta | None, lasting("--archive-after", "Such as 12h, 30d or 8w.")] = None,
    delete_after: Annotated[timedelta | None, lasting("--delete-after", "Such as 30d or 52w.")] = None,
) -> None:
    """Set after how long without activity; `ltst maintain` does it.

    Example: ltst retention set support --archive-after 30d --delete-after 52w
    """
    if archive_after is None and delete_after is None:
        raise Invalid("a policy needs --archive-after, --delete-after or both; `ltst retention forget` removes one")
    with remembered(options) as user:
        policy = user.retention.set(session_type, archive_after=archive_after, delete_after=delete_after)
    show.done(options.json, policy, f"{_told(policy)}.")


@command(app, "list", user=True)
def list_policies(options: Options) -> None:
    """List the policies.

    Example: ltst retention list
    """
    with remembered(options) as user:
        known = user.retention.list()
    show.records(options.json, known, COLUMNS, title="Retention", empty="Everything is kept for good.")


@command(app, "forget", user=True)
def forget(options: Options, session_type: SessionType = "*") -> None:
    """Remove a policy.

    Example: ltst retention forget support
    """
    with remembered(options) as user:
        found(user.retention.forget(session_type), f"policy for {session_type!r}")
    show.done(options.json, {"forgotten": session_type}, f"The policy for {session_type} is forgotten.")


def _told(policy: RetentionPolicy) -> str:
    steps = {"archived": _span(policy.archive_after), "deleted": _span(policy.delete_after)}
    done = " and ".join(f"{step} after {time}" for step, time in steps.items() if time)
    kind = "Sessions" if policy.session_type == "*" else f"Sessions of type {policy.session_type}"
    return f"{kind} are {done}"
