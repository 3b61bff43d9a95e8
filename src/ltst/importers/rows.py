"""Reads messages one by one, with role, content and time, from JSON lines, CSV or a dumped table; LangChain's too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from ltst.errors import Invalid
from ltst.importers import trees, words
from ltst.importers.blocks import speak, speak_calls
from ltst.importers.keys import MessageKeys
from ltst.importers.shapes import listing, mapping, moment, name, shown
from ltst.importers.source import Found, PlacedValue, ReadMessage, SourceFile
from ltst.importers.words import MessageText
from ltst.records import ImportedConversation

ROLES = {
    **dict.fromkeys(("user", "human"), "human"),
    **dict.fromkeys(("assistant", "ai", "claude", "bot", "model", "gpt", "chatgpt", "aimessagechunk"), "ai"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
    "humanmessagechunk": "human",
}
ACCEPTED = "user, human, assistant, ai, system, developer, tool, function"
# Possible column names; the first that exists is used.
ROLE = ("role", "sender", "from", "speaker", "author")
CONTENT = ("content", "text", "value", "message")
TIME = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "at", "ts")
SESSION = ("session_id", "conversation_id", "sessionId", "conversationId", "thread_id", "chat_id", "session")
ID = ("id", "message_id", "messageId", "uuid")
USER = ("user_id", "userId")
# LangChain's message types; `chat` has its role in a field.
LANGCHAIN = ("human", "ai", "system", "tool", "function", "chat", "AIMessageChunk", "HumanMessageChunk")
# The metadata key under which the LangChain view and adapter keep everything that is not text.
KEPT = "chat_message_history"
# How many rows to collect before passing them on, so that alternating sessions come in few pieces.
PORTION = 2_000


def is_row(value: object) -> bool:
    """Returns whether a value is a message with role and content, or a conversation of such messages."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("messages"), list) and all(isinstance(each, dict) for each in value["messages"]):
        return any(is_row(each) for each in value["messages"][:5])
    return isinstance(_first(value, ROLE), str) and not {*CONTENT, "tool_calls"}.isdisjoint(value)


def is_langchain(value: object) -> bool:
    """Returns whether a value is a row of LangChain's table or a message in its format."""
    return isinstance(value, dict) and _langchain(value) is not None


@dataclass(slots=True)
class _RowSession:
    """A session while its rows are read, perhaps in several portions."""

    keys: MessageKeys = field(default_factory=MessageKeys)
    last: datetime | None = None
    said: dict[str, ReadMessage | None] = field(default_factory=dict)
    seen: dict[bytes, bytes | None] = field(default_factory=dict)
    """Hashes of each message's key and, if it came with an id, of the message; hashes because there may be many."""

    def knows(self, key: str, own: str | None, one: ReadMessage) -> bool:
        """Returns whether this message was read before in any portion, and remembers it."""
        known, said = _short(key), None if own is None else _short(repr(one))
        if known not in self.seen:
            self.seen[known] = said
            return False
        if own is not None and self.seen[known] != said:
            raise Invalid(f"there was another message with the id {own!r} in this session")
        return True


@dataclass(slots=True)
class _RowReader:
    """The rows of a file while they are read."""

    source: SourceFile
    format: str
    sessions: dict[str, _RowSession] = field(default_factory=dict)
    waiting: dict[str, _RowSession] = field(default_factory=dict)
    count: int = 0
    default: str | None = None


def read(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields conversations, portion by portion."""
    return _read(items, _RowReader(source, "messages"))


def read_langchain(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields conversations from LangChain's rows, portion by portion."""
    return _read(items, _RowReader(source, "langchain"))


def _read(items: Iterator[PlacedValue], reading: _RowReader) -> Iterator[Found]:
    for item in items:
        whole = isinstance(item.value, dict) and isinstance(item.value.get("messages"), list)
        if whole:
            yield from _handed_on(reading)
            found = reading.source.attempt(item.place, lambda item=item: _read_conversation(item.value, reading))  # type: ignore[misc]
            if found is not None:
                yield found
            continue
        reading.source.attempt(item.place, lambda item=item: _add(item.value, reading))  # type: ignore[misc]
        if reading.count >= PORTION:
            yield from _handed_on(reading)
    yield from _handed_on(reading)


def _add(value: object, reading: _RowReader) -> None:
    """Adds a row to its session."""
    row = mapping(value, "it")
    if not reading.source.is_wanted(_first(row, USER)):
        return
    one = _read_message(row, "", reading)
    if one is None:
        return
    foreign = name(_first(row, SESSION), "session_id")
    session_id = _default(one, reading) if foreign is None else words.session_id("", foreign)
    session = reading.sessions.setdefault(session_id, _RowSession())
    own = name(_first(row, ID), "id")
    key = session.keys.next(one.role, one.content, one.at) if own is None else words.key(own)
    if session.knows(key, own, one):
        reading.source.pass_over("repeated messages")
        return
    session.said[key] = one
    reading.waiting[session_id] = session
    reading.count += 1


def _default(one: ReadMessage, reading: _RowReader) -> str:
    """Returns an id for a conversation without one, made from its file and first message."""
    if reading.default is None:
        begin = MessageKeys().next(one.role, one.content, one.at)
        reading.default = words.session_id("messages", f"{reading.source.stem}-{begin[:8]}")
    return reading.default


def _handed_on(reading: _RowReader) -> Iterator[ImportedConversation]:
    for session_id, session in reading.waiting.items():
        messages = trees.assembled(reading.source, session.said, session.last)
        session.last, session.said = messages[-1].at, {}
        name = reading.source.stem if session_id == reading.default else None
        yield ImportedConversation(
            session_id, messages, words.title(name), messages[0].at, None, _metadata(session_id, reading)
        )
    reading.waiting, reading.count = {}, 0


def _read_conversation(value: dict[str, Any], reading: _RowReader) -> ImportedConversation | None:
    """Returns a conversation that is a single value with all its messages."""
    said: dict[str, ReadMessage | None] = {}
    keys = MessageKeys()
    rows = [mapping(row, f"messages[{place}]") for place, row in enumerate(listing(value["messages"], "messages"))]
    whose = next((user for row in (value, *rows) if (user := _first(row, USER)) is not None), None)
    if not reading.source.is_wanted(whose):
        return None
    for place, row in enumerate(rows):
        path = f"messages[{place}]."
        own_user = _first(row, USER)
        if own_user is not None and not reading.source.is_wanted(own_user):
            continue
        one = _read_message(row, path, reading)
        if one is not None:
            own = name(_first(row, ID), f"{path}id") or keys.next(one.role, one.content, one.at)
            if said.get(own, one) != one:
                raise Invalid(f"{path}id: there was another message with the id {own!r}")
            said[own] = one
    began = moment(_first(value, TIME), "created_at")
    messages = trees.assembled(reading.source, said, began)
    if not messages:
        return None
    foreign = name(_first(value, (*SESSION, "id")), "session_id")
    session_id = words.session_id(
        "" if foreign else "messages", foreign or f"{reading.source.stem}-{messages[0].key[:16]}"
    )
    named = words.title(words.first(value, "title", "name"))
    return ImportedConversation(
        session_id, messages, named, began or messages[0].at, None, _metadata(session_id, reading)
    )


def _metadata(session_id: str, reading: _RowReader) -> Mapping[str, Any]:
    return {"imported": {"format": reading.format, "id": session_id, "file": reading.source.name}}


def _read_message(row: dict[str, Any], path: str, reading: _RowReader) -> ReadMessage | None:
    wrapped = _langchain(row)
    if wrapped is not None:
        return _of_langchain(row, wrapped, path, reading.source)
    at = moment(_first(row, TIME), f"{path}timestamp")
    role = _role(_first(row, ROLE), f"{path}role")
    spoken = MessageText()
    called = next((each for each in CONTENT if each in row), "content")
    speak(spoken, row.get(called), f"{path}{called}")
    speak_calls(spoken, row.get("tool_calls"), f"{path}tool_calls")
    kept = _object(row.get("metadata"))
    speaker = row.get("name")
    if isinstance(speaker, str) and speaker:
        kept["name"] = words.clean(speaker)[:200]
    return reading.source.said(role, spoken, at, f"{path}{called}", kept)


def _role(value: object, path: str) -> str:
    role = ROLES.get(value.strip().lower()) if isinstance(value, str) else None
    if role is None:
        raise Invalid(f"{path} must be one of {ACCEPTED}, not {shown(value)}")
    return role


def _langchain(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the message in one of LangChain's rows: an object, JSON text, or the row itself."""
    message = row.get("message", row.get("History", row))
    if isinstance(message, str) and message.lstrip().startswith("{"):
        try:
            message = json.loads(message)
        except (ValueError, RecursionError):
            return None
    if isinstance(message, dict) and message.get("type") in LANGCHAIN and isinstance(message.get("data"), dict):
        return message
    return None


def _of_langchain(row: dict[str, Any], message: dict[str, Any], path: str, source: SourceFile) -> ReadMessage | None:
    data = message["data"]
    role = _role(data.get("role") if message["type"] == "chat" else message["type"], f"{path}message.type")
    at = moment(_first(row, TIME), f"{path}created_at")
    spoken = MessageText()
    speak(spoken, data.get("content"), f"{path}message.data.content")
    if not spoken:
        speak_calls(spoken, data.get("tool_calls"), f"{path}message.data.tool_calls")
    whole = {"type": message["type"], **data}
    plain = isinstance(data.get("content"), str)
    kept = words.storable({key: value for key, value in whole.items() if not (plain and key == "content")})
    return source.said(role, spoken, at, f"{path}message.data.content", {} if "cut" in kept else {KEPT: kept})


def _object(value: object) -> dict[str, Any]:
    """Returns the metadata of a row, given as an object or as JSON text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    if not isinstance(value, dict) or not value:
        return {}
    kept = words.storable(value)
    return kept if isinstance(kept, dict) else {}


def _short(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).digest()


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[each] for each in names if row.get(each) is not None), None)
