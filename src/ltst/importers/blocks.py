"""Converts the content of a message as models exchange it, a text or a list of typed blocks, into text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ltst.errors import Invalid
from ltst.importers import words
from ltst.importers.shapes import shown, some_listing, some_mapping, some_words
from ltst.importers.words import MessageText

# Blocks about how an answer was made, without any text.
SILENT = ("token_budget", "flag", "reasoning_marker", "redacted_thinking")


def speak(spoken: MessageText, content: object, path: str) -> None:
    """Adds the text of a content: None, a string or a list of blocks."""
    if isinstance(content, str):
        spoken.say(content)
        return
    if not isinstance(content, list | None):
        raise Invalid(f"{path} must be a text or a list of blocks, not {shown(content)}")
    for place, block in enumerate(content or ()):
        if isinstance(block, str):
            spoken.say(block)
        elif isinstance(block, dict):
            speak_block(spoken, block, f"{path}[{place}]")
        elif block is not None:
            raise Invalid(f"{path}[{place}] must be a text or an object, not {shown(block)}")


def speak_block(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    """Adds the text of a block; an unknown kind is represented by its text, if it has one, else by its kind."""
    kind = block.get("type", "text" if "text" in block else None)
    known = BLOCKS.get(kind) if isinstance(kind, str) else None
    if known is not None:
        known(spoken, block, path)
    elif kind in SILENT:
        spoken.keep(block)
    else:
        said = words.first(block, "text", "content", "title", "url")
        spoken.show(f"[{kind or 'part'}] {said}".rstrip(), block)


def speak_calls(spoken: MessageText, calls: object, path: str) -> None:
    """Adds tool calls in the format of OpenAI and LangChain."""
    for place, call in enumerate(some_listing(calls, path)):
        given = some_mapping(call, f"{path}[{place}]")
        function = some_mapping(given.get("function"), f"{path}[{place}].function") or given
        arguments = function.get("arguments", function.get("args"))
        spoken.show(words.call(words.first(function, "name") or "a tool", arguments), given)


def _text(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    text = block.get("text")
    if isinstance(text, dict):
        text = text.get("value")  # as OpenAI's assistants write it
    spoken.say(some_words(text, f"{path}.text"))


def _thinking(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    """Keeps thoughts as a part of the message, not as its text, because they were not said to anyone."""
    some_words(block.get("thinking"), f"{path}.thinking")
    spoken.keep(block)


def _call(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    spoken.show(words.call(words.first(block, "name") or "a tool", block.get("input", block.get("arguments"))), block)


def _result(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    inner = MessageText()
    content = block.get("content", block.get("output"))
    if isinstance(content, dict):
        speak_block(inner, content, f"{path}.content")
    else:
        speak(inner, content, f"{path}.content")
    failed = "error" if block.get("is_error") is True else "answer"
    whose = words.first(block, "name")
    spoken.show(f"[{failed} of {whose}]" if whose else f"[{failed}]", {**block, "content": None})
    spoken.say(inner.text)
    for part in inner.parts:
        spoken.keep(part)


def _image(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    source = block.get("source", block.get("image_url", block.get("file")))
    address = words.first(source, "url", "media_type", "filename") if isinstance(source, dict) else source
    where = address if isinstance(address, str) and not address.startswith("data:") else ""
    kind = "file" if block.get("type") in ("file", "document", "input_file") else "image"
    spoken.show(f"[{kind}: {where[:500]}]" if where else f"[{kind}]", block)


def _refusal(spoken: MessageText, block: dict[str, Any], path: str) -> None:
    spoken.say(some_words(block.get("refusal"), f"{path}.refusal"))


BLOCKS: dict[str, Callable[[MessageText, dict[str, Any], str], None]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text"), _text),
    **dict.fromkeys(("thinking", "reasoning"), _thinking),
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), _call),
    **dict.fromkeys(("tool_result", "mcp_tool_result", "web_search_tool_result"), _result),
    **dict.fromkeys(("image", "image_url", "input_image", "document", "file", "input_file"), _image),
    "refusal": _refusal,
}
