"""Instructions: `ltst instructions …`."""

from __future__ import annotations

from ltst.doors.cli.verbs import Noun, lined, listed, said

app = Noun(
    "instructions",
    "What a user tells agents to always do.",
    "get coach",
    missing="instruction for {agent!r}",
    learns=True,
)

COLUMNS = {"Agent": "agent_name", "Version": "version", "Instruction": "content", "Since": "created_at"}
HISTORY = {"Version": "version", "Active": "active", "Instruction": "content", "Since": "created_at"}

app.verb(
    "list",
    "List the active instruction for every agent.",
    "",
    listed(COLUMNS, "Instructions", "There are no instructions yet."),
)
app.verb("get", "Show the active instruction for an agent.", "coach", lined(COLUMNS))
app.verb(
    "set",
    "Set the instruction for an agent; the versions before stay.",
    'coach "Answer in two sentences."',
    said("Version {it.version} for {agent} is active."),
)
app.verb(
    "history",
    "Show every version for an agent, oldest first.",
    "coach",
    listed(HISTORY, "Instructions for {agent}"),
    never_empty=True,
)
app.verb(
    "forget",
    "Remove all versions for an agent.",
    "coach",
    said("The instructions for {agent} are forgotten.", forgotten="agent"),
)
