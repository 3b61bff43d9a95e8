"""Entries: `ltst entries …`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ltst.arguments import ENTRY_TYPES
from ltst.doors.cli import show
from ltst.doors.cli.options import (
    Limit,
    MetadataOption,
    Offset,
    Options,
    command,
    found,
    named,
    one_of,
    remembered,
    timed,
    typed,
)

app = typer.Typer(
    no_args_is_help=True,
    help='Free-standing memories: knowledge, episodes.\n\nExample: ltst entries add "The oven runs hot."',
)

EntryId = Annotated[str, typer.Argument(metavar="ID", help="Which entry.")]

COLUMNS: show.Columns = {
    "Entry": "entry_id",
    "Type": "memory_type",
    "When": "occurred_at",
    "Importance": "importance_score",
    "Content": "content",
}
WHOLE: show.Columns = {**COLUMNS, "Source": "source", "Expires": "expires_at", "Used": "usage_count"}


@command(app, "add", user=True)
def add(
    options: Options,
    text: Annotated[str, typer.Argument(help="What to keep; - reads it from standard input.")],
    type: Annotated[str, one_of("--type", "TYPE", ENTRY_TYPES)] = "long_term",
    importance: Annotated[
        float | None, named("--importance", "N", "From 0 to 1; else it is judged by its words.")
    ] = None,
    occurred_at: Annotated[datetime | None, timed("--at", "When it happened.")] = None,
    expires_at: Annotated[datetime | None, timed("--expires", "When it is forgotten.")] = None,
    metadata: MetadataOption = None,
) -> None:
    """Keep a memory; the same one is kept once.

    Example: ltst entries add "The oven runs hot." --importance 0.8
    """
    content = typed(text, ask="Text")
    with remembered(options) as user:
        kept = user.entries.add(
            content,
            type=type,
            importance=importance,
            occurred_at=occurred_at,
            expires_at=expires_at,
            metadata=metadata,
        )
    show.done(options.json, kept, f"Kept as {kept.entry_id}.")


@command(app, "list", user=True)
def list_entries(
    options: Options,
    type: Annotated[str | None, one_of("--type", "TYPE", ENTRY_TYPES, "Only {} ones.")] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> None:
    """List entries, the latest first.

    Example: ltst entries list --type episodic
    """
    with remembered(options) as user:
        known = user.entries.list(type, limit=limit, offset=offset)
    show.records(options.json, known, COLUMNS, title="Entries", empty="There are no entries yet.")


@command(app, "show", user=True)
def show_entry(options: Options, entry_id: EntryId) -> None:
    """Show one entry.

    Example: ltst entries show 01900000-0000-7000-8000-000000000000
    """
    with remembered(options) as user:
        entry = found(user.entries.get(entry_id), f"entry {entry_id!r}")
    show.record(options.json, entry, WHOLE)


@command(app, "forget", user=True)
def forget(options: Options, entry_id: EntryId) -> None:
    """Remove an entry.

    Example: ltst entries forget 01900000-0000-7000-8000-000000000000
    """
    with remembered(options) as user:
        found(user.entries.forget(entry_id), f"entry {entry_id!r}")
    show.done(options.json, {"forgotten": entry_id}, f"{entry_id} is forgotten.")
