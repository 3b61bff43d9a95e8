"""Loads agents from small TOML files; the user's folder adds to the built-in agents and may replace them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from ltst.agents.tools import TOOLS
from ltst.arguments import STRATEGIES
from ltst.errors import Invalid, LtstError, NotFound
from ltst.recall.context import checked_budget
from ltst.settings import Settings
from ltst.support import tokens, validate

BUILTIN = files("ltst.agents") / "builtin"
NO_MODEL = "none"
DEFAULT_MODEL = "default"
HOTTEST = 2.0
MOST_BYTES = 1024 * 1024

# The files of a folder, each with its modification time and size.
Seen = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's settings. `model` is "none", "default" (LTST_LLM_MODEL) or another model at the same endpoint."""

    name: str
    description: str = ""
    system_prompt: str = ""
    model: str = DEFAULT_MODEL
    window: int = 50
    strategy: str = "sliding_window"
    max_tokens: int = 16_000  # enough for a window of 50 messages of 600 characters and everything else
    temperature: float | None = None
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Rejects settings that cannot work, naming the key."""
        validate.identifier(self.name, "name")
        validate.optional_text(self.description, "description", 10_000)
        validate.optional_text(self.system_prompt, "system_prompt", MOST_BYTES)
        validate.identifier(self.model, "model")
        validate.limit(self.window, "window", 1000)
        validate.choice(self.strategy, "strategy", STRATEGIES)
        checked_budget(self.max_tokens)
        if tokens.count(self.system_prompt) > self.max_tokens // 2:
            raise Invalid("system_prompt must leave at least half of max_tokens to the conversation and the memory")
        if self.temperature is not None and not 0 <= validate.number(self.temperature, "temperature") <= HOTTEST:
            raise Invalid(f"temperature must be a number from 0 to {HOTTEST:g}, not {self.temperature!r}")
        object.__setattr__(self, "tools", _tools(self.tools))


def _tools(given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise Invalid(f"tools must be a list of {', '.join(TOOLS)}")
    return tuple(dict.fromkeys(validate.choice(each, "each of tools", TOOLS) for each in given))


KEYS = tuple(each.name for each in fields(Agent))


class Agents:
    """The available agents; added, changed and removed files are noticed at the next request for an agent."""

    def __init__(self, settings: Settings) -> None:
        """Stores the settings; files are read when the first agent is requested."""
        self._folder = settings.agents or settings.home / "agents"
        self._default = settings.agent or ("recall" if settings.llm_model is None else "assistant")
        self._has_model = settings.llm_model is not None
        self._builtin: dict[str, Agent] | None = None
        self._seen: Seen | None = None
        self._known: dict[str, Agent] = {}

    def list(self) -> list[Agent]:
        """Returns all agents, sorted by name."""
        return [agent for _, agent in sorted(self._current().items())]

    def get(self, name: str | None = None) -> Agent:
        """Returns the named agent or the default one; raises NotFound with the available names."""
        known, wanted = self._current(), name or self._default
        if wanted not in known:
            raise NotFound(f"there is no agent {wanted!r}; known are {', '.join(sorted(known))}")
        return known[wanted]

    def can_answer(self, agent: Agent) -> bool:
        """Returns whether an agent needs no model or has one."""
        return self._has_model or agent.model == NO_MODEL

    def _current(self) -> dict[str, Agent]:
        seen = _list_files(self._folder)
        if seen != self._seen:
            self._known, self._seen = self._load_builtin() | _folder(self._folder, seen), seen
        return self._known

    def _load_builtin(self) -> dict[str, Agent]:
        if self._builtin is None:
            shipped = [parse(each.read_text(), each.name) for each in BUILTIN.iterdir() if each.name.endswith(".toml")]
            self._builtin = {agent.name: agent for agent in shipped}
        return self._builtin


def parse(text: str, file: str) -> Agent:
    """Returns the agent that a file describes; Invalid names the file, the key and the accepted values."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Invalid(f"{file}: this is not TOML: {problem}") from None
    unknown = given.keys() - set(KEYS)
    if unknown:
        raise Invalid(f"{file}: there is no key {', '.join(sorted(unknown))}; accepted are {', '.join(KEYS)}")
    if "name" not in given:
        raise Invalid(f"{file}: name is missing: what the agent is called")
    try:
        return Agent(**_trim(given))
    except LtstError as problem:
        raise Invalid(f"{file}: {problem}") from None


def _trim(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values without the line breaks around multi-line texts."""
    return {key: value.strip() if isinstance(value, str) else value for key, value in given.items()}


def _list_files(folder: Path) -> Seen:
    try:
        found = [(each.name, each.stat()) for each in sorted(folder.glob("*.toml"))]
    except FileNotFoundError:  # the folder is missing, or a file was just removed
        return ()
    except OSError as problem:
        raise Invalid(f"the folder of agents, {folder}, cannot be read: {type(problem).__name__}") from None
    return tuple((name, about.st_mtime_ns, about.st_size) for name, about in found)


def _folder(folder: Path, seen: Seen) -> dict[str, Agent]:
    known: dict[str, Agent] = {}
    home: dict[str, str] = {}
    for file, _, _ in seen:
        agent = parse(_text(folder / file), file)
        if agent.name in known:
            raise Invalid(f"{file}: name {agent.name!r} is taken by {home[agent.name]}; each agent has one file")
        known[agent.name], home[agent.name] = agent, file
    return known


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Invalid(f"{file.name}: it cannot be read as UTF-8 text: {type(problem).__name__}") from None
