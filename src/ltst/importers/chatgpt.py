"""Reads ChatGPT's export: a tree of nodes for each conversation, of which one branch is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ltst.errors import Invalid
from ltst.importers import trees, words
from ltst.importers.shapes import mapping, moment, name, shown, some_listing, some_mapping, some_words
from ltst.importers.source import Found, PlacedValue, ReadMessage, SourceFile
from ltst.importers.words import MessageText
from ltst.records import ImportedConversation

ROLES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}
# Words in the type of a part and what it is then called; the first match counts.
POINTERS = (("image", "image"), ("video", "video"), ("audio", "audio"), ("file", "file"))
TEXTS = ("text", "content", "result", "summary", "model_set_context")


def is_one(value: object) -> bool:
    """Returns whether a value is one of ChatGPT's conversations."""
    return isinstance(value, dict) and "mapping" in value


def read(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    """Yields the conversations of a file."""
    return source.each_conversation(items, ("conversation_id", "id"), _read)


def _read(given: dict[str, Any], foreign: str | None, source: SourceFile) -> ImportedConversation | None:
    named = some_words(given.get("title"), "title")
    began = moment(given.get("create_time"), "create_time") or moment(given.get("update_time"), "update_time")
    nodes = mapping(given.get("mapping"), "mapping")
    model = given.get("default_model_slug")
    above: dict[str, str | None] = {}
    below: dict[str, list[str]] = {}
    said: dict[str, ReadMessage | None] = {}
    for key, node in nodes.items():
        try:
            above[key], below[key] = _neighbours(node, nodes)
            said[key] = _read_message(node.get("message"), model, source)
        except Invalid as problem:
            raise Invalid(f"mapping.{key}{problem}") from None
    parents = trees.rooted(above, "mapping")
    order = trees.ordered(parents, "mapping", below)
    current = trees.nearest(_current(given, nodes), parents, said)
    messages = trees.assembled(source, said, began, parents, order)
    if not messages:
        return None
    if current is None:
        current = max(messages, key=lambda each: each.at).key
    about = {"model": model} if isinstance(model, str) else {}
    return source.conversation(
        "chatgpt", foreign or order[0], messages, name=named, began=began, current=current, **about
    )


def _neighbours(node: object, nodes: dict[str, Any]) -> tuple[str | None, list[str]]:
    """Returns the parent and the children of a node."""
    given = mapping(node, "")
    children = some_listing(given.get("children"), ".children")
    for place, child in enumerate(children):
        if not isinstance(child, str) or child not in nodes:
            raise Invalid(f".children[{place}] is {shown(child)}, which is not in the mapping")
    return name(given.get("parent"), ".parent"), children


def _current(given: dict[str, Any], nodes: dict[str, Any]) -> str | None:
    current = name(given.get("current_node"), "current_node")
    if current is not None and current not in nodes:
        raise Invalid(f"current_node is {current!r}, which is not in the mapping")
    return current


def _read_message(value: object, model: object, source: SourceFile) -> ReadMessage | None:
    if value is None:
        return None
    message = mapping(value, ".message")
    extra = some_mapping(message.get("metadata"), ".message.metadata")
    author = mapping(message.get("author"), ".message.author")
    role = ROLES.get(str(author.get("role")))
    if role is None:
        raise Invalid(f".message.author.role must be one of {', '.join(ROLES)}, not {shown(author.get('role'))}")
    at = moment(message.get("create_time"), ".message.create_time")
    content = some_mapping(message.get("content"), ".message.content")
    if extra.get("is_visually_hidden_from_conversation") is True:
        source.pass_over("hidden messages")
        return None
    spoken = _content(content, ".message.content")
    _attach(spoken, extra.get("attachments"), ".message.metadata.attachments")
    if role == "ai" and (recipient := message.get("recipient")) not in (None, "all") and spoken:
        called = MessageText()
        called.show(words.call(str(recipient)[:200], spoken.text), {"recipient": recipient})
        spoken = called
    return source.said(role, spoken, at, ".message.content", _metadata(content, author, extra, model))


def _metadata(
    content: dict[str, Any], author: dict[str, Any], extra: dict[str, Any], model: object
) -> dict[str, Any] | None:
    """Returns the metadata worth keeping, such as a model other than the conversation's."""
    kept: dict[str, Any] = {}
    kind, own = content.get("content_type"), extra.get("model_slug")
    if kind not in ("text", "multimodal_text"):
        kept["content_type"] = kind
    if author.get("name"):
        kept["name"] = author["name"]
    if own and own != model:
        kept["model"] = own
    return {key: words.clean(value)[:200] for key, value in kept.items() if isinstance(value, str)} if kept else None


def _attach(spoken: MessageText, value: object, path: str) -> None:
    for place, attachment in enumerate(some_listing(value, path)):
        file = mapping(attachment, f"{path}[{place}]")
        spoken.show(f"[file: {words.first(file, 'name', 'id') or 'without a name'}]", file)


def _content(content: dict[str, Any], path: str) -> MessageText:
    spoken = MessageText()
    kind = content.get("content_type")
    special = CONTENTS.get(kind) if isinstance(kind, str) else None
    if special is not None:
        special(spoken, content, path)
    elif "parts" in content:
        _parts(spoken, content["parts"], f"{path}.parts")
    elif said := words.first(content, *TEXTS):
        spoken.say(said)
    elif content.keys() - {"content_type", "language"} and any(
        content[each] for each in content.keys() - {"content_type"}
    ):
        spoken.show(f"[{kind}]", content)
    return spoken


def _parts(spoken: MessageText, value: object, path: str) -> None:
    for place, part in enumerate(some_listing(value, path)):
        if isinstance(part, str):
            spoken.say(part)
        elif isinstance(part, dict):
            _part(spoken, part)
        elif part is not None:
            raise Invalid(f"{path}[{place}] must be a text or an object, not {shown(part)}")


def _part(spoken: MessageText, part: dict[str, Any]) -> None:
    """Adds a part of a message: a picture, a sound, its transcript, or something unknown."""
    kind = str(part.get("content_type") or part.get("type") or "part")
    said = words.first(part, "text", "content")
    if said:
        spoken.say(said)
        spoken.keep(part)
        return
    known = next((shown for word, shown in POINTERS if word in kind), kind)
    where = words.first(part, "asset_pointer", "audio_asset_pointer", "name", "url", "title")
    spoken.show(f"[{known}: {where}]" if where else f"[{known}]", part)


def _code(spoken: MessageText, content: dict[str, Any], path: str) -> None:
    code = some_words(content.get("text"), f"{path}.text")
    if code.strip():
        spoken.say(words.fenced(code, content.get("language")))
    elif "parts" in content:
        _parts(spoken, content["parts"], f"{path}.parts")


def _quote(spoken: MessageText, content: dict[str, Any], path: str) -> None:
    text = some_words(content.get("text"), f"{path}.text")
    where = " ".join(filter(None, (words.first(content, "title", "domain"), words.first(content, "url"))))
    if text.strip() or where:
        spoken.show(f"[quote: {where}]" if where else "[quote]", {**content, "text": text[:200]})
        spoken.say(text)


def _instructions(spoken: MessageText, content: dict[str, Any], path: str) -> None:
    for each in ("user_profile", "user_instructions"):
        spoken.say(some_words(content.get(each), f"{path}.{each}"))


def _thoughts(spoken: MessageText, content: dict[str, Any], path: str) -> None:
    for place, thought in enumerate(some_listing(content.get("thoughts"), f"{path}.thoughts")):
        given = mapping(thought, f"{path}.thoughts[{place}]")
        spoken.say(": ".join(filter(None, (words.first(given, "summary"), words.first(given, "content")))))
    if "parts" in content:
        _parts(spoken, content["parts"], f"{path}.parts")


def _error(spoken: MessageText, content: dict[str, Any], path: str) -> None:
    text = some_words(content.get("text"), f"{path}.text")
    spoken.show(f"[error: {words.first(content, 'name') or 'system'}] {text}".rstrip(), {**content, "text": text[:200]})


CONTENTS: dict[str, Callable[[MessageText, dict[str, Any], str], None]] = {
    "code": _code,
    "tether_quote": _quote,
    "user_editable_context": _instructions,
    "thoughts": _thoughts,
    "system_error": _error,
}
