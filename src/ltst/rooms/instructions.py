"""Instructions: what a user wants one agent to always do, in versions of which at most one is active."""

from __future__ import annotations

from ltst.db.pool import Executor
from ltst.records import Instruction
from ltst.support.ids import new_id


async def set(tx: Executor, agent: str, content: str, *, learned: bool = False) -> tuple[Instruction, bool]:
    """Activates a new version unless the active one says the same; returns the active version and whether it is new."""
    await lock(tx, agent)
    current = await get(tx, agent)
    if current is not None and current.content == content and (learned or not current.learned):
        return current, False
    await retire(tx, agent)
    added = await tx.one("instructions.add", Instruction, id=new_id(), agent=agent, content=content, learned=learned)
    return added, True


async def lock(tx: Executor, agent: str) -> None:
    """Locks an agent's instructions until the transaction ends."""
    await tx.value("instructions.lock", agent=agent)


async def retire(tx: Executor, agent: str) -> None:
    """Deactivates the active version."""
    await tx.run("instructions.retire", agent=agent)


async def get(tx: Executor, agent: str) -> Instruction | None:
    """Returns the active version."""
    return await tx.row("instructions.get", Instruction, agent=agent)


async def history(tx: Executor, agent: str) -> list[Instruction]:
    """Returns every version for an agent, oldest first."""
    return await tx.rows("instructions.history", Instruction, agent=agent)
