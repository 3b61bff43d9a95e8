"""Embedders for tests: real vectors of a simple kind, so that a thousand texts take some milliseconds."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltst import AsyncMemory, CallableEmbedder, Settings


def hashed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Bags of hashed words: texts that share words are alike."""
    vectors = np.full((len(texts), 384), 1e-3)
    for vector, text in zip(vectors, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % 384] += 1
    return vectors


class Bare:
    """An embedder with all that one needs, and nothing of ltst's own."""

    name = "bare"
    dimensions = 384

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        return [text]

    def embed(self, texts: Sequence[str]) -> Any:
        return hashed(texts)


def opened(settings: Settings, function: Any = hashed, **more: Any) -> AsyncMemory:
    """A memory with such an embedder."""
    return AsyncMemory(settings=settings, embedder=CallableEmbedder(function, "hashed", 384), **more)
