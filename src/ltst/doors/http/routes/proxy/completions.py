"""The chat completions API, answered by the model behind this server or by one of its agents."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import Request, Response

from ltst.agents.relay import CHAT_COMPLETIONS
from ltst.agents.turns import Turn
from ltst.doors.http.callers import Calling
from ltst.doors.http.routes.common import IdempotencyKey, event
from ltst.doors.http.routes.proxy import common
from ltst.doors.http.routes.proxy.common import AgentName, Body, ChatId, Wording
from ltst.errors import LtstError

MESSAGE = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {"role": {"enum": [*common.ROLES]}, "content": {}},
}
REQUEST = common.described(
    ["model", "messages"],
    {"messages": {"type": "array", "minItems": 1, "items": MESSAGE}, "stream": {"type": "boolean"}},
    {"model": "ltst/recall", "messages": [{"role": "user", "content": "Where do I live?"}]},
)


@common.router.post("/chat/completions", openapi_extra=REQUEST, responses=common.ANSWER, response_class=Response)
async def create_chat_completion(
    request: Request, caller: Calling, chat_id: ChatId = None, agent: AgentName = None, key: IdempotencyKey = None
) -> Response:
    """Answer as the model behind this server does, with what is remembered in the prompt; both sides are kept."""
    return await common.answer(COMPLETION, request, caller, chat_id, agent, key)


def _full_completion(begun: Turn, body: Body, reply: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return {**_completion(begun, body, "chat.completion"), "choices": choices}


async def _streamed(begun: Turn, body: Body, request_id: str) -> AsyncIterator[str]:
    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return event({**_completion(begun, body, "chat.completion.chunk"), "choices": choices})

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for piece in begun.pieces():
            yield chunk({"content": piece})
        await begun.done()
    except LtstError as problem:
        yield event(common.worded(problem, request_id))
        return
    yield chunk({}, "stop")
    yield "data: [DONE]\n\n"


def _completion(begun: Turn, body: Body, kind: str) -> dict[str, Any]:
    model = body["model"]
    return {"id": f"chatcmpl-{begun.message_id}", "object": kind, "created": int(time.time()), "model": model}


COMPLETION = Wording(CHAT_COMPLETIONS, _full_completion, _streamed)
