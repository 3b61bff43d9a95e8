"""The proxy: an OpenAI client that changes its base URL gets memory, from its own model or an agent of this server."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute

from ltst.agents.history import STORED_AS, turn
from ltst.agents.relay import LEADING, Relay, Relayed, checked, conversation_id, remember
from ltst.agents.turns import Turn, Turns
from ltst.doors.http import problems
from ltst.doors.http.callers import Calling, memory_of
from ltst.doors.http.routes.common import EVENT_STREAM, IdempotencyKey, event
from ltst.errors import Invalid, LtstError, NotFound
from ltst.handles.callers import USER_HEADER, Caller
from ltst.memory import AsyncUser
from ltst.verbs.wire import Id


class WordedRoute(APIRoute):
    """A route whose errors come in OpenAI's words, which its clients read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer, or say what went wrong."""
        handle = super().get_route_handler()

        async def worded(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as problem:
                return _refusal(Invalid(problems.sentence(problem)), request.state.request_id)
            except RecursionError:
                return _refusal(problems.TooDeep(), request.state.request_id)
            except LtstError as problem:
                return _refusal(problem, request.state.request_id)

        return worded


ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "object"}}}
SAID = {"application/json": {"schema": ERROR}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"content": SAID} for status in (400, 401, 403, 404, 409, 422, 502, 503)
}
router = APIRouter(prefix="/v1", tags=["OpenAI-compatible proxy"], route_class=WordedRoute, responses=REFUSALS)

# A model of this name is an agent of this server.
OWN = "ltst/"
ROLES = (*LEADING, *STORED_AS)
CHAT_HEADER = "X-Chat-Id"

ChatId = Annotated[Id | None, Header(alias=CHAT_HEADER, description="Which conversation; else its beginning tells.")]
AgentName = Annotated[Id | None, Header(alias="X-Agent-Name", description="Whose instructions apply.")]

REQUEST: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "description": "As OpenAI describes it. What is not named here is passed on untouched.",
                    "required": ["model", "messages"],
                    "properties": {
                        "model": {"type": "string", "minLength": 1},
                        "messages": {
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "type": "object",
                                "required": ["role", "content"],
                                "properties": {"role": {"enum": [*ROLES]}, "content": {}},
                            },
                        },
                        "stream": {"type": "boolean"},
                        "user": {
                            "type": "string",
                            "description": "Whose memory it is; a user's own key takes no other.",
                        },
                    },
                    "example": {"model": "ltst/recall", "messages": [{"role": "user", "content": "Where do I live?"}]},
                }
            }
        },
    }
}
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What the model answers, as it is; a stream if one was asked for.",
        "content": {"application/json": {"schema": {"type": "object"}}, EVENT_STREAM: {"schema": {"type": "string"}}},
    }
}


@router.post("/chat/completions", openapi_extra=REQUEST, responses=ANSWER, response_class=Response)
async def complete(
    request: Request, caller: Calling, chat_id: ChatId = None, agent: AgentName = None, key: IdempotencyKey = None
) -> Response:
    """Answer as the model behind this server does, with what is remembered in the prompt; both sides are kept."""
    body = await _read(request)
    user = memory_of(request, _acting(request, caller, body))
    model = body.get("model")
    if isinstance(model, str) and model.startswith(OWN):
        return await _own(request, user, body, chat_id, key)
    relay: Relay = request.app.state.relay
    if not relay.leads_somewhere:
        others = f"ask for {OWN}recall, or set LTST_PROXY_BASE_URL or LTST_LLM_MODEL"
        if not model:
            raise Invalid(f"model is missing: {others}")
        raise NotFound(f"there is no model {model!r} here: {others}")
    return _passed(await relay.complete(user, body, chat_id=chat_id, agent=agent, headers=dict(request.headers)))


@router.get("/models", responses=ANSWER, response_class=Response)
async def models(request: Request, caller: Calling) -> Response:
    """Return the models to choose from: those behind this server, and its own agents."""
    turns: Turns = request.app.state.turns
    own = [_model(f"{OWN}{agent.name}") for agent in turns.agents.list()]
    relay: Relay = request.app.state.relay
    if not relay.leads_somewhere:
        return _listed(own)
    passage = await relay.send("GET", "/models", headers=dict(request.headers))
    try:
        body = b"".join([part async for part in passage.aiter_bytes()])
    finally:
        await passage.aclose()
    try:
        upstream = json.loads(body)["data"]
    except (ValueError, KeyError, TypeError):
        upstream = None
    if not passage.ok or not isinstance(upstream, list):
        return Response(body, passage.status, headers=dict(passage.headers))
    return _listed([*upstream, *own])


async def _read(request: Request) -> Mapping[str, Any]:
    try:
        return checked(json.loads(await request.body()))
    except ValueError as problem:
        if isinstance(problem, LtstError):
            raise
        raise Invalid("the request must be a JSON object with messages, a list of at least one") from None


def _acting(request: Request, caller: Caller, body: Mapping[str, Any]) -> Caller:
    """Return the caller, acting for the end user that the field `user` names."""
    named = body.get("user")
    if named is None or named == "":
        return caller
    if not isinstance(named, str):
        raise Invalid("user must be a text: the id of the user whose memory it is")
    if caller.admin and USER_HEADER in request.headers and named != caller.user_id:
        raise Invalid(f"the header {USER_HEADER} names one user and the field user another: send one of them")
    return caller.acting_for(named, "the field user")


def _passed(relayed: Relayed) -> Response:
    headers = {**relayed.headers, CHAT_HEADER: relayed.chat_id}
    return StreamingResponse(relayed.aiter_bytes(), relayed.status, headers=headers)


async def _own(
    request: Request, user: AsyncUser, body: Mapping[str, Any], chat_id: str | None, key: str | None
) -> Response:
    """Answered by an agent of this server, which knows the turns before the newest from the memory."""
    if unknown := [each["role"] for each in body["messages"] if each["role"] not in ROLES]:
        raise Invalid(f"the role of a message must be one of {', '.join(ROLES)}, not {unknown[0]!r}")
    said = turn(body["messages"][-1])
    if said is None or said["role"] != "human":
        raise Invalid("the last of messages must be what the user says: an agent answers nothing else")
    turns: Turns = request.app.state.turns
    agent = turns.agents.get(str(body["model"]).removeprefix(OWN)).name
    chat = user.chat(chat_id or conversation_id(body["messages"]), agent=agent)
    await remember(chat, body["messages"][:-1])
    begun = await turns.begin(user, said["content"], chat_id=chat.session_id, agent_name=agent, key=key)
    headers = {CHAT_HEADER: begun.chat_id}
    if body.get("stream") is True:
        told = _streamed(begun, str(body["model"]), request.state.request_id)
        return StreamingResponse(told, media_type=EVENT_STREAM, headers=headers)
    result = await begun.done()
    answer = _completion(begun, str(body["model"]), "chat.completion")
    answer["choices"] = [
        {"index": 0, "message": {"role": "assistant", "content": result.reply}, "finish_reason": "stop"}
    ]
    return Response(json.dumps(answer), media_type="application/json", headers=headers)


async def _streamed(begun: Turn, model: str, request_id: str) -> AsyncIterator[str]:
    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return event({**_completion(begun, model, "chat.completion.chunk"), "choices": choices})

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for piece in begun.pieces():
            yield chunk({"content": piece})
        await begun.done()
    except LtstError as problem:
        yield event(_worded(problem, request_id))
        return
    yield chunk({}, "stop")
    yield "data: [DONE]\n\n"


def _worded(problem: LtstError, request_id: str) -> dict[str, Any]:
    told = problems.of_error(problem, request_id)
    code = told["type"].rpartition(":")[2].replace("-", "_")
    return {"error": {"message": told.pop("detail"), "code": code, "param": None, **told}}


def _refusal(problem: LtstError, request_id: str) -> Response:
    status = problems.status_of(problem)
    return JSONResponse(_worded(problem, request_id), status, headers=problems.HEADERS.get(status))


def _completion(begun: Turn, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{begun.message_id}", "object": kind, "created": int(time.time()), "model": model}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ltst"}


def _listed(found: list[Any]) -> Response:
    return Response(json.dumps({"object": "list", "data": found}), media_type="application/json")
