"""Vectors that were computed once: an embedder that keeps them in a file, so that a second run costs no model."""

from __future__ import annotations

import copy
import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ltst.providers import adapter, joined
from ltst.providers.local import QUESTION, LocalEmbedder
from ltst.providers.turns import Prompted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ltst.protocols import Embedder

    Vectors = NDArray[np.float32]

SCHEMA = "CREATE TABLE IF NOT EXISTS vectors(key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
BUSY_SECONDS = 60.0


class CachedEmbedder:
    """Asks another embedder only for what the file does not hold yet. Safe from many threads, and many processes.

    `found` and `computed` count the vectors that came from the file and from the model.
    """

    def __init__(self, embedder: Embedder, file: Path) -> None:
        """The file is created, with its folder, if it is not there; vectors of several models may share it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._file = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute(SCHEMA)
        self._lock = threading.Lock()
        self._anew = False
        self.found = self.computed = 0

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return self._embedder.dimensions

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """The text cut into what the model reads whole."""
        return self._embedder.parts(text, room=room)

    def prompted(self, text: str, question: bool) -> str:
        """The text with what its model wants before it, if it wants anything."""
        return self._embedder.prompted(text, question) if isinstance(self._embedder, Prompted) else text

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text, from the file or else from the model."""
        if self._anew or not texts:
            return self._embedder.embed(texts)
        keys = [self._key(text) for text in texts]
        with self._lock:
            known = self._known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            vectors = self._embedder.embed([*missing.values()])
            computed = dict(zip(missing, vectors, strict=True))
            with self._lock:
                self._keep(computed)
            known |= computed
        self.found += len(keys) - len(missing)
        self.computed += len(missing)
        return np.stack([known[key] for key in keys])

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Everything is computed, and nothing counted: what is timed inside costs what it costs elsewhere."""
        self._anew = True
        try:
            yield
        finally:
            self._anew = False

    def plain(self) -> CachedEmbedder:
        """Return the model that the product is compared with: of two that are joined the first alone, else the same."""
        if self.name != joined.NAME:
            return self
        alone = copy.copy(self)
        alone._embedder = LocalEmbedder()
        return alone

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _key(self, text: str) -> bytes:
        weights = _weights(self.name, text.startswith(QUESTION))
        return hashlib.sha256(f"{self.name}{weights}\n{text}".encode()).digest()

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        query = "SELECT vector FROM vectors WHERE key = ?"
        rows = ((key, self._file.execute(query, (key,)).fetchone()) for key in keys)
        return {key: np.frombuffer(row[0], dtype=np.float32) for key, row in rows if row is not None}

    def _keep(self, computed: dict[bytes, NDArray[np.float32]]) -> None:
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in computed.items()]
        self._file.execute("BEGIN IMMEDIATE")
        self._file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        self._file.execute("COMMIT")


@cache
def _weights(model: str, question: bool) -> str:
    """Which trained weights a text is read by: trained anew, they give other vectors under the same name of a model."""
    used = [adapter.FILE] * question + [joined.FILE] * (model == joined.NAME)
    return "".join(hashlib.sha256((files("ltst.providers.data") / file).read_bytes()).hexdigest() for file in used)
