"""The processor time, user and system, of a client and of the Postgres that it asks, with every process below them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil
import psycopg


@dataclass(slots=True)
class Spent:
    """Seconds of processor time."""

    client: float = 0.0
    postgres: float = 0.0

    @property
    def both(self) -> float:
        """All of it."""
        return self.client + self.postgres


@dataclass(frozen=True, slots=True)
class Meter:
    """Reads what a client, this process unless another is named, and a Postgres use during a block."""

    postmaster: int
    client: int = 0

    @contextmanager
    def adding_to(self, spent: Spent) -> Iterator[None]:
        """Add what is used; this process is looked at from the inside, so that looking at others does not count."""
        postgres, below, own = self._postgres(), self._below(), self._own()
        try:
            yield
        finally:
            own = self._own() - own
            spent.client += own + self._below() - below
            spent.postgres += self._postgres() - postgres

    def total(self) -> float:
        """What both have used since they began."""
        return self._postgres() + self._below() + self._own()

    def _own(self) -> float:
        if not self.client:
            return time.process_time()
        times = psutil.Process(self.client).cpu_times()
        return times.user + times.system

    def _below(self) -> float:
        """Of what the client started; the Postgres may be among that and is counted by itself."""
        client = psutil.Process(self.client or os.getpid())
        ended = client.cpu_times()
        apart = _pids(self.postmaster)
        others = [each for each in client.children(recursive=True) if each.pid not in apart]
        return ended.children_user + ended.children_system + _used(others)

    def _postgres(self) -> float:
        root = psutil.Process(self.postmaster)
        return _used([root, *root.children(recursive=True)])


def postmaster(dsn: str) -> int:
    """The first process of a Postgres on this machine: the parent of all its others."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return psutil.Process(connection.info.backend_pid).ppid()


def _pids(root: int) -> set[int]:
    return {root, *(each.pid for each in psutil.Process(root).children(recursive=True))}


def _used(processes: Iterable[psutil.Process]) -> float:
    """Of processes and of those that they started and that have ended."""
    used = 0.0
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used
