"""Languages: guesses which language a text is in by its commonest words and its letters, and names its stemmer.

The guess looks once at each word, is deterministic, and gives no language when in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ltst.support.tables import read_sections


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its code, the name of its stemmer, its commonest words, and letters that few others have."""

    code: str
    stemmer: str
    stop_words: frozenset[str]
    letters: frozenset[str]


def _read() -> dict[str, Language]:
    found = dict[str, Language]()
    for (code, stemmer, *letters), lines in read_sections("ltst.support", "languages.txt"):
        words = frozenset(" ".join(lines).split())
        found[code] = Language(code, stemmer if stemmer != "none" else "", words, frozenset(*letters))
    return found


_KNOWN = _read()
ENGLISH = _KNOWN["en"].stop_words
GERMAN, SPANISH, FRENCH = (_KNOWN[code] for code in ("de", "es", "fr"))
LANGUAGES = tuple(each for each in _KNOWN.values() if each.stop_words and each.code != "en")
SHARE = 12  # at least one in this many distinct words must be a common word of the language
LEAST = 2  # fewest words that identify a language: "Los Angeles" is not Spanish
# The language of words in a script of their own, where no common word tells it.
SCRIPTS = (
    (re.compile("[\u0400-\u052f]"), _KNOWN["ru"]),
    (re.compile("[\u0370-\u03ff]"), _KNOWN["el"]),
    (re.compile("[\u0530-\u058f]"), _KNOWN["hy"]),
    (re.compile("[\u0600-\u06ff]"), _KNOWN["ar"]),
    (re.compile("[\u0900-\u097f]"), _KNOWN["hi"]),
    (re.compile("[\u0b80-\u0bff]"), _KNOWN["ta"]),
)
# Single letters, and what every address has, tell nothing.
_MUTE = ENGLISH | {"com"} | {chr(code) for code in range(ord("a"), ord("z") + 1)}
_TELLING = {language.code: language.stop_words - _MUTE for language in LANGUAGES}
_ENGLISH_ONLY = {language.code: ENGLISH - language.stop_words for language in LANGUAGES}
_ANY = frozenset[str]().union(*_TELLING.values())
_LETTERS = frozenset[str]().union(*(language.letters for language in LANGUAGES))


def guess(words: Collection[str]) -> Language | None:
    """Returns the language of a text by its lower-case words; None for English, and when in doubt.

    Words count once each. A language needs more than twice as many words of its own as there are of English, and at
    least two; one is enough together with a letter that English lacks. Lists of names have too few.
    """
    distinct = {*words}
    foreign = [word for word in distinct if not word.isascii()]
    found = distinct & _ANY
    return (_by_words(distinct, found, foreign) if found else None) or (
        _by_script(distinct, foreign) if foreign else None
    )


def _by_words(distinct: set[str], found: set[str], foreign: Collection[str]) -> Language | None:
    letters = _LETTERS & {*"".join(foreign)}
    best, most = None, 0
    for language in LANGUAGES:
        own = len(found & _TELLING[language.code])
        if own <= 2 * len(distinct & _ENGLISH_ONLY[language.code]) or own * SHARE < len(distinct):
            continue
        count = own + bool(letters & language.letters)
        if count >= LEAST and count > most:
            best, most = language, count
    return best


def _by_script(distinct: set[str], foreign: Collection[str]) -> Language | None:
    for letter, language in SCRIPTS:
        if sum(letter.match(word) is not None for word in foreign) * 2 > len(distinct):
            return language
    return None
