"""Metrics: durations of operations, collected in memory and written in batches, without naming users."""

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
    """Collects measurements until they are written; drops the oldest if the database is away for long."""

    def __init__(self) -> None:
        """Starts empty, with a salt of its own so that the hashes cannot be traced back to users."""
        self._salt = secrets.token_bytes(16)
        self._pending: deque[Measurement] = deque(maxlen=MOST_PENDING)

    def __len__(self) -> int:
        """Returns how many measurements wait to be written."""
        return len(self._pending)

    def add(self, measurement: Measurement) -> None:
        """Adds a measurement without waiting for the database."""
        self._pending.append(measurement)

    def anonymised(self, measurement: Measurement) -> dict[str, Any]:
        """Returns the fields of a log line for a measurement, with the user as a hash salted by this process."""
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
        """Writes the measurements waiting now in batches; a batch that fails is kept for the next time.

        Later ones wait for the next call, so that closing ends even while others keep measuring.
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
