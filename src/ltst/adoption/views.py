"""Adopted tables, and the views that replace them.

The program that uses such a view is not a user of ltst, so the view reads with its owner's rights. It is a security
barrier and shows the rows of its own adoption only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row

from ltst.adoption.tables import HIDDEN, JSON, TEXTS, Column, LegacyTable, cast, columns_of
from ltst.db.connections import Connection
from ltst.db.queries import statements

STATEMENTS = statements(__name__)
# Columns that are searched by value, so they are shown without a cast to keep their indexes usable.
AS_IT_IS = ("id", "session", "content", "time")
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class AdoptedTable:
    """An adopted table: `table` is its old name, now the view's; `legacy` is the table, kept under a new name."""

    adoption: str
    table: str
    legacy: LegacyTable
    owner_id: str
    words: Mapping[str, str]
    zone: str
    numbered: bool
    aside: str | None = None
    """The temporary name of the view while the table is given back."""

    @property
    def id(self) -> Column:
        """The column that identifies a row; ltst adds one to a table that has none."""
        found = self.legacy.id
        assert found is not None, "a table without one got one"
        return found

    @property
    def row_kind(self) -> str:
        """The type of the row ids, which names the column of `adopted_messages` that holds them."""
        return self.id.kind

    @property
    def session_kind(self) -> str:
        """The type of the session ids, which names the column of `adopted_messages` that holds them."""
        return self.legacy.session.kind

    @property
    def visible(self) -> list[Column]:
        """The columns of the original table, without the one that ltst may have added."""
        return [each for each in self.legacy.columns if each.name != HIDDEN]

    @property
    def view(self) -> sql.Identifier:
        """The view that replaces the table."""
        return self.legacy.at(self.aside or self.table)

    @property
    def index(self) -> str:
        """The name of the index that ltst adds where the ids had none."""
        return f"ltst_kept_{self.adoption.replace('-', '')}"

    @property
    def rows(self) -> sql.Composed:
        """The tables, joined, that the view selects from."""
        return sql.SQL(
            "adopted_messages AS a JOIN conversation_messages AS m ON m.user_id = a.user_id "
            "AND m.message_id = a.message_id WHERE a.adoption_id = {}::uuid"
        ).format(self.adoption)


def view_columns(taken: AdoptedTable) -> list[tuple[Column, sql.Composed]]:
    """Returns each column of the table with the SQL that computes it from ltst's rows."""
    same = {name for role, name in taken.legacy.roles.items() if role in AS_IT_IS}
    return [
        (column, cast(_expression(taken, column), column, as_it_is=column.name in same)) for column in taken.visible
    ]


def _expression(taken: AdoptedTable, column: Column) -> sql.Composable:
    roles = {name: role for role, name in taken.legacy.roles.items()}
    match roles.get(column.name):
        case "id":
            return sql.Identifier("a", f"row_{taken.row_kind}")
        case "session":
            return sql.Identifier("a", f"session_{taken.session_kind}")
        case "user":
            return _user(taken, column)
        case "content":
            # Messages that ltst adds are plain text and may not be JSON.
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


def _user(taken: AdoptedTable, column: Column) -> sql.Composable:
    """Returns the SQL for the user column; NULL for the default user where the column cannot hold its name."""
    if column.base in ("text", "varchar"):
        return sql.Identifier("a", "user_id")
    return sql.SQL("CASE WHEN a.user_id <> {0} OR ltst_fits({0}, {1}) THEN a.user_id END").format(
        taken.owner_id, column.type
    )


def _role(taken: AdoptedTable, column: Column) -> sql.Composable:
    """Returns the SQL for the role column, in the program's own words; NULL for a role that its type does not have."""
    case = "WHEN {0} THEN {1}" if column.base in TEXTS else "WHEN {0} THEN CASE WHEN ltst_fits({1}, {2}) THEN {1} END"
    words = sql.SQL(" ").join(sql.SQL(case).format(*pair, column.type) for pair in taken.words.items())
    return sql.SQL("coalesce(a.shown ->> 'role', CASE m.role {} END)").format(words)


async def show(connection: Connection, taken: AdoptedTable) -> None:
    """Creates the view that replaces the table, with the table's defaults and privileges."""
    columns = [
        sql.SQL("{} AS {}").format(expression, sql.Identifier(column.name))
        for column, expression in view_columns(taken)
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


async def _grant(connection: Connection, taken: AdoptedTable) -> None:
    """Grants on the view what was granted on the table and its columns."""
    kept = taken.legacy.at(taken.legacy.name).as_string(connection)
    query = sql.SQL(STATEMENTS["grants"]).format(table=sql.Literal(kept))
    for column, role, privilege, passing in await connection.rows(query):
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


async def contents(connection: Connection, taken: AdoptedTable) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns count and hash of the original rows that ltst has taken over, then of the rows that the view shows."""
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
    kept = sql.SQL(STATEMENTS["content"]).format(values=values, source=theirs)
    view = sql.SQL(STATEMENTS["content"]).format(values=values, source=sql.SQL("{} AS shown").format(taken.view))
    return (await connection.rows(kept))[0], (await connection.rows(view))[0]


def _comparable(taken: AdoptedTable, column: Column) -> sql.Composed:
    """Returns the SQL that makes a value comparable: JSON by meaning, a missing user as the default user."""
    named = sql.Identifier("shown", column.name)
    if column.base in JSON:
        return sql.SQL("{}::jsonb").format(named)
    if column.name == taken.legacy.roles.get("message"):
        return sql.SQL("ltst_json({}::text)").format(named)
    if column.name == taken.legacy.roles.get("user"):
        return sql.SQL("coalesce({}::text, {})").format(named, taken.owner_id)
    return sql.SQL("{}::text").format(named)


async def taken_by(connection: Connection, table: str) -> AdoptedTable | None:
    """Returns the adoption of the table with this name, or None."""
    cursor = connection.cursor(row_factory=dict_row)
    row = await (await cursor.execute(STATEMENTS["adopted"], {"table": table})).fetchone()
    return None if row is None else await _rebuilt(connection, row)


async def all_taken(connection: Connection) -> list[AdoptedTable]:
    """Returns all adoptions whose original tables still exist."""
    if await connection.value("SELECT to_regclass('adopted_tables') IS NULL"):
        return []
    cursor = connection.cursor(row_factory=dict_row)
    rows = await (await cursor.execute("SELECT * FROM adopted_tables")).fetchall()
    return [taken for row in rows if (taken := await _rebuilt(connection, row)).legacy.columns]


async def _rebuilt(connection: Connection, row: Mapping[str, Any]) -> AdoptedTable:
    columns = await columns_of(connection, row["schema_name"], row["kept_name"])
    legacy = LegacyTable(row["schema_name"], row["kept_name"], columns, row["shape"], row["columns"])
    return AdoptedTable(
        str(row["adoption_id"]),
        row["table_name"],
        legacy,
        row["owner_id"],
        row["words"],
        row["zone"] or "UTC",
        row["numbered"],
    )
