"""Meters of chat: turns and the executors that answer them, read when the page is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ltst.agents.turns import TurnStats


class TurnMeters(Collector):
    """What turns and executors tell of themselves, in the words of Prometheus."""

    def __init__(self, stats: Callable[[], TurnStats]) -> None:
        """Ask when asked."""
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """All of them."""
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
        buckets = [
            ("+Inf" if bound == float("inf") else str(bound), count) for bound, count in executors.lifetimes.items()
        ]
        lived.add_metric([], buckets, executors.lifetime_sum)
        yield lived
