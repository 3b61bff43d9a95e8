"""Meters: what a server counts of itself, in the words of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ltst.doors.http.store_meters import StoreMeters
from ltst.measurements import Measurement

LATENCIES = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
UNROUTED = "(no route)"


class Meters:
    """The counters of one process; several processes of one server put theirs together in a folder."""

    def __init__(self, shared: Path | None = None) -> None:
        """Count from zero."""
        self._shared = shared
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "ltst_http_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "ltst_http_request_seconds",
            "How long until the answer was sent.",
            ["method", "route"],
            buckets=LATENCIES,
            registry=self.registry,
        )
        self.under_way = Gauge(
            "ltst_http_requests_under_way",
            "Requests that are being answered.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )

        self.operations = Histogram(
            "ltst_operation_seconds",
            "How long operations of the memory took.",
            ["type", "operation"],
            buckets=LATENCIES,
            registry=self.registry,
        )
        self.failures = Counter(
            "ltst_operation_failures", "Operations that failed.", ["operation", "error"], registry=self.registry
        )
        self.lookups = Counter(
            "ltst_cache_lookups", "Looks into a cache.", ["operation", "result"], registry=self.registry
        )
        self.store = StoreMeters()
        self.registry.register(self.store)

    def note(self, seen: Measurement) -> None:
        """Count an operation of the memory."""
        self.operations.labels(seen.operation_type, seen.name).observe(seen.milliseconds / 1000)
        if seen.error is not None:
            self.failures.labels(seen.name, seen.error).inc()
        if seen.cache_hit is not None:
            self.lookups.labels(seen.name, "hit" if seen.cache_hit else "miss").inc()

    def add(self, collectors: Iterable[Collector]) -> None:
        """Count what others keep count of."""
        for each in collectors:
            self.registry.register(each)

    def page(self) -> bytes:
        """The page /metrics."""
        if self._shared is None:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, path=str(self._shared))  # type: ignore[no-untyped-call]
        together.register(self.store)
        return generate_latest(together)


class Metered:
    """Counts requests by the route that answered, never by the path: paths hold users' own words."""

    def __init__(self, app: ASGIApp, *, meters: Meters) -> None:
        """Count on the meters."""
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the time of a request."""
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
    """The route that answered a request, in the words of the server's document."""
    return getattr(scope.get("route"), "path_format", UNROUTED)
