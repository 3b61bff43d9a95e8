"""What is measured: single operations, and what they and the tables come to over a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ltst.records import Usage


class Measurement(NamedTuple):
    """One operation, as it was seen."""

    operation_type: str
    name: str
    user_id: str
    session_id: str | None
    milliseconds: float
    results: int
    error: str | None
    at: datetime
    cache_hit: bool | None = None


@dataclass(frozen=True, slots=True)
class OperationStats:
    """How often an operation ran and how long it took, over the last day."""

    name: str
    count: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    cache_hit_rate: float | None


@dataclass(frozen=True, slots=True)
class TableStats:
    """How large a table is, indexes included, and how many rows came in the last day (None: not counted)."""

    name: str
    rows: int
    bytes: int
    added_last_day: int | None


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long things lasted: how many at most so many seconds, by that bound, and all their seconds together."""

    within: Mapping[float, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Stats:
    """What the database holds and how fast it answers."""

    operations: tuple[OperationStats, ...]
    tables: tuple[TableStats, ...]
    database_bytes: int
    models: tuple[Usage, ...] = ()
    sessions: Lifetimes | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """What was done in a stretch of time, which began `at` so many seconds after 1970."""

    at: int
    operations: int
    errors: int
    p50_ms: float
    p95_ms: float
    cache_hit_rate: float | None
    written: int
