"""Adopted tables: what is known of one, and the view that stands in its place.

The view is a security barrier that reads with its owner's rights, since the program behind it is no user of ltst's: it
shows the rows of its adoption and lets nobody look past them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row

from ltst.adoption.tables import HIDDEN, JSON, TEXTS, Column, Legacy, cast, columns_of
from ltst.db.connections import Connection

ADOPTED = """
SELECT * FROM adopted_tables
WHERE %(table)s::text IN (schema_name || '.' || table_name, quote_ident(schema_name) || '.' || quote_ident(table_name))
   OR %(table)s::text IN (table_name, quote_ident(table_name)) AND schema_name = ANY (current_schemas(false)::text[])
ORDER BY array_position(current_schemas(false)::text[], schema_name) NULLS LAST LIMIT 1
"""
GRANTS = """
SELECT NULL, pg_get_userbyid(nullif(grantee, 0)), privilege_type AS privilege, is_grantable AS passing
FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) WHERE pg_class.oid = {table}::regclass
UNION ALL
SELECT attname::text, pg_get_userbyid(nullif(grantee, 0)), privilege_type, is_grantable
FROM pg_attribute, aclexplode(attacl) WHERE attrelid = {table}::regclass AND NOT attisdropped
"""
CONTENT = """
SELECT count(*), coalesce(encode(sha256(string_agg(hash, '' ORDER BY hash)), 'hex'), '')
FROM (SELECT sha256(convert_to(jsonb_build_array({values})::text, 'UTF8')) AS hash FROM {source}) AS hashed
"""
# Looked up through the view as they are, without a cast where that is not needed.
AS_IT_IS = ("id", "session", "content", "time")
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Taken:
    """A table that is adopted: its name, which a view has now, and the table itself under the name it is kept by."""

    adoption: str
    table: str
    legacy: Legacy
    owner_id: str
    words: Mapping[str, str]
    zone: str
    numbered: bool
    aside: str | None = None
    """The name of the view while it is on its way out."""

    @property
    def id(self) -> Column:
        """The column that tells rows apart, if need be one of ltst's own."""
        found = self.legacy.id
        assert found is not None, "a table without one got one"
        return found

    @property
    def row_kind(self) -> str:
        """In which column of ltst's the ids of rows are."""
        return self.id.kind

    @property
    def session_kind(self) -> str:
        """In which column of ltst's the ids of sessions are."""
        return self.legacy.session.kind

    @property
    def visible(self) -> list[Column]:
        """The columns that the program knows."""
        return [each for each in self.legacy.columns if each.name != HIDDEN]

    @property
    def view(self) -> sql.Identifier:
        """What stands in the place of the table."""
        return self.legacy.at(self.aside or self.table)

    @property
    def index(self) -> str:
        """The name of the index over ids that had none."""
        return f"ltst_kept_{self.adoption.replace('-', '')}"

    @property
    def rows(self) -> sql.Composed:
        """Where the rows come from."""
        return sql.SQL(
            "adopted_messages AS a JOIN conversation_messages AS m ON m.user_id = a.user_id "
            "AND m.message_id = a.message_id WHERE a.adoption_id = {}::uuid"
        ).format(self.adoption)


def shown(taken: Taken) -> list[tuple[Column, sql.Composed]]:
    """Each column of the table, as it is made from what ltst has."""
    same = {name for role, name in taken.legacy.roles.items() if role in AS_IT_IS}
    return [
        (column, cast(_expression(taken, column), column, as_it_is=column.name in same)) for column in taken.visible
    ]


def _expression(taken: Taken, column: Column) -> sql.Composable:
    roles = {name: role for role, name in taken.legacy.roles.items()}
    match roles.get(column.name):
        case "id":
            return sql.Identifier("a", f"row_{taken.row_kind}")
        case "session":
            return sql.Identifier("a", f"session_{taken.session_kind}")
        case "user":
            return _user(taken, column)
        case "content":
            # What ltst adds is plain words, which may be no JSON.
            said = "coalesce(ltst_json(m.content), to_jsonb(m.content))" if column.base in JSON else "m.content"
            return sql.SQL(said)
        case "role":
            return _role(taken, column)
        case "message":
            return sql.SQL("coalesce(a.shown -> 'message', ltst_langchain_message(m.role, m.content, m.metadata))")
        case "time":
            time = (
                sql.SQL("m.timestamp AT TIME ZONE {}").format(taken.zone)
                if taken.legacy.zoneless
                else sql.SQL("m.timestamp")
            )
            return sql.SQL("CASE WHEN a.shown ? 'undated' THEN NULL ELSE {} END").format(time)
    if column.left_behind:
        return sql.SQL("NULL")
    get = "a.shown -> 'columns' -> {}" if column.base in JSON else "a.shown -> 'columns' ->> {}"
    return sql.SQL(get).format(column.name)


def _user(taken: Taken, column: Column) -> sql.Composable:
    """Whose a row is; whom the table was adopted for is shown where the column can hold that."""
    if column.base in ("text", "varchar"):
        return sql.Identifier("a", "user_id")
    return sql.SQL("CASE WHEN a.user_id <> {0} OR ltst_fits({0}, {1}) THEN a.user_id END").format(
        taken.owner_id, column.type
    )


def _role(taken: Taken, column: Column) -> sql.Composable:
    """What the program calls a role; none if it has a type of its own for them that does not know this one."""
    case = "WHEN {0} THEN {1}" if column.base in TEXTS else "WHEN {0} THEN CASE WHEN ltst_fits({1}, {2}) THEN {1} END"
    words = sql.SQL(" ").join(sql.SQL(case).format(*pair, column.type) for pair in taken.words.items())
    return sql.SQL("coalesce(a.shown ->> 'role', CASE m.role {} END)").format(words)


async def show(connection: Connection, taken: Taken) -> None:
    """The view in the place of the table, with its defaults and for those who could use the table."""
    columns = [
        sql.SQL("{} AS {}").format(expression, sql.Identifier(column.name)) for column, expression in shown(taken)
    ]
    view = sql.SQL("CREATE VIEW {} WITH (security_barrier = true) AS SELECT {} FROM {}")
    await connection.execute(view.format(taken.view, sql.SQL(", ").join(columns), taken.rows))
    trigger = sql.SQL(
        "CREATE TRIGGER ltst_write_adopted INSTEAD OF INSERT OR UPDATE OR DELETE ON {} "
        "FOR EACH ROW EXECUTE FUNCTION ltst_write_adopted({})"
    )
    await connection.execute(trigger.format(taken.view, taken.adoption))
    for column in taken.visible:
        if column.default and not column.generated and not column.counter:
            default = sql.SQL("ALTER VIEW {} ALTER COLUMN {} SET DEFAULT {}")
            expression = sql.SQL(column.default)  # as Postgres itself writes it
            await connection.execute(default.format(taken.view, sql.Identifier(column.name), expression))
    await _grant(connection, taken)


async def _grant(connection: Connection, taken: Taken) -> None:
    """Whoever could read or write the table, or columns of it, can do so with the view."""
    kept = taken.legacy.at(taken.legacy.name).as_string(connection)
    query = sql.SQL(GRANTS).format(table=sql.Literal(kept))
    for column, role, privilege, passing in await (await connection.execute(query)).fetchall():
        if privilege not in PRIVILEGES:
            continue
        to = sql.SQL("PUBLIC") if role is None else sql.Identifier(str(role))
        grant = sql.SQL("GRANT {}{} ON {} TO {}{}").format(
            sql.SQL(privilege),
            sql.SQL(" ({})").format(sql.Identifier(str(column))) if column else sql.SQL(""),
            taken.view,
            to,
            sql.SQL(" WITH GRANT OPTION" if passing and role is not None else ""),
        )
        await connection.execute(grant)


async def contents(connection: Connection, taken: Taken) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Count and hash of the rows that are kept of those that ltst has, and of those that the view shows."""
    values = sql.SQL(", ").join(_comparable(taken, each) for each in taken.visible if not each.left_behind)
    theirs = sql.SQL(
        "{} AS shown WHERE EXISTS ("
        "SELECT FROM adopted_messages AS a WHERE a.adoption_id = {}::uuid AND a.{} = shown.{})"
    ).format(
        taken.legacy.at(taken.legacy.name),
        taken.adoption,
        sql.Identifier(f"row_{taken.row_kind}"),
        sql.Identifier(taken.id.name),
    )
    kept = sql.SQL(CONTENT).format(values=values, source=theirs)
    view = sql.SQL(CONTENT).format(values=values, source=sql.SQL("{} AS shown").format(taken.view))
    return await one(connection, kept), await one(connection, view)


def _comparable(taken: Taken, column: Column) -> sql.Composed:
    """A value as it is compared; JSON by what it says, and no user is the one that the table was adopted for."""
    named = sql.Identifier("shown", column.name)
    if column.base in JSON:
        return sql.SQL("{}::jsonb").format(named)
    if column.name == taken.legacy.roles.get("message"):
        return sql.SQL("ltst_json({}::text)").format(named)
    if column.name == taken.legacy.roles.get("user"):
        return sql.SQL("coalesce({}::text, {})").format(named, taken.owner_id)
    return sql.SQL("{}::text").format(named)


async def one(connection: Connection, query: str | sql.Composed, values: Sequence[object] = ()) -> tuple[Any, ...]:
    """The one row that a query gives."""
    written = query.encode() if isinstance(query, str) else query
    (found,) = await (await connection.execute(written, values or None)).fetchall()
    return found


async def taken_by(connection: Connection, table: str) -> Taken | None:
    """The adoption of a table of this name."""
    cursor = connection.cursor(row_factory=dict_row)
    row = await (await cursor.execute(ADOPTED, {"table": table})).fetchone()
    return None if row is None else await _rebuilt(connection, row)


async def all_taken(connection: Connection) -> list[Taken]:
    """The adoptions whose tables are still there."""
    if await one(connection, "SELECT to_regclass('adopted_tables') IS NULL") == (True,):
        return []
    cursor = connection.cursor(row_factory=dict_row)
    rows = await (await cursor.execute("SELECT * FROM adopted_tables")).fetchall()
    return [taken for row in rows if (taken := await _rebuilt(connection, row)).legacy.columns]


async def _rebuilt(connection: Connection, row: Mapping[str, Any]) -> Taken:
    columns = await columns_of(connection, row["schema_name"], row["kept_name"])
    legacy = Legacy(row["schema_name"], row["kept_name"], columns, row["shape"], row["columns"])
    return Taken(
        str(row["adoption_id"]),
        row["table_name"],
        legacy,
        row["owner_id"],
        row["words"],
        row["zone"] or "UTC",
        row["numbered"],
    )
