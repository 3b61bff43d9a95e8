"""Adopts the system before ltst: copies its tables, compares the copies, switches over, and gives them back.

Its tables stay unchanged in their own schema, and ltst uses another one. The database's search path decides which of
the two a table name refers to: setting it is the switch. Each step is one transaction, so it can be stopped at any
time. Rows are read as JSON because two generations of the tables exist, and columns may be missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ltst.adoption.outcomes import AdoptionFault, Predecessor
from ltst.adoption.tables import FAULTS_TOLD, Takeover, entitled, reasons
from ltst.db.connections import Connection
from ltst.db.pool import Database
from ltst.db.queries import headed
from ltst.errors import Conflict, Invalid, NotFound

LTST_TABLE = "ltst_migrations"
TABLES = (
    "conversation_sessions",
    "conversation_messages",
    "conversation_memory",
    "conversation_context",
    "user_preferences",
    "session_relationships",
    "memory_retrieval_cache",
    "memory_performance_metrics",
    "documents",
    "document_chunks",
)
DIGEST = """
SELECT count(*), coalesce(encode(sha256(string_agg(sha256(convert_to(to_jsonb(each)::text, 'UTF8')), ''
    ORDER BY number)), 'hex'), '')
FROM ({rows}) AS each
"""
KINDS = ("part", "stage", "faults", "copy", "copied", "returned", "names", "change", "back")
PRESENT = """
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(%s)) AND relkind IN ('r', 'p')
"""
COLUMNS = """
SELECT attname::text FROM pg_attribute
WHERE attrelid = to_regclass(format('%%I.%%I', %s::text, %s::text)) AND attnum > 0 AND NOT attisdropped
"""
SWITCHED = """
SELECT coalesce(bool_or(setting LIKE 'search_path=' || quote_ident(current_schema()) || ',%'), false)
FROM pg_db_role_setting, unnest(setconfig) AS setting
WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) AND setrole = 0
"""
SWITCH = """
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = %I, {old}', current_database(), current_schema());
END $$
"""
SWITCH_BACK = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET search_path', current_database()); END $$"


@cache
def _statements() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Returns the statements of predecessor.sql with their names, grouped by kind."""
    text = resources.files("ltst.adoption").joinpath("predecessor.sql").read_text("utf-8")
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for kind, name, part in headed(text, *KINDS):
        found[kind].append((name, part.removesuffix(";")))
    return found


async def create_beside(database_url: str, own: str, old: str) -> str:
    """Creates a schema for ltst beside the old tables; returns the connection string that uses it."""
    given = conninfo_to_dict(database_url)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await _tables(connection, old)
        await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(own)))
    path = f"-csearch_path={own},{old}"
    return make_conninfo(database_url, options=f"{given.get('options') or ''} {path}".strip())


async def rehearse(database: Database, takeover: Takeover) -> Predecessor:
    """Reads all rows and returns what would become of them, without writing anything."""
    async with database.owner(hurry=False) as connection:
        await _prepared(connection, takeover)
        return await _summary(connection, takeover)


async def adopt(database: Database, takeover: Takeover, *, switch: bool) -> Predecessor:
    """Copies what is missing, compares both sides, and with `switch` makes table names refer to ltst's tables."""
    async with database.owner(hurry=False) as connection:
        if switch:
            await _lock(connection, takeover)
        await _prepared(connection, takeover)
        outcome = await _summary(connection, takeover)
        if outcome.switched:
            raise Conflict(f"the tables in {takeover.source} were switched over already; the way back: --back")
        if outcome.faults and not takeover.leave_out:
            raise Conflict(f"some rows cannot be taken over: {reasons(outcome)}. Mend them, or use --leave-out")
        for _, step in _statements()["copy"]:
            await connection.execute(_sql(step, takeover))
        digests = await _compared(connection, takeover, "copied")
        if switch:
            await connection.execute(_sql(SWITCH, takeover))
        return replace(outcome, digests=digests, switched=switch)


async def give_back(database: Database, takeover: Takeover, *, drop: bool) -> Predecessor:
    """Writes what was added and removed since into the old tables, and makes table names refer to them again.

    ltst's schema stays unless `drop` is set, because it holds what the old tables have no place for.
    """
    async with database.owner(hurry=False) as connection:
        await _lock(connection, takeover)
        present = await _prepared(connection, takeover)
        before = await _summary(connection, takeover)
        if before.switched:  # otherwise the old tables were in use all the time, and ltst was only tried beside them
            await _brought_back(connection, takeover, present)
        outcome = await _summary(connection, takeover)
        digests = await _compared(connection, takeover, "returned") if before.switched else {}
        await connection.execute(SWITCH_BACK)
        if drop:
            own = await connection.value("SELECT current_schema()::text")
            await connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(own)))
        return replace(outcome, digests=digests, switched=False)


async def _brought_back(connection: Connection, takeover: Takeover, present: Sequence[str]) -> None:
    """Makes the old tables match ltst, and reads them again."""
    for table, step in (*_statements()["names"], *_statements()["change"]):
        if table in (*present, "all"):
            await connection.execute(_sql(step, takeover))
    for target, rows in _statements()["back"]:
        table, _, better = target.partition(" instead of ")
        if better not in present:
            await _bring(connection, takeover, table, rows)
    await _prepared(connection, takeover)


async def _lock(connection: Connection, takeover: Takeover) -> None:
    """Keeps writers away from the old tables until the transaction ends."""
    for table in await _tables(connection, takeover.source):
        await connection.execute(_sql("LOCK TABLE {old}.{table} IN EXCLUSIVE MODE", takeover, table=table))


async def _tables(connection: psycopg.AsyncConnection[Any], schema: str) -> list[str]:
    """Returns the old tables that a schema has."""
    present = [str(name) for (name,) in await (await connection.execute(PRESENT, (schema,))).fetchall()]
    if LTST_TABLE in present:
        raise Invalid(f"the schema {schema} is ltst's own: name the one that the tables of the system before are in")
    found = [name for name in TABLES if name in present]
    if not found:
        raise NotFound(f"the schema {schema} has none of the tables of the system before: {', '.join(TABLES)}")
    return found


async def _prepared(connection: Connection, takeover: Takeover) -> list[str]:
    """Stages the rows of the old tables for ltst; returns the tables that exist."""
    await entitled(connection)
    found = await _tables(connection, takeover.source)
    await connection.execute("SELECT set_config('TimeZone', %s, true)", (takeover.zone,))
    for table in TABLES:
        await connection.execute(_sql("DROP TABLE IF EXISTS {stage}", takeover, table=table))
        rows = (
            "SELECT to_jsonb(each) AS r FROM {old}.{table} AS each"
            if table in found
            else "SELECT NULL::jsonb AS r LIMIT 0"
        )
        await connection.execute(_sql("CREATE TEMP TABLE {name} ON COMMIT DROP AS " + rows, takeover, table=table))
    for name, step in _statements()["stage"]:
        await connection.execute(sql.SQL("DROP TABLE IF EXISTS pg_temp.{}").format(sql.Identifier(name)))
        await connection.execute(_sql(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS " + step, takeover))
    return found


async def _summary(connection: Connection, takeover: Takeover) -> Predecessor:
    """Returns how many rows there are, and what is wrong with some of them."""
    rows = {
        table: await connection.value(_sql("SELECT count(*) FROM {stage}", takeover, table=table)) for table in TABLES
    }
    ((_, query),) = _statements()["faults"]
    faults = await connection.rows(_sql(query, takeover))
    counted = Counter(reason for _, reason in faults)
    users = await connection.value("SELECT count(DISTINCT owner) FROM pg_temp.old_owners")
    switched = await connection.value(SWITCHED)
    first = tuple(AdoptionFault(*fault) for fault in faults[:FAULTS_TOLD])
    return Predecessor(
        takeover.source,
        {name: count for name, count in rows.items() if count},
        users,
        first,
        dict(counted),
        switched=switched,
    )


async def _compared(connection: Connection, takeover: Takeover, kind: str) -> dict[str, str]:
    """Returns the hash of each noun, which must be equal on both sides; the statements come in pairs."""
    digests = {}
    statements = _statements()[kind]
    for (noun, before), (_, after) in zip(statements[::2], statements[1::2], strict=True):
        old, new = [
            (await connection.rows(_sql(DIGEST, takeover, rows=_sql(side, takeover))))[0] for side in (before, after)
        ]
        if old != new:
            raise Conflict(
                f"the {noun} differ: {old[0]:,} in the old tables, {new[0]:,} in ltst, and not with the same words. "
                "Nothing was changed"
            )
        digests[noun] = str(new[1])
    return digests


async def _bring(connection: Connection, takeover: Takeover, table: str, statement: str) -> None:
    """Writes rows of ltst into an old table, as far as it has the columns."""
    query, conflict, _ = statement.partition("ON CONFLICT DO NOTHING")
    rows = _sql(query, takeover)
    has = {name for (name,) in await connection.rows(COLUMNS, (takeover.source, table))}
    given = (await connection.execute(sql.SQL("SELECT * FROM ({}) AS own LIMIT 0").format(rows))).description or ()
    if named := [sql.Identifier(each.name) for each in given if each.name in has]:
        columns, end = sql.SQL(", ").join(named), sql.SQL(conflict)
        insert = "INSERT INTO {old}.{table} ({columns}) SELECT {columns} FROM ({rows}) AS own {end}"
        await connection.execute(_sql(insert, takeover, table=table, columns=columns, rows=rows, end=end))


def _sql(text: str, takeover: Takeover, *, table: str | None = None, **more: sql.Composable) -> sql.Composed:
    parts: dict[str, sql.Composable] = {
        "old": sql.Identifier(takeover.source),
        "owner": sql.Literal(takeover.user_id),
        "largest": sql.Literal(takeover.largest),
        "actor": sql.Literal(takeover.actor),
        **{name: sql.SQL(part) for name, part in _statements()["part"]},
        **more,
    }
    if table is not None:
        parts |= {
            "table": sql.Identifier(table),
            "stage": sql.Identifier("pg_temp", f"old_{table}"),
            "name": sql.Identifier(f"old_{table}"),
        }
    return sql.SQL(text).format(**parts)
