"""The figures of a run: what was compared with what, against which bound, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Unit = Literal["ms", "per second"]
READABLE_WIDTH = 120
FEW_MILLISECONDS = 20  # so few that their fractions tell something


@dataclass(frozen=True, slots=True)
class Figure:
    """A median, with percentiles of the single operations where there are any."""

    value: float
    unit: Unit
    p95_ms: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None

    def __str__(self) -> str:
        """As a person reads it."""
        main = f"{self.value:,.2f} ms" if self.unit == "ms" else f"{self.value:,.0f}/s"
        named = {"p50": self.p50_ms, "p95": self.p95_ms, "p99": self.p99_ms}
        told = ", ".join(f"{name} {value:,.1f} ms" for name, value in named.items() if value is not None)
        return f"{main} ({told})" if told else main


@dataclass(frozen=True, slots=True)
class Comparison:
    """One thing measured beside another, and how far they may be apart, if that is bounded."""

    name: str
    ours: Figure
    other_name: str
    other: Figure
    bound: float | None

    @property
    def ratio(self) -> float:
        """Ours by the other's."""
        return self.ours.value / self.other.value

    @property
    def ok(self) -> bool:
        """Whether the bound holds; time should be little, throughput much."""
        if self.bound is None:
            return True
        return self.ratio <= self.bound if self.ours.unit == "ms" else self.ratio >= self.bound

    @property
    def rule(self) -> str:
        """The bound with its direction."""
        return "" if self.bound is None else f"{'≤' if self.ours.unit == 'ms' else '≥'} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure that stands alone."""

    name: str
    value: float
    unit: Literal["ms", "MB", "bytes", "of 1", "times"]
    least: float | None = None
    most: float | None = None

    @property
    def ok(self) -> bool:
        """Whether it is at least and at most what it should be, where there is such a thing."""
        enough = self.least is None or self.value >= self.least
        return enough and (self.most is None or self.value <= self.most)

    @property
    def rule(self) -> str:
        """The bounds with their directions."""
        named = {"≥": self.least, "≤": self.most}
        return " ".join(f"{sign} {bound:g}" for sign, bound in named.items() if bound is not None)

    def __str__(self) -> str:
        """As a person reads it."""
        if self.unit == "of 1":
            return f"{self.value:.4f}"
        exact = self.unit == "times" or (self.unit == "ms" and abs(self.value) < FEW_MILLISECONDS)
        digits = 2 if exact else 0
        return f"{self.value:,.{digits}f} {self.unit}"


Row = Comparison | Reading


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run measured."""

    rows: Sequence[Row]
    title: str = "ltst beside what one would write by hand, on the same server and with the same model"

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """What was measured beside something."""
        return [each for each in self.rows if isinstance(each, Comparison)]

    @property
    def readings(self) -> Sequence[Reading]:
        """What was measured by itself."""
        return [each for each in self.rows if isinstance(each, Reading)]

    @property
    def ok(self) -> bool:
        """Whether all bounds hold."""
        return all(each.ok for each in self.rows)

    def show(self, console: Console) -> None:
        """Print both tables."""
        console.print(_comparison_table(self.comparisons, self.title))
        console.print(_reading_table(self.readings))

    def save(self, path: Path) -> None:
        """Write all of it as JSON."""
        path.write_text(json.dumps(self._document(), indent=2) + "\n", encoding="utf-8")

    def _document(self) -> dict[str, Any]:
        return {
            "machine": {"cpus": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
            "comparisons": [asdict(each) | {"ratio": each.ratio, "ok": each.ok} for each in self.comparisons],
            "readings": [asdict(each) | {"ok": each.ok} for each in self.readings],
        }


def readable() -> Console:
    """A console for the tables; a file has no width, and 80 columns would fold every row."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = READABLE_WIDTH
    return console


def milliseconds(seconds: Sequence[float]) -> Figure:
    """The usual time of one operation."""
    return Figure(statistics.median(seconds) * 1000, "ms", percentile(seconds, 95) * 1000)


def throughput(rates: Sequence[float], seconds: Sequence[float] = ()) -> Figure:
    """The usual rate of a block, with the times of its single operations where they were taken."""
    return Figure(statistics.median(rates), "per second", percentile(seconds, 95) * 1000 if seconds else None)


def throughput_99(rates: Sequence[float], seconds: Sequence[float]) -> Figure:
    """The usual rate of a block, with the usual time of one operation and that of the slowest in a hundred."""
    usual, slow = (percentile(seconds, each) * 1000 for each in (50, 99))
    return Figure(statistics.median(rates), "per second", p50_ms=usual, p99_ms=slow)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many of a hundred do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _comparison_table(comparisons: Sequence[Comparison], title: str) -> Table:
    table = Table(title=title)
    for heading in ("what", "ltst", "beside", "its figure"):
        table.add_column(heading)
    for heading in ("ratio", "bound", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in comparisons:
        ratio = f"{each.ratio:.2f}"
        row = (each.name, str(each.ours), each.other_name, str(each.other), ratio, each.rule, _verdict(each))
        table.add_row(*row)
    return table


def _reading_table(readings: Sequence[Reading]) -> Table:
    table = Table(title="and by itself")
    table.add_column("what")
    for heading in ("figure", "bound", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in readings:
        table.add_row(each.name, str(each), each.rule, _verdict(each))
    return table


def _verdict(row: Row) -> str:
    if not row.rule:
        return ""
    return "[green]ok[/]" if row.ok else "[red]over[/]"
