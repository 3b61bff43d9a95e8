"""Compares a database with its expected schema, and recreates what is missing or was replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ltst.db import migrate, places, vectors
from ltst.db.blueprint import Blueprint, SchemaPart, blueprint
from ltst.db.connections import Connection
from ltst.db.pool import Database
from ltst.db.queries import statements
from ltst.support.validate import DIMENSIONS

STATEMENTS = statements(__name__)


UNPROTECTED = "row-level security is not forced"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the migrations left it: a column, table, function, view, trigger or index."""

    kind: str
    name: str
    problem: str  # missing, replaced (a function), disabled (a trigger), invalid (an index) or UNPROTECTED (a table)

    def __str__(self) -> str:
        """Returns it and its problem in words."""
        return f"{self.kind} {self.name} ({self.problem})"


async def compare(database: Database) -> list[Difference]:
    """Returns what is missing in the database or differs."""
    async with database.owner() as connection:
        return await _compare(connection)


async def repair(database: Database) -> tuple[list[Difference], list[Difference]]:
    """Repairs everything or nothing; returns what was repaired, and what only a backup can restore."""
    async with database.owner() as connection:
        await connection.execute(b"SELECT pg_advisory_xact_lock(%s)", (migrate.LOCK,))
        await migrate.refuse_pending(connection)
        found = await _compare(connection)
        lost = [each for each in found if each.kind == "column"]
        if lost:
            return [], lost
        for statement in _steps(found, await _indexes(connection)):
            await connection.execute(statement.encode())
        return found, []


async def _compare(connection: Connection) -> list[Difference]:
    wanted = await _expected_schema(connection)
    there = {name for (name,) in await connection.rows(STATEMENTS["columns"])}
    bodies = {*await connection.rows(STATEMENTS["functions"])}
    views = {name for (name,) in await connection.rows(STATEMENTS["views"])}
    forced = dict(await connection.rows(STATEMENTS["isolation"]))
    return [
        *(Difference("column", name, "missing") for name in sorted(wanted.columns - there)),
        *(Difference("table", name, UNPROTECTED) for name in migrate.names_of("TABLE") if forced.get(name) is False),
        *_functions(wanted.functions, bodies),
        *(Difference("view", name, "missing") for name in sorted({*wanted.views} - views)),
        *_states("trigger", wanted.triggers, dict(await connection.rows(STATEMENTS["triggers"])), "disabled"),
        *_states("index", await _indexes(connection), dict(await connection.rows(STATEMENTS["indexes"])), "invalid"),
    ]


async def _expected_schema(connection: Connection) -> Blueprint:
    """Returns the schema that should be there: a distributed one has nothing for adopted tables."""
    if not await places.is_distributed(connection):
        return blueprint()
    kept = {name: part for name, part in blueprint().triggers.items() if name != places.FOR_ADOPTED}
    return replace(blueprint(), triggers=kept)


async def _indexes(connection: Connection) -> dict[str, SchemaPart]:
    """Returns the expected indexes; those of vectors are of the model in use, with vectors of any model."""
    found = {number: (dimensions, state) for number, dimensions, state in await connection.rows(STATEMENTS["models"])}
    number = next((number for number, (_, state) in found.items() if state == "active"), vectors.FIRST)
    longest = max((dimensions for dimensions, _ in found.values()), default=DIMENSIONS)
    wanted = vectors.indexes(number, found[number][0] if number in found else DIMENSIONS)
    if longest > vectors.LONGEST_NEAR:  # during a change, vectors of both models are in it
        wanted.pop(vectors.NEAR, None)
    others = {
        name: part
        for name, part in blueprint().indexes.items()
        if name not in (vectors.NEAR, vectors.hnsw(vectors.FIRST))
    }
    return others | {name: SchemaPart(f"CREATE INDEX {name} {made};") for name, made in wanted.items()}


def _functions(wanted: dict[str, SchemaPart], bodies: set[tuple[Any, ...]]) -> Iterator[Difference]:
    names = {name for name, _ in bodies}
    for name, part in sorted(wanted.items()):
        if (name, part.source) not in bodies:
            yield Difference("function", name, "replaced" if name in names else "missing")


def _states(kind: str, wanted: dict[str, SchemaPart], found: dict[str, bool], problem: str) -> Iterator[Difference]:
    for name in sorted(wanted):
        if not found.get(name):
            yield Difference(kind, name, problem if name in found else "missing")


def _steps(found: list[Difference], indexes: dict[str, SchemaPart]) -> Iterator[str]:
    """Yields the statements in a working order: functions first because others use them, then their grants."""
    functions = [blueprint().functions[each.name] for each in found if each.kind == "function"]
    for part in functions:
        yield re.sub(r"^CREATE (?:OR REPLACE )?", "CREATE OR REPLACE ", part.statement)
    for part in functions:
        yield from part.following
    for each in found:
        if each.kind == "table":
            yield f"ALTER TABLE {each.name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        elif each.kind == "view":
            yield from _statements_for(blueprint().views[each.name])
        elif each.kind == "trigger":
            yield _trigger(each)
        elif each.kind == "index":
            yield from _index_statements(each, indexes[each.name])


def _statements_for(part: SchemaPart) -> Iterator[str]:
    yield part.statement
    yield from part.following


def _trigger(lacking: Difference) -> str:
    if lacking.problem == "missing":
        return blueprint().triggers[lacking.name].statement
    name, table = lacking.name.split(" on ")
    return f"ALTER TABLE {table} ENABLE TRIGGER {name}"


def _index_statements(lacking: Difference, part: SchemaPart) -> Iterator[str]:
    """Yields the statements for an index; settings made after its creation only take effect by rebuilding it."""
    if lacking.problem == "invalid":
        yield f"DROP INDEX {lacking.name}"
    yield from _statements_for(part)
    if part.following:
        yield f"REINDEX INDEX {lacking.name}"
