"""Instructions: `ltst instructions …`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, found, informed, remembered, typed

app = typer.Typer(
    no_args_is_help=True, help="What a user tells agents to always do.\n\nExample: ltst instructions get coach"
)

Agent = Annotated[str, typer.Argument(help="Which agent.")]

COLUMNS = {"Agent": "agent_name", "Version": "version", "Instruction": "content", "Since": "created_at"}
HISTORY = {"Version": "version", "Active": "active", "Instruction": "content", "Since": "created_at"}


@command(app, "list", user=True)
def list_instructions(options: Options) -> None:
    """List the active instruction for every agent.

    Example: ltst instructions list
    """
    with informed(options) as user:
        known = user.instructions.list()
    show.records(options.json, known, COLUMNS, title="Instructions", empty="There are no instructions yet.")


@command(app, "get", user=True)
def get(options: Options, agent: Agent) -> None:
    """Show the active instruction for an agent.

    Example: ltst instructions get coach
    """
    with informed(options) as user:
        instruction = found(user.instructions.get(agent), f"instruction for {agent!r}")
    show.record(options.json, instruction, COLUMNS)


@command(app, "set", user=True)
def set_instruction(
    options: Options,
    agent: Agent,
    content: Annotated[str, typer.Argument(help="What to always do; - reads it from standard input.")],
) -> None:
    """Set the instruction for an agent; the versions before stay.

    Example: ltst instructions set coach "Answer in two sentences."
    """
    wanted = typed(content, ask="Instruction")
    with remembered(options) as user:
        stored = user.instructions.set(agent, wanted)
    show.done(options.json, stored, f"Version {stored.version} for {agent} is active.")


@command(app, "history", user=True)
def history(options: Options, agent: Agent) -> None:
    """Show every version for an agent, oldest first.

    Example: ltst instructions history coach
    """
    with informed(options) as user:
        known = found(user.instructions.history(agent), f"instruction for {agent!r}")
    show.records(options.json, known, HISTORY, title=f"Instructions for {agent}", empty="")


@command(app, "forget", user=True)
def forget(options: Options, agent: Agent) -> None:
    """Remove all versions for an agent.

    Example: ltst instructions forget coach
    """
    with remembered(options) as user:
        found(user.instructions.forget(agent), f"instruction for {agent!r}")
    show.done(options.json, {"forgotten": agent}, f"The instructions for {agent} are forgotten.")
