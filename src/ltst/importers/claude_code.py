"""Reads Claude Code's sessions: JSON lines that name the line before them; a file is a session or an agent's part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ltst.errors import Invalid
from ltst.importers import trees, words
from ltst.importers.blocks import speak
from ltst.importers.shapes import mapping, moment, name, shown, some_words
from ltst.importers.source import Found, PlacedValue, ReadMessage, SourceFile
from ltst.importers.words import MessageText
from ltst.records import ImportedConversation
from ltst.support.text import sha256

SPOKEN = ("user", "assistant")
MARKS = frozenset({"uuid", "parentUuid", "sessionId", "leafUuid", "messageId", "snapshot"})
TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
# Beginnings of texts that the program itself put in the user's place.
NOT_THE_USER = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "Caveat: The messages below",
)


def is_one(value: object) -> bool:
    """Returns whether a value is a line of a Claude Code session."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or MARKS.isdisjoint(value):
        return False
    return value["type"] not in SPOKEN or isinstance(value.get("message"), dict)


@dataclass(slots=True)
class _CodeSession:
    """A session while its lines are read: a row of messages, and another one for each time the user went back."""

    said: dict[str, ReadMessage | None] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    last: dict[int, str] = field(default_factory=dict)
    """The newest message of each row."""
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The row of each line, and how often the user had spoken in that row by then."""
    turns: dict[tuple[int, int], str] = field(default_factory=dict)
    """The last message before the user spoke again."""
    asked: dict[int, int] = field(default_factory=dict)
    project: str | None = None
    row: int = 0

    def note(self, line: str, parent: str | None, *, asks: bool) -> None:
        """Assigns a line to a row: its parent's, or a new one if the user went back to an earlier turn."""
        row, turn = self.seen.get(parent or "", (self.row, self.asked.get(self.row, 0)))
        if asks and parent in self.seen and turn < self.asked.get(row, 0):
            before = self.turns.get((row, turn))
            row = max(self.last, default=0) + 1
            if before is not None:
                self.last[row] = before
            self.asked[row] = turn
        self.asked[row] = self.asked.get(row, 0) + asks
        self.seen[line] = (row, self.asked[row])
        self.row = row

    def add(self, key: str, one: ReadMessage | None) -> None:
        """Adds a message to the row of the latest line."""
        self.said[key], self.parents[key] = one, self.last.get(self.row)
        self.last[self.row] = key
        self.turns[self.row, self.asked.get(self.row, 0)] = key


def read(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields the sessions of a file."""
    sessions: dict[str, _CodeSession] = {}
    titles: dict[str, str] = {}
    for item in items:
        source.attempt(item.place, lambda item=item: _line(item.value, sessions, titles, source))  # type: ignore[misc]
    for session_id, session in sessions.items():
        found = _conversation(session_id, session, titles, source)
        if found is not None:
            yield found


def _line(value: object, sessions: dict[str, _CodeSession], titles: dict[str, str], source: SourceFile) -> None:
    line = mapping(value, "it")
    kind = line.get("type")
    if not isinstance(kind, str):
        raise Invalid(f"type must be a text, not {shown(kind)}")
    if kind in TITLES:
        about = name(line.get("leafUuid"), "leafUuid") or name(line.get("sessionId"), "sessionId") or ""
        titles[about] = some_words(line.get(TITLES[kind]), TITLES[kind])
        return
    own = name(line.get("uuid"), "uuid")
    if own is None and kind not in SPOKEN:
        return
    session = sessions.setdefault(_session_of(line, source), _CodeSession())
    if own is not None and own in session.seen:
        return  # a resumed session repeats its lines
    messages = _messages(line, own, source) if kind in SPOKEN else {}
    asks = any(one is not None and one.role == "human" for one in messages.values())
    session.note(own or "", name(line.get("parentUuid"), "parentUuid"), asks=asks)
    for key, one in messages.items():
        if key not in session.said:
            session.add(key, one)
        elif session.said[key] == one:
            source.pass_over("repeated messages")  # a line without an id that was read before
        else:
            raise Invalid(f"there was another message with the uuid {key!r}")
    session.project = session.project or words.project(line)


def _session_of(line: dict[str, Any], source: SourceFile) -> str:
    """Returns the session id of a line. The work of agents is a conversation of its own."""
    session_id = name(line.get("sessionId"), "sessionId") or source.stem
    if line.get("isSidechain") is not True:
        return session_id
    agent = name(line.get("agentId"), "agentId")
    return f"{session_id}-agent-{agent}" if agent else f"{session_id}-agents"


def _messages(line: dict[str, Any], own: str | None, source: SourceFile) -> dict[str, ReadMessage | None]:
    """Returns the messages of a line. Tool results have the user's role but are not the user's words."""
    at = moment(line.get("timestamp"), "timestamp")
    message = mapping(line.get("message"), "message")
    if line.get("isMeta") is True:
        source.pass_over("hidden messages")
        return {}
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    answers = [each for each in blocks if _is_answer(each)]
    rest: Any = [each for each in blocks if not _is_answer(each)] if answers else content
    own = own or sha256(words.clean(f"{line.get('timestamp')}\n{words.compact(content)}"))
    found: dict[str, ReadMessage | None] = {}
    if answers:
        found[f"{own}:answers" if rest else own] = _read_message("tool", answers, at, line, source)
    if rest or not answers:
        found[own] = _read_message(_role(line, rest), rest, at, line, source)
    return found


def _is_answer(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _read_message(role: str, content: object, at: Any, line: dict[str, Any], source: SourceFile) -> ReadMessage | None:
    spoken = MessageText()
    speak(spoken, content, "message.content")
    if not spoken and spoken.parts:
        source.pass_over("thoughts")
        return None
    model = words.first(mapping(line["message"], "message"), "model")
    return source.said(role, spoken, at, "message.content", {"model": words.clean(model)[:200]} if model else None)


def _role(line: dict[str, Any], content: object) -> str:
    if line["type"] == "assistant":
        return "ai"
    first = content[0] if isinstance(content, list) and content else content
    text = words.first(first, "text") if isinstance(first, dict) else first
    foreign = isinstance(text, str) and text.lstrip().startswith(NOT_THE_USER)
    return "system" if foreign or line.get("isCompactSummary") is True else "human"


def _conversation(
    session_id: str, session: _CodeSession, titles: dict[str, str], source: SourceFile
) -> ImportedConversation | None:
    messages = trees.assembled(source, session.said, None, session.parents)
    if not messages:
        return None
    named = next((titles[line] for line in (session_id, *reversed(session.seen)) if titles.get(line)), None)
    named = trees.first_question(messages) if named is None else named
    return source.conversation("claude-code", session_id, messages, name=named, project=session.project or "")
