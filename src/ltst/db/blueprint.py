"""The blueprint: what the migrations leave in a schema, read from their text. Databases are compared with it.

It knows columns, indexes, triggers, views and functions. A test holds it against the catalog of a migrated database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from ltst.db.migrate import migrations

TOKEN = re.compile(r"--[^\n]*|\$\$.*?\$\$|'(?:[^']|'')*'|.", re.DOTALL)
CREATED = re.compile(r"CREATE (?:OR REPLACE )?(?:UNIQUE )?(TABLE|INDEX|TRIGGER|VIEW|FUNCTION) (\w+)(.*)", re.DOTALL)
DROPPED = re.compile(r"DROP (TABLE|INDEX|TRIGGER|VIEW|FUNCTION) (?:IF EXISTS )?(.*);", re.DOTALL)
# What says more of something that was made before; a DO block may be about several functions.
FOLLOWING = re.compile(r"ALTER (?:INDEX|VIEW|FUNCTION)\b|GRANT\b|REVOKE\b|DO\b.*\bFUNCTION\b", re.DOTALL)
RULES = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONSTRAINT", "EXCLUDE")


@dataclass(slots=True)
class SchemaPart:
    """One thing of the schema: the statement that makes it, and those that say more of it."""

    statement: str
    following: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The body of a function, as Postgres keeps it; empty where the body is an expression."""
        body = re.search(r"\$\$(.*)\$\$", self.statement, re.DOTALL)
        return body[1] if body else ""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The schema as it should be. Columns are written `table.column`, triggers `name on table`."""

    columns: set[str] = field(default_factory=set)
    indexes: dict[str, SchemaPart] = field(default_factory=dict)
    triggers: dict[str, SchemaPart] = field(default_factory=dict)
    views: dict[str, SchemaPart] = field(default_factory=dict)
    functions: dict[str, SchemaPart] = field(default_factory=dict)

    def read(self, statement: str) -> None:
        """Take in the next statement of the migrations."""
        if made := CREATED.match(statement):
            self._create(made[1], made[2], made[3], statement)
        elif gone := DROPPED.match(statement):
            self._drop(gone[1], gone[2])
        elif altered := re.match(r"ALTER TABLE (\w+)(.*)", statement, re.DOTALL):
            self._alter(altered[1], altered[2])
        elif FOLLOWING.match(statement):
            self._follow(statement)

    def _create(self, kind: str, name: str, rest: str, statement: str) -> None:
        if kind == "TABLE":
            self.columns.update(f"{name}.{column}" for column in _columns(rest))
            return
        if kind == "TRIGGER":
            on = re.search(r"\bON (\w+)", rest)
            name = f"{name} on {on[1] if on else ''}"
        kept = self._parts(kind).get(name)
        self._parts(kind)[name] = SchemaPart(statement, kept.following if kept else [])

    def _drop(self, kind: str, named: str) -> None:
        for written in re.sub(r"\([^()]*\)", "", named).split(","):
            name = written.replace(" ON ", " on ").strip()
            if kind == "TABLE":
                self.columns.difference_update([each for each in self.columns if each.startswith(f"{name}.")])
            else:
                self._parts(kind).pop(name, None)

    def _alter(self, table: str, rest: str) -> None:
        self.columns.update(f"{table}.{name}" for name in re.findall(r"\bADD COLUMN (\w+)", rest))
        self.columns.difference_update(
            f"{table}.{name}" for name in re.findall(r"\bDROP COLUMN (?:IF EXISTS )?(\w+)", rest)
        )
        for old, new in re.findall(r"\bRENAME COLUMN (\w+) TO (\w+)", rest):
            self.columns.remove(f"{table}.{old}")
            self.columns.add(f"{table}.{new}")

    def _follow(self, statement: str) -> None:
        words = {*re.findall(r"\w+", statement)}
        for parts in (self.indexes, self.views, self.functions):
            for name in words & {*parts}:
                parts[name].following.append(statement)

    def _parts(self, kind: str) -> dict[str, SchemaPart]:
        return {"INDEX": self.indexes, "TRIGGER": self.triggers, "VIEW": self.views, "FUNCTION": self.functions}[kind]


@cache
def blueprint() -> Blueprint:
    """The schema that all migrations make."""
    drawn = Blueprint()
    for migration in migrations():
        for statement in statements(migration.text):
            drawn.read(statement)
    return drawn


def statements(script: str) -> Iterator[str]:
    """The statements of a script, without the comments between their words."""
    for written in _split(TOKEN.findall(script), ";"):
        if statement := written.strip():
            yield f"{statement};"


def _columns(body: str) -> list[str]:
    """The columns that stand between the brackets of CREATE TABLE."""
    inside = body[body.index("(") + 1 : body.rindex(")")]
    depth, tokens = 0, []
    for each in TOKEN.findall(inside):
        depth += {"(": 1, ")": -1}.get(each, 0)
        tokens.append(" " if each == "," and depth else each)
    first = (each.split(maxsplit=1)[0] for each in _split(tokens, ",") if each.strip())
    return [word for word in first if word not in RULES]


def _split(tokens: Iterable[str], end: str) -> Iterator[str]:
    """What stands between the tokens that are `end`."""
    kept: list[str] = []
    for token in tokens:
        if token == end:
            yield "".join(kept)
            kept = []
        elif not token.startswith("--"):
            kept.append(token)
    yield "".join(kept)
