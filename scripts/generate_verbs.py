"""Writes docs/verbs.md from the catalog: every verb as a method, a request and a tool.

Run it with `--check` to learn whether the file is fresh.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated import settle

from ltst.doors.mcp import tools
from ltst.verbs.catalog import VERBS
from ltst.verbs.verb import Verb

TARGET = Path(__file__).resolve().parent.parent / "docs" / "verbs.md"
HEADER = """# Every verb

This table lists everything you can ask of a user's memory: as a method of the library, over [HTTP](server.md) and as a
tool of [MCP](mcp.md). `ltst mcp` offers the everyday tools; `--tools all` adds those of this page. On a running server,
`/docs` says what each request takes. `make sync` writes this page.
"""
# Where the handles of a user, and of one of its conversations, are.
PLACES = {"User": "user", "Chat": "chat", "Working": "chat.working", "Contexts": "chat.contexts"}


def main() -> int:
    """Write the file, or compare with it."""
    return settle(TARGET, HEADER + "".join(_section(noun, verbs) for noun, verbs in VERBS.items()), "the catalog says")


def _section(noun: str, verbs: tuple[Verb, ...]) -> str:
    rows = "\n".join(_rows(verbs))
    return f"\n## {noun.capitalize()}\n\n| | HTTP | MCP | |\n|---|---|---|---|\n{rows}\n"


def _rows(verbs: tuple[Verb, ...]) -> Iterator[str]:
    for verb in verbs:
        tool = "" if verb.tool == "-" else verb.tool or verb.name
        shown = " *(everyday)*" if tool in tools.EVERYDAY else ""
        cells = (_method(verb), _code(verb.http), _code(tool) + shown, verb.about.partition("\n")[0])
        yield f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


def _method(verb: Verb) -> str:
    owner, _, name = verb.does.__qualname__.rpartition(".")
    if not owner:
        return ""
    handle = owner.removeprefix("Async")
    return _code(f"{PLACES.get(handle, f'user.{handle.lower()}')}.{name}")


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    sys.exit(main())
