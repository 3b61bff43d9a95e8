"""Derives the schema that the migrations produce from their text, to compare databases with it.

Covers columns, indexes, triggers, views and functions. A test compares it with the catalog of a migrated database.
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
# Statements that change something created before; a DO block may concern several functions.
FOLLOWING = re.compile(r"ALTER (?:INDEX|VIEW|FUNCTION)\b|GRANT\b|REVOKE\b|DO\b.*\bFUNCTION\b", re.DOTALL)
RULES = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONSTRAINT", "EXCLUDE")


@dataclass(slots=True)
class SchemaPart:
    """One object of the schema: the statement that creates it, and those that change it later."""

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
        """Applies the next statement of the migrations."""
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
    """Returns the schema that all migrations produce."""
    drawn = Blueprint()
    for migration in migrations():
        for statement in statements(migration.text):
            drawn.read(statement)
    return drawn


def statements(script: str) -> Iterator[str]:
    """Yields the statements of a script without comments."""
    for written in _split(TOKEN.findall(script), ";"):
        if statement := written.strip():
            yield f"{statement};"


def _columns(body: str) -> list[str]:
    """Returns the column names in the parentheses of CREATE TABLE."""
    inside = body[body.index("(") + 1 : body.rindex(")")]
    depth, tokens = 0, []
    for each in TOKEN.findall(inside):
        depth += {"(": 1, ")": -1}.get(each, 0)
        tokens.append(" " if each == "," and depth else each)
    first = (each.split(maxsplit=1)[0] for each in _split(tokens, ",") if each.strip())
    return [word for word in first if word not in RULES]


def _split(tokens: Iterable[str], end: str) -> Iterator[str]:
    """Yields the text between the tokens that equal `end`, without comments."""
    kept: list[str] = []
    for token in tokens:
        if token == end:
            yield "".join(kept)
            kept = []
        elif not token.startswith("--"):
            kept.append(token)
    yield "".join(kept)
