"""Date words: tables that translate German, Spanish and French dates into the English that temporal.py reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ltst.support.languages import FRENCH, GERMAN, SPANISH, Language
from ltst.support.tables import read_sections

LANGUAGES = {"german": GERMAN, "spanish": SPANISH, "french": FRENCH}


@dataclass(frozen=True)
class Tongue:
    """The words of a language for the parts of a date, and the phrases made of them."""

    language: Language
    words: Mapping[str, Mapping[str, str]]
    phrases: tuple[tuple[str, str], ...]
    plain: Mapping[str, str]


def _tongue(name: str) -> Tongue:
    """Reads the tables of a language: words, phrases, and plain words, which are phrases by themselves."""
    sections = {table: lines for (language, table), lines in _SECTIONS if language == name}
    phrases = tuple(_phrase(line) for line in sections.pop("phrases"))
    plain = _names(sections.pop("plain"))
    return Tongue(LANGUAGES[name], {table: _names(lines) for table, lines in sections.items()}, phrases, plain)


def _names(lines: Iterable[str]) -> dict[str, str]:
    """Returns a mapping from each foreign name to its English."""
    split = (line.partition(" = ") for line in lines)
    return {name: english for english, _, names in split for name in names.split(", ")}


def _phrase(line: str) -> tuple[str, str]:
    said, _, english = line.partition(" -> ")
    return said, english.replace("_", " ")


_SECTIONS = read_sections(__package__, "date_words.txt")
TONGUES = tuple(map(_tongue, LANGUAGES))
