"""Embedding: an embedder at work beside the event loop, and the embedders there are to choose from."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from ltst.errors import Invalid, LtstError, ModelUnavailable
from ltst.providers.function import CallableEmbedder
from ltst.providers.local import LocalEmbedder
from ltst.providers.remote import OpenAIEmbedder
from ltst.providers.vectors import TextRefused, check_vectors
from ltst.support.logs import LOGGER
from ltst.support.place import beside

if TYPE_CHECKING:
    from ltst.protocols import Embedder
    from ltst.providers.vectors import Vectors


__all__ = ["CallableEmbedder", "Embedding", "LocalEmbedder", "OpenAIEmbedder", "TextRefused", "check_vectors"]

R = TypeVar("R")

MOST_TEXTS = 32
MOST_CHARACTERS = 8_192
# Whoever asks now waits for the batch at hand: one of the background takes about a tenth of a second.
BACKGROUND_CHARACTERS = 2_048
LONGEST_GOODBYE = 5.0


class Embedding:
    """Asks an embedder from one thread of its own; whoever calls while it is busy shares the next batch.

    Nobody waits for a batch to fill: the first caller goes alone, those who come in the meantime go together. A long
    list takes turns with the others, and the background is asked for only when nobody else waits, so that a question
    does not stand behind a backlog. Belongs to no event loop.
    """

    def __init__(self, embedder: Embedder, *, texts: int = MOST_TEXTS, characters: int = MOST_CHARACTERS) -> None:
        """`texts` and `characters` bound a batch: small ones answer sooner, large ones suit an endpoint far away."""
        if texts < 1 or characters < 1:
            raise Invalid("texts and characters must be at least 1")
        self.embedder = embedder
        self._most_texts = texts
        self._most_characters = characters
        self._waiting: deque[_Request] = deque()
        self._bell = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._closed = False

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.embedder.name

    async def dimensions(self) -> int:
        """The length of its vectors, for which a remote model may have to be asked."""
        return await beside(self._asked, lambda: self.embedder.dimensions)

    async def parts(self, texts: Sequence[str], *, room: int = 0) -> list[list[str]]:
        """The parts of each text; long ones take their time."""
        return await beside(self._asked, lambda: [self.embedder.parts(text, room=room) for text in texts])

    async def vectors(self, texts: Sequence[str], *, background: bool = False) -> Vectors:
        """A vector for each text, in their order; those for the background come after everyone else's."""
        request = _Request(list(texts), background)
        if not request.texts:
            return check_vectors([], 0, await self.dimensions())
        with self._bell:
            if self._closed:
                raise ModelUnavailable(f"the embedding by {self.name} is closed")
            if self._thread is None and not ENDING.is_set():
                self._thread = threading.Thread(target=self._work, name="ltst-embedding", daemon=True)
                self._thread.start()
                AT_WORK.add(self)
            self._waiting.append(request)
            self._bell.notify()
        return await asyncio.wrap_future(request.answer)

    async def close(self) -> None:
        """Finish the batch at hand and refuse the rest."""
        with self._bell:
            self._closed = True
            refused, thread = list(self._waiting), self._thread
            self._waiting.clear()
            self._bell.notify()
        for request in refused:
            request.fail(ModelUnavailable(f"the embedding by {self.name} was closed"))
        if thread is not None:
            # A remote model may keep it for long; the thread ends with the process in any case.
            await beside(thread.join, LONGEST_GOODBYE)

    def end(self) -> None:
        """Finish the batch at hand, at the end of the process: a thread that is torn out of a model's library aborts.

        Whoever waits is not answered: they end with the process.
        """
        if self._process != os.getpid() or self._thread is None:
            return
        with self._bell:
            self._bell.notify()
        self._thread.join(LONGEST_GOODBYE)

    def _work(self) -> None:
        while batch := self._next():
            self._serve(batch)

    def _next(self) -> list[_Turn]:
        """The next batch; none when there is to be no other."""
        with self._bell:
            while True:
                self._bell.wait_for(lambda: self._waiting or self._closed or ENDING.is_set())
                if self._closed or ENDING.is_set():
                    return []
                if batch := self._batch():
                    return batch

    def _batch(self) -> list[_Turn]:
        """An equal share of the next batch for everyone who waits; who needs more stands at the back again."""
        waiting = [request for request in self._waiting if not request.answer.done()]
        urgent = [request for request in waiting if not request.background]
        characters = self._most_characters if urgent else min(self._most_characters, BACKGROUND_CHARACTERS)
        served = (urgent or waiting)[: self._most_texts]
        later = [request for request in waiting if request not in served]
        count = len(served) or 1
        batch = [request.turn(self._most_texts // count, characters // count) for request in served]
        self._waiting = deque(later + [request for request in served if request.asked < len(request.texts)])
        return batch

    def _serve(self, batch: Sequence[_Turn]) -> None:
        texts = [text for turn in batch for text in turn.texts]
        started = time.perf_counter()
        try:
            vectors = check_vectors(self.embedder.embed(texts), len(texts), self.embedder.dimensions)
        except TextRefused as problem:
            self._refuse(batch, problem)
        except Exception as problem:  # noqa: BLE001 - it is the callers' to handle, and the thread must go on
            for turn in batch:
                turn.request.fail(self._told(problem))
        else:
            start = 0
            for turn in batch:
                turn.request.give(vectors[start : start + len(turn.texts)])
                start += len(turn.texts)
            milliseconds = round((time.perf_counter() - started) * 1000, 3)
            LOGGER.debug("embedded", extra={"texts": len(texts), "milliseconds": milliseconds})

    def _asked(self, question: Callable[[], R]) -> R:
        try:
            return question()
        except Exception as problem:
            raise self._told(problem) from problem

    def _told(self, problem: Exception) -> Exception:
        """An embedder of someone's own may fail in its own way: to the callers it is not to be had."""
        if isinstance(problem, LtstError):
            return problem
        told = ModelUnavailable(f"the embedding by {self.name} failed: {problem!r}")
        told.__cause__ = problem
        return told

    def _refuse(self, batch: Sequence[_Turn], problem: TextRefused) -> None:
        """Ask for each alone, since one caller's text must not fail the others'."""
        if len(batch) == 1:
            batch[0].request.fail(problem)
            return
        for turn in batch:
            self._serve([turn])


AT_WORK: WeakSet[Embedding] = WeakSet()
ENDING = threading.Event()


@atexit.register
def _end_all() -> None:
    ENDING.set()
    for embedding in [*AT_WORK]:
        embedding.end()


@dataclass(slots=True)
class _Turn:
    """What one request has in one batch."""

    request: _Request
    texts: Sequence[str]


@dataclass(slots=True, eq=False)
class _Request:
    """The texts of one caller and what is known about them."""

    texts: Sequence[str]
    background: bool = False
    answer: Future[Vectors] = field(default_factory=Future)
    asked: int = 0
    known: list[Vectors] = field(default_factory=list)

    def turn(self, most: int, characters: int) -> _Turn:
        """The next few texts: at least one, or a long one would never be asked for."""
        start = self.asked
        while self.asked < len(self.texts) and self.asked - start < most:
            characters -= len(self.texts[self.asked])
            if characters < 0 and self.asked > start:
                break
            self.asked += 1
        return _Turn(self, self.texts[start : self.asked])

    def give(self, vectors: Vectors) -> None:
        """Take the vectors of one turn; with the last, the caller has their answer."""
        import numpy as np

        self.known.append(vectors)
        if sum(map(len, self.known)) == len(self.texts):
            # The caller may have gone away.
            with suppress(InvalidStateError):
                self.answer.set_result(np.concatenate(self.known))

    def fail(self, problem: Exception) -> None:
        """Let the caller know; what is left of their texts is not asked for."""
        with suppress(InvalidStateError):
            self.answer.set_exception(problem)
