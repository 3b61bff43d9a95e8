"""Shared by the proxy's routes: errors in OpenAI's format, the user, and the agents of this server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute

from ltst.agents.history import LEADING, STORED_AS, PlacedRequest, turn
from ltst.agents.relay import Api, Relay, Relayed, conversation_id, remember
from ltst.agents.turns import Turn, Turns
from ltst.doors.http import problems
from ltst.doors.http.callers import memory_of
from ltst.doors.http.routes.common import EVENT_STREAM
from ltst.errors import Invalid, LtstError, NotFound
from ltst.handles.callers import USER_HEADER, Caller
from ltst.memory import AsyncUser
from ltst.providers.endpoint import EndpointAnswer
from ltst.verbs.wire import Id


class WordedRoute(APIRoute):
    """A route whose errors are in OpenAI's format, which its clients understand."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer, or say what went wrong."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as problem:
                return _refusal(Invalid(problems.sentence(problem)), request.state.request_id)
            except RecursionError:
                return _refusal(problems.TooDeep(), request.state.request_id)
            except LtstError as problem:
                return _refusal(problem, request.state.request_id)

        return answered


ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "object"}}}
SAID = {"application/json": {"schema": ERROR}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"content": SAID} for status in (400, 401, 403, 404, 409, 422, 502, 503)
}
router = APIRouter(prefix="/v1", tags=["OpenAI-compatible proxy"], route_class=WordedRoute, responses=REFUSALS)

Body = Mapping[str, Any]

# Prefix of model names that stand for agents of this server.
OWN = "ltst/"
ROLES = (*LEADING, *STORED_AS)
CHAT_HEADER = "X-Chat-Id"

ChatId = Annotated[Id | None, Header(alias=CHAT_HEADER, description="Which conversation; else its beginning tells.")]
AgentName = Annotated[Id | None, Header(alias="X-Agent-Name", description="Whose instructions apply.")]

USER_FIELD = {"type": "string", "description": "Whose memory it is; a user's own key takes no other."}
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What the model answers, as it is; a stream if one was asked for.",
        "content": {"application/json": {"schema": {"type": "object"}}, EVENT_STREAM: {"schema": {"type": "string"}}},
    }
}
WHOLE: dict[int | str, dict[str, Any]] = {
    200: {"description": "In OpenAI's shape.", "content": {"application/json": {"schema": {"type": "object"}}}}
}


def described(required: Sequence[str], properties: Mapping[str, Any], example: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the documentation of a request of which only some fields are read here."""
    schema = {
        "type": "object",
        "description": "As OpenAI describes it. What is not named here is passed on untouched.",
        "required": [*required],
        "properties": {"model": {"type": "string", "minLength": 1}, **properties, "user": USER_FIELD},
        "example": dict(example),
    }
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


async def read(request: Request) -> Any:
    """Returns the JSON body of a request, or None, which no route accepts, if it is not JSON."""
    try:
        return json.loads(await request.body())
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Wording:
    """How an agent of this server answers in one of OpenAI's formats: at once, or as events."""

    api: Api
    whole: Callable[[Turn, Body, str], dict[str, Any]]
    streamed: Callable[[Turn, Body, str], AsyncIterator[str]]


async def answer(
    wording: Wording, request: Request, caller: Caller, chat_id: str | None, agent: str | None, key: str | None
) -> Response:
    """Answers a request: with the model behind this server, or with one of its agents if the model names it."""
    api = wording.api
    body = api.checked(await read(request))
    user = memory_of(request, _acting(request, caller, body))
    if not is_own(body.get("model")):
        relay = relay_for(request, body.get("model"))
        return _passed(await relay.answer(api, user, body, chat_id=chat_id, agent=agent, headers=dict(request.headers)))
    place = await api.placed(user, body, chat_id)
    begun = await _begin(request, user, api, place, key)
    headers = {CHAT_HEADER: begun.chat_id}
    if body.get("stream") is True:
        events = wording.streamed(begun, body, request.state.request_id)
        return StreamingResponse(events, media_type=EVENT_STREAM, headers=headers)
    return answered(wording.whole(begun, body, (await begun.done()).reply), headers)


def _acting(request: Request, caller: Caller, body: Body) -> Caller:
    """Return the caller, acting for the end user that the field `user` names."""
    named = body.get("user")
    if named is None or named == "":
        return caller
    if not isinstance(named, str):
        raise Invalid("user must be a text: the id of the user whose memory it is")
    if caller.admin and USER_HEADER in request.headers and named != caller.user_id:
        raise Invalid(f"the header {USER_HEADER} names one user and the field user another: send one of them")
    return caller.acting_for(named, "the field user")


def is_own(model: object) -> bool:
    """Returns whether a model name stands for an agent of this server."""
    return isinstance(model, str) and model.startswith(OWN)


def relay_for(request: Request, model: object) -> Relay:
    """Returns the relay to the models behind this server; raises NotFound if there are none."""
    relay: Relay = request.app.state.relay
    if not relay.leads_somewhere:
        others = f"ask for {OWN}recall, or set LTST_PROXY_BASE_URL or LTST_LLM_MODEL"
        if not model:
            raise Invalid(f"model is missing: {others}")
        raise NotFound(f"there is no model {model!r} here: {others}")
    return relay


def _passed(relayed: Relayed) -> Response:
    """Returns a model's answer as it arrives."""
    headers = {**relayed.headers, CHAT_HEADER: relayed.chat_id}
    return StreamingResponse(relayed.aiter_bytes(), relayed.status, headers=headers)


async def passed_whole(passage: EndpointAnswer) -> Response:
    """Returns any other answer, read to its end."""
    try:
        return Response(await passage.read(), passage.status, headers=dict(passage.headers))
    finally:
        await passage.aclose()


async def _begin(request: Request, user: AsyncUser, api: Api, place: PlacedRequest, key: str | None) -> Turn:
    """Lets an agent of this server answer; it takes earlier turns from the memory."""
    messages = api.messages(place.body)
    if unknown := [each["role"] for each in messages if each["role"] not in ROLES]:
        raise Invalid(f"the role of a message must be one of {', '.join(ROLES)}, not {unknown[0]!r}")
    said = turn(messages[-1]) if messages else None
    if said is None or said["role"] != "human":
        raise Invalid(f"the last of {api.field} must be what the user says: an agent answers nothing else")
    turns: Turns = request.app.state.turns
    agent = turns.agents.get(place.body["model"].removeprefix(OWN)).name
    chat = user.chat(place.chat_id or conversation_id(messages), agent=agent)
    await remember(chat, messages[:-1])
    return await turns.begin(user, said["content"], chat_id=chat.session_id, agent_name=agent, key=key)


def worded(problem: LtstError, request_id: str) -> dict[str, Any]:
    """Returns an error in OpenAI's format."""
    document = problems.of_error(problem, request_id)
    code = document["type"].rpartition(":")[2].replace("-", "_")
    return {"error": {"message": document.pop("detail"), "code": code, "param": None, **document}}


def _refusal(problem: LtstError, request_id: str) -> Response:
    status = problems.status_of(problem)
    return JSONResponse(worded(problem, request_id), status, headers=problems.HEADERS.get(status))


def answered(body: Body, headers: Mapping[str, str] | None = None) -> Response:
    """Returns this server's own answer as JSON."""
    return Response(json.dumps(body), media_type="application/json", headers=headers)
