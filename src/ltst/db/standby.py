"""Reads from a standby: a server that follows the primary, asked only once it has what its reader wrote."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from ltst.db.connections import Connection, ConnectionPool
from ltst.db.pool import Database, Statement, Work
from ltst.errors import DatabaseUnavailable
from ltst.support.logs import LOGGER

R = TypeVar("R")

# How long a read waits for the standby to catch up, before the primary is asked instead; so long are all others, too.
CATCH_UP_SECONDS = 1.0
FIRST_LOOK, LONGEST_LOOK = 0.0005, 0.02
# How long a standby that cannot be used is left alone.
REST_SECONDS = 10.0
# So many users' writes are remembered one by one; with more, everybody's reads wait for the newest of them.
MOST_REMEMBERED = 10_000
EVERYBODY = ""

POSITION = b"""
SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text
"""
REACHED = b"SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"


@dataclass(slots=True, eq=False)
class Need:
    """What a read must see: the primary's log up to a position, which is asked for when somebody reads."""

    position: str | None = None


class Standby(Database):
    """A database on a standby. What cannot be read there is asked of the primary."""

    follows = True

    def __init__(self, pool: ConnectionPool, primary: Database) -> None:
        """Follow a primary, and be told of what is written there."""
        super().__init__(pool)
        self._primary = primary
        self._rests_until = 0.0
        # By user. What was there when this was opened, such as its schema, everybody needs.
        self._needed = {EVERYBODY: Need()}
        primary.wrote = self._wrote

    async def for_reading(self, user_id: str) -> Database:
        """Return this database if it can be used and has what the user wrote through this process, else the primary."""
        for who in (user_id, EVERYBODY):
            if time.monotonic() < self._rests_until:
                return self._primary
            if (need := self._needed.get(who)) is None:
                continue
            if need.position is None:
                need.position = await self._position()
            if not await self._reaches(need.position):
                return self._primary
            # Unless more was written meanwhile.
            if self._needed.get(who) is need:
                del self._needed[who]
        return self

    async def attempt(self, work: Work[R], *, repeatable: bool, writes: bool = False) -> R:
        """Do the work here; where the standby is gone, or ends a query so that it can go on, ask the primary."""
        try:
            return await super().attempt(work, repeatable=repeatable, writes=writes)
        except DatabaseUnavailable as problem:
            self._give_up(problem)
            return await self._primary.attempt(work, repeatable=repeatable, writes=writes)

    async def _opened(self, first: Sequence[Statement], hurry: bool) -> tuple[AsyncExitStack, Connection]:
        """Begin a transaction here, or on the primary where the standby is gone."""
        try:
            return await super()._opened(first, hurry)
        except (psycopg.OperationalError, DatabaseUnavailable) as problem:
            self._give_up(problem)
            return await self._primary._opened(first, hurry)

    def _wrote(self, user_id: str) -> None:
        if len(self._needed) >= MOST_REMEMBERED:
            self._needed = {}
            user_id = EVERYBODY
        self._needed[user_id] = Need()

    async def _position(self) -> str:
        """Return how far the primary is."""

        async def ask(connection: Connection, retried: bool) -> str:
            return str(await connection.value(POSITION))

        return await self._primary.attempt(ask, repeatable=True)

    async def _reaches(self, position: str) -> bool:
        """Wait a moment for the standby to come to a position; return whether it did."""

        async def ask(connection: Connection, retried: bool) -> bool:
            return bool(await connection.value(REACHED, (position,)))

        deadline, pause = time.monotonic() + CATCH_UP_SECONDS, FIRST_LOOK
        try:
            while not await super().attempt(ask, repeatable=True):
                if time.monotonic() > deadline:
                    self._rests_until = time.monotonic() + CATCH_UP_SECONDS
                    return False
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_LOOK)
        except DatabaseUnavailable as problem:
            self._give_up(problem)
            return False
        return True

    def _give_up(self, problem: Exception) -> None:
        LOGGER.warning("the standby cannot be read; the primary is asked", extra={"reason": str(problem)})
        self._rests_until = time.monotonic() + REST_SECONDS
