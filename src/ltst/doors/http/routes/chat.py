"""Chat over HTTP: what the user says is stored and answered by an agent, at once or piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from ltst.agents.turns import Turn, TurnResult, Turns
from ltst.doors.http import problems
from ltst.doors.http.callers import GuardedRoute, User
from ltst.doors.http.routes.common import EVENT_STREAM, STREAMED, IdempotencyKey, event
from ltst.errors import LtstError
from ltst.support.logs import LOGGER
from ltst.verbs.shapes import Page
from ltst.verbs.wire import Id, StrictModel, Text

router = APIRouter(route_class=GuardedRoute, prefix="/api", tags=["chat"])

ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or, if asked for with `stream`, its events: start, delta, then done or error.",
        "content": STREAMED,
    }
}


class ChatRequest(StrictModel):
    """What the user says, and to whom."""

    message: Text = Field(examples=["Where do I live?"])
    chat_id: Id | None = Field(None, description="Which conversation; a new one, if left out.")
    agent_name: Id | None = Field(None, description="Who answers; the chat's own agent, if left out.")
    stream: StrictBool = False


class ChatReply(BaseModel):
    """The answer, and what it rests on."""

    chat_id: str
    agent_name: str
    model: str | None
    reply: str
    message_id: str
    reply_id: str
    memories: list[dict[str, JsonValue]]


class Agent(BaseModel):
    """An agent that can be talked with."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    description: str
    model: str
    window: int
    strategy: str
    max_tokens: int
    tools: list[str]


@router.post("/chat", response_model=ChatReply, responses=ANSWERS)
async def chat(request: Request, user: User, said: ChatRequest, key: IdempotencyKey = None) -> Any:
    """Say something and be answered. Both turns are stored, also when nobody waits for the answer."""
    turns: Turns = request.app.state.turns
    turn = await turns.begin(user, said.message, chat_id=said.chat_id, agent_name=said.agent_name, key=key)
    if said.stream:
        return StreamingResponse(_events(turn, request.state.request_id), media_type=EVENT_STREAM)
    return _answer(await turn.done())


@router.get("/agents", response_model=Page[Agent])
async def list_agents(request: Request, user: User) -> Any:
    """Return the agents that a user can talk with."""
    turns: Turns = request.app.state.turns
    return {"items": turns.agents.list()}


async def _events(turn: Turn, request_id: str) -> AsyncIterator[str]:
    """Yield the turn as events. An error is an event too: the status has already been sent."""
    yield event({"chat_id": turn.chat_id, "message_id": turn.message_id, "agent_name": turn.agent.name}, name="start")
    try:
        async for piece in turn.pieces():
            yield event({"text": piece}, name="delta")
        yield event(_answer(await turn.done()), name="done")
    except LtstError as problem:
        yield event(problems.of_error(problem, request_id), name="error")
    except Exception as problem:  # noqa: BLE001 - the edge of the door: whoever listens is told that it is over
        LOGGER.error("a stream failed", exc_info=problem, extra={"request_id": request_id})
        yield event(problems.document(500, problems.OPAQUE, request_id), name="error")


def _answer(result: TurnResult) -> dict[str, Any]:
    answer = {name: getattr(result, name) for name in ("model", "reply", "message_id", "reply_id")}
    memories = [dict(each) for each in result.memories]
    return {"chat_id": result.chat_id, "agent_name": result.agent, **answer, "memories": memories}
