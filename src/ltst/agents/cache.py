"""Caches an executor per user and agent until it goes unused or its agent or instructions change."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ltst.agents.executor import AgentExecutor
from ltst.agents.loader import Agent
from ltst.memory import AsyncUser
from ltst.providers.endpoint import Endpoint
from ltst.records import Instruction
from ltst.settings import Settings

REASONS = ("expired", "size", "instructions", "agent", "closed")
LIFETIMES = (1.0, 10.0, 60.0, 600.0, 3600.0)  # seconds: the upper bounds of the histogram


@dataclass(frozen=True, slots=True)
class ExecutorStats:
    """Counts of executors so far.

    `lifetimes` counts removed executors by age, cumulatively as in Prometheus: the keys are upper bounds in seconds.
    """

    created: int
    hits: int
    live: int
    evicted: Mapping[str, int]
    lifetimes: Mapping[float, int]
    lifetime_sum: float


@dataclass(slots=True)
class _KeptExecutor:
    executor: AgentExecutor
    made: float
    used: float


class Executors:
    """Caches executors; each lookup reads the instructions to check whether an executor is still up to date."""

    def __init__(
        self, settings: Settings, endpoint: Endpoint | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """The settings `executors` and `executor_ttl` limit how many are kept, and how long after their last turn."""
        self._settings, self._endpoint, self._clock = settings, endpoint, clock
        # Ordered by last use, the oldest first.
        self._kept: OrderedDict[tuple[str, str], _KeptExecutor] = OrderedDict()
        self._created = self._hits = 0
        self._evicted: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self._ages: Counter[float] = Counter(dict.fromkeys((*LIFETIMES, float("inf")), 0))
        self._age_sum = 0.0

    async def get(self, user: AsyncUser, agent: Agent) -> AgentExecutor:
        """Returns the executor of a user and an agent, a new one if the agent's file or the instructions changed."""
        instruction = await user.instructions.get(agent.name)
        self._let_go_of_old()
        key = (user.user_id, agent.name)
        kept = self._kept.get(key)
        changed = None if kept is None else _why_outdated(kept.executor, agent, instruction)
        if changed is not None:
            self._evict(key, changed)
        elif kept is not None:
            kept.used, self._hits = self._clock(), self._hits + 1
            self._kept.move_to_end(key)
            return kept.executor
        return self._make(key, AgentExecutor(user, agent, instruction, self._endpoint, self._settings))

    def stats(self) -> ExecutorStats:
        """Returns the counts so far and how many executors are cached now."""
        self._let_go_of_old()
        return ExecutorStats(
            self._created, self._hits, len(self._kept), dict(self._evicted), dict(self._ages), self._age_sum
        )

    def close(self) -> None:
        """Drops all executors."""
        for key in [*self._kept]:
            self._evict(key, "closed")

    def _make(self, key: tuple[str, str], executor: AgentExecutor) -> AgentExecutor:
        now = self._clock()
        self._kept[key] = _KeptExecutor(executor, now, now)
        self._created += 1
        while len(self._kept) > self._settings.executors:
            self._evict(next(iter(self._kept)), "size")
        return executor

    def _let_go_of_old(self) -> None:
        latest = self._clock() - self._settings.executor_ttl
        while self._kept and (oldest := next(iter(self._kept.items())))[1].used <= latest:
            self._evict(oldest[0], "expired")

    def _evict(self, key: tuple[str, str], reason: str) -> None:
        age = self._clock() - self._kept.pop(key).made
        self._evicted[reason] += 1
        self._age_sum += age
        for bound in self._ages:
            self._ages[bound] += age <= bound


def _why_outdated(executor: AgentExecutor, agent: Agent, instruction: Instruction | None) -> str | None:
    """Returns why an executor is outdated ("agent" or "instructions"), or None if it is not."""
    if executor.agent != agent:
        return "agent"
    return "instructions" if executor.instruction != instruction else None
