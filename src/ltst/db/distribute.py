"""Distributes a database over the nodes of Citus: by users, so that all that belongs to one lies together.

Tables of users become distributed tables, what all of them read becomes reference tables, and what nobody but the
keeper uses stays where it is, on the coordinator. Then every place gets its schema (`places.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from psycopg import sql
from psycopg.conninfo import make_conninfo

from ltst.db import migrate, places
from ltst.db.blueprint import blueprint
from ltst.db.blueprint import statements as split
from ltst.db.connections import Connection
from ltst.db.pool import Database, translated
from ltst.db.queries import statements
from ltst.errors import Conflict, DatabaseUnavailable

STATEMENTS = statements(__name__)
ANCHOR = "conversation_sessions"
REFERENCES = ("adopted_tables", "embedding_models", "ledger_epochs", "ltst_migrations")
# Keys to servers and what counts for all: only the keeper reads them, and finds them without knowing whose they are.
ON_THE_COORDINATOR = (
    "api_keys",
    "key_requirement",
    "memory_performance_metrics",
    "model_usage",
    "adopted_messages",
)
SHARDS = 32
# The only view that must be of the shard itself: it shows which transaction wrote a row.
OF_THE_SHARD = "message_versions"
NO_CITUS = (
    "this database has no Citus: load it (shared_preload_libraries = 'citus') on the coordinator and on every worker, "
    "run CREATE EXTENSION citus in this database on each, and name the workers by citus_add_node"
)


class Readiness(NamedTuple):
    """What tells whether a database can be distributed."""

    utf8: bool
    coordinator: bool
    nodes: int
    grant: str  # the statement that lets this role create the schemas of the places


@dataclass(frozen=True, slots=True)
class Distribution:
    """What was done, or would be: which tables lie where, in how many places, on how many nodes."""

    distributed: Sequence[str]
    copied: Sequence[str]
    functions: Sequence[str]
    places: int
    nodes: int


async def check(database: Database) -> None:
    """Raises if Citus, its nodes or this role's rights rule out distributing the database, migrated or not."""
    async with database.owner() as connection:
        await _readiness(connection)


async def look(database: Database, shards: int | None = None) -> Distribution:
    """Returns what `distribute` would do, and changes nothing; Conflict where it cannot be done."""
    async with database.owner() as connection:
        return await _plan(connection, shards)


async def distribute(database: Database, shards: int | None = None) -> Distribution:
    """Distributes what is not yet distributed, and makes all places; returns what was done. It can be repeated.

    The tables are locked meanwhile, and are changed all or none.
    """
    async with database.owner(hurry=False) as connection:
        await connection.execute(b"SELECT pg_advisory_xact_lock(%s)", (migrate.LOCK,))
        plan = await _plan(connection, shards)
        await _spread(connection, plan)
    await make_places(database)
    async with database.owner() as connection:
        return Distribution(
            plan.distributed, plan.copied, plan.functions, len(await places.known(connection)), plan.nodes
        )


async def bring_up_to_date(database: Database) -> list[str]:
    """Applies the migrations that a database lacks, and returns their names; of a distributed one on all nodes.

    Nobody can use its places meanwhile, since views stand in the way of changes of the tables.
    """
    async with database.owner() as connection:
        makes_way = await places.is_distributed(connection) and await migrate.lacks(connection)
        if makes_way:
            await _readiness(connection)
    if not makes_way:
        return await migrate.migrate(database)
    await drop_places(database)
    try:
        applied = await migrate.migrate(database, split=split)
    finally:
        await make_places(database)
    await distribute(database)
    return applied


async def make_places(database: Database) -> None:
    """Makes the schema of every place, on the node that holds it."""
    async with database.owner() as connection:
        found = await places.known(connection)
    for place in found:
        async with on_node(database, place) as node, node.transaction():
            await make_place(node, place.shard, anew=True)


async def drop_places(database: Database) -> None:
    """Removes the schemas of all places, which stand in the way of a change of the tables; their rows stay."""
    async with database.owner() as connection:
        found = await places.known(connection)
    for place in found:
        async with on_node(database, place) as node, node.transaction():
            await node.execute(b"SET LOCAL citus.enable_ddl_propagation = off")
            name = sql.Identifier(f"ltst_place_{place.shard}")
            await node.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))


async def make_place(connection: Connection, shard: int, *, anew: bool = False) -> None:
    """Makes the schema of a place, on a connection to its node that is in a transaction; anew, if it is there."""
    if not await connection.value("SELECT ltst_make_place(%s, %s)", (shard, anew)):
        return
    for name, part in blueprint().views.items():
        source = f"FROM {await _shard(connection)}" if name == OF_THE_SHARD else "FROM conversation_messages"
        await connection.execute(part.statement.replace("FROM conversation_messages", source).encode())
        for following in part.following:
            if following.startswith("GRANT"):
                await connection.execute(following.encode())
    for name, part in blueprint().triggers.items():
        if name.partition(" on ")[2] in blueprint().views:
            await connection.execute(part.statement.encode())


async def _shard(connection: Connection) -> str:
    """Returns the name of the shard of messages in the place that was made last."""
    return str(await connection.value("SELECT ltst_shard_of('conversation_messages')"))


@asynccontextmanager
async def on_node(database: Database, place: places.Place) -> AsyncIterator[Connection]:
    """A connection of its own to the node of a place."""
    address = make_conninfo(database.conninfo, host=place.host, port=place.port)
    with translated():
        async with await Connection.connect(address, autocommit=True) as connection:
            yield connection


async def _plan(connection: Connection, shards: int | None) -> Distribution:
    found = await _readiness(connection)
    await migrate.refuse_pending(connection)
    if adopted := [name for (name,) in await connection.rows(STATEMENTS["adopted"])]:
        names = ", ".join(adopted)
        raise Conflict(f"adopted tables cannot be distributed: give them back with ltst db adopt --back: {names}")
    # In the order in which the migrations make them: what others refer to comes first.
    kept = [name for name in _tables() if name not in (*REFERENCES, *ON_THE_COORDINATOR)]
    lacking = [name for (name,) in await connection.rows(STATEMENTS["lacking"], ([*REFERENCES, *kept],))]
    functions = await connection.rows(STATEMENTS["functions"], ([*blueprint().functions],))
    there = len(await places.known(connection))
    if there and shards not in (None, there):
        raise Conflict(
            f"this database has {there} places, and their number stays: leave out --shards, or restore a backup into a "
            "new database"
        )
    return Distribution(
        [name for name in lacking if name in kept],
        [name for name in lacking if name in REFERENCES],
        [name for (name,) in functions],
        there or shards or SHARDS,
        found.nodes,
    )


async def _readiness(connection: Connection) -> Readiness:
    """Returns what tells whether a database can be distributed; raises if it cannot."""
    if not await connection.value(places.HAS_CITUS):
        raise DatabaseUnavailable(NO_CITUS)
    (found,) = [Readiness(*row) for row in await connection.rows(STATEMENTS["readiness"])]
    if not found.coordinator:
        raise Conflict(places.A_WORKER)
    if not found.nodes:
        raise Conflict("Citus knows no node that may hold rows: add one with SELECT citus_add_node('host', 5432)")
    if not found.utf8:
        raise Conflict("users are placed by the bytes of their ids in UTF-8: this database has another encoding")
    if lost := [address for (address,) in await connection.rows(STATEMENTS["unreachable"])]:
        raise DatabaseUnavailable(
            f"{', '.join(lost)} cannot be reached by the coordinator: start it, or take it out with citus_remove_node"
        )
    if told := await _barred(connection, found):
        raise Conflict(told)
    return found


async def barred(connection: Connection) -> str | None:
    """Returns what to do where this role may not create the schemas of the places on a node; None if it may on all."""
    (found,) = [Readiness(*row) for row in await connection.rows(STATEMENTS["readiness"])]
    return await _barred(connection, found)


async def _barred(connection: Connection, found: Readiness) -> str | None:
    nodes = [address for (address,) in await connection.rows(STATEMENTS["barred"])]
    if not nodes:
        return None
    where = ", ".join(nodes)
    return f"this role may not create the schemas of the places on {where}; run on the coordinator: {found.grant}"


def _tables() -> list[str]:
    """The tables that the migrations leave, in the order in which they make them."""
    there = {column.partition(".")[0] for column in blueprint().columns}
    return ["ltst_migrations", *(name for name in migrate.names_of("TABLE") if name in there)]


async def _spread(connection: Connection, plan: Distribution) -> None:
    for setting in ("citus.enable_unsafe_triggers = on", "citus.multi_shard_modify_mode = 'sequential'"):
        await connection.execute(f"SET LOCAL {setting}".encode())
    await connection.execute(sql.SQL("SET LOCAL citus.shard_count = {}").format(plan.places))
    await connection.execute(b"SET LOCAL client_min_messages = error")
    tables = [*plan.copied, *plan.distributed]
    # Rows that are moved are not new.
    triggers = await connection.rows(STATEMENTS["triggers"], (tables,))
    hindrances = await connection.rows(STATEMENTS["hindrances"]) if plan.distributed else []
    await _run(connection, [*(str(drop) for drop, _ in triggers), *(str(drop) for (drop,) in hindrances)])
    for name in tables:
        await _distribute(connection, name, name in plan.copied)
    for name in tables:
        await connection.execute(b"SELECT truncate_local_data_after_distributing_table(%s)", (name,))
    for function in plan.functions:
        await connection.execute(b"SELECT create_distributed_function(%s)", (function,))
    closed = await connection.rows(STATEMENTS["closed"])
    await _run(connection, [f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC" for (name,) in closed])
    await _run(connection, [str(make) for _, make in triggers if make])


async def _run(connection: Connection, written: Sequence[str]) -> None:
    for statement in written:
        await connection.execute(statement.encode())


async def _distribute(connection: Connection, name: str, everywhere: bool) -> None:
    """Distributes one table with its rows, and counts them before and afterwards."""
    table = sql.Identifier(name)
    # Policies that bind the owner, too, would hide the rows from whoever moves them.
    await connection.execute(sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(table))
    counted = sql.SQL("SELECT count(*) FROM {}").format(table)
    before = await connection.value(counted)
    if everywhere:
        await connection.execute(b"SELECT create_reference_table(%s)", (name,))
    elif name == ANCHOR:
        await connection.execute(b"SELECT create_distributed_table(%s, 'user_id', colocate_with => 'none')", (name,))
    else:
        make = b"SELECT create_distributed_table(%s, 'user_id', colocate_with => %s)"
        await connection.execute(make, (name, ANCHOR))
    if (after := await connection.value(counted)) != before:
        raise Conflict(f"{name} had {before} rows and would have {after}: nothing was changed")
    await connection.execute(sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(table))
