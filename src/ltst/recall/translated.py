"""Dates of other languages, put into English: temporal.py reads one grammar, and knows where each word stood."""

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
# How many words must tell a language before its reading comes before the English one.
SURE = 2
# What stands for a word that says nothing of time.
OTHER = "x"
NUMBERS = {"day": "[0-3]?[0-9]", "year": "(?:19|20)[0-9]{2}", "count": "[0-9]{1,3}"}
# One character for one, so that places stay the same.
FOLDED = {code: unicodedata.normalize("NFD", chr(code))[0].lower() for code in range(0xC0, 0x180)}
FOLDED |= {ord("ß"): "s", ord("’"): "'", ord("‘"): "'", ord("–"): "-", ord("—"): "-", ord("‑"): "-"}
FOLDED |= {code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}


class Translated(NamedTuple):
    """A text whose words of time are English, and where each stretch of it comes from."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[tuple[int, int], ...]

    def origin(self, start: int, stop: int) -> tuple[int, int]:
        """Return where in the original a stretch stands."""
        first, last = (bisect_right(self.starts, place) - 1 for place in (start, stop - 1))
        return self.origins[first][0], self.origins[last][1]


def tongue(query: str) -> tuple[Tongue | None, bool]:
    """Return the language whose dates a text may name, and whether that is sure; none for English."""
    words = {*WORD.findall(query.translate(FOLDED))}
    best, most = None, 0
    for number, each in enumerate(TONGUES):
        known, english = _known(number)
        own = len(words & known)
        if own > most and own > len(words & english):
            best, most = each, own
    return best, most >= SURE


def translated(query: str, spoken: Tongue) -> Translated:
    """Return the text with its dates in English; what says nothing of time becomes a word that says nothing."""
    pattern, phrases = _compiled(TONGUES.index(spoken))
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
    """A phrase of a language: the group that holds it, the slots of the groups after that, and its English."""

    group: int
    slots: tuple[str, ...]
    template: str

    def english(self, found: re.Match[str], spoken: Tongue) -> str:
        said = {slot: found[self.group + place] for place, slot in enumerate(self.slots, 1)}

        def word(slot: re.Match[str]) -> str:
            given = said[slot[1] + slot[2]]
            # Of several that may stand in one place, one does.
            return spoken.words.get(slot[1], {}).get(" ".join(given.split()), given) if given else ""

        return SLOT.sub(word, self.template)


def _other(stretch: str) -> str:
    return OTHER if stretch[0].isalpha() else stretch


@cache
def _compiled(number: int) -> tuple[re.Pattern[str], dict[int, _Phrase]]:
    """Return the pattern that takes a text apart, and the phrases of its groups."""
    spoken, patterns, phrases, group = TONGUES[number], list[str](), dict[int, _Phrase](), 1
    for said, template in _said(spoken):
        slots = tuple(slot[1] + slot[2] for slot in SLOT.finditer(said))
        patterns.append(f"({SLOT.sub(lambda slot: f'({_any(spoken, slot[1])})', said)})".replace(" ", r"\s{1,4}"))
        phrases[group] = _Phrase(group, slots, template)
        group += 1 + len(slots)
    # A phrase stands where a word begins, and ends where one ends.
    whole = rf"(?<![\w])(?:{'|'.join(patterns)})(?:(?<![\w])|(?![\w]))"
    return re.compile(rf"{whole}|[^\W\d_]+|\d+|[\W_]"), phrases


def _said(spoken: Tongue) -> list[tuple[str, str]]:
    """Return all phrases of a language; plain words after those that are made of several, the longest first."""
    plain = sorted(spoken.plain.items(), key=lambda each: len(each[0]), reverse=True)
    return [*spoken.phrases, *plain, *((f"{{{name}}}", f"{{{name}}}") for name in ("month", "weekday", "holiday"))]


def _any(spoken: Tongue, slot: str) -> str:
    words = sorted(spoken.words.get(slot, ()), key=len, reverse=True)
    return "|".join([*words, *([NUMBERS[slot]] if slot in NUMBERS else [])])


@cache
def _known(number: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that tell a language, and those that tell English beside it."""
    spoken = TONGUES[number]
    dated = {word for said, _ in _said(spoken) for word in WORD.findall(SLOT.sub(" ", said)) if word.isalpha()}
    named = {word for names in spoken.words.values() for name in names for word in WORD.findall(name)}
    alike = {word.lower() for names in spoken.words.values() for name in names.values() for word in WORD.findall(name)}
    common = {word.translate(FOLDED) for word in spoken.language.stop_words}
    return frozenset((dated & common | named | common) - ENGLISH - alike), ENGLISH - common
