"""Instructions over HTTP, under two names: instructions, and the customizations of an agent's prompt."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.shapes import Identifier, Page

router = APIRouter(route_class=Guarded, tags=["instructions"])
ONE, CUSTOMIZATION = "/v1/instructions/{agent:segment}", "/api/agents/{agent:segment}/customizations"


@router.get("/v1/instructions", response_model=Page[shapes.Instruction])
@router.get("/api/agents/customizations", response_model=Page[shapes.Instruction], name="list_customizations")
async def list_instructions(user: User) -> Any:
    """The active instruction for every agent."""
    return {"items": await user.instructions.list()}


@router.get(ONE, response_model=shapes.Instruction)
@router.get(CUSTOMIZATION, response_model=shapes.Instruction, name="get_customization")
async def get_instruction(user: User, agent: Identifier) -> Any:
    """What an agent is to do always."""
    return found(await user.instructions.get(agent), f"instruction for {agent!r}")


@router.put(ONE, response_model=shapes.Instruction)
@router.put(CUSTOMIZATION, response_model=shapes.Instruction, name="set_customization")
async def set_instruction(user: User, agent: Identifier, given: shapes.InstructionWritten) -> Any:
    """Make this what an agent is to do always; the versions before stay in the history."""
    return await user.instructions.set(agent, given.content)


@router.delete(ONE, status_code=204, response_class=Response)
@router.delete(CUSTOMIZATION, status_code=204, response_class=Response, name="forget_customization")
async def forget_instruction(user: User, agent: Identifier) -> Response:
    """Remove all versions for an agent."""
    return gone(await user.instructions.forget(agent), f"instruction for {agent!r}")


@router.get(f"{ONE}/history", response_model=Page[shapes.Instruction])
@router.get(f"{CUSTOMIZATION}/history", response_model=Page[shapes.Instruction], name="customization_history")
async def instruction_history(user: User, agent: Identifier) -> Any:
    """Every version for an agent, oldest first."""
    return {"items": await user.instructions.history(agent)}
