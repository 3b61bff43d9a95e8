"""Backs up and restores everything that ltst keeps in a database, using Postgres's own programs.

A backup is a snapshot of one moment. A restore is one transaction, so it happens completely or not at all. Tables of
other programs in the same database are left out of both.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from ltst.db import access, epochs, migrate, places
from ltst.db.blueprint import blueprint
from ltst.db.connections import Connection
from ltst.db.embedded import binaries
from ltst.db.pool import Database
from ltst.db.queries import statements
from ltst.errors import Conflict, DatabaseUnavailable, Invalid, NotFound
from ltst.support import durable

NOT_HERE = "restore into a database that is not, and run `ltst db distribute` there; see docs/scaling.md"
MUST_INHERIT = (
    "a distributed database is backed up by a role that sees the rows of everybody: on every node, run "
    "GRANT ltst_keeper TO {role} WITH INHERIT TRUE"
)
MIGRATIONS = "ltst_migrations"
# Tables that fill up by themselves; a database with rows in no other tables counts as empty.
BYCATCH = (
    "memory_performance_metrics",
    "memory_retrieval_cache",
    "embedding_models",
    "model_usage",
    "adopted_tables",
    epochs.TABLE,
    access.TABLE,
)
KNOWS_TRANSACTION_TIMEOUT = 170000
TRANSACTION_TIMEOUT = b"SET transaction_timeout = 0;\n"

STATEMENTS = statements(__name__)


@dataclass(frozen=True, slots=True)
class _Reach:
    """How programs connect to the database; secrets go into the environment, which only its owner can read."""

    conninfo: str
    environment: dict[str, str]

    def __repr__(self) -> str:
        return f"_Reach({self.conninfo!r})"


class _Contents(NamedTuple):
    """What a backup holds of ltst."""

    schema: str
    entries: tuple[str, ...]
    tables: tuple[str, ...]


class _Target(NamedTuple):
    """The database that a backup is restored into."""

    occupied: bool
    server_version: int
    asks_for_keys: str = "false"
    """The SQL condition under which its servers require keys."""


def place(conninfo: str) -> str:
    """Returns a readable name for a database, without the password."""
    parts = _parse(conninfo)
    host = parts.get("host") or parts.get("hostaddr") or "this machine"
    return f"{parts.get('dbname') or 'the default database'} on {host}"


async def backup(database: Database, file: Path, *, overwrite: bool = False) -> int:
    """Writes a backup that only its owner can read; returns its size in bytes."""
    _check_place(file, overwrite)
    await _refuse_unknown(database)
    async with database.owner() as connection:
        chosen = await _choose(connection)
        distributed = await places.is_distributed(connection)
    address = _at_one_moment(database.conninfo) if distributed else database.conninfo
    return await asyncio.to_thread(_dump, _reach(address), file, chosen)


async def restore(database: Database, file: Path, *, replace: bool = False) -> list[migrate.MigrationStatus]:
    """Restores a backup into an empty database (`replace`: into any), all or nothing; returns its migrations."""
    contents = await asyncio.to_thread(_contents, file)
    await _refuse_unknown(database)
    target = await _inspect(database, contents.schema)
    async with database.owner() as connection:
        await places.refuse_distributed(connection, NOT_HERE)
        replaced = await epochs.known(connection)
    if target.occupied and not replace and await _has_memories(database):
        raise Conflict("this database holds memories: restore into an empty one, or replace them with --force")
    closing = _closing_script(contents, replaced)
    await asyncio.to_thread(_load, _reach(database.conninfo), file, contents, target, closing)
    return await migrate.status(database)


def _parse(conninfo: str) -> dict[str, str]:
    try:
        if not conninfo.strip():
            raise psycopg.ProgrammingError
        return {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
    except psycopg.ProgrammingError:
        raise Invalid(
            "the database URL is not understood: write it as postgresql://user:password@host:5432/database"
        ) from None


def _at_one_moment(conninfo: str) -> str:
    """Returns the address with one connection to each node, so that all of a node is read as it was at one moment."""
    options = _parse(conninfo).get("options", os.environ.get("PGOPTIONS", ""))
    return make_conninfo(conninfo, options=f"{options} -c citus.max_adaptive_executor_pool_size=1".strip())


def _reach(conninfo: str) -> _Reach:
    given = _parse(conninfo)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LTST_") and name != "DATABASE_URL"
    }
    secret = [option for option in Conninfo.get_defaults() if option.dispchar == b"*"]
    for option in secret:
        value = given.pop(option.keyword.decode(), None)
        if value is not None and option.envvar is None:
            raise Invalid(f"{option.keyword.decode()} cannot be handed to pg_dump unseen: leave it out of the URL")
        if value is not None and option.envvar is not None:
            environment[option.envvar.decode()] = value
    return _Reach(make_conninfo("", **given), {**environment, "LC_ALL": "C"})


def _check_place(file: Path, overwrite: bool) -> None:
    if not file.parent.is_dir():
        raise Invalid(f"there is no folder {file.parent}")
    if file.is_dir():
        raise Invalid(f"{file} is a folder: name a file")
    if file.exists() and not overwrite:
        raise Conflict(f"{file} exists: name another file, or overwrite it with --force")


async def _refuse_unknown(database: Database) -> None:
    """Raises if a newer ltst made this database: it may have tables that this version would leave out."""
    for each in await migrate.status(database):
        if each.state == "unknown":
            raise DatabaseUnavailable(
                f"this database has migration {each.name}, which this ltst does not know: install a newer ltst"
            )


async def _choose(connection: Connection) -> list[str]:
    """Returns pg_dump's options that select ltst's tables, and the role that can read all rows.

    Citus connects to the nodes as whoever asks, and the keeper cannot log in.
    """
    ((schema, exempt, inherits),) = await connection.rows(STATEMENTS["reader"])
    if schema is None:
        raise NotFound("this database holds nothing of ltst: there is nothing to back up")
    ours = [*migrate.names_of("TABLE"), *migrate.names_of("VIEW"), MIGRATIONS]
    strangers = await connection.rows(STATEMENTS["strangers"], {"schema": schema, "ours": ours})
    chosen = [f"--schema={_pattern(str(schema))}"]
    chosen += [f"--exclude-table={_pattern(str(schema), str(name))}" for (name,) in strangers]
    if exempt:
        return chosen
    if not inherits and await places.is_distributed(connection):
        raise Conflict(MUST_INHERIT.format(role=await connection.value("SELECT quote_ident(current_user)")))
    return [*chosen, "--enable-row-security", *([] if inherits else ["--role=ltst_keeper"])]


def _pattern(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _dump(reach: _Reach, file: Path, chosen: list[str]) -> int:
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        done = _run(reach, "pg_dump", "--format=custom", "--no-password", f"--file={draft}", *chosen)
        if done.returncode:
            raise DatabaseUnavailable(f"the backup failed, and no file was written: {_first_error(done.stderr)}")
        size = draft.stat().st_size
        durable.sync(draft)
        durable.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    return size


def _run(reach: _Reach, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - Postgres's own programs
        [f"{binaries()}/{program}", *arguments, f"--dbname={reach.conninfo}"],
        env=reach.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )


def _first_error(complaints: str) -> str:
    """Returns the first error without the lines after it, which may quote what users wrote."""
    found = re.search(r"\b(?:ERROR|FATAL|error):\s+(.+)", complaints)
    return found[1] if found else complaints.strip()[-500:] or "it ended without a word"


def _contents(file: Path) -> _Contents:
    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    listed = subprocess.run(  # noqa: S603 - Postgres's own programs
        [f"{binaries()}/pg_restore", "--list", str(file)], capture_output=True, text=True, errors="replace"
    )
    if listed.returncode:
        raise Invalid(f"{file} is not a backup that `ltst db backup` wrote: {_first_error(listed.stderr)}")
    found = re.search(rf"^\d+; \d+ \d+ TABLE (.+) {MIGRATIONS} ", listed.stdout, re.MULTILINE)
    if found is None:
        raise Invalid(f"{file} is a backup of a database without ltst")
    entries = tuple(line for line in listed.stdout.splitlines() if _of_ltst().match(line))
    named = (re.match(r"\d+; \d+ \d+ TABLE (?!DATA ).+ (\w+) \S+$", line) for line in entries)
    return _Contents(found[1], entries, tuple(each[1] for each in named if each))


def _of_ltst() -> re.Pattern[str]:
    """Returns the pattern of entries to restore: all tables in the backup, but only ltst's own functions."""
    functions = "|".join(migrate.names_of("FUNCTION"))
    parts = "TABLE|VIEW|SEQUENCE|DEFAULT(?! ACL)|CONSTRAINT|CHECK CONSTRAINT|FK CONSTRAINT|INDEX|TRIGGER|RULE|POLICY"
    return re.compile(
        rf"\d+; \d+ \d+ (?:(?:ACL|COMMENT) \S+ )?"
        rf"(?:(?:{parts}|ROW SECURITY|COLUMN) |FUNCTION (?:\S+ )?(?:{functions})\()"
    )


async def _inspect(database: Database, schema: str) -> _Target:
    async with database.owner() as connection:
        ((here, migrations),) = await connection.rows("SELECT current_schema()::text, to_regclass(%s)", (MIGRATIONS,))
        if here != schema:
            raise Invalid(
                f'the backup is of the schema "{schema}", and this connection works in "{here}": set its search_path'
            )
        asks = await access.condition(connection)
        target = _Target(migrations is not None, connection.info.server_version, asks)
        async with connection.transaction(force_rollback=True):
            await migrate.require(connection)  # only to say what is missing: the restore itself does it all, or nothing
    return target


async def _has_memories(database: Database) -> bool:
    async with database.owner() as connection:
        wanted = [name for name in migrate.names_of("TABLE") if name not in BYCATCH]
        tables = await connection.rows(STATEMENTS["present"], (wanted,))
        await connection.execute(b"SET LOCAL ROLE ltst_keeper")
        for (name,) in tables:
            query = f"SELECT EXISTS (SELECT FROM {name} WHERE user_id <> 'system')"  # noqa: S608 - our own names
            if await connection.value(query):
                return True
    return False


def _load(reach: _Reach, file: Path, contents: _Contents, target: _Target, closing: str) -> None:
    """Pipes SQL from pg_restore into psql, so that one transaction can hold what comes before and after it."""
    with tempfile.TemporaryFile("w+", errors="replace") as complaints, tempfile.NamedTemporaryFile("w") as chosen:
        chosen.write("\n".join(contents.entries) + "\n")
        chosen.flush()
        read, wrote = _pour(reach, file, Path(chosen.name), complaints, target, closing)
        complaints.seek(0)
        said = _first_error(complaints.read())
    if read and not wrote:
        raise DatabaseUnavailable(f"{file} was not restored, and the database is as it was: {said}")
    if not read:
        raise Invalid(f"{file} was not restored, and the database is as it was: {said}")


def _pour(
    reach: _Reach, file: Path, chosen: Path, complaints: IO[str], target: _Target, closing: str
) -> tuple[bool, bool]:
    """Returns whether everything was read, and whether everything was written."""
    restore = [f"{binaries()}/pg_restore", "--no-owner", "--no-tablespaces", f"--use-list={chosen}", "--file=-"]
    psql = [f"{binaries()}/psql", "--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"]
    reader = subprocess.Popen(  # noqa: S603 - Postgres's own programs
        [*restore, str(file)], stdout=subprocess.PIPE, stderr=complaints, env=reach.environment
    )
    writer = subprocess.Popen(  # noqa: S603
        [*psql, f"--dbname={reach.conninfo}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=complaints,
        env=reach.environment,
    )
    with suppress(BrokenPipeError), reader, writer:
        assert reader.stdout and writer.stdin, "both are pipes"
        writer.stdin.write(_opening_script(target).encode())
        _copy(reader.stdout, writer.stdin, target)
        # COMMIT is sent only if the backup was read to its end; otherwise psql exits and everything is undone.
        if reader.wait() == 0:
            writer.stdin.write(closing.encode())
    return reader.returncode == 0, writer.returncode == 0


def _copy(source: IO[bytes], sink: IO[bytes], target: _Target) -> None:
    if target.server_version < KNOWS_TRANSACTION_TIMEOUT:
        for line in source:
            if line == TRANSACTION_TIMEOUT:
                break
            sink.write(line)
    shutil.copyfileobj(source, sink, 1024 * 1024)


def _opening_script(target: _Target) -> str:
    drops = [
        f"DROP {kind} IF EXISTS {name} CASCADE;" for kind in ("VIEW", "TABLE", "FUNCTION") for name in _names_made(kind)
    ]
    lock = f"SELECT pg_advisory_xact_lock({migrate.LOCK});"
    before = (
        [STATEMENTS["asked_for_keys"].format(condition=target.asks_for_keys), *drops]
        if target.occupied
        else ["\\set keys_required false"]
    )
    return "\n".join(["BEGIN;", lock, *before, STATEMENTS["prepare"], ""])


def _names_made(kind: str) -> tuple[str, ...]:
    return (*migrate.names_of(kind), *([MIGRATIONS] if kind == "TABLE" else []))


def _closing_script(contents: _Contents, replaced: list[epochs.Epoch]) -> str:
    newest = max(migration.version for migration in migrate.migrations())
    begun = epochs.after_restore(replaced) if epochs.TABLE in contents.tables else ""
    require = access.REQUIRE if access.TABLE in contents.tables else access.REQUIRE_LATER
    return STATEMENTS["finish"].format(
        newest=newest,
        whole=STATEMENTS["make_whole"].format(trigger=blueprint().triggers[places.FOR_ADOPTED].statement.rstrip(";")),
        epochs=begun,
        require=STATEMENTS["ask_for_keys"].format(require=require),
        analyse="\n".join(f"ANALYZE {name};" for name in contents.tables),
    )
