"""Terms: the words of a text as search compares them, made the same way for what is stored and what is asked.

Done here and not by Postgres, whose own parser depends on the server's locale and takes a line of Chinese for one word.
Every word is stemmed as English; in a text of another language it also gets that language's stem, as a second term. So
two texts match in all forms of a word if both languages are recognised, and in the same form otherwise.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]

from ltst.support.languages import ENGLISH, Language, guess
from ltst.support.text import composed

LONGEST_TERM = 64
SLOTS = 16  # how many terms of a query are compared
WORD = re.compile(r"\w+")
# Scripts written without spaces between words: Han, Hiragana, Katakana, Hangul.
UNSPACED = re.compile(r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
STOP_WORDS = ENGLISH

ALGORITHMS = frozenset(Stemmer.algorithms())
_own = threading.local()  # a stemmer keeps state, so each thread has its own


def terms(text: str) -> list[str]:
    """Returns the terms of a text, in order and with repetitions, without stop words."""
    words = WORD.findall(composed(text).lower())
    language = guess(words)
    if language is None:
        return [term for word in words for term in _terms_of(word)]
    stop_words = language.stop_words
    return [term for word in words if word not in stop_words for term in _terms_in(word, language)]


def distinct(text: str) -> list[str]:
    """Returns the terms of a text, each once, in order."""
    return [*dict.fromkeys(terms(text))]


def _terms_in(word: str, language: Language) -> Iterator[str]:
    """Yields the terms that a word has in any language, and its stem in the language of the text."""
    found = [*_terms_of(word)]
    yield from found
    if len(found) == 1 and language.stemmer:
        stem = _stem(word[:LONGEST_TERM], language.stemmer)
        # A stemmer may leave nothing of a very short word.
        if stem and stem != found[0]:
            yield stem


def _terms_of(word: str) -> Iterator[str]:
    if word.isascii():
        if word not in STOP_WORDS:
            yield _stem(word[:LONGEST_TERM])
        return
    rest = 0
    for run in UNSPACED.finditer(word):
        yield from _spaced(word[rest : run.start()])
        yield from _pairs(run.group())
        rest = run.end()
    yield from _spaced(word[rest:])


def _spaced(word: str) -> Iterator[str]:
    if word and word not in STOP_WORDS:
        yield _stem(word[:LONGEST_TERM]) if word.isascii() else word[:LONGEST_TERM]


def _pairs(run: str) -> Iterator[str]:
    """Yields every character and every pair of neighbours, since no dictionary tells where such words end."""
    yield from run
    yield from (run[at : at + 2] for at in range(len(run) - 1))


@lru_cache(maxsize=50_000)
def _stem(word: str, language: str = "english") -> str:
    stemmers: dict[str, Stemmer.Stemmer] = _own.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        # An older PyStemmer has fewer languages: words of the others are not stemmed.
        stemmers[language] = Stemmer.Stemmer(language) if language in ALGORITHMS else None
    stemmer = stemmers[language]
    return str(stemmer.stemWord(word)) if stemmer is not None else word
