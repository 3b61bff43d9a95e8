"""Builds the text of a message; other parts get a readable placeholder and are kept in the metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ltst.support.text import mended, sha256
from ltst.support.validate import LONGEST_IDENTIFIER

LONGEST_NAME = 500
# Limits a session id so that the ids of its forks still fit.
LONGEST_ID = 180
# Maximum size of a kept part as JSON, and maximum length of a tool call in the text.
LARGEST_PART = 4_000
LONGEST_CALL = 20_000
MOST_PARTS = 20
# Far below Python's recursion limit, because the depth already used depends on the caller.
DEEPEST_PART = 100
REPLACEMENT = "�"


def clean(text: str) -> str:
    """Returns the text with NULs and lone surrogates, which cannot be stored, replaced by a visible character."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return mended(text)
    return text


def title(value: str | None) -> str | None:
    """Returns the title of a conversation, or None."""
    named = clean(value or "").strip()
    return named[:LONGEST_NAME] or None


def session_id(source: str, foreign: str) -> str:
    """Returns a session id that includes the source, because two sources may both have a conversation 1."""
    known = clean(foreign)
    return bounded(known if not source or known.startswith(f"{source}-") else f"{source}-{known}")


def bounded(wanted: str) -> str:
    """Returns an id short enough for the ids of its forks."""
    return wanted if len(wanted) <= LONGEST_ID else f"{wanted[:100]}-{sha256(wanted)}"


def key(foreign: str) -> str:
    """Returns the key of a message."""
    wanted = clean(foreign)
    return wanted if wanted.strip() and len(wanted) <= LONGEST_IDENTIFIER else sha256(wanted)


class MessageText:
    """The content of a message while it is being assembled."""

    __slots__ = ("_said", "parts")

    def __init__(self) -> None:
        self._said: list[str] = []
        self.parts: list[Any] = []

    def say(self, text: str) -> None:
        """Adds a text."""
        if text:
            self._said.append(text)

    def show(self, text: str, raw: object) -> None:
        """Adds a placeholder for a part that is not text, and keeps the part."""
        self._said.append(text)
        self.keep(raw)

    def keep(self, raw: object) -> None:
        """Keeps a part without adding text."""
        if len(self.parts) < MOST_PARTS:
            self.parts.append(storable(raw))

    @property
    def text(self) -> str:
        """Returns the whole text."""
        return "\n".join(self._said)

    def __bool__(self) -> bool:
        return any(not each.isspace() for each in self._said)


def storable(raw: object) -> Any:
    """Returns a part unchanged, or its beginning if it is large."""
    try:
        written = json.dumps(raw, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return {"cut": "…"}
    if len(written) <= LARGEST_PART and _is_shallow(raw, DEEPEST_PART):
        return _cleaned(raw)
    return {"cut": clean(written[:LARGEST_PART])}


def _is_shallow(value: Any, room: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (room > 0 and all(_is_shallow(each, room - 1) for each in inner))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(inner) for name, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value


def call(name: str, arguments: object) -> str:
    """Returns a tool call as text: short arguments on one line, longer texts below it."""
    written, texts = arguments, list[str]()
    if isinstance(arguments, dict):
        texts = [value for value in arguments.values() if _has_lines(value)]
        written = compact({key: value for key, value in arguments.items() if not _has_lines(value)})
    elif not isinstance(arguments, str):
        written = compact(arguments)
    said = "\n".join([f"[calls {name}] {written}".rstrip(), *texts])
    return said if len(said) <= LONGEST_CALL else f"{said[:LONGEST_CALL]}…"


def _has_lines(value: object) -> bool:
    return isinstance(value, str) and "\n" in value


def compact(value: object) -> str:
    """Returns readable JSON."""
    try:
        return "" if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def fenced(code: str, language: object) -> str:
    """Returns code in a fence longer than any fence inside it."""
    fence = "```"
    while fence in code:
        fence += "`"
    known = language if isinstance(language, str) and language.isalnum() and language != "unknown" else ""
    return f"{fence}{known}\n{code}\n{fence}"


def project(part: Mapping[str, Any]) -> str:
    """Returns the name of the folder that a program worked in, or ""."""
    return first(part, "cwd").replace("\\", "/").rstrip("/").rpartition("/")[2]


def first(part: Mapping[str, Any], *names: str) -> str:
    """Returns the first of these fields that is a non-blank text, or ""."""
    return next((value for name in names if isinstance(value := part.get(name), str) and value.strip()), "")
