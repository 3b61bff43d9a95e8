"""Chat on the page: streams answers, and shows beside them what was recalled and learned, and the prompt."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from ltst.agents.loader import NO_MODEL, Agent
from ltst.agents.memories import Memory, plain_fact, plain_message
from ltst.agents.turns import Turn
from ltst.doors.web.pages import FAILED, PageRoute, address, leading, page, written
from ltst.doors.web.prompts import PromptPart, parts_of
from ltst.doors.web.visits import Visit, Visited
from ltst.errors import LtstError, NotFound
from ltst.handles import viewing
from ltst.recall.context import Context
from ltst.records import ConversationMessage, ConversationSession
from ltst.support.logs import LOGGER
from ltst.support.tokens import count

router = APIRouter(route_class=PageRoute)

EVENT_STREAM = "text/event-stream"
SHOWN = 50  # of the newest messages


@router.get("/")
async def begin(visit: Visited) -> Response:
    """Show a new conversation, or the example."""
    if "demo" in visit.request.query_params:
        return leading("/demo")
    known = await visit.user.sessions.list(limit=1)
    return page(visit, "chat.html", **_chat(visit, None, ()), title="Chat", new=not known, beside=None)


@router.get("/chat")
async def go_on(visit: Visited) -> Response:
    """Show a conversation, to go on with it."""
    session_id = visit.need("id")
    session = await visit.user.sessions.get(session_id)
    if session is None:
        raise NotFound(f"there is no conversation {session_id!r}")
    shown = await visit.user.chat(session_id).window(SHOWN)
    told = await _last(visit, session, shown)
    titles = await viewing.titles(visit.desk, [session_id])
    return page(visit, "chat.html", **_chat(visit, session, shown), title=titles[session_id], new=False, beside=told)


@router.post("/chat")
async def say(visit: Visited) -> Response:
    """Say something: streamed to a script, else the conversation once it is answered."""
    agent = visit.asked("agent") or None
    said = visit.asked("message")
    turn = await visit.turns.begin(visit.user, said, chat_id=visit.asked("id") or None, agent_name=agent)
    if EVENT_STREAM in visit.request.headers.get("accept", ""):
        return StreamingResponse(_events_of(visit, turn), media_type=EVENT_STREAM)
    await turn.done()
    return leading("/chat", id=turn.chat_id)


def _chat(visit: Visit, session: Any, shown: Sequence[ConversationMessage]) -> dict[str, Any]:
    agents = visit.turns.agents
    offered = [(each, agents.can_answer(each)) for each in agents.list()]
    able = {each.name for each, can in offered if can}
    chosen = session.agent_name if session and session.agent_name in able else agents.get().name
    return {"agents": offered, "chosen": chosen, "session": session, "messages": shown}


async def _events_of(visit: Visit, turn: Turn) -> AsyncIterator[str]:
    """Yields the turn as events; the last one is the panel beside the chat, or an error."""
    yield _event("start", chat_id=turn.chat_id, address=address("/chat", id=turn.chat_id))
    try:
        async for piece in turn.pieces():
            yield _event("delta", text=piece)
        result = await turn.done()
        prompt = turn.context or await turn.chat.context(turn.message, max_tokens=turn.agent.max_tokens)
        told = await _beside(visit, turn.agent, turn.message, result.memories, prompt)
        yield _event("done", beside=written(visit, "beside.html", beside=told))
    except LtstError as problem:
        yield _event("error", detail=str(problem))
    except Exception as problem:  # noqa: BLE001 - the edge of the door: whoever listens is told that it is over
        LOGGER.error("a stream failed", exc_info=problem, extra={"request_id": visit.request.state.request_id})
        yield _event("error", detail=FAILED)


def _event(name: str, **data: str) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def _last(
    visit: Visit, session: ConversationSession, shown: Sequence[ConversationMessage]
) -> dict[str, Any] | None:
    """Returns the panel beside the last answer, rebuilt."""
    said = [each for each in shown if each.role == "human"]
    if not said:
        return None
    agents = visit.turns.agents
    known = {each.name for each in agents.list()}
    agent = agents.get(session.agent_name if session.agent_name in known else None)
    noted = next((each.metadata for each in reversed(shown) if each.role == "ai"), {})
    chat = visit.user.chat(session.session_id, agent=agent.name)
    prompt = await chat.context(said[-1], max_tokens=agent.max_tokens)
    return await _beside(visit, agent, said[-1], await _recalled(visit, noted), prompt)


async def _recalled(visit: Visit, noted: Mapping[str, Any]) -> list[Memory]:
    """Returns the memories that an answer rests on, from the kinds and ids stored with it."""
    kept = noted.get("memories")
    wanted = [each for each in kept if isinstance(each, dict)] if isinstance(kept, list) else []
    facts = {each.fact_id: each for each in await visit.user.facts.list()}
    said = await viewing.messages_by_id(
        visit.desk, (str(each.get("id")) for each in wanted if each.get("kind") == "message")
    )
    found: list[Memory] = []
    for kind, id in [(each.get("kind"), str(each.get("id"))) for each in wanted[:SHOWN]]:
        if kind == "fact" and id in facts:
            found.append(plain_fact(facts[id]))
        elif kind == "message" and id in said:
            found.append(plain_message(said[id]))
    return found


async def _beside(
    visit: Visit, agent: Agent, said: ConversationMessage, memories: Sequence[Mapping[str, Any]], prompt: Context
) -> dict[str, Any]:
    await visit.user.learning.catch_up(said.session_id)
    parts = parts_of(prompt, agent.max_tokens)
    if agent.system_prompt and agent.model != NO_MODEL:
        parts.insert(0, PromptPart("agent", agent.system_prompt, count(agent.system_prompt)))
    return {
        "recalled": memories,
        "learnt": await _learnt(visit, said),
        "parts": parts,
        "tokens": sum(each.tokens for each in parts) or 1,
        "budget": agent.max_tokens,
        "sent": agent.model != NO_MODEL,
        "first": len(await visit.user.sessions.list(limit=2)) == 1,
    }


async def _learnt(visit: Visit, said: ConversationMessage) -> list[tuple[str, str]]:
    """Returns what was learned from this message, each with its kind."""
    user, source = visit.user, said.message_id
    facts = [(each.label, each.value) for each in await user.facts.list() if each.source_message_id == source]
    stated = await user.statements.list(session_id=said.session_id, limit=SHOWN)
    wishes = await user.preferences.list()
    return [
        *facts,
        *(("wish: " + each.key, each.value) for each in wishes if source in each.metadata.get("sources", ())),
        *(("said", each.content) for each in stated if each.message_id == source),
    ]
