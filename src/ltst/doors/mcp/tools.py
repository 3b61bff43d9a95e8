"""The MCP tools: the everyday ones, some of which are not plain verbs, and all verbs of the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Unpack

from ltst.arguments import Agent, Budget, Choices, Content, Few, Identifier, Letters, Passed, SearchFilters
from ltst.doors.mcp.quotes import PREAMBLE
from ltst.doors.mcp.telling import in_json
from ltst.doors.mcp.toolbox import VerbTool
from ltst.errors import Invalid, Unavailable
from ltst.handles.facts import About, Key
from ltst.memory import AsyncUser
from ltst.recall.context import Context
from ltst.records import Fact, Hit
from ltst.support.logs import LOGGER
from ltst.verbs.catalog import VERBS
from ltst.verbs.shapes import Answer
from ltst.verbs.verb import ADDS, READS, REMOVES, REPLACES, Verb

FORGOTTEN = ("fact", "preference", "message", "note", "document", "conversation")


class Remembered(Answer):
    """What was stored: messages of a conversation, or a free-standing note."""

    kind: str
    ids: list[str]
    session_id: str | None


async def remember(
    user: AsyncUser,
    content: Annotated[Content, "What to remember, word for word."],
    session_id: Annotated[Identifier | None, "The conversation it was said in. Left out: a note by itself."] = None,
    role: Annotated[str, Choices(("user", "assistant", "tool")), "Who says it; a tool or a web page is tool."] = "user",
    reply: Annotated[Content | None, "What the assistant answered; both are stored, or neither."] = None,
    at: Annotated[datetime | None, "When it was said, with the zone; now, if left out."] = None,
    # The keys of the message and its reply are longer by two characters.
    key: Annotated[str | None, Letters(253), "Stored again with the same key, it is stored once."] = None,
) -> Remembered:
    """Store something in long-term memory, whenever the user tells something worth knowing later or asks for it.

    Facts and preferences are learnt from what is said in a conversation. It is durable when this answers.
    """
    if session_id is None:
        if reply is not None or role not in ("user", "human") or key is not None:
            raise Invalid("role, reply and key are for messages of a conversation: give its session_id too")
        entry = await user.entries.add(content, occurred_at=at)
        return Remembered(kind="entry", ids=[str(entry.entry_id)], session_id=None)
    said: list[dict[str, Any]] = [{"role": role, "content": content, "at": at}]
    if reply is not None:
        said.append({"role": "assistant", "content": reply, "at": at})
    keyed = [{**each, "key": key and f"{key}:{number}"} for number, each in enumerate(said, start=1)]
    stored = await user.chat(session_id).add_many(keyed)
    await _learn(user, session_id)
    return Remembered(kind="message", ids=[str(each.message_id) for each in stored], session_id=session_id)


async def _learn(user: AsyncUser, session_id: str) -> None:
    """Learns at once, because a model may ask for facts next; if that fails, the background learns later."""
    try:
        await user.learning.catch_up(session_id)
    except Unavailable as problem:
        LOGGER.warning("what was remembered is learnt later", extra={"reason": str(problem)})


async def search_memory(
    user: AsyncUser,
    query: Annotated[
        Content | None, "What to look for, as a question or in words. Dates count: last May. The newest, if left out."
    ] = None,
    limit: Few = 10,
    offset: Passed = 0,
    **filters: Unpack[SearchFilters],
) -> list[Hit]:
    """Search all that is remembered about the user, by meaning, words and time, the best first.

    Use it before you answer from memory, and before you say that you do not know something about the user.
    """
    return await user.search(query, limit=limit, offset=offset, **filters)


async def get_context(
    user: AsyncUser,
    session_id: Annotated[Identifier | None, "The conversation that goes on; left out, a new one."] = None,
    query: Annotated[Content | None, "What the user asks now; it stands last."] = None,
    about: Annotated[Content | None, "What to recall, where nothing is asked."] = None,
    max_tokens: Budget = 4000,
    agent: Annotated[Agent, "The agent whose instructions to include."] = None,
) -> Context:
    """Return all that is remembered and matters now, in one text: when a conversation begins or goes on.

    Instructions, preferences, facts, what is recalled, working memory and the newest messages.
    """
    return await user.chat(session_id, agent=agent).context(query, max_tokens=max_tokens, about=about)


async def correct(
    user: AsyncUser,
    key: Key,
    value: Annotated[Content | None, "What is true from now on."] = None,
    wrong: Annotated[Content | None, "A value that never was true; it is never learnt again."] = None,
    about: About = "me",
) -> list[Fact]:
    """Correct a fact about the user or others, or note one that is stated: give what is true, what is wrong, or both.

    What was true before stays in the history.
    """
    if value is None and wrong is None:
        raise Invalid("give value, wrong or both")
    struck = [] if wrong is None else await user.facts.reject(key, wrong, about=about)
    return struck if value is None else [*struck, await user.facts.set(key, value, about=about)]


async def forget(
    user: AsyncUser,
    kind: Annotated[str, Choices(FORGOTTEN), "What it is."],
    id: Annotated[Identifier, "The key of a fact or a preference; of anything else its id."],
    about: Annotated[About, "Whom a fact is about; me for the user."] = "me",
) -> bool:
    """Remove something for good, with what was learnt from it alone. Only when the user asks for it."""
    if kind == "message":
        message = await user.message(id)
        if message is not None:
            await user.chat(message.session_id).remove(id)
        return message is not None
    if kind == "fact":
        return await user.facts.forget(id, about=about)
    forgets = {
        "preference": user.preferences.forget,
        "note": user.entries.forget,
        "document": user.documents.forget,
        "conversation": user.sessions.delete,
    }
    if kind not in forgets:
        raise Invalid(f"kind must be one of {', '.join(FORGOTTEN)}")
    return await forgets[kind](id)


OWN = (
    Verb(remember, ADDS, tool="remember"),
    Verb(search_memory, READS, tool="search_memory"),
    Verb(get_context, READS, tool="get_context"),
    Verb(correct, REPLACES, tool="correct"),
    Verb(forget, REMOVES, tool="forget", missing="{kind} {id!r}"),
)


def _remembered(done: Remembered) -> str:
    where = "" if done.session_id is None else " of the conversation"
    return f"Stored as {done.kind}{where}: {', '.join(done.ids)}."


# Wording of answers that are not rendered as quoted records.
SAID: Mapping[str, Callable[[Any], str]] = {
    "remember": _remembered,
    "get_context": lambda done: done.text or "Nothing is remembered yet.",
    "get_profile": lambda done: f"{PREAMBLE}\n{in_json(done, kind='profile')}",
    "export_memory": lambda done: json.dumps(done, ensure_ascii=False, default=str),
    "fork_session": lambda done: f"The copy is {json.dumps(done.session_id)}.",
}


def _tool(verb: Verb) -> VerbTool:
    name = verb.tool or verb.name
    return VerbTool(name, verb, SAID.get(name), whole=name == "export_memory")


_VERBS = [*OWN, *(each for verbs in VERBS.values() for each in verbs if each.tool != "-")]
ALL: Mapping[str, VerbTool] = {tool.name: tool for tool in map(_tool, _VERBS)}
EVERYDAY: Mapping[str, VerbTool] = {
    name: ALL[name]
    for name in (
        "remember",
        "search_memory",
        "get_context",
        "list_facts",
        "correct",
        "forget",
        "set_preference",
        "read_session",
    )
}
SETS = {"everyday": EVERYDAY, "all": ALL}
