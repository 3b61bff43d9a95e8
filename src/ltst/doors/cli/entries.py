"""Entries: `ltst entries …`."""

from __future__ import annotations

from ltst.doors.cli import show
from ltst.doors.cli.verbs import Noun, lined, listed, said

app = Noun(
    "entries", "Free-standing memories: knowledge, episodes.", 'add "The oven runs hot."', missing="entry {entry_id!r}"
)

ID = "01900000-0000-7000-8000-000000000000"
COLUMNS = show.columns(
    "Entry: entry_id, Type: memory_type, When: occurred_at, Importance: importance_score, Content: content"
)
WHOLE: show.Columns = {**COLUMNS, "Source": "source", "Expires": "expires_at", "Used": "usage_count"}

app.verb(
    "add",
    "Keep a memory; the same one is kept once.",
    '"The oven runs hot." --importance 0.8',
    said("Kept as {it.entry_id}."),
    flags={"occurred_at": "--at", "expires_at": "--expires"},
)
app.verb(
    "list",
    "List entries, the latest first.",
    "--type episodic",
    listed(COLUMNS, "Entries", "There are no entries yet."),
    flags={"type": "--type"},
)
app.verb("show", "Show one entry.", ID, lined(WHOLE), does="entries.get")
app.verb("forget", "Remove an entry.", ID, said("{entry_id} is forgotten.", forgotten="entry_id"))
