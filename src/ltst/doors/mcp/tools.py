"""The tools: the everyday ones, and all the verbs of the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ltst.doors.mcp import everyday
from ltst.doors.mcp.quotes import PREAMBLE
from ltst.doors.mcp.telling import in_json
from ltst.doors.mcp.toolbox import Tool
from ltst.verbs.catalog import VERBS
from ltst.verbs.verb import Verb


def _remembered(done: everyday.Remembered) -> str:
    where = "" if done.session_id is None else " of the conversation"
    return f"Stored as {done.kind}{where}: {', '.join(done.ids)}."


# What is said instead of quoted records.
SAID: Mapping[str, Callable[[Any], str]] = {
    "remember": _remembered,
    "get_context": lambda done: done.text or "Nothing is remembered yet.",
    "get_profile": lambda done: f"{PREAMBLE}\n{in_json(done, kind='profile')}",
    "export_memory": lambda done: json.dumps(done, ensure_ascii=False, default=str),
    "fork_session": lambda done: f"The copy is {json.dumps(done.session_id)}.",
}


def _tool(verb: Verb) -> Tool:
    name = verb.tool or verb.name
    return Tool(name, verb, SAID.get(name), whole=name == "export_memory")


_VERBS = [*everyday.OWN, *(each for verbs in VERBS.values() for each in verbs if each.tool != "-")]
ALL: Mapping[str, Tool] = {tool.name: tool for tool in map(_tool, _VERBS)}
EVERYDAY: Mapping[str, Tool] = {name: ALL[name] for name in everyday.EVERYDAY}
SETS = {"everyday": EVERYDAY, "all": ALL}
