"""Adopts a chat table of another program: its rows become sessions and messages, and a view takes its name.

Adopting and giving back are one transaction each, so a crash leaves the old state or the new one. Both compare the
rows before and after, and fail if they differ.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from psycopg import errors, sql
from psycopg.rows import dict_row

from ltst.adoption.outcomes import Adoption, AdoptionFault, Restitution
from ltst.adoption.tables import (
    FAULTS_TOLD,
    HIDDEN,
    LegacyTable,
    Takeover,
    columns_of,
    describe,
    entitled,
    reading,
    reasons,
)
from ltst.adoption.views import AdoptedTable, all_taken, contents, show, taken_by, view_columns
from ltst.db.connections import Connection
from ltst.db.pool import Database
from ltst.db.queries import statements
from ltst.errors import Conflict, LtstError, NotFound
from ltst.support.ids import new_id

R = TypeVar("R")

# Waiting for the lock makes everybody else wait too, so it is tried briefly and often.
PATIENCE = "500ms"
ATTEMPTS = 120
BREATH = 0.1
SUFFIX = "_before_ltst"
LONGEST_NAME = 63
STAGE = sql.Identifier("pg_temp", "ltst_adopting")
WORDS = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
IS_FREE = "SELECT to_regclass(quote_ident(%s) || '.' || quote_ident(%s)) IS NULL"
STATEMENTS = statements(__name__)


class _TableBusy(Exception):
    """Another transaction holds a lock on the table."""


async def rehearse(database: Database, takeover: Takeover) -> Adoption:
    """Reads all rows in a read-only transaction, and returns what an adoption would make of them."""
    async with database.owner(hurry=False) as connection:
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        legacy = await _prepared(connection, takeover)
        return await _summary(connection, takeover, legacy, sql.SQL("({})").format(reading(legacy, takeover, new_id())))


async def adopt(database: Database, takeover: Takeover) -> Adoption:
    """Adopts the table in one transaction; returns what became of its rows."""

    async def work(connection: Connection) -> Adoption:
        seen = await _prepared(connection, takeover)
        await connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(seen.at(seen.name)))
        return await _adopt(connection, takeover, await describe(connection, takeover.source))

    return await _patiently(database, takeover.source, work)


async def give_back(database: Database, table: str, actor: str, *, keep: bool) -> Restitution:
    """Puts the table back, with what was written since. Its sessions are deleted from ltst unless `keep` is set."""

    async def work(connection: Connection) -> Restitution:
        await entitled(connection)
        taken = await taken_by(connection, table)
        if taken is None:
            raise NotFound(f"no table {table!r} was adopted")
        if not taken.legacy.columns:
            raise NotFound(f"the table {taken.legacy.shown}, which was kept for this, is gone")
        return await _give_back(connection, taken, actor, keep=keep)

    return await _patiently(database, table, work)


async def give_all_back(connection: Connection) -> None:
    """Puts every adopted table back as it was when it was adopted; for a reset, which drops everything else."""
    for taken in await all_taken(connection):
        await connection.execute(sql.SQL("DROP VIEW IF EXISTS {}").format(taken.view))
        await _put_in_place(connection, taken)


async def show_again(connection: Connection, before: Sequence[AdoptedTable]) -> None:
    """Creates the views of adopted tables after a restore, and puts back tables that the backup does not know."""
    now = await all_taken(connection)
    for taken in now:
        if await connection.value(IS_FREE, (taken.legacy.schema, taken.table)):
            await show(connection, taken)
    for taken in before:
        if taken.adoption not in {each.adoption for each in now}:
            await _put_in_place(connection, taken)


async def _patiently(database: Database, table: str, work: Callable[[Connection], Awaitable[R]]) -> R:
    """Runs the work in a transaction, retrying in a new one while a needed lock is held; returns its result."""
    for _ in range(ATTEMPTS):
        try:
            async with database.owner(hurry=False) as connection:
                await connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(PATIENCE))
                try:
                    return await work(connection)
                except (errors.LockNotAvailable, errors.DeadlockDetected) as problem:
                    raise _TableBusy from problem
        except _TableBusy:
            await asyncio.sleep(BREATH)
    raise Conflict(f"{table} is in use all the time: let the program that uses it rest for a moment")


async def _prepared(connection: Connection, takeover: Takeover) -> LegacyTable:
    """Checks that the table may be adopted, and returns its description."""
    await entitled(connection)
    taken = await taken_by(connection, takeover.source)
    if taken is not None:
        raise Conflict(
            f"{taken.legacy.schema}.{taken.table} is adopted already; "
            f"the way back: ltst db adopt {takeover.source} --back"
        )
    return await describe(connection, takeover.source)


async def _summary(connection: Connection, takeover: Takeover, legacy: LegacyTable, source: sql.Composable) -> Adoption:
    """Counts what becomes of the rows, and lists the first ones that cannot become messages."""
    cursor = connection.cursor(row_factory=dict_row)
    (counted,) = await (await cursor.execute(sql.SQL(STATEMENTS["count"]).format(source=source))).fetchall()
    faults = []
    if counted["rows"] > counted["messages"]:
        listing = sql.SQL(STATEMENTS["faulty"]).format(source=source, limit=FAULTS_TOLD)
        faults = [AdoptionFault(**each) for each in await (await cursor.execute(listing)).fetchall()]
    return Adoption(
        table=legacy.shown,
        shape=legacy.shape,
        user_id=takeover.user_id,
        faults=tuple(faults),
        reasons=dict(await connection.rows(sql.SQL(STATEMENTS["reasons"]).format(source=source))) if faults else {},
        words=WORDS | dict(await connection.rows(sql.SQL(STATEMENTS["vocabulary"]).format(source=source))),
        left_behind=legacy.left_behind,
        **counted,
    )


async def _adopt(connection: Connection, takeover: Takeover, seen: LegacyTable) -> Adoption:
    adoption_id = new_id()
    legacy = seen if seen.id else await _numbered(connection, seen)
    await connection.execute(
        sql.SQL(
            "CREATE TEMP TABLE ltst_adopting ON COMMIT DROP AS SELECT gen_random_uuid() AS message_id, * FROM ({}) AS r"
        ).format(reading(legacy, takeover, adoption_id))
    )
    await connection.execute("ANALYZE pg_temp.ltst_adopting")
    outcome = await _summary(connection, takeover, legacy, STAGE)
    if outcome.faults and not takeover.leave_out:
        raise Conflict(
            f"{outcome.rows - outcome.messages:,} of {outcome.rows:,} rows cannot be taken over: {reasons(outcome)}. "
            "Mend them, or leave them out (--leave-out): they stay in the table that is kept"
        )
    taken = AdoptedTable(
        adoption_id, legacy.name, legacy, takeover.user_id, outcome.words, takeover.zone, seen.id is not None
    )
    await _copy(connection, taken)
    kept = await _free_name(connection, legacy)
    await connection.execute(
        sql.SQL("ALTER TABLE {} RENAME TO {}").format(legacy.at(legacy.name), sql.Identifier(kept))
    )
    taken = replace(taken, legacy=replace(legacy, name=kept))
    await _remember(connection, taken, takeover)
    await show(connection, taken)
    digest = await _compare(connection, taken, takeover)
    await _tell(connection, taken, takeover.actor, "adopt")
    update = sql.SQL("UPDATE adopted_tables SET digest = {} WHERE adoption_id = {} RETURNING adopted_at")
    moment = await connection.value(update.format(digest, adoption_id))
    return replace(outcome, kept=taken.legacy.shown, digest=digest, adopted_at=moment)


async def _numbered(connection: Connection, legacy: LegacyTable) -> LegacyTable:
    """Adds a column of numbers to a table without row ids, in the order of its rows; returns the table with it."""
    add = sql.SQL("ALTER TABLE {} ADD COLUMN {} BIGINT GENERATED BY DEFAULT AS IDENTITY")
    await connection.execute(add.format(legacy.at(legacy.name), sql.Identifier(HIDDEN)))
    columns = await columns_of(connection, legacy.schema, legacy.name)
    return replace(legacy, columns=columns, roles={**legacy.roles, "id": HIDDEN})


async def _copy(connection: Connection, taken: AdoptedTable) -> None:
    """Copies sessions and messages. Sessions join the adoption last, so that no trigger numbers a message twice."""
    parts = {
        "stage": STAGE,
        "name": sql.Literal(taken.table),
        "adoption": sql.SQL("{}::uuid").format(taken.adoption),
        "words": sql.Literal(json.dumps(dict(taken.words))),
        "session_column": sql.Identifier(f"session_{taken.session_kind}"),
        "row_column": sql.Identifier(f"row_{taken.row_kind}"),
        "session_kind": sql.SQL(taken.session_kind),
        "row_kind": sql.SQL(taken.row_kind),
    }
    # Analyzed in between, because the planner would otherwise treat the new rows as an empty table.
    for step in ("sessions", "analyse_sessions", "messages", "numbers", "share", "analyse_all"):
        await connection.execute(sql.SQL(STATEMENTS[step]).format(**parts))


async def _free_name(connection: Connection, legacy: LegacyTable) -> str:
    """Returns a free name for the table that is kept, in its own schema."""
    for number in range(1, 100):
        suffix = SUFFIX if number == 1 else f"{SUFFIX}_{number}"
        room = LONGEST_NAME - len(suffix)
        name = legacy.name.encode()[:room].decode(errors="ignore") + suffix
        if await connection.value(IS_FREE, (legacy.schema, name)):
            return name
    raise Conflict(f"{legacy.schema} has a hundred tables {legacy.name}{SUFFIX} already: drop some")


async def _remember(connection: Connection, taken: AdoptedTable, takeover: Takeover) -> None:
    legacy = taken.legacy
    extras = [{"name": each.name, "text": not each.in_json} for each in legacy.extras]
    given = {
        "adoption_id": taken.adoption,
        "schema": legacy.schema,
        "table": taken.table,
        "kept": legacy.name,
        "shape": legacy.shape,
        "user_id": takeover.user_id,
        "columns": json.dumps(dict(legacy.roles)),
        "extras": json.dumps(extras),
        "words": json.dumps(dict(taken.words)),
        "row_kind": taken.row_kind,
        "session_kind": taken.session_kind,
        "numbered": taken.numbered,
        "sequence": taken.id.counter,
        "zone": taken.zone if legacy.zoneless else None,
        "largest": takeover.largest,
    }
    await connection.execute(STATEMENTS["remember"], given)
    if not taken.id.unique:
        index = sql.SQL("CREATE INDEX {} ON {} ({})")
        await connection.execute(
            index.format(sql.Identifier(taken.index), legacy.at(legacy.name), sql.Identifier(taken.id.name))
        )


async def _compare(connection: Connection, taken: AdoptedTable, takeover: Takeover) -> str:
    """Raises unless ltst has the rows of the table in their order, and the view shows them unchanged."""
    read = reading(taken.legacy, takeover, taken.adoption)
    adoption = sql.SQL("{}::uuid").format(taken.adoption)
    (before,) = await connection.rows(sql.SQL(STATEMENTS["old_order"]).format(read=read))
    (after,) = await connection.rows(sql.SQL(STATEMENTS["new_order"]).format(adoption=adoption))
    kept, view = await contents(connection, taken)
    if before != after or kept != view:
        raise LtstError(
            f"the adoption of {taken.legacy.schema}.{taken.table} was undone: {before[0]:,} rows of the table and "
            f"{after[0]:,} messages, shown as {view[0]:,} rows, do not agree"
        )
    return str(after[1])


async def _tell(connection: Connection, taken: AdoptedTable, actor: str, action: str) -> None:
    query = sql.SQL(STATEMENTS["tell"]).format(
        actor=actor, action=action, name=taken.table, adoption=sql.SQL("{}::uuid").format(taken.adoption)
    )
    await connection.execute(query)


async def _give_back(connection: Connection, taken: AdoptedTable, actor: str, *, keep: bool) -> Restitution:
    legacy = taken.legacy
    kept = legacy.at(legacy.name)
    # From here on the program waits, and finds the table when it continues; so does whoever writes to the sessions.
    leaving = replace(taken, aside=f"ltst_leaving_{taken.adoption.replace('-', '')}")
    rename = sql.SQL("ALTER VIEW {} RENAME TO {}")
    await connection.execute(rename.format(taken.view, sql.Identifier(str(leaving.aside))))
    lock = sql.SQL(
        "SELECT FROM conversation_sessions WHERE adoption_id = {}::uuid ORDER BY user_id, session_id FOR UPDATE"
    )
    await connection.execute(lock.format(taken.adoption))
    unchanged: int = await connection.value(sql.SQL("SELECT count(*) FROM {}").format(kept))
    added = await _put_rows(connection, leaving)
    before, after = await contents(connection, leaving)
    if before != after:
        raise LtstError(
            f"{taken.table} was not given back: {after[0]:,} rows are shown and {before[0]:,} would be there"
        )
    await connection.execute(sql.SQL("DROP VIEW {}").format(leaving.view))
    sessions = await _let_go(connection, taken, actor, keep=keep)
    await _put_in_place(connection, taken)
    return Restitution(
        table=f"{legacy.schema}.{taken.table}",
        rows=unchanged + added,
        added=added,
        sessions=sessions,
        kept=keep,
        digest=str(after[1]),
    )


async def _put_rows(connection: Connection, taken: AdoptedTable) -> int:
    """Inserts into the table what was added or changed since; returns how many rows."""
    pairs = [(column, expression) for column, expression in view_columns(taken) if not column.left_behind]
    if not taken.numbered:
        pairs.append((taken.id, sql.Composed([sql.Identifier("a", "row_bigint")])))
    insert = sql.SQL(
        "INSERT INTO {kept} ({names}) OVERRIDING SYSTEM VALUE SELECT {values} FROM {rows} "
        "AND NOT EXISTS (SELECT FROM {kept} AS kept WHERE kept.{id} = a.{row}) "
        "ORDER BY m.timestamp, m.user_id, m.session_id, m.message_index"
    ).format(
        kept=taken.legacy.at(taken.legacy.name),
        names=sql.SQL(", ").join(sql.Identifier(column.name) for column, _ in pairs),
        values=sql.SQL(", ").join(expression for _, expression in pairs),
        rows=taken.rows,
        id=sql.Identifier(taken.id.name),
        row=sql.Identifier(f"row_{taken.row_kind}"),
    )
    try:
        return (await connection.execute(insert)).rowcount
    except (errors.IntegrityError, errors.DataError) as problem:
        raise Conflict(
            f"{taken.table} does not take what was written since; nothing was changed: {problem.diag.message_primary}"
        ) from problem


async def _let_go(connection: Connection, taken: AdoptedTable, actor: str, *, keep: bool) -> int:
    """Ends the adoption. Its record is deleted first; otherwise deletions here would reach the table too."""
    await _tell(connection, taken, actor, "give_back")
    end = "DELETE FROM adopted_tables WHERE adoption_id = {}::uuid"
    forget = "DELETE FROM adopted_messages WHERE adoption_id = {}::uuid"
    leave = "UPDATE conversation_sessions SET adoption_id = NULL WHERE adoption_id = {}::uuid"
    remove = "DELETE FROM conversation_sessions WHERE adoption_id = {}::uuid"
    counted = 0
    for step in (end, forget, leave if keep else remove):
        counted = (await connection.execute(sql.SQL(step).format(taken.adoption))).rowcount
    return counted


async def _put_in_place(connection: Connection, taken: AdoptedTable) -> None:
    legacy = taken.legacy
    kept = legacy.at(legacy.name)
    await connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(legacy.at(taken.index)))
    if not taken.numbered:
        await connection.execute(sql.SQL("ALTER TABLE {} DROP COLUMN {}").format(kept, sql.Identifier(HIDDEN)))
    await connection.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(kept, sql.Identifier(taken.table)))
