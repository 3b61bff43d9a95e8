"""Reads Claude's export: conversations with `chat_messages`, as a sequence or a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ltst.errors import Invalid
from ltst.importers import trees, words
from ltst.importers.blocks import speak
from ltst.importers.shapes import listing, mapping, moment, name, shown, some_listing, some_words
from ltst.importers.source import Found, PlacedValue, ReadMessage, SourceFile
from ltst.importers.words import MessageText
from ltst.records import ImportedConversation
from ltst.support.text import sha256

ROLES = {
    "human": "human",
    "user": "human",
    "assistant": "ai",
    "ai": "ai",
    "claude": "ai",
    "system": "system",
    "tool": "tool",
}


def is_one(value: object) -> bool:
    """Returns whether a value is one of Claude's conversations."""
    return isinstance(value, dict) and "chat_messages" in value


def read(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields the conversations of a file."""
    return source.each_conversation(items, ("uuid", "id"), _read)


def _read(given: dict[str, Any], foreign: str | None, source: SourceFile) -> ImportedConversation | None:
    named = some_words(given.get("name", given.get("title")), "name")
    began = moment(given.get("created_at"), "created_at")
    raw = listing(given.get("chat_messages"), "chat_messages")
    said: dict[str, ReadMessage | None] = {}
    above: dict[str, str | None] = {}
    for place, message in enumerate(raw):
        path = f"chat_messages[{place}]"
        _add(mapping(message, path), path, said, above, source)
    parents = trees.rooted(above, "chat_messages") if any(above.values()) else trees.in_a_row(said)
    order = trees.ordered(parents, "chat_messages")
    messages = trees.assembled(source, said, began, parents, order)
    if not messages:
        return None
    wanted = foreign or sha256(messages[0].key + messages[0].content)[:32]
    current = trees.nearest(_current(given, said) if any(above.values()) else None, parents, said)
    return source.conversation("claude", wanted, messages, name=named, began=began, current=current)


def _add(
    message: dict[str, Any],
    path: str,
    said: dict[str, ReadMessage | None],
    above: dict[str, str | None],
    source: SourceFile,
) -> None:
    """Reads a message; a repeated one counts once."""
    own = name(message.get("uuid"), f"{path}.uuid")
    one = _read_message(message, path if own is None else f"{path} ({own})", source)
    if own is None:
        own = sha256(f"{len(said)}\n{one.role if one else ''}\n{one.content if one else ''}")
    if own in said and said[own] != one:
        raise Invalid(f"{path}: there was another message with the uuid {own!r}")
    said[own] = one
    above[own] = name(message.get("parent_message_uuid"), f"{path}.parent_message_uuid")


def _current(given: dict[str, Any], said: dict[str, ReadMessage | None]) -> str | None:
    current = name(given.get("current_leaf_message_uuid"), "current_leaf_message_uuid")
    if current is not None and current not in said:
        raise Invalid(f"current_leaf_message_uuid is {current!r}, which is not one of the messages")
    return current or next(reversed(said), None)


def _read_message(message: dict[str, Any], path: str, source: SourceFile) -> ReadMessage | None:
    sender = message.get("sender", message.get("role"))
    role = ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        raise Invalid(f"{path}.sender must be human or assistant, not {shown(sender)}")
    at = moment(message.get("created_at"), f"{path}.created_at")
    spoken = MessageText()
    speak(spoken, message.get("content"), f"{path}.content")
    whole = some_words(message.get("text"), f"{path}.text")
    if not spoken:
        spoken.say(whole)  # older exports have only this
    room = source.options.largest - _size(spoken.text)
    for each in ("attachments", "files"):
        for place, file in enumerate(some_listing(message.get(each), f"{path}.{each}")):
            room -= _attach(spoken, mapping(file, f"{path}.{each}[{place}]"), room)
    return source.said(role, spoken, at, f"{path}.content")


def _attach(spoken: MessageText, file: dict[str, Any], room: int) -> int:
    """Adds an attached file, with its text if there is room; returns how many bytes it takes."""
    named = f"[file: {words.first(file, 'file_name', 'name') or 'without a name'}]"
    spoken.show(named, file)
    inside, taken = words.first(file, "extracted_content"), _size(named)
    if taken + _size(inside) >= room:
        return taken
    spoken.say(inside)
    return taken + _size(inside)


def _size(text: str) -> int:
    """Returns how many bytes a text takes when stored, including the line break before it."""
    return len(words.clean(text).encode()) + 1
