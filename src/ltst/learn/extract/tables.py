"""The tables of rules, which lie beside this module as text: sections of patterns, one a line, and names for parts."""

from __future__ import annotations

import re
from importlib import resources

from ltst.learn.extract.words import LISTS, alternatives

_PART = re.compile(r"(?<!P)<(\w+)>")
_DEFINITION = re.compile(r"<(\w+)> = (.+)")


def table(name: str) -> list[tuple[list[str], list[str]]]:
    """The sections of a table: the words of each heading and the patterns below it, with their parts put in.

    A line `<part> = ...` names a part; the lists of words are parts too. Lines that begin with "# " are comments.
    """
    text = (resources.files("ltst.learn.extract") / f"{name}.txt").read_text(encoding="utf-8")
    parts: dict[str, str] = {}
    sections: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if not line or line.startswith("# "):
            continue
        if part := _DEFINITION.fullmatch(line):
            parts[part[1]] = _filled(part[2], parts)
        elif line.startswith("["):
            sections.append((line.strip("[]").split(), []))
        else:
            sections[-1][1].append(_filled(line, parts))
    return sections


def _filled(pattern: str, parts: dict[str, str]) -> str:
    def put_in(found: re.Match[str]) -> str:
        return alternatives(found[1]) if found[1] in LISTS else parts.get(found[1], found[0])

    return _PART.sub(put_in, pattern)
