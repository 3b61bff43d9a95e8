"""A database that Citus has distributed: each user's calls go to the node that holds the user.

There they run as on a server of its own, in one transaction on one node: no statement crosses nodes. What the keeper
does for all users is done in each place, and what comes back is put together (`gathering.py`). Keys, measurements and
what all users share stay with the coordinator.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import BaseRowFactory

from ltst.db import places
from ltst.db.connections import Connection, ConnectionPool
from ltst.db.distribute import barred, make_place
from ltst.db.gathering import Everywhere
from ltst.db.places import Place
from ltst.db.pool import (
    OWNER,
    Database,
    Executor,
    Parameters,
    Scope,
    SingleCall,
    Statement,
    Transaction,
    Work,
)
from ltst.errors import DatabaseUnavailable, Denied, LtstError
from ltst.support.logs import LOGGER

R = TypeVar("R")

ENTER_PLACE = b"SELECT ltst_enter_place(%s), "
ENTER_ONLY = b"SELECT ltst_enter_place(%s)"
MOVED, UNMADE = "LT001", "LT002"
# How long to wait before asking again where a place is that has just been moved.
PAUSE = 0.05
# How long to wait before asking again where a node is that cannot be reached.
PAUSE_OF_LOST = 0.5


class PlaceDatabase(Database):
    """The part of a distributed database that lies in one place; it is entered at the beginning of each transaction."""

    def __init__(self, whole: Distributed, place: Place) -> None:
        """Begins where the place is now."""
        super().__init__(whole.pool_of(place))
        self._whole = whole
        self.spot = place
        self.use = place.shard

    def move(self, place: Place) -> None:
        """Goes on at another node."""
        self.spot = place
        self.pool = self._whole.pool_of(place)

    def entry(self, scope: Scope, *, hurry: bool = True) -> tuple[bytes, tuple[Any, ...]]:
        """Returns what enters the place first."""
        entry, values = super().entry(scope, hurry=hurry)
        return ENTER_PLACE + entry.removeprefix(b"SELECT "), (self.spot.shard, *values)

    async def _execute(self, cursor: psycopg.AsyncCursor[Any], name: str, given: Parameters, **how: Any) -> None:
        """Calls a function that sets its own user, after entering the place in the same round trip."""
        connection = cursor.connection
        async with connection.pipeline():
            await connection.execute(ENTER_ONLY, (self.spot.shard,), prepare=True)
            await super()._execute(cursor, name, given, **how)

    async def attempt(self, work: Work[R], *, repeatable: bool, writes: bool = False) -> R:
        """Does the work where the place is; it is looked for again if it has moved, before anything was done."""
        deadline = time.monotonic() + self.pool.patience
        while True:
            try:
                return await super().attempt(work, repeatable=repeatable, writes=writes)
            except LtstError as problem:
                await self._found_again(problem, problem.__cause__, deadline)

    async def _opened(self, first: Sequence[Statement], hurry: bool) -> tuple[AsyncExitStack, Connection]:
        deadline = time.monotonic() + self.pool.patience
        while True:
            try:
                return await super()._opened(first, hurry)
            except psycopg.Error as problem:
                await self._found_again(problem, problem, deadline)

    async def _found_again(self, raised: Exception, cause: BaseException | None, deadline: float) -> None:
        """Looks where the place is now, or makes its schema there; raises again what is about something else."""
        state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
        if state not in (MOVED, UNMADE) or time.monotonic() > deadline:
            raise raised
        if state == MOVED:
            await asyncio.sleep(PAUSE)
            await self._whole.look_again()
        else:
            await self._whole.make(self.spot)


class Distributed(Database):
    """A database over several nodes."""

    distributed = True

    def __init__(self, coordinator: Database, found: Sequence[Place]) -> None:
        """Uses the coordinator's connections, and others to each node on demand."""
        super().__init__(coordinator.pool)
        self._pools: dict[int, ConnectionPool] = {}
        self._asked_at = 0.0
        self._lows = [place.low for place in found]
        self._parts = tuple(PlaceDatabase(self, place) for place in found)
        self.places = self._parts

    async def close(self) -> None:
        """Closes the connections to the nodes; those to the coordinator are closed by whoever opened them."""
        for pool in self._pools.values():
            await pool.close()

    def pool_of(self, place: Place) -> ConnectionPool:
        """Returns the connections to the node of a place, which go to its address as it is now."""
        address = make_conninfo(self.conninfo, host=place.host, port=place.port)
        if place.node not in self._pools:
            self._pools[place.node] = self.pool.alike(address)
            self._pools[place.node].ask_where = self._look_for_lost
        pool = self._pools[place.node]
        if pool.conninfo != address:  # another server took its place; the lost one may still answer
            pool.conninfo = address
            pool.drain()
        return pool

    def at(self, user_id: str) -> Database:
        """Returns the place of a user."""
        return self._parts[max(0, bisect_right(self._lows, places.hashed(user_id)) - 1)]

    async def lost_servers(self) -> list[str]:
        """Returns the addresses of the nodes that cannot be reached right now; waits for none to come back."""
        nodes = {part.spot.node: part.spot for part in self._parts}
        return [place.address for place in nodes.values() if not await self._reaches(place)]

    async def _reaches(self, place: Place) -> bool:
        try:
            async with await self.pool_of(place).connect():
                return True
        except psycopg.Error:
            return False

    async def look_again(self) -> None:
        """Asks the coordinator where the places are."""
        async with self.owner() as connection:
            self._move(await places.known(connection))

    async def _look_for_lost(self) -> None:
        """Asks where the nodes are: another server may have taken the place of one that cannot be reached."""
        if time.monotonic() < self._asked_at + PAUSE_OF_LOST:
            return
        self._asked_at = time.monotonic()
        try:
            # Without waiting for the coordinator: the node may come back before it does.
            async with await self.connect() as connection:
                self._move(await places.known(connection))
        except (psycopg.Error, DatabaseUnavailable) as problem:
            LOGGER.warning("the coordinator cannot tell where a lost node is", extra={"reason": str(problem)})

    def _move(self, known: Sequence[Place]) -> None:
        found = {place.shard: place for place in known}
        for each in self._parts:
            if each.spot.shard in found and found[each.spot.shard] != each.spot:
                each.move(found[each.spot.shard])

    async def make(self, place: Place) -> None:
        """Makes the schema of a place that has come to a node."""
        try:
            async with Database(self.pool_of(place)).owner() as connection:
                await make_place(connection, place.shard)
        except Denied as problem:
            raise Denied(await self.barred() or str(problem)) from problem

    async def barred(self) -> str | None:
        """Returns what to do where this role may not make the schemas of places on a node; None if it may on all."""
        async with self.owner() as connection:
            return await barred(connection)

    def user(self, user_id: str) -> SingleCall:
        """Returns single calls for one user."""
        return self.at(user_id).user(user_id)

    def keeper(self) -> Executor:
        """Returns single calls that are made in every place, or on the coordinator for what lies there."""
        nodes = {part.pool: part.following() for part in self._parts}
        others = [calls for pool, calls in nodes.items() if pool is not self.pool]
        return Everywhere(self.following(), SingleCall(self, OWNER), others, [part.following() for part in self._parts])

    @asynccontextmanager
    async def transaction(self, scope: Scope, *, hurry: bool = True) -> AsyncIterator[Transaction]:
        """Opens a transaction where the user is; the keeper's is one of the coordinator."""
        opened = self.at(scope.user_id).transaction(scope, hurry=hurry) if scope.user_id else None
        async with opened or super().transaction(scope, hurry=hurry) as tx:
            yield tx

    @asynccontextmanager
    async def snapshot(self, scope: Scope) -> AsyncIterator[Transaction]:
        """Opens a transaction whose reads all see the same moment."""
        async with self.at(scope.user_id).snapshot(scope) if scope.user_id else super().snapshot(scope) as tx:
            yield tx

    @asynccontextmanager
    async def beside(self, tx: Transaction, user_id: str) -> AsyncIterator[Transaction]:
        """Opens a transaction of the keeper in the place of a user; it ends before the one that it stands beside."""
        async with self.at(user_id).transaction(tx.scope) as other:
            yield other

    async def call(self, name: str, parameters: Parameters) -> tuple[Any, ...]:
        """Calls a function that sets its own user, where that is."""
        return await self.at(str(parameters["user_id"])).call(name, parameters)

    async def _called(self, name: str, factory: BaseRowFactory[R], binary: bool, parameters: Parameters) -> list[R]:
        return await self.at(str(parameters["user_id"]))._called(name, factory, binary, parameters)


@asynccontextmanager
async def over(database: Database) -> AsyncIterator[Database]:
    """The database as it is, or as one over several nodes where Citus has distributed it."""
    async with database.owner() as connection:
        found = await places.known(connection) if await places.is_distributed(connection) else []
    if not found:
        yield database
        return
    whole = Distributed(database, found)
    try:
        yield whole
    finally:
        await whole.close()
