"""Prompts that people can choose to begin a conversation that uses memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import mcp_types as protocol
from mcp.shared.exceptions import MCPError

from ltst.doors.mcp import resources, telling
from ltst.errors import Invalid, LtstError, NotFound
from ltst.memory import AsyncUser

FOUND = 20
BUDGET = 4000

Arguments = Mapping[str, str]


class Prompt(NamedTuple):
    """A prompt: its title and description, its arguments (and whether each is required), and its text."""

    title: str
    description: str
    arguments: Mapping[str, tuple[str, bool]]
    write: Callable[[AsyncUser, Arguments], Awaitable[str]]

    def spec(self, name: str) -> protocol.Prompt:
        """Return the prompt as the protocol describes one."""
        arguments = [
            protocol.PromptArgument(name=each, description=what, required=needed)
            for each, (what, needed) in self.arguments.items()
        ]
        return protocol.Prompt(name=name, title=self.title, description=self.description, arguments=arguments)

    def checked(self, given: Arguments) -> Arguments:
        """Return the checked arguments, without the blank ones."""
        kept = {name: value for name, value in given.items() if value.strip()}
        missing = [name for name, (_, needed) in self.arguments.items() if needed and name not in kept]
        if missing or not kept.keys() <= self.arguments.keys():
            wanted = f"; {', '.join(missing)} must be there" if missing else ""
            raise Invalid(f"this prompt takes {', '.join(self.arguments)}{wanted}")
        return kept


async def _recall(user: AsyncUser, given: Arguments) -> str:
    found = await user.search(given["topic"], limit=FOUND)
    memories = telling.tell({"items": found}, "Nothing is remembered about it.")
    return (
        f"What do you remember about this: {given['topic']}\n\nThis is what memory holds:\n\n{memories}\n\n"
        "Tell me what you know about it, with dates where they matter, and where you know it from. "
        "If memory does not hold it, say so."
    )


async def _begin(user: AsyncUser, given: Arguments) -> str:
    about = given.get("topic")
    packed = await user.chat(given.get("session_id")).context(about=about, max_tokens=BUDGET)
    known = packed.text or "Nothing is remembered yet."
    return (
        f"This is what you know about me and about what we said before:\n\n{known}\n\n"
        "Go on from there. Greet me shortly, and keep to my preferences. While we talk, store what is worth knowing "
        "later with the tool remember."
    )


async def _summarise(user: AsyncUser, given: Arguments) -> str:
    session_id = given["session_id"]
    transcript = await resources.transcript(user, session_id)
    if transcript is None:
        raise NotFound(f"no session {session_id!r}")
    return (
        f"{transcript}\n\nSummarise this conversation in at most ten sentences: what was decided, what is open, and "
        "what was said about me that will matter later. Then store the summary with the tool remember, without a "
        "session_id, and each lasting fact about me with the tool correct."
    )


SESSION_ID = "The id of the conversation; ltst://sessions lists them."
PROMPTS: Mapping[str, Prompt] = {
    "recall": Prompt(
        "Recall a topic",
        "Asks what is remembered about a topic, and puts what memory holds about it in front.",
        {"topic": ("What to recall, in words.", True)},
        _recall,
    ),
    "begin": Prompt(
        "Begin with what you know",
        "Begins a conversation with what is known about the user: preferences, facts, what was said before.",
        {"session_id": (f"{SESSION_ID} Left out, a new one.", False), "topic": ("What it will be about.", False)},
        _begin,
    ),
    "summarise_session": Prompt(
        "Summarise a conversation into memory",
        "Gives a conversation to be summarised, and asks for the summary and its facts to be stored.",
        {"session_id": (SESSION_ID, True)},
        _summarise,
    ),
}


async def written(user: AsyncUser, name: str, given: Arguments) -> protocol.GetPromptResult:
    """Return a prompt with its arguments filled in."""
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise MCPError(protocol.INVALID_PARAMS, f"no such prompt; there are {', '.join(PROMPTS)}")
    try:
        said = await prompt.write(user, prompt.checked(given))
    except LtstError as problem:
        raise MCPError(protocol.INVALID_PARAMS, str(problem)) from None
    message = protocol.PromptMessage(role="user", content=protocol.TextContent(type="text", text=said))
    return protocol.GetPromptResult(description=prompt.description, messages=[message])
