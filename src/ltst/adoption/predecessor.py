"""The system before ltst: its tables are copied beside themselves, checked, switched over, and given back.

Its tables stay as they are in their own schema. ltst lives in another one, and the search path of the database says
which of the two programs mean by a name: that is the switch. Each step is one transaction, so it can be stopped at any
moment. The rows are read as JSON, since two generations of the tables are in use, and a column may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ltst.adoption.adopting import FAULTS_TOLD, entitled
from ltst.adoption.predecessor_sql import (
    BACK,
    CHANGES,
    COPIED,
    COPIES,
    FAULTS,
    NAMES,
    RETURNED,
    STAGES,
    TABLES,
    Brought,
)
from ltst.db.connections import Connection
from ltst.db.pool import Database
from ltst.errors import Conflict, Invalid, NotFound
from ltst.records import AdoptionFault, Predecessor

LTST_TABLE = "ltst_migrations"
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


@dataclass(frozen=True, slots=True)
class Taking:
    """What was asked for: the schema of the old tables, who owns what names no user, the zone of dates without one."""

    schema: str
    user_id: str
    zone: str
    largest: int
    leave_out: bool
    actor: str


async def beside(database_url: str, own: str, old: str) -> str:
    """Make a schema for ltst beside the old tables; the way to the database that finds ltst's tables there."""
    given = conninfo_to_dict(database_url)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await _tables(connection, old)
        await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(own)))
    path = f"-csearch_path={own},{old}"
    return make_conninfo(database_url, options=f"{given.get('options') or ''} {path}".strip())


async def rehearse(database: Database, taking: Taking) -> Predecessor:
    """Read all rows and tell what would become of them; nothing is written."""
    async with database.owner(hurry=False) as connection:
        await _prepared(connection, taking)
        return await _summary(connection, taking)


async def adopt(database: Database, taking: Taking, *, switch: bool) -> Predecessor:
    """Copy what is not there yet, compare both sides, and with `switch` let names mean ltst's tables from now on."""
    async with database.owner(hurry=False) as connection:
        if switch:
            await _lock(connection, taking)
        await _prepared(connection, taking)
        told = await _summary(connection, taking)
        if told.switched:
            raise Conflict(f"the tables in {taking.schema} were switched over already; the way back: --back")
        if told.faults and not taking.leave_out:
            raise Conflict(_complaint(told))
        for step in COPIES:
            await connection.execute(_sql(step, taking))
        digests = await _compared(connection, taking, COPIED)
        if switch:
            await connection.execute(_sql(SWITCH, taking))
        return replace(told, digests=digests, switched=switch)


async def give_back(database: Database, taking: Taking, *, drop: bool) -> Predecessor:
    """Bring what was written and removed since into the old tables, and let names mean them again.

    ltst's schema stays beside, unless it is to be dropped: it holds what the old tables have no place for.
    """
    async with database.owner(hurry=False) as connection:
        await _lock(connection, taking)
        present = await _prepared(connection, taking)
        before = await _summary(connection, taking)
        if before.switched:  # else the old tables are the ones in use, and ltst was only tried beside them
            await _brought_back(connection, taking, present)
        told = await _summary(connection, taking)
        digests = await _compared(connection, taking, RETURNED if before.switched else {})
        await connection.execute(SWITCH_BACK)
        if drop:
            (own,) = await _one(connection, "SELECT current_schema()::text")
            await connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(own)))
        return replace(told, digests=digests, switched=False)


async def _brought_back(connection: Connection, taking: Taking, present: Sequence[str]) -> None:
    """Make the old tables say what ltst says, and read them anew."""
    await connection.execute(NAMES)
    for step in CHANGES:
        if step.table in present:
            await connection.execute(_sql(step.statement, taking))
    for part in BACK:
        if part.instead_of not in present:
            await _bring(connection, taking, part)
    await _prepared(connection, taking)


async def _lock(connection: Connection, taking: Taking) -> None:
    """Keep writers of the old tables out until all is done."""
    for table in await _tables(connection, taking.schema):
        await connection.execute(_sql("LOCK TABLE {old}.{table} IN EXCLUSIVE MODE", taking, table=table))


async def _tables(connection: psycopg.AsyncConnection[Any], schema: str) -> list[str]:
    """The old tables that a schema has."""
    present = [str(name) for (name,) in await (await connection.execute(PRESENT, (schema,))).fetchall()]
    if LTST_TABLE in present:
        raise Invalid(f"the schema {schema} is ltst's own: name the one that the tables of the system before are in")
    found = [name for name in TABLES if name in present]
    if not found:
        raise NotFound(f"the schema {schema} has none of the tables of the system before: {', '.join(TABLES)}")
    return found


async def _prepared(connection: Connection, taking: Taking) -> list[str]:
    """Stage the rows of the old tables as ltst can take them; the tables that there are."""
    await entitled(connection)
    found = await _tables(connection, taking.schema)
    await connection.execute("SELECT set_config('TimeZone', %s, true)", (taking.zone,))
    for table in TABLES:
        await connection.execute(_sql("DROP TABLE IF EXISTS {stage}", taking, table=table))
        rows = (
            "SELECT to_jsonb(each) AS r FROM {old}.{table} AS each"
            if table in found
            else "SELECT NULL::jsonb AS r LIMIT 0"
        )
        await connection.execute(_sql("CREATE TEMP TABLE {name} ON COMMIT DROP AS " + rows, taking, table=table))
    for name, step in STAGES.items():
        await connection.execute(sql.SQL("DROP TABLE IF EXISTS pg_temp.{}").format(sql.Identifier(name)))
        await connection.execute(_sql(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS " + step, taking))
    return found


async def _summary(connection: Connection, taking: Taking) -> Predecessor:
    """How many rows there are, and what is wrong with some."""
    rows = {
        table: int((await _one(connection, _sql("SELECT count(*) FROM {stage}", taking, table=table)))[0])
        for table in TABLES
    }
    faults = await (await connection.execute(_sql(FAULTS, taking))).fetchall()
    reasons: dict[str, int] = {}
    for _, reason in faults:
        reasons[str(reason)] = reasons.get(str(reason), 0) + 1
    (users,) = await _one(connection, "SELECT count(DISTINCT owner) FROM pg_temp.old_owners")
    (switched,) = await _one(connection, SWITCHED)
    first = tuple(AdoptionFault(str(row), str(reason)) for row, reason in faults[:FAULTS_TOLD])
    return Predecessor(
        taking.schema,
        {name: count for name, count in rows.items() if count},
        int(users),
        first,
        reasons,
        switched=bool(switched),
    )


async def _compared(connection: Connection, taking: Taking, sides: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The hashes of both sides, noun by noun, which must be the same."""
    digests = {}
    for noun, (before, after) in sides.items():
        old = await _one(connection, _sql(before, taking))
        new = await _one(connection, _sql(after, taking))
        if old != new:
            raise Conflict(
                f"the {noun} differ: {old[0]:,} in the old tables, {new[0]:,} in ltst, and not with the same words. "
                "Nothing was changed"
            )
        digests[noun] = str(new[1])
    return digests


async def _bring(connection: Connection, taking: Taking, part: Brought) -> None:
    """Write rows of ltst into an old table, as far as it has the columns."""
    has = {str(name) for (name,) in await (await connection.execute(COLUMNS, (taking.schema, part.table))).fetchall()}
    named = {name: value for name, value in part.columns.items() if name in has}
    if named:
        columns, values = sql.SQL(", ").join(map(sql.Identifier, named)), ", ".join(named.values())
        statement = f"INSERT INTO {{old}}.{{table}} ({{columns}}) SELECT {values} {part.source}"
        await connection.execute(_sql(statement, taking, table=part.table, columns=columns))


def _sql(text: str, taking: Taking, *, table: str | None = None, **more: sql.Composable) -> sql.Composed:
    parts: dict[str, sql.Composable] = {
        "old": sql.Identifier(taking.schema),
        "owner": sql.Literal(taking.user_id),
        "largest": sql.Literal(taking.largest),
        "actor": sql.Literal(taking.actor),
        **more,
    }
    if table is not None:
        parts |= {
            "table": sql.Identifier(table),
            "stage": sql.Identifier("pg_temp", f"old_{table}"),
            "name": sql.Identifier(f"old_{table}"),
        }
    return sql.SQL(text).format(**parts)


async def _one(connection: Connection, query: str | sql.Composed) -> Sequence[Any]:
    (row,) = await (await connection.execute(query)).fetchall()
    return row


def _complaint(told: Predecessor) -> str:
    reasons = "; ".join(f"{reason} ({count:,})" for reason, count in told.reasons.items())
    rows = ", ".join(each.row for each in told.faults)
    return f"some rows cannot be taken over: {reasons}. The first of them are {rows}. Mend them, or use --leave-out"
