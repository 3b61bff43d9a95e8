"""Gathering: what the keeper asks of every place of a distributed database, put together into one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from psycopg.rows import BaseRowFactory

from ltst.db.pool import Executor, Parameters, SingleCall

R = TypeVar("R")

# What lies on the coordinator, or on every node alike.
NOUNS_OF_THE_COORDINATOR = ("keys", "learning", "windows", "health", "metrics", "models")
# What is written on every node alike: Citus connects to them as whoever writes, and the keeper cannot log in.
OF_THE_OWNER = ("models.add", "models.begin", "models.give_up", "models.forget_former")
OF_EVERY_PLACE = ("metrics.growth", "health.master_keys", "health.unprotected_shards")
# What lies in part on the coordinator, in part in the places; and what each node has once.
OF_BOTH = ("metrics.tables",)
OF_EVERY_NODE = ("metrics.database_bytes",)

# Answers of one number, which are added up; answers of rows that are added up where they have the same key.
SUMS = ("work.left", "work.held", "work.retry", "metrics.database_bytes")
BY_KEY = {
    "work.aside": "task",
    "metrics.growth": "name",
    "metrics.tables": "name",
    "sessions.lifetimes": "bound",
    "health.master_keys": "id",
}
# What each place answers in this order, up to a limit; the rest comes as the places come.
IN_ORDER: Mapping[str, Callable[[Any], Any]] = {"users.list": lambda user: user.user_id}
SINGLE = ("sessions.users", "health.unprotected_shards")


class Everywhere(Executor):
    """Runs each query in every place; what lies on the coordinator is asked there."""

    def __init__(
        self, coordinator: SingleCall, owner: SingleCall, nodes: Sequence[SingleCall], places: Sequence[SingleCall]
    ) -> None:
        """Act as the keeper, or on the coordinator as the owner of the tables; `nodes` are the others, once each."""
        self.scope = coordinator.scope
        self._coordinator = coordinator
        self._owner = owner
        self._nodes = nodes
        self._places = places

    async def _ask(self, name: str, factory: BaseRowFactory[R], parameters: Parameters) -> list[R]:
        async def ask(calls: SingleCall) -> list[R]:
            return await calls._ask(name, factory, parameters)

        answers = await self._from_all(name, ask)
        return answers[0] if len(answers) == 1 else _join(name, answers, parameters.get("limit"))

    async def _change(self, name: str, parameters: Parameters) -> int:
        async def change(calls: SingleCall) -> int:
            return await calls._change(name, parameters)

        return sum(await self._from_all(name, change))

    async def _from_all(self, name: str, ask: Callable[[SingleCall], Awaitable[R]]) -> list[R]:
        return [*await asyncio.gather(*map(ask, self._calls_for(name)))]

    def _calls_for(self, name: str) -> Sequence[SingleCall]:
        if name in OF_THE_OWNER:
            return [self._owner]
        if name in OF_EVERY_NODE:
            return [self._coordinator, *self._nodes]
        if name in OF_BOTH:
            return [self._coordinator, *self._places]
        return [self._coordinator] if _lies_on_coordinator(name) else self._places


def _lies_on_coordinator(name: str) -> bool:
    noun = name.partition(".")[0]
    return noun in NOUNS_OF_THE_COORDINATOR and name not in OF_EVERY_PLACE


def _join(name: str, answers: Sequence[list[Any]], limit: int | None) -> list[Any]:
    """Puts the answers of all places together."""
    found = [row for rows in answers for row in rows]
    if name in SUMS:
        return [sum(found)]
    if name in BY_KEY:
        return _added_up(BY_KEY[name], found)
    if name in SINGLE:
        return [*dict.fromkeys(found)]
    if name in IN_ORDER:
        return sorted(found, key=IN_ORDER[name])[:limit]
    return found


def _added_up(key: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    added: dict[Any, dict[str, Any]] = {}
    for row in rows:
        known = added.setdefault(row[key], {})
        for name, value in row.items():
            counts = name != key and isinstance(value, int | float | Decimal)
            known[name] = known.get(name, 0) + value if counts else value
    return [*added.values()]
