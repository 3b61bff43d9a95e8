"""Metrics: how long each operation took, gathered in memory and written in batches, without saying whose it was."""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from typing import Any

from ltst.db.pool import Executor
from ltst.measurements import Measurement

MOST_PENDING = 10_000
BATCH = 1000


class Recorder:
    """Keeps measurements until they are written; when the database is away for long, the oldest go."""

    def __init__(self) -> None:
        """Begin empty, with a salt of its own, so that the hashes cannot be traced back to users."""
        self._salt = secrets.token_bytes(16)
        self._pending: deque[Measurement] = deque(maxlen=MOST_PENDING)

    def __len__(self) -> int:
        """How many are waiting to be written."""
        return len(self._pending)

    def add(self, measurement: Measurement) -> None:
        """Take one; no waiting."""
        self._pending.append(measurement)

    def anonymised(self, measurement: Measurement) -> dict[str, Any]:
        """Return what a log line tells of a measurement; the user stands in it as a hash of this process."""
        told = {
            "operation": measurement.name,
            "milliseconds": round(measurement.milliseconds, 3),
            "rows": measurement.results,
            "user": self._anonymous(measurement.user_id),
            "cache_hit": measurement.cache_hit,
            "error": measurement.error,
        }
        return {name: value for name, value in told.items() if value is not None}

    async def flush(self, tx: Executor) -> None:
        """Write what is waiting now, a batch at a time; a batch that fails waits on.

        What comes meanwhile is for the next time: whoever closes must not be kept by those who go on calling.
        """
        for _ in range(0, len(self._pending), BATCH):
            batch = [self._pending.popleft() for _ in range(min(BATCH, len(self._pending)))]
            try:
                await self._write(tx, batch)
            except BaseException:
                self._pending = deque([*batch, *self._pending], maxlen=MOST_PENDING)
                raise

    async def _write(self, tx: Executor, batch: list[Measurement]) -> None:
        await tx.run(
            "metrics.add_many",
            users=[self._anonymous(each.user_id) for each in batch],
            types=[each.operation_type for each in batch],
            names=[each.name for each in batch],
            sessions=[each.session_id and self._anonymous(each.session_id) for each in batch],
            hashes=[self._anonymous(f"{each.user_id}/{each.session_id}/{each.name}") for each in batch],
            times=[each.milliseconds for each in batch],
            counts=[each.results for each in batch],
            hits=[each.cache_hit for each in batch],
            errors=[each.error for each in batch],
            moments=[each.at for each in batch],
        )

    def _anonymous(self, value: str) -> str:
        return hashlib.blake2b(value.encode(), key=self._salt, digest_size=16).hexdigest()
