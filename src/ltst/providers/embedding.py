"""Embedding: runs an embedder beside the event loop, and lists the embedders to choose from."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from ltst.errors import Invalid, LtstError, ModelUnavailable
from ltst.providers.function import CallableEmbedder
from ltst.providers.local import LocalEmbedder
from ltst.providers.remote import OpenAIEmbedder
from ltst.providers.turns import Paced, Portion, Prompted, Request, fitting, moments
from ltst.providers.vectors import TextRefused, check_vectors
from ltst.support.logs import LOGGER
from ltst.support.place import in_thread

if TYPE_CHECKING:
    from ltst.protocols import Embedder
    from ltst.providers.vectors import Vectors


__all__ = ["CallableEmbedder", "Embedding", "LocalEmbedder", "OpenAIEmbedder", "TextRefused", "check_vectors"]

R = TypeVar("R")

MOST_TEXTS = 32
MOST_CHARACTERS = 8_192
# How many background texts are sorted by length at once: enough that neighbours are nearly as long, and few enough to
# be measured in a tenth of a second.
POOL = 256
# A caller waits for the current batch, so a background batch should take about a tenth of a second. This is for
# embedders that do not say how much that is.
BACKGROUND_CHARACTERS = 2_048
LONGEST_GOODBYE = 5.0


class Embedding:
    """Calls an embedder from one thread of its own; callers that come while it is busy share the next batch.

    Nobody waits for a batch to fill: the first caller goes alone, those who come meanwhile go together. A long list
    takes turns with the others, and background texts are embedded only when nobody else waits, so that a question is
    not stuck behind a backlog. Background texts of all callers are sorted by length before they are cut into batches.
    Not bound to an event loop.
    """

    def __init__(self, embedder: Embedder, *, texts: int = MOST_TEXTS, characters: int = MOST_CHARACTERS) -> None:
        """`texts` and `characters` limit a batch: small ones answer sooner, large ones suit a distant endpoint."""
        if texts < 1 or characters < 1:
            raise Invalid("texts and characters must be at least 1")
        self.embedder = embedder
        self._prompts = embedder.prompted if isinstance(embedder, Prompted) else None
        self._most_texts = texts
        self._most_characters = characters
        self._waiting: deque[Request] = deque()
        self._measured: list[Portion] = []
        self._moments: deque[list[Portion]] = deque()
        self._bell = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._closed = False

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.embedder.name

    async def dimensions(self) -> int:
        """Returns the length of its vectors, for which a remote model may have to be called."""
        return await in_thread(self._translate_errors, lambda: self.embedder.dimensions)

    async def parts(self, texts: Sequence[str], *, room: int = 0) -> list[list[str]]:
        """Returns the parts of each text; runs in a thread, since long texts take a while."""
        return await in_thread(self._translate_errors, lambda: [self.embedder.parts(text, room=room) for text in texts])

    async def vectors(self, texts: Sequence[str], *, background: bool = False, question: bool = False) -> Vectors:
        """Returns a vector for each text, in order; `background` texts come after everyone else's.

        Some models expect other words before a `question` than before a text to be found.
        """
        request = Request(self._add_prompts(texts, question), background)
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

    def _add_prompts(self, texts: Sequence[str], question: bool) -> list[str]:
        return [*texts] if self._prompts is None else [self._prompts(text, question) for text in texts]

    async def close(self) -> None:
        """Finishes the current batch and refuses the rest."""
        with self._bell:
            self._closed = True
            pooled = [*self._measured, *(portion for batch in self._moments for portion in batch)]
            refused, thread = [*self._waiting, *(portion.request for portion in pooled)], self._thread
            self._waiting.clear()
            self._moments.clear()
            self._bell.notify()
        for request in refused:
            request.fail(ModelUnavailable(f"the embedding by {self.name} was closed"))
        if thread is not None:
            # A remote model may hold it up for long; the thread ends with the process in any case.
            await in_thread(thread.join, LONGEST_GOODBYE)

    def end(self) -> None:
        """Finishes the current batch when the process ends: killing a thread inside a model's library aborts.

        Waiting callers get no answer: they end with the process.
        """
        if self._process != os.getpid() or self._thread is None:
            return
        with self._bell:
            self._bell.notify()
        self._thread.join(LONGEST_GOODBYE)

    def _work(self) -> None:
        while batch := self._next():
            self._serve(batch)

    def _next(self) -> list[Portion]:
        """Returns the next batch; an empty one when there will be no more."""
        while True:
            with self._bell:
                self._bell.wait_for(lambda: self._waiting or self._moments or self._closed or ENDING.is_set())
                if self._closed or ENDING.is_set():
                    return []
                if batch := self._urgent() or self._next_batch():
                    return batch
                self._measured = self._pool()
            self._sort()

    def _urgent(self) -> list[Portion]:
        """Returns what callers wait for now: an equal share for each; who needs more goes to the back of the line."""
        served = [each for each in self._waiting if not each.background and not each.answer.done()][: self._most_texts]
        count = len(served) or 1
        batch = [request.portion(self._most_texts // count, self._most_characters // count) for request in served]
        self._line_up(served)
        return batch

    def _next_batch(self) -> list[Portion]:
        """Returns the next background batch, without callers who have gone away."""
        while self._moments:
            if batch := [portion for portion in self._moments.popleft() if not portion.request.answer.done()]:
                return batch
        return []

    def _pool(self) -> list[Portion]:
        """Returns the texts to sort next: an equal share for every caller, so that nobody waits forever."""
        served = [request for request in self._waiting if not request.answer.done()][:POOL]
        pool = [request.portion(POOL // len(served)) for request in served]
        self._line_up(served)
        return pool

    def _line_up(self, served: Sequence[Request]) -> None:
        waiting = [each for each in self._waiting if not each.answer.done() and each not in served]
        self._waiting = deque(waiting + [each for each in served if each.asked < len(each.texts)])

    def _sort(self) -> None:
        """Cuts the pool into batches. The lock is free meanwhile, and a question that comes in goes first."""
        batches = self._cut(self._measured)
        with self._bell:
            # close() has already refused them.
            self._moments, self._measured = deque([] if self._closed else batches), []

    def _cut(self, pool: Sequence[Portion]) -> list[list[Portion]]:
        if isinstance(self.embedder, Paced):
            try:
                return [*moments(pool, self.embedder.lengths, self.embedder.moment)]
            except Exception as problem:  # noqa: BLE001 - a model that is missing is told when it is asked for vectors
                LOGGER.debug("texts could not be measured", extra={"reason": repr(problem)})
        most, texts = min(self._most_characters, BACKGROUND_CHARACTERS), self._most_texts
        return [*moments(pool, lambda given: [*map(len, given)], lambda lengths: fitting(lengths[:texts], most))]

    def _serve(self, batch: Sequence[Portion]) -> None:
        texts = [text for portion in batch for text in portion.texts]
        started = time.perf_counter()
        try:
            vectors = check_vectors(self.embedder.embed(texts), len(texts), self.embedder.dimensions)
        except TextRefused as problem:
            self._refuse(batch, problem)
        except Exception as problem:  # noqa: BLE001 - it is the callers' to handle, and the thread must go on
            for portion in batch:
                portion.request.fail(self._as_own(problem))
        else:
            start = 0
            for portion in batch:
                portion.request.give(portion.places, vectors[start : start + len(portion.places)])
                start += len(portion.places)
            milliseconds = round((time.perf_counter() - started) * 1000, 3)
            LOGGER.debug("embedded", extra={"texts": len(texts), "milliseconds": milliseconds})

    def _translate_errors(self, question: Callable[[], R]) -> R:
        try:
            return question()
        except Exception as problem:
            raise self._as_own(problem) from problem

    def _as_own(self, problem: Exception) -> Exception:
        """Returns the error as one of ltst's own: whatever way an embedder fails in becomes ModelUnavailable."""
        if isinstance(problem, LtstError):
            return problem
        told = ModelUnavailable(f"the embedding by {self.name} failed: {problem!r}")
        told.__cause__ = problem
        return told

    def _refuse(self, batch: Sequence[Portion], problem: TextRefused) -> None:
        """Retries each portion alone, since one caller's text must not fail the others'."""
        if len(batch) == 1:
            batch[0].request.fail(problem)
            return
        for portion in batch:
            self._serve([portion])


AT_WORK: WeakSet[Embedding] = WeakSet()
ENDING = threading.Event()


@atexit.register
def _end_all() -> None:
    ENDING.set()
    for embedding in [*AT_WORK]:
        embedding.end()
