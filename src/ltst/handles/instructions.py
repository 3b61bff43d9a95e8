"""Instructions that a user gives to agents."""

from __future__ import annotations

import builtins
from typing import Annotated

from ltst.arguments import Content, Identifier
from ltst.handles.desk import Handle
from ltst.records import Instruction
from ltst.rooms import claims, instructions
from ltst.support import validate

Agent = Annotated[Identifier, "The name of the agent that the instructions are for."]


class AsyncInstructions(Handle):
    """What a user tells agents to always do."""

    async def set(
        self, agent: Agent, content: Annotated[Content, "The whole of the instructions: repeat what is to stay."]
    ) -> Instruction:
        """Make this the active instruction for an agent; the versions before stay in the history."""
        agent, content = validate.identifier(agent, "agent"), self._desk.content(content, "content")
        async with self._desk.writing("instructions.set") as tx:
            instruction, new = await instructions.set(tx, agent, content)
            if new:
                await self._desk.tell(tx, "set", "instruction", instruction.id, {"version": instruction.version})
        return instruction

    async def get(self, agent: Agent) -> Instruction | None:
        """Return the active instruction for an agent, or None."""
        wanted = validate.identifier(agent, "agent")
        async with self._desk.reading("instructions.get") as calls:
            return await instructions.get(calls, wanted)

    async def list(self) -> builtins.list[Instruction]:
        """Return the active instruction for every agent."""
        async with self._desk.reading("instructions.list") as calls:
            return await calls.rows("instructions.list", Instruction)

    async def history(self, agent: Agent) -> builtins.list[Instruction]:
        """Return every version for an agent, oldest first."""
        wanted = validate.identifier(agent, "agent")
        async with self._desk.reading("instructions.history") as calls:
            return await instructions.history(calls, wanted)

    async def forget(self, agent: Agent) -> bool:
        """Remove all versions for an agent; return whether there were any."""
        wanted = validate.identifier(agent, "agent")
        async with self._desk.writing("instructions.forget") as tx:
            gone = await tx.run("instructions.forget", agent=wanted)
            await claims.forget(tx, "instruction", wanted)
            if gone:
                await self._desk.tell(tx, "forget", "instruction", wanted, {"count": gone})
        return gone > 0
