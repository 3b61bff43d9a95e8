"""Migrations: numbered SQL files, applied in order, all in one transaction under one lock, their hashes kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import psycopg

from ltst.db import access, epochs, places, space
from ltst.db.connections import Connection
from ltst.db.pool import Database
from ltst.db.queries import statements
from ltst.errors import DatabaseUnavailable
from ltst.support.logs import LOGGER

Split = Callable[[str], Iterable[str]]

LOCK = 0x6C747374  # "ltst"; it also covers CREATE EXTENSION, which two processes must not run at once
OLDEST_POSTGRES = 150000
OLDEST_VECTOR = (0, 8, 4)

# Tables that a migration writes anew. Until they are vacuumed, what indexes hold of them is read from the tables.
WRITTEN_ANEW = {"0036_together": ("search_vectors",)}
# A migration and a deletion may each wait for a table that the other has locked.
ATTEMPTS = 5

CREATE_MIGRATIONS = b"""
CREATE TABLE IF NOT EXISTS ltst_migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now())
"""
APPLIED = b"SELECT version, name, sha256 FROM ltst_migrations ORDER BY version"
HAS_MIGRATIONS = b"SELECT to_regclass('ltst_migrations') IS NOT NULL"
REMEMBER = b"INSERT INTO ltst_migrations (version, name, sha256) VALUES (%s, %s, %s)"
STATEMENTS = statements(__name__)


class Requirements(NamedTuple):
    """What the server, its extension and the connecting role can do, in the order of the query's columns."""

    version: int
    me: str
    schema: str | None
    may_create: bool
    installed: str | None
    available: str | None
    may_extend: bool
    superuser: bool
    may_add_roles: bool
    absent: list[str]  # those of ltst's two roles that do not exist
    foreign: list[str]  # those that the connecting role can neither become nor grant itself
    members: list[str]  # those that it is a member of

    @property
    def quoted(self) -> str:
        """The connecting role's name, escaped for use in quotes."""
        return self.me.replace('"', '""')


class Migration(NamedTuple):
    """One numbered file."""

    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash that shows whether the file changed after it was applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """A migration and its state: applied, pending, changed since, or unknown to this ltst."""

    version: int
    name: str
    state: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Returns the migration files in order."""
    folder = resources.files("ltst.db").joinpath("migrations")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name.split("_")[0]), file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in files
    )


async def status(database: Database) -> list[MigrationStatus]:
    """Returns every migration that the files or the database know."""
    async with database.owner() as connection:
        return await _status(connection)


async def migrate(database: Database, *, split: Split | None = None) -> list[str]:
    """Applies what is pending and returns the names; safe to run twice and from many processes at once.

    A distributed database is migrated by whoever has made way for it, and tells how to `split` a script: Citus takes
    one statement at a time.
    """
    async with database.owner() as connection:
        if not await lacks(connection) and await _at_home(connection):
            return []
        if split is None:
            await places.refuse_distributed(connection, "bring its schema up to date first, with ltst db migrate")
    applied = await _apply_in_turn(database, split)
    if written := [table for name in applied for table in WRITTEN_ANEW.get(name, ())]:
        await space.vacuum(database, written)
    return applied


async def _apply_in_turn(database: Database, split: Split | None) -> list[str]:
    """Applies what is pending in one transaction, begun again if it must give way to another; returns the names."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with database.owner(hurry=False) as connection:
                if split is not None:
                    await connection.execute(b"SET LOCAL citus.enable_unsafe_triggers = on")
                    # Tables and functions are changed in one transaction.
                    await connection.execute(b"SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
                await connection.execute(b"SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                return await _apply_all(connection, split or _as_one)
        except DatabaseUnavailable as problem:
            if attempt == ATTEMPTS or not isinstance(problem.__cause__, psycopg.errors.DeadlockDetected):
                raise
    raise AssertionError("the last attempt returns or raises")


async def _at_home(connection: Connection) -> bool:
    """Returns whether the ledger was not moved; one that is distributed lies elsewhere, and its numbers with it."""
    return await epochs.at_home(connection) or await places.is_distributed(connection)


async def lacks(connection: Connection) -> bool:
    """Returns whether migrations are pending."""
    return bool(_find_pending(await _status(connection)))


async def refuse_pending(connection: Connection) -> None:
    """Raises DatabaseUnavailable if the schema is not up to date."""
    found = await _status(connection)
    if all(each.state == "pending" for each in found):
        raise DatabaseUnavailable(
            "the database has no tables of ltst yet: run `ltst db migrate` first, for several servers `ltst db migrate "
            "--distributed`"
        )
    if pending := _find_pending(found):
        names = ", ".join(each.name for each in pending)
        raise DatabaseUnavailable(f"the database lacks the migrations {names}: run `ltst db migrate` first")


async def reset(database: Database, *, first: Callable[[Connection], Awaitable[None]]) -> None:
    """Drops everything that ltst created in this database, including all data, and creates it again.

    `first` is called in the same transaction before anything is dropped. A server that requires keys keeps doing so.
    """
    async with database.owner(hurry=False) as connection:
        await connection.execute(b"SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        await places.refuse_distributed(connection, "drop it on every node, and make it anew")
        asks_for_keys = False
        if await _read_applied(connection):  # otherwise nothing here belongs to ltst, whatever its name
            asks_for_keys = await access.required(connection)
            await first(connection)
            await _drop(connection)
        await _apply_all(connection)
        if asks_for_keys:
            await access.require(connection)


def _as_one(script: str) -> Iterable[str]:
    return (script,)


async def _apply_all(connection: Connection, split: Split = _as_one) -> list[str]:
    """Applies pending migrations and returns their names; the caller holds the lock."""
    await require(connection)
    await connection.execute(CREATE_MIGRATIONS)
    pending = _find_pending(await _status(connection))
    await _refuse_clashes(connection, pending)
    applied = [await _apply(connection, migration, split) for migration in pending]
    if not await _at_home(connection):
        await epochs.begin(connection)
    return applied


async def _drop(connection: Connection) -> None:
    for kind in ("VIEW", "TABLE", "FUNCTION"):
        for name in names_of(kind):
            await connection.execute(f"DROP {kind} IF EXISTS {name} CASCADE".encode())
    await connection.execute(b"DROP TABLE IF EXISTS ltst_migrations")


@cache
def names_of(kind: str) -> tuple[str, ...]:
    """Returns the tables, indexes, views or functions that the migrations create, read from their text."""
    return tuple(name for migration in migrations() for name in _names_created(kind, migration))


def _names_created(kind: str, migration: Migration) -> list[str]:
    return re.findall(rf"^CREATE (?:UNIQUE )?{kind} (\w+)", migration.text, re.MULTILINE)


async def _status(connection: Connection) -> list[MigrationStatus]:
    applied = await _read_applied(connection)
    known = [
        MigrationStatus(each.version, each.name, _state_of(each, applied.get(each.version))) for each in migrations()
    ]
    versions = {each.version for each in migrations()}
    strange = [
        MigrationStatus(version, name, "unknown") for version, (name, _) in applied.items() if version not in versions
    ]
    return known + strange


async def _read_applied(connection: Connection) -> dict[int, tuple[str, str]]:
    if not await connection.value(HAS_MIGRATIONS):
        return {}
    return {version: (name, sha256) for version, name, sha256 in await connection.rows(APPLIED)}


def _state_of(migration: Migration, applied: tuple[str, str] | None) -> str:
    if applied is None:
        return "pending"
    return "applied" if applied[1] == migration.sha256 else "changed"


def _find_pending(found: list[MigrationStatus]) -> list[Migration]:
    for each in found:
        if each.state == "changed":
            raise DatabaseUnavailable(
                f"migration {each.name} differs from the one that was applied to this database: "
                "install the ltst that made it, or restore a backup into an empty database"
            )
        if each.state == "unknown":
            raise DatabaseUnavailable(
                f"this database has migration {each.name}, which this ltst does not know: install a newer ltst"
            )
    wanted = {each.version for each in found if each.state == "pending"}
    return [migration for migration in migrations() if migration.version in wanted]


async def _refuse_clashes(connection: Connection, pending: Sequence[Migration]) -> None:
    """Raises if other programs have tables with names that ltst needs, and says how both can coexist."""
    named = [name for kind in ("TABLE", "VIEW") for migration in pending for name in _names_created(kind, migration)]
    found = await connection.rows(STATEMENTS["clashes"], (named,))
    if found:
        names = ", ".join(name for (name,) in found)
        raise DatabaseUnavailable(
            f"this database has relations of other programs whose names ltst needs: {names}. Give ltst a schema of its "
            "own: CREATE SCHEMA ltst; and add options=-csearch_path=ltst,public to the database URL (as "
            "?options=-csearch_path%3Dltst%2Cpublic). A chat table among them can then become part of the memory: "
            f"ltst db adopt {names.split(',')[0]}"
        )


async def _apply(connection: Connection, migration: Migration, split: Split) -> str:
    try:
        for statement in split(migration.text):
            await connection.execute(statement.encode())
        await connection.execute(REMEMBER, (migration.version, migration.name, migration.sha256))
    except psycopg.Error as problem:
        raise DatabaseUnavailable(
            f"migration {migration.name} failed and was rolled back whole, the database is as it was before: "
            f"{str(problem).strip()}. {_advice(problem)}, then run: ltst db migrate"
        ) from problem
    LOGGER.info("migration applied", extra={"migration": migration.name})
    return migration.name


def _advice(problem: psycopg.Error) -> str:
    if isinstance(problem, psycopg.errors.DuplicateTable):
        return "Give ltst a database, or a schema (options=-csearch_path=ltst), of its own"
    return "Remove the cause"


async def require(connection: Connection) -> None:
    """Checks the server, the extension and the rights, and says exactly what to run if something is missing."""
    (found,) = [Requirements(*row) for row in await connection.rows(STATEMENTS["requirements"])]
    _check_server(found)
    to_run = [*_extension_steps(found.installed, found.available, found.superuser or found.may_extend)]
    to_run += _role_steps(found)
    if not found.may_create:
        to_run.append(f'GRANT USAGE, CREATE ON SCHEMA {found.schema or "public"} TO "{found.quoted}";')
    if to_run:
        raise DatabaseUnavailable(
            "the database is not ready for ltst. As a superuser, run in this database:\n  " + "\n  ".join(to_run)
        )
    if found.installed is None:
        await connection.execute(b"CREATE EXTENSION IF NOT EXISTS vector")


def _check_server(found: Requirements) -> None:
    if found.version < OLDEST_POSTGRES:
        raise DatabaseUnavailable(f"ltst needs Postgres 15 or newer; this server is {found.version // 10000}")
    if found.installed is None and found.available is None:
        raise DatabaseUnavailable(
            "the server has no pgvector: install version 0.8.4 or newer on it "
            "(Debian and Ubuntu: apt-get install postgresql-<version>-pgvector), then try again"
        )


def _role_steps(found: Requirements) -> list[str]:
    if found.absent and not (found.superuser or found.may_add_roles):
        create = [f"CREATE ROLE {role} NOLOGIN;" for role in found.absent]
        return [*create, f'GRANT ltst_user, ltst_keeper TO "{found.quoted}";']
    return [_grant(found)] if found.foreign and not found.superuser else []


def _grant(found: Requirements) -> str:
    """Returns the GRANT to run; an existing grant without the right to assume the role must name that right."""
    half = {*found.foreign} & {*found.members}
    become = " WITH SET TRUE" if half and found.version >= 160000 else ""
    return f'GRANT {", ".join(found.foreign)} TO "{found.quoted}"{become};'


def _extension_steps(installed: object, available: object, may_create: bool) -> list[str]:
    if installed is None:
        if _version(available) < OLDEST_VECTOR:
            return [f"-- install pgvector 0.8.4 or newer on the server first: it offers {available}"]
        return [] if may_create else ["CREATE EXTENSION vector;"]
    if _version(installed) >= OLDEST_VECTOR:
        return []
    if _version(available) >= OLDEST_VECTOR:
        return ["ALTER EXTENSION vector UPDATE;"]
    return [
        f"-- install pgvector 0.8.4 or newer on the server first: it has {installed}",
        "ALTER EXTENSION vector UPDATE;",
    ]


def _version(written: object) -> tuple[int, ...]:
    return tuple(int(part) for part in str(written or "0").split(".") if part.isdigit())
