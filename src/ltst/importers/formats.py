"""The formats that can be imported, and how each is recognised by its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ltst.errors import Invalid
from ltst.handles import archive
from ltst.importers import chatgpt, claude, claude_code, codex, mem0, rows
from ltst.importers.source import Found, LtstExport, PlacedValue, SourceFile

MOST_NAMES = 8


class Format(NamedTuple):
    """A format: `fits` recognises one of its values, `read` converts them."""

    fits: Callable[[object], bool]
    read: Callable[[Iterator[PlacedValue], SourceFile], Iterator[Found]]


def _is_ltst(value: object) -> bool:
    return isinstance(value, dict) and value.get("format") == archive.EXPORT_FORMAT


def _read_ltst(items: Iterator[PlacedValue], source: SourceFile) -> Iterator[Found]:
    return source.each(items, lambda item: _document(item.value, source))


def _document(value: Any, source: SourceFile) -> LtstExport | None:
    archive.checked(value)
    return LtstExport(value) if source.is_wanted(value.get("user_id"), "exports") else None


# Order matters: the first format that fits is used.
FORMATS: Mapping[str, Format] = {
    "ltst": Format(_is_ltst, _read_ltst),
    "chatgpt": Format(chatgpt.is_one, chatgpt.read),
    "claude": Format(claude.is_one, claude.read),
    "codex": Format(codex.is_one, codex.read),
    "claude-code": Format(claude_code.is_one, claude_code.read),
    "langchain": Format(rows.is_langchain, rows.read_langchain),
    "mem0": Format(mem0.is_one, mem0.read),
    "messages": Format(rows.is_row, rows.read),
}


def named(name: str) -> Format:
    """Returns the format with this name."""
    if name not in FORMATS:
        raise Invalid(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def recognised(first: Sequence[PlacedValue]) -> str | None:
    """Returns the name of the format that these first values belong to, or None."""
    return next((name for item in first for name, each in FORMATS.items() if each.fits(item.value)), None)


def unknown(first: Sequence[PlacedValue]) -> str:
    """Returns the error message for values that fit no format."""
    known = f"known are {', '.join(FORMATS)}; say which it is with --format"
    if not first:
        return f"there is nothing in it to import; {known}"
    value = first[0].value
    if not isinstance(value, dict):
        return f"this is no export that ltst knows: it begins with no object; {known}"
    names = ", ".join(repr(str(each)[:40]) for each in [*value][:MOST_NAMES]) or "nothing"
    return f"this is no export that ltst knows: it begins with an object of {names}; {known}"
