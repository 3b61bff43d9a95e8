"""Tools for instructions: what the user tells an agent to always do."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import AgentName, Items, Page, Text
from ltst.doors.mcp.telling import removed
from ltst.doors.mcp.toolbox import ADDS, READS, REMOVES, Asked, tool
from ltst.errors import NotFound


@tool("Get instructions", READS, shapes.Instruction, everyday=True)
async def get_instructions(asked: Asked, agent: AgentName) -> Any:
    """What the user told an agent to always do: the version that is in use."""
    found = await asked.user.instructions.get(agent)
    if found is None:
        raise NotFound(f"no instructions for the agent {agent!r}")
    return found


@tool("Set instructions", ADDS, shapes.Instruction, everyday=True)
async def set_instructions(
    asked: Asked,
    agent: AgentName,
    content: Annotated[Text, Field(description="The whole of the instructions: repeat what is to stay.")],
) -> Any:
    """Write what an agent is to do always, only when the user asks for it.

    It becomes a new version, which takes the place of the one before; older ones stay in the history.
    """
    return await asked.user.instructions.set(agent, content)


@tool("List instructions", READS, Page[shapes.Instruction], nothing="No agent has instructions.")
async def list_instructions(asked: Asked) -> Any:
    """The instructions in use, of all agents."""
    return Items(await asked.user.instructions.list())


@tool("History of instructions", READS, Page[shapes.Instruction], nothing="This agent never had instructions.")
async def instruction_history(asked: Asked, agent: AgentName) -> Any:
    """Every version of an agent's instructions, oldest first."""
    return Items(await asked.user.instructions.history(agent))


@tool("Forget instructions", REMOVES, shapes.Removed, say=removed)
async def forget_instructions(asked: Asked, agent: AgentName) -> Any:
    """Remove the instructions of an agent, all versions."""
    return {"removed": int(await asked.user.instructions.forget(agent))}


TOOLS = (get_instructions, set_instructions, list_instructions, instruction_history, forget_instructions)
