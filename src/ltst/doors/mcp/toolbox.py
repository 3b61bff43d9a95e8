"""Makes MCP tools from verbs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_origin

import mcp_types as protocol
from pydantic import BaseModel, TypeAdapter, ValidationError

from ltst.arguments import Argument
from ltst.doors.mcp.fitting import fitting
from ltst.doors.mcp.telling import tell
from ltst.errors import Invalid, LtstError
from ltst.memory import AsyncUser
from ltst.support.logs import LOGGER
from ltst.verbs.shapes import Done
from ltst.verbs.verb import Effect, Verb
from ltst.verbs.wire import model, values

FEW = 5
STEPS = 100  # maximum progress reports per round of the work
OPAQUE = "something went wrong here; the log of the server tells what"
# The key of an error result's metadata that names the class of the error, for programs.
ERROR = "ltst/error"

Report = Callable[[float, float | None, str | None], Awaitable[None]]


# Arguments that clients do not see.
UNSEEN = ("idempotency_key", "progress")
ANY_JSON = "#/$defs/JsonValue"
HEAVY = ("title", "pattern", "minLength", "maxLength", "minItems", "maxItems", "examples")
LARGEST_TOLD = 1000


@dataclass
class ToolCall:
    """The user who calls a tool, and how to report progress."""

    user: AsyncUser
    report: Report
    _reports: set[asyncio.Task[None]] = field(default_factory=set)
    _round: int = 0
    _told: float = 0.0

    def progress(self, done: int, total: int) -> None:
        """Reports progress; when the count starts again, the next round of the work has begun."""
        if not total:
            return
        share = done / total
        if share < self._told - self._round:
            self._round += 1
        grown = self._round + share - self._told
        if grown <= 0 or (grown < 1 / STEPS and done < total):
            return
        self._told = self._round + share
        task = asyncio.ensure_future(self._tell(self._told, f"{done} of {total}"))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)

    async def reported(self) -> None:
        """Waits until all progress reports are sent."""
        await asyncio.gather(*self._reports)

    async def _tell(self, share: float, words: str) -> None:
        await self.report(share, None, words)


@dataclass(frozen=True)
class VerbTool:
    """A verb as a tool of the protocol."""

    name: str
    verb: Verb
    say: Callable[[Any], str] | None = None  # words the answer, if it is not rendered as quoted records
    whole: bool = False  # whether a shortened answer would be useless

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """Return its arguments as a model that takes nothing else."""
        own = [each for name, each in self.verb.arguments.items() if name not in UNSEEN]
        return model(self.name, own)

    @property
    def effect(self) -> Effect:
        """Return what it does to what is stored."""
        return self.verb.effect

    def spec(self, *, structured: bool = False) -> protocol.Tool:
        """Return the tool as the protocol describes one."""
        effect = self.effect
        return protocol.Tool(
            name=self.name,
            title=self.name.replace("_", " ").capitalize(),
            description=self.verb.about,
            input_schema=self.input_schema(),
            output_schema=self._answers.json_schema(mode="serialization") if structured else None,
            annotations=protocol.ToolAnnotations(
                read_only_hint=effect.reads,
                destructive_hint=effect.destroys,
                idempotent_hint=effect.repeats,
                open_world_hint=False,
            ),
        )

    def input_schema(self) -> dict[str, Any]:
        """Returns the input schema, as short as possible for a model."""
        schema: dict[str, Any] = light(self.arguments.model_json_schema())
        return {"type": "object", "properties": {}, **schema, "additionalProperties": False}

    async def use(
        self, asked: ToolCall, given: Mapping[str, Any], *, structured: bool = False
    ) -> protocol.CallToolResult:
        """Runs the tool; errors are told to the model in a sentence, so that it can correct them."""
        try:
            arguments = self._checked(given)
            if "progress" in self.verb.arguments:
                arguments["progress"] = asked.progress
            done = await self.verb.answer(asked.user, arguments)
            await asked.reported()
            # Without a limit argument, a long list is cut; an error would suggest that a write was refused.
            drop = "limit" not in self.arguments.model_fields

            def result(done: Any, note: str | None) -> protocol.CallToolResult:
                said = [self._in_words(done, arguments)] if note is None else [self._in_words(done, arguments), note]
                content = self._structure(done) if structured else None
                return protocol.CallToolResult(content=[*map(_text, said)], structured_content=content)

            return fitting(done, result, _size, cut=not self.whole, drop=drop)
        except LtstError as problem:
            return failed(str(problem), type(problem).__name__)
        except Exception as problem:  # noqa: BLE001 - the reason is only logged: it may contain what a user said
            LOGGER.error("a tool failed", exc_info=problem, extra={"tool": self.name})
            return failed(OPAQUE, LtstError.__name__)

    @cached_property
    def _answers(self) -> TypeAdapter[Any]:
        return TypeAdapter(Done if self.verb.shape is None else self.verb.shape)

    def _in_words(self, done: Any, given: Mapping[str, Any]) -> str:
        if self.say is not None:
            return self.say(done)
        if self.verb.shape is None:
            return "Done." if done else f"There is no {self.verb.missing.format(**given)}."
        return tell(done)

    def _structure(self, done: Any) -> Any:
        found = {"done": done} if self.verb.shape is None else done
        return self._answers.dump_python(self._answers.validate_python(found, from_attributes=True), mode="json")

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        read = {name: structured(value, self.verb.arguments.get(name)) for name, value in given.items()}
        try:
            return values(self.arguments.model_validate(read))
        except ValidationError as problem:
            raise Invalid(f"{self.name} does not take this: {_sentence(problem, self.arguments)}") from None


def failed(sentence: str, kind: str) -> protocol.CallToolResult:
    """Return a result that says what went wrong."""
    return protocol.CallToolResult(content=[_text(sentence)], is_error=True, _meta={ERROR: kind})


def structured(value: Any, argument: Argument | None) -> Any:
    """Returns a value, parsed if a client wrote a list or an object as JSON text."""
    written = isinstance(value, str) and value.lstrip()[:1] in ("[", "{")
    if not written or argument is None or get_origin(argument.kind) is None:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def light(schema: Any) -> Any:
    """Returns a schema without what a model need not read: titles, patterns, lengths, huge bounds and null."""
    if isinstance(schema, list):
        return [light(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kept) == 1:
        schema = {**kept[0], **{name: value for name, value in schema.items() if name != "anyOf"}}
    if schema.get("$ref") == ANY_JSON:
        schema = {name: value for name, value in schema.items() if name != "$ref"}
    found = {name: light(value) for name, value in schema.items() if not _is_heavy(name, value)}
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: light(each) for name, each in schema["properties"].items()}
    return found


def _is_heavy(name: str, value: Any) -> bool:
    if name in ("minimum", "maximum"):
        return bool(abs(value) > LARGEST_TOLD)
    if name == "$defs":
        return set(value) == {"JsonValue"}
    return (
        name in HEAVY or (name, value) == ("default", None) or (name == "additionalProperties" and value is not False)
    )


def _size(answer: protocol.CallToolResult) -> int:
    return len(answer.model_dump_json(by_alias=True).encode())


def _text(said: str) -> protocol.TextContent:
    return protocol.TextContent(type="text", text=said)


def _sentence(problem: ValidationError, arguments: type[BaseModel]) -> str:
    """Returns which arguments are not accepted and why, without repeating their values."""
    said = [f"{_argument_name(each['loc'])}: {each['msg']}" for each in problem.errors()[:FEW]]
    if any(each["type"] == "extra_forbidden" for each in problem.errors()):
        said.append(f"it takes {', '.join(arguments.model_fields) or 'nothing'}")
    return "; ".join(said)


def _argument_name(location: tuple[int | str, ...]) -> str:
    """Returns the name of an argument, shortened because the client may have made it up."""
    return str(location[0])[:60] if location else "arguments"
