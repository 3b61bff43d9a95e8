"""Terms: the words of a text as search compares them, the same for what is stored and for what is asked.

Done here and not by Postgres, whose own parser depends on the server's locale and takes a line of Chinese for one word.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]

from ltst.support.text import composed

LONGEST_TERM = 64
SLOTS = 16  # how many terms of a query are compared
WORD = re.compile(r"\w+")
# Scripts written without spaces between words: Han, Hiragana, Katakana, Hangul.
UNSPACED = re.compile(r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    a about above after again against ain all am an and any are aren as at be because been before being below
    between both but by can could couldn d did didn do does doesn doing don down during each few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its
    itself just let ll m me might more most mustn my myself no nor not now o of off on once only or other our ours
    ourselves out over own re s same shan she should shouldn so some such t than that the their theirs them
    themselves then there these they this those through to too under until up ve very was wasn we were weren what
    when where which while who whom why will with won would wouldn y you your yours yourself yourselves
        """,
    )
)

_own = threading.local()  # a stemmer keeps the word at hand, so each thread has one


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions; stop words are left out."""
    return [term for word in WORD.findall(composed(text).lower()) for term in _terms_of(word)]


def distinct(text: str) -> list[str]:
    """The terms of a text, each once, in order."""
    return [*dict.fromkeys(terms(text))]


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
    """Every character and every two neighbours: no dictionary tells where such words end."""
    yield from run
    yield from (run[at : at + 2] for at in range(len(run) - 1))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    if not hasattr(_own, "stemmer"):
        _own.stemmer = Stemmer.Stemmer("english")
    return str(_own.stemmer.stemWord(word))
