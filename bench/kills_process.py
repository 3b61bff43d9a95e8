"""The worker of the kill test: works on a database until it is killed. Forked from a process that has all it needs."""

from __future__ import annotations

import asyncio
import random
import re
import time
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import ltst.indexing.index
import ltst.learn.listen
import ltst.retelling.consolidate
import ltst.retelling.episodes
import ltst.worker
from ltst import AsyncMemory, CallableEmbedder, Settings

LEASE = 1.0  # seconds: what a killed worker held is soon taken up again
SLOWNESS = 0.01  # seconds that the model takes for a batch, at most
QUIET, IDLE = 0.01, 0.1


def hashed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Bags of hashed words, in a time that varies."""
    time.sleep(random.uniform(0, SLOWNESS))
    vectors = np.full((len(texts), 384), 1e-3)
    for vector, text in zip(vectors, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % 384] += 1
    return vectors


def opened(url: str, *, worker: bool) -> AsyncMemory:
    """A memory on the database, with or without a worker in the background."""
    settings = Settings(database_url=url, worker=worker, lease=LEASE, pool_size=4)
    return AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384))


def work(url: str) -> None:
    """Work in the background, and never end."""
    ltst.worker.QUIET_SECONDS, ltst.worker.IDLE_SECONDS = QUIET, IDLE

    async def forever() -> None:
        async with opened(url, worker=True):
            await asyncio.Event().wait()

    random.seed()
    asyncio.run(forever())
