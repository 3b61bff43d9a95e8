"""A made-up memory: texts of a Zipf-like vocabulary, questions about them, and vectors that follow their words."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ltst.providers.function import CallableEmbedder
from ltst.support.terms import STOP_WORDS

DIMENSIONS = 384
VOCABULARY, COMMONEST = 4_000, 60  # the most frequent words of a language are those that a search leaves out
SHORTEST, LONGEST = 5, 60
TOPICS, TOGETHER = 80, 100  # so many messages in a row have one topic, from which every third word comes
ON_TOPIC = 1 / 3
THEMES = 24
NOISE = 0.1
KEPT = 4_096
ASKED = 6
LABEL = re.compile(r"^\[[^\]]*\] \w+: ")  # what ltst puts before a text that it indexes


def text(number: int) -> str:
    """A message; the same number gives the same one in every run."""
    chance = random.Random(number)
    words, topic = _words(), _topics()[number // TOGETHER % TOPICS]
    length = chance.randint(SHORTEST, LONGEST)
    drawn = chance.choices(words, cum_weights=_chances(), k=length)
    told = [chance.choice(topic) if chance.random() < ON_TOPIC else word for word in drawn]
    return " ".join(told).capitalize() + "."


def questions(numbers: Sequence[int], seed: int = 1) -> Iterator[str]:
    """Questions about messages of these numbers, no two the same, without end."""
    chance, asked = random.Random(seed), set[str]()
    while True:
        told = [word for word in _read(text(chance.choice(numbers))) if word not in STOP_WORDS]
        question = f"What about {' '.join(chance.sample(told, min(ASKED, len(told))))}?"
        if len(told) > 2 and question not in asked:
            asked.add(question)
            yield question


def embedder() -> CallableEmbedder:
    """An embedder that takes no time worth speaking of."""
    return CallableEmbedder(vectors, "bag-of-words", DIMENSIONS)


def vectors(texts: Iterable[str]) -> NDArray[np.float32]:
    """The words of each text, rare ones more than common ones, projected at random; and some noise."""
    return np.array([_vector(each) for each in texts])


@lru_cache(KEPT)
def _vector(given: str) -> NDArray[np.float32]:
    """Kept, so that a question whose vector was made for the other side is not read again while it is asked."""
    places, table = _places(), _table()
    noise = np.random.default_rng(zlib.crc32(given.encode())).standard_normal(DIMENSIONS, np.float32)
    known = [places[word] for word in _read(LABEL.sub("", given)) if word in places]
    meaning = table[known].sum(axis=0)
    length = np.linalg.norm(meaning) or 1.0
    vector: NDArray[np.float32] = meaning / length + NOISE / DIMENSIONS**0.5 * noise
    return vector


def _read(given: str) -> list[str]:
    return re.findall(r"\w+", given.lower())


@cache
def _words() -> list[str]:
    """The commonest first."""
    chance = random.Random(3)
    syllables = [consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aiou"]
    made = dict.fromkeys("".join(chance.choices(syllables, k=3)) for _ in range(2 * VOCABULARY))
    return [*sorted(STOP_WORDS, key=lambda word: (len(word), word))[-COMMONEST:], *made][:VOCABULARY]


@cache
def _chances() -> list[float]:
    return [*accumulate(1 / rank for rank in range(1, VOCABULARY + 1))]


@cache
def _topics() -> list[list[str]]:
    """Each word that is not among the commonest belongs to one."""
    return [_words()[COMMONEST + number :: TOPICS] for number in range(TOPICS)]


@cache
def _places() -> dict[str, int]:
    return {word: place for place, word in enumerate(_words())}


@cache
def _table() -> NDArray[np.float32]:
    """A direction for each word, the longer the rarer it is; words of one topic lean the same way.

    Topics share a few themes and some dimensions matter more than others, or the texts would lie in islands: a question
    and its neighbours are as far apart as with the local model (of 20,000, the tenth has a cosine of 0.56, there 0.53;
    the local dimension is 19, there 18.5).
    """
    chance = np.random.default_rng(5)
    alone = chance.standard_normal((VOCABULARY, DIMENSIONS))
    topics = chance.standard_normal((TOPICS, THEMES)) @ chance.standard_normal((THEMES, DIMENSIONS)) / THEMES**0.5
    places = np.arange(VOCABULARY)
    shared = np.where((places >= COMMONEST)[:, None], topics[(places - COMMONEST) % TOPICS], 0)
    rarity, weight = np.log1p(places)[:, None], np.arange(1, DIMENSIONS + 1) ** -0.4
    table: NDArray[np.float32] = ((alone + shared / 2) * weight * rarity).astype(np.float32)
    return table
