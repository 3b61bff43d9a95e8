"""Tools that let a model use its user's memory, if its agent allows them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ltst.errors import Conflict, Invalid, NotFound
from ltst.memory import AsyncUser
from ltst.records import ME, ConversationMessage, Hit

FOUND = 8
LONGEST_QUOTE = 1000
# What a model claims about its user is slightly less certain than what the user sets.
CONFIDENCE = 0.9


class Outcome(NamedTuple):
    """The result for the model, and the hits that a tool found."""

    answer: Mapping[str, Any]
    found: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool: its description, its required and optional parameters (all strings), and the function that runs it."""

    description: str
    parameters: Mapping[str, str]
    run: Callable[[Toolbox, Mapping[str, str]], Awaitable[Outcome]]
    optional: Mapping[str, str] = field(default_factory=dict)

    def spec(self, name: str) -> dict[str, Any]:
        """Returns the tool in OpenAI's format."""
        described = {each: {"type": "string", "description": what} for each, what in self._all.items()}
        schema = {
            "type": "object",
            "properties": described,
            "required": [*self.parameters],
            "additionalProperties": False,
        }
        return {"type": "function", "function": {"name": name, "description": self.description, "parameters": schema}}

    def checked(self, written: object) -> dict[str, str]:
        """Returns the validated arguments; a model may write anything."""
        try:
            given = json.loads(written) if isinstance(written, str) else written
        except ValueError:
            given = None
        accepted = f"a JSON object with the texts {', '.join(self._all)}"
        if not isinstance(given, dict) or not self.parameters.keys() <= given.keys() <= self._all.keys():
            raise Invalid(f"the arguments must be {accepted}")
        if not all(isinstance(each, str) for each in given.values()):
            raise Invalid(f"the arguments must be {accepted}; each is a text")
        return given

    @property
    def _all(self) -> dict[str, str]:
        return {**self.parameters, **self.optional}


async def _search(box: Toolbox, arguments: Mapping[str, str]) -> Outcome:
    found = await box.user.search(arguments["query"], limit=FOUND, without=box.message.content)
    return Outcome({"found": [_as_result(hit) for hit in found]}, tuple(found))


def _as_result(hit: Hit) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": hit.kind, "content": hit.content[:LONGEST_QUOTE]}
    if hit.occurred_at is not None:
        shown["at"] = f"{hit.occurred_at:%Y-%m-%d %H:%M}"
    if hit.speaker is not None:
        shown["from"] = hit.speaker
    return shown if hit.trusted else shown | {"trust": "low"}


async def _remember(box: Toolbox, arguments: Mapping[str, str]) -> Outcome:
    fact = await box.user.facts.set(
        arguments["key"],
        arguments["value"],
        confidence=CONFIDENCE,
        source_message_id=box.message.message_id,
        about=arguments.get("about", ME),
    )
    return Outcome({"remembered": fact.line})


async def _prefer(box: Toolbox, arguments: Mapping[str, str]) -> Outcome:
    wanted = await box.user.preferences.set(arguments["key"], arguments["value"])
    return Outcome({"preference": f"{wanted.key}: {wanted.value}"})


async def _instruct(box: Toolbox, arguments: Mapping[str, str]) -> Outcome:
    order = await box.user.instructions.set(box.agent, arguments["content"])
    return Outcome({"instruction": order.content, "version": order.version})


TOOLS: Mapping[str, ModelTool] = {
    "search_memory": ModelTool(
        "Search everything that is remembered about the user: earlier messages, facts, notes, documents.",
        {"query": "what to look for, in words"},
        _search,
    ),
    "remember_fact": ModelTool(
        "Remember a lasting fact about the user, or somebody they know, as they stated it in this conversation. A new "
        "value replaces the old.",
        {"key": "a short name such as home, job or name", "value": "the value, such as Lisbon"},
        _remember,
        {"about": "left out for the user; else a name or relation as the user said it, such as Dani"},
    ),
    "set_preference": ModelTool(
        "Remember how the user wants things, when they say so.",
        {"key": "a short name such as units or tone", "value": "the wish, such as metric"},
        _prefer,
    ),
    "set_instruction": ModelTool(
        "Change what the user wants you to always do, only when the user asks for it. It replaces all of the "
        "instructions so far, so repeat what stays.",
        {"content": "the whole instruction"},
        _instruct,
    ),
}


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that an agent allows, for one user and the message being answered."""

    allowed: tuple[str, ...]
    user: AsyncUser
    agent: str
    message: ConversationMessage

    def specs(self) -> list[dict[str, Any]]:
        """Returns the tools for a request to a model."""
        return [TOOLS[name].spec(name) for name in self.allowed]

    async def use(self, name: object, arguments: object) -> Outcome:
        """Runs a tool for a model; a mistake becomes an error result, so that the model can correct it."""
        try:
            if not isinstance(name, str) or name not in self.allowed:
                raise Invalid(f"there is no tool {str(name)[:60]!r}; there are {', '.join(self.allowed)}")
            tool = TOOLS[name]
            return await tool.run(self, tool.checked(arguments))
        except (Invalid, NotFound, Conflict) as problem:
            return Outcome({"error": str(problem)})
