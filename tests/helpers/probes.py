"""Looks at a database from outside ltst, as its superuser: databases to clone, rows to count, words to find."""

from __future__ import annotations

import logging
import socket
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import sql

from helpers import standby
from helpers.citus import by_hand, in_places
from ltst.db.blueprint import blueprint
from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database

Connection = psycopg.Connection[tuple[Any, ...]]

ATTEMPTS = 10

RELATIONS = """
SELECT relname::text FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind::text = ANY(%s) ORDER BY relname
"""
COLUMNS = """
SELECT attname::text FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""
# Whatever can be found and is not: it has no words or no vector in the index, or something of it is still due. What a
# message only retells has words alone.
UNINDEXED = """
SELECT user_id, kind, row_id FROM search_sources AS source
WHERE NOT EXISTS (SELECT FROM search_units LEFT JOIN search_vectors AS made USING (user_id, unit_no)
                  WHERE user_id = source.user_id AND row_id = source.row_id
                    AND (part = 0 OR NOT source.vectored))
UNION SELECT user_id, kind, row_id FROM search_due
"""


@contextmanager
def cloned(server: EmbeddedServer, template: str | None) -> Iterator[str]:
    """A database of one's own, for longer than a test; without a template it is empty."""
    name = f"shared_{uuid.uuid4().hex}"
    create(server, name, template)
    administer(server, f"ALTER DATABASE {name} SET synchronous_commit = off")
    yield psycopg.conninfo.make_conninfo(server.dsn, dbname=name)
    administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def create(server: EmbeddedServer, name: str, template: str | None = None) -> None:
    """A database; to copy the files of a template takes half as long as to write all of it to the log."""
    administer(server, f"CREATE DATABASE {name}" + (f" TEMPLATE {template} STRATEGY FILE_COPY" if template else ""))


def administer(server: EmbeddedServer, statement: str) -> None:
    """Run one statement as the superuser, outside the databases under test; on Citus on every node."""
    for node in getattr(server, "nodes", (server.dsn,)):
        with psycopg.connect(node, dbname="postgres", autocommit=True) as connection:
            for _ in range(ATTEMPTS):
                try:
                    connection.execute(statement.encode())
                    break
                except psycopg.errors.ObjectInUse:  # what Citus does in the background comes back at once
                    time.sleep(0.2)


def pass_time(connection: Connection, table: str, user_id: str, span: timedelta) -> None:
    """Let what a user has in a table expire as if so much time had passed."""
    moved = sql.SQL("UPDATE {} SET expires_at = expires_at - %s WHERE user_id = %s").format(sql.Identifier(table))
    for placed in in_places(connection):
        placed.execute(moved, (span, user_id))


@contextmanager
def superuser(url: str) -> Iterator[Connection]:
    """A connection that no policy binds, each statement a transaction."""
    with psycopg.connect(by_hand(url), autocommit=True) as connection:
        if standby.WANTED:  # ltst waits only for what was written through itself
            connection.execute("SET synchronous_commit = remote_apply")
        yield connection


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Database]:
    """A database as ltst itself reaches it, without a memory."""
    database = Database(ConnectionPool(url, size=2, timeout=60))
    yield database
    await database.close()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def logger_restored() -> Iterator[None]:
    """Asking ltst to log adds a handler for good; here it goes again."""
    logger = logging.getLogger("ltst")
    handlers, level = logger.handlers[:], logger.level
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)


def tables(connection: Connection) -> list[str]:
    """The tables; in a place of a distributed database they are views of shards."""
    if _in_place(connection):
        return [name for (name,) in connection.execute(RELATIONS, (["v"],)) if name not in blueprint().views]
    return [name for (name,) in connection.execute(RELATIONS, (["r", "p"],))]


def views(connection: Connection) -> list[str]:
    found = [name for (name,) in connection.execute(RELATIONS, (["v"],))]
    return [name for name in found if name in blueprint().views] if _in_place(connection) else found


def _in_place(connection: Connection) -> bool:
    return connection.execute("SELECT current_schema() LIKE 'ltst%%place%%'", ()).fetchone() == (True,)


def columns(connection: Connection, relation: str) -> list[str]:
    return [name for (name,) in connection.execute(COLUMNS, (relation,))]


def counts(connection: Connection) -> dict[str, int]:
    """The number of rows of every table but the metrics, which are written some time after what they measure."""
    each = (
        sql.SQL("SELECT {}, count(*) FROM {}").format(sql.Literal(name), sql.Identifier(name))
        for name in tables(connection)
        if name != "memory_performance_metrics"
    )
    return dict(connection.execute(sql.SQL(" UNION ALL ").join(each)).fetchall())


def holding(connection: Connection, words: str) -> set[str]:
    """Every `relation.column` in which the words stand, as text or as bytes, in any row of any table or view.

    The words are letters and dashes, which mean themselves in a pattern.
    """
    found = set()
    for relation in tables(connection) + views(connection):
        for column in columns(connection, relation):
            query = sql.SQL("SELECT count(*) FROM {} WHERE {}::text ~ %s").format(
                sql.Identifier(relation), sql.Identifier(column)
            )
            if value(connection, query, f"{words}|{words.encode().hex()}"):
                found.add(f"{relation}.{column}")
    return found


def value(connection: Connection, query: Any, *parameters: Any) -> Any:
    """The one value that a query gives."""
    row = connection.execute(query, parameters or None).fetchone()
    assert row is not None, "the query gave no row"
    return row[0]


def left_out_with_a_note(profile: Any, context: Any, document: Any) -> None:
    """Check that the diet, whose key is lost, is in none of the three, that each says so, and that the editor is."""
    assert profile["preferences"] == {"editor": "vim"}
    assert ("vim" in context.text, "diet" in context.text) == (True, False)
    assert [row["preference_key"] for row in document["preferences"]] == ["editor"]
    for notes in (profile["notes"], context.notes, document["notes"]):
        (note,) = notes
        assert note.startswith("the preference 'diet' is left out: ")
