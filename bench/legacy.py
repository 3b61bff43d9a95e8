"""Two programs from before ltst: one that keeps its chats with plain SQL, and LangChain's own history."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, message_to_dict
from langchain_postgres import PostgresChatMessageHistory
from psycopg import sql

from bench.corpus import text

ROLE = "old_program"
PLAIN, LANGCHAIN = "conversation_memory", "langchain_chats"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
IN_A_SESSION = 50
REPEATED, DISTINCT = 8, 2_000  # people and their assistants repeat themselves; the same text is embedded once
SHORT = 40

CREATE = """
CREATE TABLE conversation_memory (
    id SERIAL PRIMARY KEY, session_id VARCHAR(64) NOT NULL, role VARCHAR(20) NOT NULL, content TEXT NOT NULL,
    model TEXT, metadata JSONB, created_at TIMESTAMPTZ NOT NULL DEFAULT now());
CREATE INDEX ON conversation_memory (session_id, created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON conversation_memory TO old_program;
GRANT USAGE ON SEQUENCE conversation_memory_id_seq TO old_program;
"""

Rows = list[tuple[Any, ...]]


def build(url: str, rows: int) -> None:
    """Both tables, so many rows in each, for a role that knows nothing of ltst."""
    with psycopg.connect(url) as owner:
        known = owner.execute("SELECT FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone()
        if known is None:
            owner.execute("CREATE ROLE old_program")
        owner.execute(CREATE)
        with owner.cursor().copy(
            "COPY conversation_memory (session_id, role, content, metadata, created_at) FROM STDIN"
        ) as c:
            for number in range(rows):
                c.write_row(_plain(number))
        PostgresChatMessageHistory.create_tables(owner, LANGCHAIN)
        owner.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON langchain_chats TO old_program")
        owner.execute("GRANT USAGE ON SEQUENCE langchain_chats_id_seq TO old_program")
        with owner.cursor().copy("COPY langchain_chats (session_id, message, created_at) FROM STDIN") as c:
            for number in range(rows):
                c.write_row((chat(number // IN_A_SESSION), json.dumps(message_to_dict(said(number))), _when(number)))


def _plain(number: int) -> tuple[Any, ...]:
    role = "assistant" if number % 2 else "user"
    return (f"s{number // IN_A_SESSION}", role, words(number), json.dumps({"turn": number}), _when(number))


def words(number: int) -> str:
    """What is said in a message, in few words."""
    return text(number // REPEATED % DISTINCT)[:SHORT]


def said(number: int) -> BaseMessage:
    """A message of LangChain's."""
    kind = AIMessage if number % 2 else HumanMessage
    return kind(words(number), additional_kwargs={"turn": number})


def chat(number: int) -> str:
    """The id of one of LangChain's sessions, which must be UUIDs."""
    return str(uuid.UUID(int=number))


def _when(number: int) -> datetime:
    """Every third message has the moment of the one before it: dates alone do not say the order."""
    return BEGIN + timedelta(seconds=number - (number % 3 == 1))


@contextmanager
def program(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of the old program, with no more rights than it had."""
    with psycopg.connect(url) as connection:
        connection.execute("SET ROLE old_program")
        connection.commit()
        yield connection


def everything(url: str, table: str) -> Rows:
    """All that the program sees, in its order."""
    with program(url) as connection:
        query = sql.SQL("SELECT * FROM {} ORDER BY id").format(sql.Identifier(table))
        return connection.execute(query).fetchall()


def digest(rows: Iterable[tuple[Any, ...]]) -> str:
    """A hash of rows, made here and not by ltst."""
    found = hashlib.sha256()
    for row in rows:
        found.update(json.dumps(row, default=str, sort_keys=True).encode())
    return found.hexdigest()


def use_plain(url: str, mark: str, session: str = "s1") -> tuple[int, str]:
    """What such programs do: read, add, correct, delete; the id of the row that stays, and its text."""
    with program(url) as connection:
        before = _history(connection, session)
        add = "INSERT INTO conversation_memory (session_id, role, content) VALUES (%s, %s, %s) RETURNING id, created_at"
        kept, when = connection.execute(add, (session, "user", f"{mark} the ferry leaves at nine")).fetchall()[0]
        wrong, _ = connection.execute(add, (session, "assistant", f"{mark} noted wrongly")).fetchall()[0]
        assert when is not None and wrong > kept, "defaults and numbers go on"
        connection.execute(
            "UPDATE conversation_memory SET content = %s WHERE id = %s", (f"{mark} the ferry leaves at ten", kept)
        )
        gone = connection.execute("DELETE FROM conversation_memory WHERE id = %s", (wrong,)).rowcount
        assert gone == 1, "one row is deleted"
        after = _history(connection, session)
    told = f"{mark} the ferry leaves at ten"
    assert after == [*before, ("user", told)], "the program reads what it wrote"
    return int(kept), told


def _history(connection: psycopg.Connection[Any], session: str) -> Rows:
    query = "SELECT role, content FROM conversation_memory WHERE session_id = %s ORDER BY created_at, id"
    return connection.execute(query, (session,)).fetchall()


def use_langchain(url: str, mark: str, session: int = 1) -> None:
    """LangChain's own class: read, add, and clear a session of its own."""
    with program(url) as connection:
        history = PostgresChatMessageHistory(LANGCHAIN, chat(session), sync_connection=connection)
        before = history.get_messages()
        new = [HumanMessage(f"{mark} where is my umbrella?"), AIMessage(f"{mark} in the hall")]
        history.add_messages(new)
        assert history.get_messages() == [*before, *new], "LangChain reads what it wrote"
        own = PostgresChatMessageHistory(LANGCHAIN, str(uuid.uuid4()), sync_connection=connection)
        own.add_messages(new)
        own.clear()
        assert own.get_messages() == [], "LangChain cleared a session"
