"""Turns: requests for vectors, the share of each in the next batch, and how a backlog is cut into short batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ltst.providers.vectors import Vectors


@runtime_checkable
class Paced(Protocol):
    """An embedder that knows how long texts are for it, and how many of them it embeds in a moment."""

    def lengths(self, texts: Sequence[str]) -> Sequence[int]:
        """Returns how long each text is for the model."""
        ...

    def moment(self, lengths: Sequence[int]) -> int:
        """Returns how many texts of these lengths, longest first, take about a tenth of a second; at least one."""
        ...


@runtime_checkable
class Prompted(Protocol):
    """An embedder whose model expects some words before each text."""

    def prompted(self, text: str, question: bool) -> str:
        """Returns the text with the words that go before a question, or before a text to be found."""
        ...


@runtime_checkable
class Published(Protocol):
    """An embedder that can also read a text as a well-known model does, for callers who compare by its cosine."""

    def published(self, text: str) -> str:
        """Returns the text marked to be read that way."""
        ...


@dataclass(slots=True, eq=False)
class Request:
    """The texts of one caller, and the vectors known so far."""

    texts: Sequence[str]
    background: bool = False
    answer: Future[Vectors] = field(default_factory=Future)
    asked: int = 0
    known: dict[int, Vectors] = field(default_factory=dict)

    def portion(self, most: int, characters: int | None = None) -> Portion:
        """Returns the next few texts; at least one, since a long one would otherwise never be asked for."""
        start = self.asked
        while self.asked < len(self.texts) and self.asked - start < max(most, 1):
            if characters is not None:
                characters -= len(self.texts[self.asked])
                if characters < 0 and self.asked > start:
                    break
            self.asked += 1
        return Portion(self, range(start, self.asked))

    def give(self, places: Sequence[int], vectors: Vectors) -> None:
        """Takes the vectors of one portion; the last one completes the caller's answer."""
        if places == range(len(self.texts)):  # all at once, as for a question
            self._answer(vectors)
            return
        import numpy as np

        self.known.update(zip(places, vectors, strict=True))
        if len(self.known) == len(self.texts):
            self._answer(np.stack([self.known[place] for place in range(len(self.texts))]))

    def _answer(self, vectors: Vectors) -> None:
        with suppress(InvalidStateError):  # the caller may have gone away
            self.answer.set_result(vectors)

    def fail(self, problem: Exception) -> None:
        """Passes an error to the caller; the rest of their texts is dropped."""
        with suppress(InvalidStateError):
            self.answer.set_exception(problem)


@dataclass(frozen=True, slots=True)
class Portion:
    """The part of a request in one batch: the indexes of its texts."""

    request: Request
    places: Sequence[int]

    @property
    def texts(self) -> list[str]:
        """The texts at these indexes."""
        return [self.request.texts[place] for place in self.places]


def fitting(lengths: Sequence[int], most: int) -> int:
    """Returns how many texts of these lengths are at most `most` long together; at least one."""
    return max(1, sum(total <= most for total in accumulate(lengths)))


def moments(
    pool: Sequence[Portion],
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    moment: Callable[[Sequence[int]], int],
) -> Iterator[list[Portion]]:
    """Yields all texts of a pool, from all callers, longest first, in batches that take only a moment.

    Texts of similar length are neighbours, so that little is padded.
    """
    lengths = lengths_of([text for portion in pool for text in portion.texts])
    places = [(portion.request, place) for portion in pool for place in portion.places]
    order = sorted(zip(lengths, places, strict=True), key=lambda each: each[0], reverse=True)
    while order:
        count = max(moment([length for length, _ in order]), 1)
        by_request: dict[Request, list[int]] = {}
        for _, (request, place) in order[:count]:
            by_request.setdefault(request, []).append(place)
        yield [Portion(request, taken) for request, taken in by_request.items()]
        order = order[count:]
