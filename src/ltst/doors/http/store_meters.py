"""Meters of the store: how large the tables are, how they grow, and how long conversations and the memory last."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ltst.errors import Unavailable
from ltst.measurements import Lifetimes, Stats
from ltst.memory import AsyncMemory

FRESH_SECONDS = 60.0  # the sizes are looked up at most this often, whoever asks


class StoreMeters(Collector):
    """What was last seen of the database, in the words of Prometheus."""

    def __init__(self) -> None:
        """Nothing was seen yet; the memory opens about now."""
        self._begun = time.monotonic()
        self._looked: float | None = None
        self._seen: Stats | None = None

    async def look(self, memory: AsyncMemory) -> None:
        """Look at the database, unless that was done a moment ago."""
        if self._looked is not None and time.monotonic() - self._looked < FRESH_SECONDS:
            return
        try:
            self._seen, self._looked = await memory.stats(), time.monotonic()
        except Unavailable:
            self._seen = self._looked = None  # the page tells that it is away

    def collect(self) -> Iterator[Metric]:
        """All of them."""
        yield GaugeMetricFamily("ltst_memory_open_seconds", "How long it is open.", time.monotonic() - self._begun)
        yield GaugeMetricFamily("ltst_database_up", "Whether the database answered.", int(self._seen is not None))
        if self._seen is not None:
            yield from _sizes(self._seen)
            if self._seen.sessions is not None:
                yield _lasted(self._seen.sessions)


def _sizes(seen: Stats) -> Iterator[Metric]:
    yield GaugeMetricFamily("ltst_database_bytes", "How large the database is.", seen.database_bytes)
    size = GaugeMetricFamily("ltst_table_bytes", "How large a table is, with its indexes.", labels=["table"])
    rows = GaugeMetricFamily("ltst_table_rows", "How many rows a table has, roughly.", labels=["table"])
    added = GaugeMetricFamily("ltst_table_rows_added_last_day", "How many rows came in a day.", labels=["table"])
    for table in seen.tables:
        size.add_metric([table.name], table.bytes)
        rows.add_metric([table.name], table.rows)
        if table.added_last_day is not None:
            added.add_metric([table.name], table.added_last_day)
    yield from (size, rows, added)


def _lasted(sessions: Lifetimes) -> Metric:
    told = "From the first to the last message of the conversations that were active in a day."
    buckets = [("+Inf" if bound == float("inf") else str(bound), count) for bound, count in sessions.within.items()]
    return GaugeHistogramMetricFamily(
        "ltst_session_lifetime_seconds", told, buckets=buckets, gsum_value=sessions.seconds
    )
