"""Messages, the window and the context of one session over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.headers import IdempotencyKey
from ltst.doors.http.routes.openings import Agent, Name
from ltst.doors.http.shapes import Identifier, Limit, Offset, Page
from ltst.records import ConversationMessage

router = APIRouter(route_class=Guarded, prefix="/v1/sessions/{session_id:segment}", tags=["messages"])

Vectors = Annotated[bool, Query(description="With the vectors of those that have one.")]
MostTokens = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="How many tokens at most.")]


@router.post("/messages", response_model=shapes.Message, status_code=201)
async def add_message(
    user: User,
    session_id: Identifier,
    given: shapes.NewMessage,
    agent: Agent = None,
    name: Name = None,
    key: IdempotencyKey = None,
) -> Any:
    """Store a message; it is durable when this answers."""
    return await user.chat(session_id, agent=agent, name=name).add(**{**given.arguments(), "key": given.key or key})


@router.post("/messages/batch", response_model=Page[shapes.Message], status_code=201)
async def add_messages(
    user: User,
    session_id: Identifier,
    given: shapes.NewMessages,
    agent: Agent = None,
    name: Name = None,
    key: IdempotencyKey = None,
) -> Any:
    """Store many messages at once, all or none."""
    said = [_keyed(each.arguments(), key, number) for number, each in enumerate(given.messages, start=1)]
    return {"items": await user.chat(session_id, agent=agent, name=name).add_many(said)}


@router.post("/messages/ready", response_model=shapes.Message, status_code=201)
async def store_message(
    user: User, session_id: Identifier, given: shapes.ReadyMessage, agent: Agent = None, name: Name = None
) -> Any:
    """Store a message that comes from elsewhere, with all that it says of itself."""
    told = {field: getattr(given, field) for field in type(given).model_fields if field not in ("at", "parent")}
    message = ConversationMessage(session_id, timestamp=given.at, parent_message_id=given.parent, **told)
    return await user.chat(session_id, agent=agent, name=name).store(message)


@router.post("/interactions", response_model=Page[shapes.Message], status_code=201)
async def add_interaction(
    user: User,
    session_id: Identifier,
    given: shapes.Interaction,
    agent: Agent = None,
    name: Name = None,
    key: IdempotencyKey = None,
) -> Any:
    """Store what the user said and what the assistant answered, both or neither."""
    turns = [{"role": "user", "content": given.user_msg}, {"role": "assistant", "content": given.ai_msg}]
    said = [_keyed(each, key, number) for number, each in enumerate(turns, start=1)]
    return {"items": await user.chat(session_id, agent=agent, name=name).add_many(said)}


@router.get("/messages", response_model=Page[shapes.MessageWithVector] | Page[shapes.Message])
async def list_messages(
    user: User, session_id: Identifier, limit: Limit = 100, offset: Offset = 0, vectors: Vectors = False
) -> Any:
    """The messages from the beginning on."""
    shape = Page[shapes.MessageWithVector] if vectors else Page[shapes.Message]
    found = await user.chat(session_id).history(limit=limit + 1, offset=offset)
    return shape.model_validate(shapes.page(found, limit, offset), from_attributes=True)


@router.put("/messages/{message_id:segment}", response_model=shapes.Message)
async def replace_message(
    user: User, session_id: Identifier, message_id: Identifier, given: shapes.MessageReplaced
) -> Any:
    """Let a message say something else in its place; what was learnt from its old words alone is forgotten."""
    return await user.chat(session_id).replace(message_id, given.content, metadata=given.metadata)


@router.delete("/messages/{message_id:segment}", status_code=204, response_class=Response)
async def remove_message(user: User, session_id: Identifier, message_id: Identifier) -> Response:
    """Remove a message, with what was learnt from it alone; the others keep their indexes."""
    await user.chat(session_id).remove(message_id)
    return Response(status_code=204)


@router.get("/window", response_model=Page[shapes.Message])
async def window(user: User, session_id: Identifier, limit: Limit = 50, max_tokens: MostTokens = None) -> Any:
    """The newest messages, oldest first."""
    return {"items": await user.chat(session_id).window(limit, max_tokens=max_tokens)}


@router.get("/snapshot", response_model=shapes.Snapshot)
async def snapshot(user: User, session_id: Identifier) -> Any:
    """The short-term window with the roles that models know."""
    return await user.chat(session_id).snapshot()


@router.post("/context", response_model=shapes.ContextPacked)
async def context(user: User, session_id: Identifier, given: shapes.ContextWanted) -> Any:
    """What to send to a model: all that is remembered, merged under a budget of tokens."""
    chat = user.chat(session_id, agent=given.agent)
    return await chat.context(
        given.query,
        max_tokens=given.max_tokens,
        strategy=given.strategy,
        window=given.window,
        about=given.about,
    )


@router.post("/search", response_model=Page[shapes.MessageFound])
async def search_messages(user: User, session_id: Identifier, given: shapes.MessagesWanted) -> Any:
    """Messages of this session about a question, the best first."""
    hits = await user.chat(session_id).search(given.query, limit=given.limit, threshold=given.threshold)
    return {"items": [{"message": message, "score": score} for message, score in hits]}


def _keyed(said: dict[str, Any], key: str | None, number: int) -> dict[str, Any]:
    """A turn with the key of its request, unless it has one of its own."""
    return said if key is None or said.get("key") else {**said, "key": f"{key}:{number}"}
