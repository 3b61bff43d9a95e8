"""Describes chat tables of other programs: the role of each column, and how their rows are read as messages.

Their names are known only at run time, so these statements are here and not among the named queries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import sql
from psycopg.rows import class_row, dict_row

from ltst.adoption.outcomes import Adoption, Predecessor
from ltst.db import migrate
from ltst.db.connections import Connection
from ltst.db.queries import statements
from ltst.errors import Conflict, Denied, Invalid, NotFound

KINDS = {"int2": "integer", "int4": "integer", "int8": "bigint", "uuid": "uuid"}
TEXTS = ("text", "varchar", "bpchar")
JSON = ("json", "jsonb")
TIMES = ("created_at", "timestamp", "inserted_at", "sent_at")
# Vectors belong to another model here; the other types are derived from the rest of the row.
LEFT_BEHIND = ("vector", "halfvec", "sparsevec", "tsvector")
# Type categories whose values survive a round trip through JSON: numbers, booleans, texts, enums and times.
IN_JSON = ("N", "B", "S", "E", "D")
HIDDEN = "ltst_row"
ADOPTING = 0x6C747374_0003
FAULTS_TOLD = 20
STATEMENTS = statements(__name__)
NEXT = re.compile(r"nextval\('((?:[^']|'')+)'::regclass\)$")
ACCEPTED = (
    "accepted are session_id, role, content (and id, user_id, created_at where there are any), "
    "or LangChain's session_id, message (and id, created_at)"
)
# Type categories that are stored as text and read back unchanged, whatever the program's settings are. Ids must also
# be comparable with the table, by an operator that only text types have.
WRITTEN = {"id": ("S",), "session": ("S", "N", "E"), "user": ("S", "N", "E")}


class Takeover(NamedTuple):
    """What to adopt and how: `source` names a table, or the schema of the system before ltst.

    `user_id` owns rows that name no user, `zone` applies to dates without one, `largest` is the maximum content size.
    """

    source: str
    user_id: str
    zone: str
    largest: int
    leave_out: bool
    actor: str


class Column(NamedTuple):
    """A column of another program's table."""

    name: str
    type: str
    base: str
    category: str
    generated: bool
    sequence: str | None
    default: str | None
    required: bool
    unique: bool
    key: bool

    @property
    def kind(self) -> str:
        """The type of its ids: integer, bigint, uuid or text."""
        return KINDS.get(self.base, "text")

    @property
    def counter(self) -> str | None:
        """The sequence that generates its values, even if another column owns it."""
        named = NEXT.match(self.default or "")
        return self.sequence or (named[1].replace("''", "'") if named else None)

    @property
    def in_json(self) -> bool:
        """Whether its values survive a round trip through JSON; others are stored as text."""
        return self.category in IN_JSON or self.base in (*JSON, "uuid", "bytea", "inet")

    @property
    def left_behind(self) -> bool:
        """Whether its values stay only in the table."""
        return self.generated or self.base in LEFT_BEHIND


@dataclass(frozen=True, slots=True)
class LegacyTable:
    """A table whose shape is recognised."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    shape: str
    roles: Mapping[str, str]
    """Maps id, session, user, role, content, message and time to the names of columns."""

    def column(self, role: str) -> Column | None:
        """Returns the column with a role, or None."""
        wanted = self.roles.get(role)
        return next((each for each in self.columns if each.name == wanted), None)

    @property
    def id(self) -> Column | None:
        """The column that identifies a row."""
        return self.column("id")

    @property
    def session(self) -> Column:
        """The column that identifies the conversation."""
        found = self.column("session")
        assert found is not None, "a table without one has no shape"
        return found

    @property
    def zoneless(self) -> bool:
        """Whether its times have no time zone."""
        time = self.column("time")
        return time is not None and time.base == "timestamp"

    @property
    def extras(self) -> list[Column]:
        """The columns that ltst has no place for and keeps as metadata."""
        return [each for each in self.columns if each.name not in self.roles.values() and not each.left_behind]

    @property
    def left_behind(self) -> tuple[str, ...]:
        """The columns whose values stay only in the table."""
        return tuple(each.name for each in self.columns if each.left_behind)

    @property
    def shown(self) -> str:
        """Its qualified name, for messages."""
        return f"{self.schema}.{self.name}"

    def at(self, name: str) -> sql.Identifier:
        """Returns a name qualified with the schema of the table."""
        return sql.Identifier(self.schema, name)


async def entitled(connection: Connection) -> None:
    """Allows one adoption at a time and fixes formats; raises Denied for a role that cannot see all rows."""
    await connection.execute(STATEMENTS["settled"])
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (ADOPTING,))
    ((may_see, me),) = await connection.rows(STATEMENTS["may_see"])
    if not may_see:
        raise Denied(f'the role {me} does not inherit ltst_keeper\'s rights; run: GRANT ltst_keeper TO "{me}"')


def reasons(outcome: Adoption | Predecessor) -> str:
    """Returns a readable text on why rows cannot be adopted, and which are the first."""
    counted = "; ".join(f"{reason} ({count:,})" for reason, count in outcome.reasons.items())
    return f"{counted}. The first of them are {', '.join(each.row for each in outcome.faults)}"


async def describe(connection: Connection, table: str) -> LegacyTable:
    """Returns a description of the named table; raises an error that says why it cannot be adopted."""
    cursor = connection.cursor(row_factory=dict_row)
    found = await (await cursor.execute(STATEMENTS["find"], {"table": table})).fetchone()
    if found is None:
        raise NotFound(
            f"there is no table {table!r} here; write it as in SQL, with its schema if need be: app.messages"
        )
    _check(found)
    columns = await columns_of(connection, found["schema"], found["name"])
    shape, roles = _shape(f"{found['schema']}.{found['name']}", columns)
    legacy = LegacyTable(found["schema"], found["name"], columns, shape, roles)
    _check_types(legacy)
    return legacy


async def columns_of(connection: Connection, schema: str, table: str) -> tuple[Column, ...]:
    """Returns the columns of a table, in order."""
    cursor = connection.cursor(row_factory=class_row(Column))
    return tuple(await (await cursor.execute(STATEMENTS["columns"], {"schema": schema, "table": table})).fetchall())


def _check(found: Mapping[str, Any]) -> None:
    """Raises an error for whatever prevents an adoption, with what to do about it."""
    name = f"{found['schema']}.{found['name']}"
    own = (*migrate.names_of("TABLE"), *migrate.names_of("VIEW"), "ltst_migrations")
    if found["beside"] and found["name"] in own:
        raise Invalid(f"{name} is ltst's own")
    if found["kind"] not in ("r", "p"):
        raise Invalid(f"{name} is not a table: only a table can be adopted")
    if not found["ours"]:
        raise Conflict(
            f"{name} belongs to the role {found['owner']}: adopt it as that role's member, with ltst's tables of the "
            f'same owner, or as a superuser; or run: ALTER TABLE {name} OWNER TO "<the role that ltst connects as>"'
        )
    if found["guarded"]:
        raise Conflict(f"{name} has policies of its own (row-level security), which a view cannot carry on: drop them")
    for what, names in (("a foreign key", "referred"), ("a trigger", "triggers"), ("a view", "views")):
        if found[names]:
            raise Conflict(
                f"{what} rests on {name} ({', '.join(found[names])}) and would not see what is written later: drop it"
            )


def _check_types(legacy: LegacyTable) -> None:
    for role, categories in WRITTEN.items():
        column = legacy.column(role)
        if column is not None and column.base not in KINDS and column.category not in categories:
            others = "" if role == "id" else ", numeric, enums"
            raise Invalid(
                f"{legacy.shown}.{column.name} is of the type {column.type}; accepted there are "
                f"integer, smallint, bigint, uuid and text types (text, varchar, char){others}"
            )


def _shape(table: str, columns: Sequence[Column]) -> tuple[str, dict[str, str]]:
    by_name = {each.name: each for each in columns}
    message = by_name.get("message")
    if HIDDEN in by_name:
        raise Conflict(f"{table} has a column {HIDDEN}, which ltst needs for itself: rename it")
    if {"session_id", "role", "content"} <= by_name.keys():
        roles = {"session": "session_id", "role": "role", "content": "content"}
        return "conversation", roles | _optional_columns(by_name)
    if "session_id" in by_name and message is not None and message.base in (*JSON, *TEXTS):
        roles = {"session": "session_id", "message": "message"} | _optional_columns(by_name)
        if "id" not in roles:
            raise Invalid(f"{table} has no id, by which LangChain orders messages: {ACCEPTED}")
        return "langchain", roles
    raise Invalid(f"{table} is not a chat table: it has {', '.join(by_name)}; {ACCEPTED}")


def _optional_columns(by_name: Mapping[str, Column]) -> dict[str, str]:
    """Returns the optional columns by role: id, user and time."""
    roles = {}
    key = next((each.name for each in by_name.values() if each.key), None)
    if (id := "id" if "id" in by_name else key) and id not in ("session_id", "role", "content", "message", "user_id"):
        roles["id"] = id
    if "user_id" in by_name:
        roles["user"] = "user_id"
    times = [name for name in TIMES if name in by_name and by_name[name].base in ("timestamptz", "timestamp")]
    if times:
        roles["time"] = times[0]
    return roles


def cast(expression: sql.Composable, column: Column, *, as_it_is: bool) -> sql.Composed:
    """Returns an expression cast to a column's type, unless `as_it_is` and it already has a suitable type."""
    if as_it_is and (column.base in ("text", "timestamptz", "timestamp") or column.kind == column.type):
        return sql.Composed([expression])
    # Without its length limit the value stays the same and can be searched directly.
    type = "character varying" if column.base == "varchar" else column.type
    return sql.SQL("({})::{}").format(expression, sql.SQL(type))


def moment(legacy: LegacyTable, zone: str) -> sql.Composable:
    """Returns the expression for when a row was written."""
    if "time" not in legacy.roles:
        return sql.SQL("NULL::timestamptz")
    named = sql.Identifier("old", legacy.roles["time"])
    return sql.SQL("{} AT TIME ZONE {}").format(named, zone) if legacy.zoneless else named


def reading(legacy: LegacyTable, takeover: Takeover, adoption: str) -> sql.Composed:
    """Returns the query that reads rows as messages, each with its position in its conversation or its fault."""
    langchain = legacy.shape == "langchain"
    id = legacy.id
    named = sql.Identifier("old", id.name) if id else sql.SQL("old.ctid")
    user = legacy.roles.get("user")
    # Ids that do not count up say nothing about the order, so rows are then taken in physical order.
    counts = id is not None and id.base in KINDS and id.base != "uuid"
    order = [sql.Identifier(name) for name in (["id"] if counts or langchain else []) + ["place"]]
    return sql.SQL(STATEMENTS["read"]).format(
        table=legacy.at(legacy.name),
        id=sql.Identifier("old", id.name) if id else sql.SQL("NULL::bigint"),
        row=named,
        owner=sql.SQL("coalesce({}::text, {})").format(sql.Identifier("old", user), takeover.user_id)
        if user
        else sql.Literal(takeover.user_id),
        session=sql.Identifier("old", legacy.session.name),
        word=sql.SQL("NULL::text") if langchain else sql.SQL("{}::text").format(_old(legacy, "role")),
        content=sql.SQL("NULL::text") if langchain else sql.SQL("{}::text").format(_old(legacy, "content")),
        message=_message(legacy) if langchain else sql.SQL("NULL::jsonb"),
        happened=moment(legacy, takeover.zone),
        columns=_columns(legacy),
        broken=_broken(legacy),
        parts=sql.SQL(STATEMENTS["langchain_parts"] if langchain else STATEMENTS["conversation_parts"]),
        twice=sql.SQL("false" if id is None or id.unique else "count(*) OVER (PARTITION BY old.id) > 1"),
        unnamed=sql.SQL("false" if id is None else "id IS NULL"),
        order=sql.SQL(", ").join(order if langchain else [sql.SQL("happened NULLS LAST"), *order]),
        largest=sql.Literal(takeover.largest),
        adoption=sql.Literal(adoption),
    )


def _old(legacy: LegacyTable, role: str) -> sql.Identifier:
    return sql.Identifier("old", legacy.roles[role])


def _json(column: Column) -> sql.Composed:
    """Returns a value as storable JSON, or NULL: json may hold what jsonb may not, such as a NUL."""
    named = sql.Identifier("old", column.name)
    return sql.SQL("{}" if column.base == "jsonb" else "ltst_json({}::text)").format(named)


def _message(legacy: LegacyTable) -> sql.Composed:
    column = legacy.column("message")
    assert column is not None, "it has the shape of LangChain's"
    return _json(column)


def _broken(legacy: LegacyTable) -> sql.Composable:
    """Returns the expression for the name of a column whose value cannot be stored as JSON."""
    message = legacy.roles.get("message")
    cases = [
        sql.SQL("WHEN {} IS NOT NULL AND {} IS NULL THEN {}::text").format(
            sql.Identifier("old", each.name), _json(each), each.name
        )
        for each in legacy.columns
        if not each.left_behind and (each.base == "json" or each.name == message)
    ]
    return sql.SQL("CASE {} END").format(sql.SQL(" ").join(cases)) if cases else sql.SQL("NULL::text")


def _columns(legacy: LegacyTable) -> sql.Composable:
    """Returns the expression for all other values of a row, without nulls."""
    if not legacy.extras:
        return sql.SQL("'{}'::jsonb")
    pairs = [
        sql.SQL("CASE WHEN {0} IS NULL THEN '{{}}'::jsonb ELSE jsonb_build_object({1}::text, {2}) END").format(
            sql.Identifier("old", each.name), each.name, _extra(each)
        )
        for each in legacy.extras
    ]
    return sql.SQL(" || ").join(pairs)


def _extra(column: Column) -> sql.Composed:
    if column.base in JSON:
        return _json(column)
    return sql.SQL("{}" if column.in_json else "{}::text").format(sql.Identifier("old", column.name))
