"""Reads Codex's sessions: JSON lines with what was said and done in order; one file is one session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ltst.errors import Invalid
from ltst.importers import trees, words
from ltst.importers.blocks import speak
from ltst.importers.keys import MessageKeys
from ltst.importers.shapes import mapping, moment, name, shown, some_mapping
from ltst.importers.source import Found, PlacedValue, ReadMessage, SourceFile
from ltst.importers.words import MessageText

ROLES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
WRAPPED = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
# Beginnings of texts that the program itself put in the user's place.
NOT_THE_USER = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "<permissions", "# AGENTS.md")
IN_FILE_NAME = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")


def is_one(value: object) -> bool:
    """Returns whether a value is a line of a Codex session: a wrapped one, or the first of an older session."""
    if not isinstance(value, dict):
        return False
    if value.get("type") in WRAPPED and "payload" in value:
        return True
    return {"id", "timestamp"} <= value.keys() and not {"instructions", "git"}.isdisjoint(value) and "role" not in value


@dataclass(slots=True)
class _CodexSession:
    """A session while its lines are read."""

    keys: MessageKeys = field(default_factory=MessageKeys)
    said: dict[str, ReadMessage | None] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    id: str | None = None
    began: datetime | None = None
    project: str = ""


def read(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields the session of a file."""
    session = _CodexSession()
    for item in items:
        source.attempt(item.place, lambda item=item: _line(item.value, session, source))  # type: ignore[misc]
    messages = trees.assembled(source, session.said, session.began)
    if not messages:
        return
    found = IN_FILE_NAME.search(source.stem)
    foreign = session.id or (found.group() if found else f"{source.stem}-{messages[0].key[:8]}")
    named = trees.first_question(messages)
    yield source.conversation("codex", foreign, messages, name=named, began=session.began, project=session.project)


def _line(value: object, session: _CodexSession, source: SourceFile) -> None:
    line = mapping(value, "it")
    at = moment(line.get("timestamp"), "timestamp")
    kind = line.get("type")
    if kind in WRAPPED:
        payload = mapping(line.get("payload"), "payload")
        if kind == "session_meta":
            _begin(session, payload)
        elif kind == "response_item":
            _item(payload, at, session, source, "payload.")
        return  # events repeat the same for the screen
    if "record_type" in line:
        return
    if kind is None and "id" in line:
        _begin(session, line)
        return
    _item(line, at, session, source, "")


def _begin(session: _CodexSession, meta: dict[str, Any]) -> None:
    if session.id is None:
        session.id = name(meta.get("id"), "id")
        session.began = moment(meta.get("timestamp"), "timestamp")
        session.project = words.project(meta)


def _item(item: dict[str, Any], at: datetime | None, session: _CodexSession, source: SourceFile, path: str) -> None:
    kind = item.get("type")
    if not isinstance(kind, str):
        raise Invalid(f"{path}type must be a text, not {shown(kind)}")
    speaking = ITEMS.get(kind)
    if speaking is None:
        source.pass_over(f"lines of type {words.clean(kind)[:40]}")
        return
    spoken = MessageText()
    role = speaking(spoken, item, session, path)
    if kind == "reasoning" and not spoken:
        source.pass_over("thoughts")
        return
    one = source.said(role, spoken, at, f"{path}content", {} if kind == "message" else {"content_type": kind})
    if one is not None:
        session.said[session.keys.next(one.role, one.content, one.at)] = one


def _message(spoken: MessageText, item: dict[str, Any], session: _CodexSession, path: str) -> str:
    role = ROLES.get(str(item.get("role")))
    if role is None:
        raise Invalid(f"{path}role must be one of {', '.join(ROLES)}, not {shown(item.get('role'))}")
    speak(spoken, item.get("content"), f"{path}content")
    return "system" if role == "human" and spoken.text.lstrip().startswith(NOT_THE_USER) else role


def _call(spoken: MessageText, item: dict[str, Any], session: _CodexSession, path: str) -> str:
    tool = words.first(item, "name") or "a tool"
    session.tools[str(item.get("call_id"))] = tool
    spoken.show(words.call(tool, item.get("arguments", item.get("input"))), {**item, "arguments": None, "input": None})
    return "ai"


def _action(spoken: MessageText, item: dict[str, Any], session: _CodexSession, path: str) -> str:
    action = some_mapping(item.get("action"), f"{path}action")
    tool = str(item["type"]).removesuffix("_call")
    session.tools[str(item.get("call_id"))] = tool
    command = action.get("command")
    arguments = " ".join(map(str, command)) if isinstance(command, list) else words.first(action, "query") or action
    spoken.say(words.call(tool, arguments))
    return "ai"


def _output(spoken: MessageText, item: dict[str, Any], session: _CodexSession, path: str) -> str:
    output = item.get("output")
    if isinstance(output, dict):
        output = output.get("content", output.get("output", words.compact(output)))
    inner = MessageText()
    speak(inner, output, f"{path}output")
    tool = session.tools.get(str(item.get("call_id")))
    if inner:
        spoken.say(f"[answer of {tool}]" if tool else "[answer]")
        spoken.say(inner.text)
    return "tool"


def _reasoning(spoken: MessageText, item: dict[str, Any], session: _CodexSession, path: str) -> str:
    speak(spoken, item.get("summary"), f"{path}summary")
    return "ai"


ITEMS: dict[str, Callable[[MessageText, dict[str, Any], _CodexSession, str], str]] = {
    "message": _message,
    "reasoning": _reasoning,
    **dict.fromkeys(("function_call", "custom_tool_call"), _call),
    **dict.fromkeys(("local_shell_call", "web_search_call"), _action),
    **dict.fromkeys(("function_call_output", "custom_tool_call_output", "local_shell_call_output"), _output),
}
