"""Reads from a standby: a server that follows the primary, asked only once it has what its reader wrote."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import psycopg

from ltst.db.connections import Connection, ConnectionPool
from ltst.db.pool import Database, Statement, Work, translated
from ltst.errors import Conflict, DatabaseUnavailable
from ltst.support.logs import LOGGER

R = TypeVar("R")

# How long a read waits for the standby to catch up before it uses the primary; then others use it for as long.
CATCH_UP_SECONDS = 1.0
FIRST_LOOK, LONGEST_LOOK = 0.0005, 0.02
# How long an unusable standby is left alone, and how long a usable one is believed to be one still.
REST_SECONDS = KNOWN_SECONDS = 10.0
# How many users' writes are tracked one by one; beyond that, all reads wait for the newest write.
MOST_REMEMBERED = 10_000
EVERYBODY = ""

POSITION = b"""
SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text
"""
IDENTITY = b"""
SELECT system_identifier::text, current_database()::text,
       CASE WHEN NOT pg_is_in_recovery() THEN extract(epoch FROM pg_postmaster_start_time())::float END
FROM pg_control_system()
"""
ANOTHER = "LTST_READ_DATABASE_URL names another database than DATABASE_URL does: name a standby of that one"
PROMOTED = "the server of LTST_READ_DATABASE_URL was promoted: it no longer follows that of DATABASE_URL"
BEHIND = b"""
SELECT CASE WHEN pg_is_in_recovery()
            THEN greatest(pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()), 0) ELSE 0 END::bigint
"""
REACHED = b"SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() >= %s::pg_lsn END"


class Identity(NamedTuple):
    """Whose copy a server is, and unless it follows another, when it was started."""

    system: str
    database: str
    started: float | None


@dataclass(slots=True, eq=False)
class Need:
    """The position in the primary's log that a read must see; it is looked up when somebody reads."""

    position: str | None = None


class Standby(Database):
    """A database on a standby; uses the primary for what the standby cannot serve."""

    follows = True

    def __init__(self, pool: ConnectionPool, primary: Database) -> None:
        """Follows a primary, which reports its writes here."""
        super().__init__(pool)
        self._primary = primary
        self._rests_until = 0.0
        self._known_until = 0.0  # since it may be promoted, it is asked again and again whose copy it is
        # By user. Everybody needs what existed when this was opened, such as the schema.
        self._needed = {EVERYBODY: Need()}
        primary.wrote = self._wrote

    async def for_reading(self, user_id: str) -> Database:
        """Returns this database if it is usable and has what the user wrote through this process, else the primary."""
        if time.monotonic() >= self._known_until and not await self._is_known():
            return self._primary
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

    async def bytes_behind(self) -> int:
        """Returns how much of the log the standby has yet to replay; raises if it cannot be read or is none."""
        position = await self._position()
        with translated():
            async with await self.connect() as connection:
                if await self._is_promoted(await _identity(connection)):
                    raise Conflict(PROMOTED)
                return int(await connection.value(BEHIND, (position,)))

    async def attempt(self, work: Work[R], *, repeatable: bool, writes: bool = False) -> R:
        """Runs the work here, or on the primary if the standby is gone or cancelled the query to keep up."""
        try:
            return await super().attempt(work, repeatable=repeatable, writes=writes)
        except DatabaseUnavailable as problem:
            self._give_up(problem)
            return await self._primary.attempt(work, repeatable=repeatable, writes=writes)

    async def _opened(self, first: Sequence[Statement], hurry: bool) -> tuple[AsyncExitStack, Connection]:
        """Begins a transaction here, or on the primary where the standby is gone."""
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

    async def _is_known(self) -> bool:
        """Asks the standby whose copy it is: Conflict if of another database, False if it cannot be used."""
        if time.monotonic() < self._rests_until:
            return False
        try:
            found = await super().attempt(_identity, repeatable=True)
        except DatabaseUnavailable as problem:
            self._give_up(problem)
            return False
        if await self._is_promoted(found):
            self._give_up(PROMOTED)
            return False
        self._known_until = time.monotonic() + KNOWN_SECONDS
        return True

    async def _is_promoted(self, found: Identity) -> bool:
        """Returns whether a server that followed the primary writes by itself; Conflict if it never followed it."""
        primary = await self._primary.attempt(_identity, repeatable=True)
        if found[:2] != primary[:2]:
            raise Conflict(ANOTHER)
        return found.started not in (None, primary.started)

    async def _position(self) -> str:
        """Returns the primary's current position in its log."""

        async def ask(connection: Connection, retried: bool) -> str:
            return str(await connection.value(POSITION))

        return await self._primary.attempt(ask, repeatable=True)

    async def _reaches(self, position: str) -> bool:
        """Waits briefly for the standby to reach a position; returns whether it did."""

        async def ask(connection: Connection, retried: bool) -> bool | None:
            reached: bool | None = await connection.value(REACHED, (position,))
            return reached

        deadline, pause = time.monotonic() + CATCH_UP_SECONDS, FIRST_LOOK
        try:
            while not (reached := await super().attempt(ask, repeatable=True)):
                if reached is None:  # it follows nobody: it is the primary itself, or was promoted beside it
                    return await self._is_known()
                if time.monotonic() > deadline:
                    self._rests_until = time.monotonic() + CATCH_UP_SECONDS
                    return False
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_LOOK)
        except DatabaseUnavailable as problem:
            self._give_up(problem)
            return False
        return True

    def _give_up(self, problem: Exception | str) -> None:
        LOGGER.warning("the standby cannot be read; the primary is asked", extra={"reason": str(problem)})
        self._rests_until = time.monotonic() + REST_SECONDS


async def _identity(connection: Connection, retried: bool = False) -> Identity:
    (found,) = await connection.rows(IDENTITY)
    return Identity(*found)
