"""The toolbox: a function and what is said of it become a tool of the protocol."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import mcp_types as protocol
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ltst.doors.mcp.fitting import fitting
from ltst.doors.mcp.shapes import Schema
from ltst.doors.mcp.telling import tell
from ltst.errors import Invalid, LtstError
from ltst.memory import AsyncUser
from ltst.support.logs import LOGGER

FEW = 5
STEPS = 100  # so many reports of progress at most for each round of the work
OPAQUE = "something went wrong here; the log of the server tells what"
# Under which name an error's result tells its kind, for programs; the sentence is for everyone.
ERROR = "ltst/error"

Report = Callable[[float, float | None, str | None], Awaitable[None]]


def _hints(*, reads: bool = False, destroys: bool = False, repeats: bool = False) -> protocol.ToolAnnotations:
    return protocol.ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, idempotent_hint=reads or repeats, open_world_hint=False
    )


READS = _hints(reads=True)
ADDS = _hints()
ADDS_ONCE = _hints(repeats=True)  # the same call again changes nothing
REPLACES = _hints(destroys=True, repeats=True)
REMOVES = _hints(destroys=True, repeats=True)


@dataclass
class Asked:
    """Who asks, and how to tell them how far their work is."""

    user: AsyncUser
    report: Report
    _reports: set[asyncio.Task[None]] = field(default_factory=set)
    _round: int = 0
    _told: float = 0.0

    def progress(self, done: int, total: int) -> None:
        """Tell how much of how much is done; when it begins anew, the next round of the work has begun."""
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

    async def told(self) -> None:
        """Return when all that was to be told has been."""
        await asyncio.gather(*self._reports)

    async def _tell(self, share: float, words: str) -> None:
        await self.report(share, None, words)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what it is told to be, what it takes, what it does and what it answers."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    hints: protocol.ToolAnnotations
    everyday: bool
    run: Callable[..., Coroutine[Any, Any, Any]]
    say: Callable[[Any], str]
    whole: bool
    """Whether it is worth nothing when texts in it are cut."""

    def spec(self) -> protocol.Tool:
        """The tool as the protocol describes one."""
        return protocol.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema(),
            output_schema=self.answer.model_json_schema(schema_generator=Schema),
            annotations=self.hints,
        )

    def input_schema(self) -> dict[str, Any]:
        """What the tool takes; what may be left out need not be told to be null."""
        schema = self.arguments.model_json_schema(schema_generator=Schema)
        schema["properties"] = {name: _without_null(each) for name, each in schema.get("properties", {}).items()}
        del schema["title"]
        return schema

    async def use(self, asked: Asked, given: Mapping[str, Any]) -> protocol.CallToolResult:
        """Do it; what goes wrong is told to the model in a sentence, so that it can do better."""
        try:
            arguments = self._checked(given)
            done = await self.run(asked, **arguments)
            await asked.told()
            # Without a limit to ask for less, a list is cut: an error would say that a write was refused.
            drop = "limit" not in self.arguments.model_fields
            return fitting(done, self._result, _size, cut=not self.whole, drop=drop)
        except LtstError as problem:
            return failed(str(problem), type(problem).__name__)
        except Exception as problem:  # noqa: BLE001 - the edge: the reason is for the log, it may hold what a user said
            LOGGER.error("a tool failed", exc_info=problem, extra={"tool": self.name})
            return failed(OPAQUE, LtstError.__name__)

    def _result(self, done: Any, note: str | None) -> protocol.CallToolResult:
        structure = self.answer.model_validate(done).model_dump(mode="json", exclude_none=True)
        said = [self.say(done)] if note is None else [self.say(done), note]
        return protocol.CallToolResult(content=[*map(_text, said)], structured_content=structure)

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            checked = self.arguments.model_validate(given)
        except ValidationError as problem:
            raise Invalid(f"{self.name} does not take this: {_sentence(problem, self.arguments)}") from None
        return {name: getattr(checked, name) for name in self.arguments.model_fields}


def tool(
    title: str,
    hints: protocol.ToolAnnotations,
    answer: Any,
    *,
    say: Callable[[Any], str] | None = None,
    nothing: str = "There is nothing.",
    everyday: bool = False,
    whole: bool = False,
) -> Callable[[Callable[..., Coroutine[Any, Any, Any]]], Tool]:
    """Make a function a tool: its name, docstring and parameters are what a model reads."""

    def made(function: Callable[..., Coroutine[Any, Any, Any]]) -> Tool:
        return Tool(
            function.__name__,
            title,
            inspect.cleandoc(function.__doc__ or ""),
            _arguments(function),
            answer,
            hints,
            everyday,
            function,
            say or (lambda done: tell(done, nothing)),
            whole,
        )

    return made


def failed(sentence: str, kind: str) -> protocol.CallToolResult:
    """A result that says what went wrong."""
    return protocol.CallToolResult(content=[_text(sentence)], is_error=True, _meta={ERROR: kind})


def _size(answer: protocol.CallToolResult) -> int:
    return len(answer.model_dump_json(by_alias=True).encode())


def _text(said: str) -> protocol.TextContent:
    return protocol.TextContent(type="text", text=said)


def _arguments(function: Callable[..., Any]) -> type[BaseModel]:
    """The parameters of a function after the first, as a model that takes nothing else."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    taken: dict[str, Any] = {
        each.name: (hints[each.name], ... if each.default is inspect.Parameter.empty else each.default) for each in own
    }
    model: type[BaseModel] = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **taken)
    return model


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if not (name == "default" and value is None)}
    if len(kept) != 1:
        return rest
    return {**kept[0], **{name: value for name, value in rest.items() if name != "anyOf"}}


def _sentence(problem: ValidationError, arguments: type[BaseModel]) -> str:
    """What of the arguments is not accepted, and why; never what was given."""
    said = [f"{_place(each['loc'])}: {each['msg']}" for each in problem.errors()[:FEW]]
    if any(each["type"] == "extra_forbidden" for each in problem.errors()):
        said.append(f"it takes {', '.join(arguments.model_fields) or 'nothing'}")
    return "; ".join(said)


def _place(location: tuple[int | str, ...]) -> str:
    """The argument, without the steps that pydantic takes within it; a name that was made up is cut short."""
    return str(location[0])[:60] if location else "arguments"
