"""Tables: reads lists of words and patterns from text files beside the modules that use them.

A heading in brackets begins a section. Its lines are words, or phrases separated by commas, or patterns, each of which
is one way to say the same. Two leading spaces continue the line above, "# " begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

_HEADING = re.compile(r"\[(\w[\w .-]*)\]")
_DEFINITION = re.compile(r"<(\w+)> = (.+)")
_PART = re.compile(r"(?<!P)<(\w+)>")

Lists = Mapping[str, frozenset[str]]


def read_sections(package: str, file: str, lists: Lists | None = None) -> list[tuple[list[str], list[str]]]:
    """Returns the words of each heading of a file, with the lines below it.

    A line `<part> = …` defines a part for the patterns that follow; each of `lists` is a part too.
    """
    parts = {name: alternatives(phrases) for name, phrases in (lists or {}).items()}
    sections = list[tuple[list[str], list[str]]]()
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    for line in text.replace("\n  ", "").splitlines():
        if not line or line.startswith("# "):
            continue
        if heading := _HEADING.fullmatch(line):
            sections.append((heading[1].split(), []))
        elif part := _DEFINITION.fullmatch(line):
            parts[part[1]] = _filled(part[2], parts)
        else:
            sections[-1][1].append(_filled(line, parts))
    return sections


def alternatives(phrases: frozenset[str]) -> str:
    """Returns a pattern for any of the phrases, the longest first."""
    return "|".join(sorted(map(re.escape, phrases), key=lambda each: (-len(each), each)))


class Table:
    """The sections of a file, each by the first word of its heading."""

    def __init__(self, package: str, file: str, lists: Lists | None = None) -> None:
        self.lines = {name: lines for (name, *_), lines in read_sections(package, file, lists)}

    def words(self, name: str) -> frozenset[str]:
        """Returns the words of a section."""
        return frozenset(" ".join(self.lines[name]).split())

    def phrases(self, name: str) -> frozenset[str]:
        """Returns the phrases of a section."""
        phrases = (" ".join(each.split()) for each in " ".join(self.lines[name]).split(","))
        return frozenset(each for each in phrases if each)

    def pattern(self, name: str, before: str = "", after: str = "", flags: int = re.I) -> re.Pattern[str]:
        """Returns a pattern for any line of a section, with the same text before and after each."""
        return re.compile(f"{before}(?:{'|'.join(self.lines[name])}){after}", flags)


def _filled(line: str, parts: Mapping[str, str]) -> str:
    return _PART.sub(lambda found: parts.get(found[1], found[0]), line)
