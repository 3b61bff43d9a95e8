"""The responses API, answered by the model behind this server or by one of its agents."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request, Response

from ltst.agents.relay import RESPONSES
from ltst.agents.responses import PREFIX
from ltst.agents.turns import Turn
from ltst.doors.http.callers import Calling
from ltst.doors.http.routes.common import IdempotencyKey, event
from ltst.doors.http.routes.proxy import common
from ltst.doors.http.routes.proxy.common import AgentName, Body, ChatId, Wording
from ltst.errors import LtstError

ITEM = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"type": "string"}, "role": {"enum": [*common.ROLES]}, "content": {}},
    "if": {"properties": {"type": {"const": "message"}}},
    "then": {"required": ["role", "content"]},
}
INPUT = {
    "description": "What the user says, or items: messages, function_call and function_call_output, and others.",
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1, "items": ITEM}],
}
CONVERSATION = {
    "description": "Which conversation, as X-Chat-Id: its earlier turns are taken from the memory.",
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "object", "required": ["id"]}],
}
PREVIOUS = {"type": "string", "description": "The id of a response that this user got before."}
REQUEST = common.described(
    ["model", "input"],
    {
        "input": INPUT,
        "instructions": {"type": "string"},
        "stream": {"type": "boolean"},
        "conversation": CONVERSATION,
        "previous_response_id": PREVIOUS,
    },
    {"model": "ltst/recall", "input": "Where do I live?"},
)


@common.router.post("/responses", openapi_extra=REQUEST, responses=common.ANSWER, response_class=Response)
async def create_response(
    request: Request, caller: Calling, chat_id: ChatId = None, agent: AgentName = None, key: IdempotencyKey = None
) -> Response:
    """Answer as the model behind this server does, with what is remembered in the prompt; both sides are kept."""
    return await common.answer(RESPONSE, request, caller, chat_id, agent, key)


async def _streamed(begun: Turn, body: Body, request_id: str) -> AsyncIterator[str]:
    number = -1

    def event_of(kind: str, **data: Any) -> str:
        nonlocal number
        number += 1
        return event({"type": kind, "sequence_number": number, **data}, name=kind)

    item, within = _message(begun, None), {"item_id": _message(begun, None)["id"], "output_index": 0}
    inside = {**within, "content_index": 0}
    yield event_of("response.created", response=_response(begun, body))
    yield event_of("response.in_progress", response=_response(begun, body))
    yield event_of("response.output_item.added", output_index=0, item=item)
    yield event_of("response.content_part.added", **inside, part=_part(""))
    try:
        async for piece in begun.pieces():
            yield event_of("response.output_text.delta", **inside, delta=piece, logprobs=[])
        reply = (await begun.done()).reply
    except LtstError as problem:
        said = common.worded(problem, request_id)["error"]
        failed = {"code": "server_error", "message": said["message"]}
        yield event_of("response.failed", response={**_response(begun, body), "status": "failed", "error": failed})
        return
    yield event_of("response.output_text.done", **inside, text=reply, logprobs=[])
    yield event_of("response.content_part.done", **inside, part=_part(reply))
    yield event_of("response.output_item.done", output_index=0, item=_message(begun, reply))
    yield event_of("response.completed", response=_response(begun, body, reply))


def _response(begun: Turn, body: Body, reply: str | None = None) -> dict[str, Any]:
    """Returns a response in OpenAI's format; without a reply it is in progress."""
    return {
        "id": f"{PREFIX}{begun.message_id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress" if reply is None else "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "model": body["model"],
        "output": [] if reply is None else [_message(begun, reply)],
        "parallel_tool_calls": False,
        "previous_response_id": body.get("previous_response_id"),
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None,
    }


def _message(begun: Turn, reply: str | None) -> dict[str, Any]:
    status, content = ("in_progress", []) if reply is None else ("completed", [_part(reply)])
    identity = f"msg_{begun.message_id}"
    return {"id": identity, "type": "message", "status": status, "role": "assistant", "content": content}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


RESPONSE = Wording(RESPONSES, _response, _streamed)
