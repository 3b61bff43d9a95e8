"""Reads back what the MCP server quotes: the blocks of a text, with their contents exactly as they were."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ltst.doors.mcp.quotes import INDENT, NAMES

BLOCK = re.compile(r'^<memory((?: [a-z]+="[^"<>\n]*")*)>([^<>]*)</memory>$', re.MULTILINE)
ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
REFERENCE = re.compile(r"&(?:#x([0-9a-f]+)|(amp|lt|gt|quot));")
CHARACTERS = {name: character for character, name in NAMES.items()}


class Quote(NamedTuple):
    """A quoted record."""

    kind: str
    content: str
    attributes: Mapping[str, str]


def parse(text: str) -> list[Quote]:
    return [_parsed(*match.groups()) for match in BLOCK.finditer(text)]


def _parsed(attributes: str, body: str) -> Quote:
    named = {name: _unescaped(value) for name, value in ATTRIBUTE.findall(attributes)}
    return Quote(named.pop("kind", "memory"), _unescaped(body.replace("\n" + INDENT, "\n")), named)


def _unescaped(text: str) -> str:
    return REFERENCE.sub(lambda match: chr(int(match[1], 16)) if match[1] else CHARACTERS[match[2]], text)
