"""Entries: `ltst entries …`."""

from __future__ import annotations

from ltst.doors.cli import show
from ltst.doors.cli.verbs import Noun, forgotten, lined, listed, said

EXAMPLE = '"The oven runs hot."'
app = Noun("entries", "Free-standing memories: knowledge, episodes.", f"add {EXAMPLE}", missing="entry {entry_id!r}")

AT = {"occurred_at": "--at"}
ID = "01900000-0000-7000-8000-000000000000"
COLUMNS = show.columns(
    "Entry: entry_id, Type: memory_type, When: occurred_at, Importance: importance_score, Content: content"
)
WHOLE: show.Columns = {**COLUMNS, "Source": "source", "Expires": "expires_at", "Used": "usage_count"}

_kept = said("Kept as {it.entry_id}.")
_listed = listed(COLUMNS, "Entries", "There are no entries yet.")
app.verb("add", "Keep a memory; the same one is kept once.", f"{EXAMPLE} --importance 0.8", _kept, flags=AT)
app.verb("list", "List entries, the latest first.", "--type episodic", _listed)
app.verb("show", "Show one entry.", ID, lined(WHOLE), does="entries.get")
app.verb("forget", "Remove an entry.", ID, forgotten("entry_id"))
