"""Instructions: `ltst instructions …`."""

from __future__ import annotations

from ltst.doors.cli.verbs import Noun, forgotten, lined, listed, said

ABOUT = "What a user tells agents to always do."
app = Noun("instructions", ABOUT, "get coach", missing="instruction for {agent!r}", learns=True)

EXAMPLE = '"Answer in two sentences."'
COLUMNS = {"Agent": "agent_name", "Version": "version", "Instruction": "content", "Since": "created_at"}
HISTORY = {"Version": "version", "Active": "active", "Instruction": "content", "Since": "created_at"}

_listed = listed(COLUMNS, "Instructions", "There are no instructions yet.")
_past = listed(HISTORY, "Instructions for {agent}")
_written = said("Version {it.version} for {agent} is active.")
_gone = forgotten("agent", "The instructions for {agent} are forgotten.")

app.verb("list", "List the active instruction for every agent.", "", _listed)
app.verb("get", "Show the active instruction for an agent.", "coach", lined(COLUMNS))
app.verb("set", "Set the instruction for an agent; the versions before stay.", f"coach {EXAMPLE}", _written)
app.verb("history", "Show every version for an agent, oldest first.", "coach", _past, never_empty=True)
app.verb("forget", "Remove all versions for an agent.", "coach", _gone)
