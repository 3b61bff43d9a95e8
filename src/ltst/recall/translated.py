"""Translates dates of other languages into English, so that temporal.py needs one grammar, and records positions."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cache
from typing import NamedTuple

from ltst.recall.date_words import TONGUES, Tongue
from ltst.support.languages import ENGLISH

SLOT = re.compile(r"\{(\w+?)(2?)\}")
WORD = re.compile(r"\w+")
# How many words must point to a language before it is tried ahead of English.
SURE = 2
# The placeholder for a word that says nothing about time.
OTHER = "x"
NUMBERS = {"day": "[0-3]?[0-9]", "year": "(?:19|20)[0-9]{2}", "count": "[0-9]{1,3}"}
# Each character maps to one character, so that positions stay the same.
FOLDED = {code: unicodedata.normalize("NFD", chr(code))[0].lower() for code in range(0xC0, 0x180)}
FOLDED |= {ord("ß"): "s", ord("’"): "'", ord("‘"): "'", ord("–"): "-", ord("—"): "-", ord("‑"): "-"}
FOLDED |= {code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}


class Translated(NamedTuple):
    """A text with its date words in English, and where each piece of it came from."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[tuple[int, int], ...]

    def origin(self, start: int, stop: int) -> tuple[int, int]:
        """Returns the start and end in the original of a stretch of the translation."""
        first, last = (bisect_right(self.starts, place) - 1 for place in (start, stop - 1))
        return self.origins[first][0], self.origins[last][1]


def tongue(query: str) -> tuple[Tongue | None, bool]:
    """Returns the language in which a text may name dates, and whether that is certain; None for English."""
    words = {*WORD.findall(query.translate(FOLDED))}
    best, most = None, 0
    for number, each in enumerate(TONGUES):
        known, english = _telltale_words(number)
        own = len(words & known)
        if own > most and own > len(words & english):
            best, most = each, own
    return best, most >= SURE


def translated(query: str, spoken: Tongue) -> Translated:
    """Returns the text with its dates in English; every word that says nothing about time becomes "x"."""
    pattern, phrases = _compile(TONGUES.index(spoken))
    made, starts, origins, length = list[str](), list[int](), list[tuple[int, int]](), 0
    for found in pattern.finditer(query.translate(FOLDED)):
        phrase = phrases.get(found.lastindex or 0)
        words = phrase.english(found, spoken) if phrase else _other(found[0])
        starts.append(length)
        origins.append(found.span())
        made.append(words)
        length += len(words)
    return Translated("".join(made), tuple(starts), tuple(origins))


class _Phrase(NamedTuple):
    """A phrase of a language: its regex group, the slots in the groups after it, and its English template."""

    group: int
    slots: tuple[str, ...]
    template: str

    def english(self, found: re.Match[str], spoken: Tongue) -> str:
        said = {slot: found[self.group + place] for place, slot in enumerate(self.slots, 1)}

        def word(slot: re.Match[str]) -> str:
            given = said[slot[1] + slot[2]]
            # The slots are alternatives: those that did not match are empty.
            return spoken.words.get(slot[1], {}).get(" ".join(given.split()), given) if given else ""

        return SLOT.sub(word, self.template)


def _other(stretch: str) -> str:
    return OTHER if stretch[0].isalpha() else stretch


@cache
def _compile(number: int) -> tuple[re.Pattern[str], dict[int, _Phrase]]:
    """Returns the pattern that splits a text into phrases and words, and the phrase of each regex group."""
    spoken, patterns, phrases, group = TONGUES[number], list[str](), dict[int, _Phrase](), 1
    for said, template in _phrases_of(spoken):
        slots = tuple(slot[1] + slot[2] for slot in SLOT.finditer(said))
        patterns.append(f"({SLOT.sub(lambda slot: f'({_any(spoken, slot[1])})', said)})".replace(" ", r"\s{1,4}"))
        phrases[group] = _Phrase(group, slots, template)
        group += 1 + len(slots)
    # A phrase must begin and end at word boundaries.
    whole = rf"(?<![\w])(?:{'|'.join(patterns)})(?:(?<![\w])|(?![\w]))"
    return re.compile(rf"{whole}|[^\W\d_]+|\d+|[\W_]"), phrases


def _phrases_of(spoken: Tongue) -> list[tuple[str, str]]:
    """Returns all phrases of a language; plain words come after phrases of several words, the longest first."""
    plain = sorted(spoken.plain.items(), key=lambda each: len(each[0]), reverse=True)
    return [*spoken.phrases, *plain, *((f"{{{name}}}", f"{{{name}}}") for name in ("month", "weekday", "holiday"))]


def _any(spoken: Tongue, slot: str) -> str:
    words = sorted(spoken.words.get(slot, ()), key=len, reverse=True)
    return "|".join([*words, *([NUMBERS[slot]] if slot in NUMBERS else [])])


@cache
def _telltale_words(number: int) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the words that point to a language, and those that point to English instead."""
    spoken = TONGUES[number]
    dated = {word for said, _ in _phrases_of(spoken) for word in WORD.findall(SLOT.sub(" ", said)) if word.isalpha()}
    named = {word for names in spoken.words.values() for name in names for word in WORD.findall(name)}
    alike = {word.lower() for names in spoken.words.values() for name in names.values() for word in WORD.findall(name)}
    common = {word.translate(FOLDED) for word in spoken.language.stop_words}
    return frozenset((dated & common | named | common) - ENGLISH - alike), ENGLISH - common
