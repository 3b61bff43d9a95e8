"""Metrics of a server, in Prometheus's format."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ltst.agents.turns import TurnStats
from ltst.errors import Unavailable
from ltst.measurements import Measurement, Stats
from ltst.memory import AsyncMemory

LATENCIES = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
UNROUTED = "(no route)"
FRESH_SECONDS = 60.0  # how often table sizes are read at most


class Meters:
    """The counters of one process; several processes of one server share theirs through a folder."""

    def __init__(self, turns: Callable[[], TurnStats], shared: Path | None = None) -> None:
        self._shared = shared
        self.registry = CollectorRegistry()
        self.requests = self._counter("ltst_http_requests", "Requests answered.", "method", "route", "status")
        self.seconds = self._histogram(
            "ltst_http_request_seconds", "How long until the answer was sent.", "method", "route"
        )
        self.under_way = Gauge(
            "ltst_http_requests_under_way",
            "Requests that are being answered.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.operations = self._histogram(
            "ltst_operation_seconds", "How long operations of the memory took.", "type", "operation"
        )
        self.failures = self._counter("ltst_operation_failures", "Operations that failed.", "operation", "error")
        self.lookups = self._counter("ltst_cache_lookups", "Looks into a cache.", "operation", "result")
        self.store = StoreMeters()
        self.registry.register(self.store)
        self.registry.register(TurnMeters(turns))

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, *labels: str) -> Histogram:
        return Histogram(name, about, labels, buckets=LATENCIES, registry=self.registry)

    def note(self, seen: Measurement) -> None:
        """Count an operation of the memory."""
        self.operations.labels(seen.operation_type, seen.name).observe(seen.milliseconds / 1000)
        if seen.error is not None:
            self.failures.labels(seen.name, seen.error).inc()
        if seen.cache_hit is not None:
            self.lookups.labels(seen.name, "hit" if seen.cache_hit else "miss").inc()

    def page(self) -> bytes:
        """Return the page /metrics."""
        if self._shared is None:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, path=str(self._shared))  # type: ignore[no-untyped-call]
        together.register(self.store)
        return generate_latest(together)


class Metered:
    """Counts requests by route, never by path, because paths contain users' words."""

    def __init__(self, app: ASGIApp, *, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Measures the duration of a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started = time.perf_counter()
        self._meters.under_way.inc()
        try:
            await self._app(scope, receive, noted)
        finally:
            self._meters.under_way.dec()
            route = route_of(scope)
            self._meters.requests.labels(scope["method"], route, status).inc()
            self._meters.seconds.labels(scope["method"], route).observe(time.perf_counter() - started)


def route_of(scope: Scope) -> str:
    """Return the route of a request as the OpenAPI document writes it."""
    return getattr(scope.get("route"), "path_format", UNROUTED)


class TurnMeters(Collector):
    """Metrics of turns and executors, in Prometheus's format."""

    def __init__(self, stats: Callable[[], TurnStats]) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        seen = self._stats()
        yield GaugeMetricFamily("ltst_turns_under_way", "Turns that are being answered.", seen.under_way)
        turns = CounterMetricFamily("ltst_turns", "Turns by what came of them.", labels=["outcome"])
        for outcome in ("answered", "failed", "repeated"):
            turns.add_metric([outcome], getattr(seen, outcome))
        yield turns
        executors = seen.executors
        yield GaugeMetricFamily("ltst_executors_live", "Users' agents that are kept ready.", executors.live)
        yield CounterMetricFamily("ltst_executors_created", "Users' agents made ready.", executors.created)
        yield CounterMetricFamily("ltst_executor_hits", "Turns that found theirs ready.", executors.hits)
        gone = CounterMetricFamily("ltst_executors_evicted", "Users' agents let go, by reason.", labels=["reason"])
        for reason, count in executors.evicted.items():
            gone.add_metric([reason], count)
        yield gone
        lived = HistogramMetricFamily("ltst_executor_lifetime_seconds", "How long those were kept that are gone.")
        lived.add_metric([], _buckets(executors.lifetimes), executors.lifetime_sum)
        yield lived


class StoreMeters(Collector):
    """Metrics of the database as last seen, in Prometheus's format."""

    def __init__(self) -> None:
        """Starts the clock, because the memory opens about now."""
        self._begun = time.monotonic()
        self._looked: float | None = None
        self._seen: Stats | None = None

    async def look(self, memory: AsyncMemory) -> None:
        """Reads the statistics, unless that was done less than a minute ago."""
        if self._looked is not None and time.monotonic() - self._looked < FRESH_SECONDS:
            return
        try:
            self._seen, self._looked = await memory.stats(), time.monotonic()
        except Unavailable:
            self._seen = self._looked = None  # the page then shows that the database is down

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        yield GaugeMetricFamily("ltst_memory_open_seconds", "How long it is open.", time.monotonic() - self._begun)
        yield GaugeMetricFamily("ltst_database_up", "Whether the database answered.", int(self._seen is not None))
        if self._seen is not None:
            yield from _sizes(self._seen)
            if self._seen.sessions is not None:
                about = "From the first to the last message of the conversations that were active in a day."
                buckets, seconds = _buckets(self._seen.sessions.within), self._seen.sessions.seconds
                yield GaugeHistogramMetricFamily(
                    "ltst_session_lifetime_seconds", about, buckets=buckets, gsum_value=seconds
                )


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


def _buckets(counted: Mapping[float, int]) -> list[tuple[str, float]]:
    return [("+Inf" if bound == float("inf") else str(bound), count) for bound, count in counted.items()]
