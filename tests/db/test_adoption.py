"""Chat tables of other programs: taken over whole or not at all, used as before, and given back with nothing lost."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

sys.path.insert(0, str(Path(__file__).parents[2]))

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_postgres import PostgresChatMessageHistory

import ltst
from bench import adoption as rehearsal
from bench import corpus
from helpers.probes import Connection, counts, holding, superuser, tables, value, views
from ltst import Memory, Settings
from ltst.adoption import upkeep
from ltst.db import backup, migrate
from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database

TABLE = "conversation_memory"
KEPT = "conversation_memory_before_ltst"
CREATE = (
    "CREATE TABLE conversation_memory (id SERIAL PRIMARY KEY, session_id TEXT NOT NULL, role TEXT, content TEXT, "
    "created_at TIMESTAMPTZ DEFAULT now())"
)
FILL = """
INSERT INTO conversation_memory (session_id, role, content, created_at)
SELECT 's' || n / 4, CASE n % 2 WHEN 0 THEN 'user' ELSE 'assistant' END, 'message ' || n,
       timestamptz '2024-01-01 00:00+00' + n * interval '1 minute'
FROM generate_series(0, 11) AS n
"""
HISTORY = "SELECT role, content FROM conversation_memory WHERE session_id = %s ORDER BY created_at, id"


@pytest.fixture
def owner(database_url: str) -> Iterator[Connection]:
    """The superuser, in a database with the table of an old program."""
    with superuser(database_url) as connection:
        connection.execute(CREATE)
        connection.execute(FILL)
        yield connection


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with Memory(settings=settings, embedder=corpus.embedder()) as opened:
        yield opened


@contextmanager
def program(url: str, role: str = "old_program") -> Iterator[Connection]:
    """The old program: a role of its own, which has no part in ltst."""
    with superuser(url) as connection:
        if value(connection, "SELECT count(*) FROM pg_roles WHERE rolname = %s", role) == 0:
            connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
        if TABLE in tables(connection):
            grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON conversation_memory TO {}"
            connection.execute(sql.SQL(grant).format(sql.Identifier(role)))
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        yield connection


def rows(connection: Connection, table: str = TABLE, order: str = "id") -> list[tuple[Any, ...]]:
    query = sql.SQL("SELECT * FROM {} ORDER BY {}").format(sql.Identifier(table), sql.Identifier(order))
    return connection.execute(query).fetchall()


def texts(connection: Connection, table: str = TABLE) -> list[str]:
    """The rows as text, for values that Python has no place for."""
    query = sql.SQL("SELECT t::text FROM {} AS t ORDER BY id").format(sql.Identifier(table))
    return [text for (text,) in connection.execute(query)]


def state(connection: Connection) -> tuple[Any, ...]:
    """The rows of every table, the relations there are, and the number of transactions that wrote."""
    everything = [
        (
            name,
            value(
                connection,
                sql.SQL("SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {} AS t").format(
                    sql.Identifier(name)
                ),
            ),
        )
        for name in tables(connection)
    ]
    return everything, views(connection), value(connection, "SELECT count(*) FROM pg_class")


@pytest.mark.parametrize("number", [2_000])
def test_the_rehearsal(empty_database_url: str, tmp_path: Path, number: int) -> None:
    play = rehearsal.run(empty_database_url, tmp_path, number, embedder=corpus.embedder())
    assert play.problems == []
    assert len(play.steps) == 12


def test_a_dry_run_writes_nothing(owner: Connection, memory: Memory) -> None:
    before = state(owner), value(owner, "SELECT pg_current_wal_lsn()")
    told = memory.adopt(TABLE, user_id="ana", dry_run=True)
    assert (told.rows, told.messages, told.sessions, told.users, told.kept) == (12, 12, 3, 1, None)
    assert (told.first, told.last) == (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 0, 11, tzinfo=UTC))
    assert state(owner) == before[0]


def test_sessions_and_messages_have_their_dates_and_their_order(owner: Connection, memory: Memory) -> None:
    told = memory.adopt(TABLE, user_id="ana")
    assert (told.messages, told.sessions, told.kept) == (12, 3, f"public.{KEPT}")
    user = memory.user("ana")
    window = user.chat("s1").window()
    assert [(each.message_index, each.role, each.content) for each in window] == [
        (1, "human", "message 4"),
        (2, "ai", "message 5"),
        (3, "human", "message 6"),
        (4, "ai", "message 7"),
    ]
    assert [each.timestamp.minute for each in window] == [4, 5, 6, 7]
    assert [each.message_key for each in window] == [f"{TABLE}:{number}" for number in (5, 6, 7, 8)]
    session = user.sessions.get("s1")
    assert session is not None
    assert (session.session_length, session.created_at, session.last_activity) == (
        4,
        window[0].timestamp,
        window[-1].timestamp,
    )
    assert [(each.action, each.noun) for each in user.events.list()] == [("adopt", "session")] * 3
    assert "message 7" in [hit.content for hit in user.search("message 7")]
    assert memory.health().ok


def test_what_is_shown_is_what_was_there(owner: Connection, memory: Memory) -> None:
    before = rows(owner)
    memory.adopt(TABLE, user_id="ana")
    assert TABLE in views(owner)
    assert rows(owner) == before
    assert rows(owner, KEPT) == before


def test_the_old_program_works_as_before(owner: Connection, database_url: str, memory: Memory) -> None:
    with program(database_url) as old:
        old.execute("RESET ROLE")
        old.execute("GRANT USAGE ON SEQUENCE conversation_memory_id_seq TO old_program")
        memory.adopt(TABLE, user_id="ana")
        old.execute("SET ROLE old_program")
        assert old.execute(HISTORY, ("s0",)).fetchall() == [
            ("user", "message 0"),
            ("assistant", "message 1"),
            ("user", "message 2"),
            ("assistant", "message 3"),
        ]
        insert = (
            "INSERT INTO conversation_memory (session_id, role, content) VALUES (%s, %s, %s) RETURNING id, created_at"
        )
        ((first, moment),) = old.execute(insert, ("s0", "user", "the ferry leaves at nine")).fetchall()
        assert (first, moment.tzinfo is not None) == (13, True)
        assert value(old, "SELECT lastval()") == 13
        dated = (
            "INSERT INTO conversation_memory (session_id, role, content, created_at) VALUES ('new', 'user', 'x', %s)"
        )
        old.execute(dated, (datetime(2020, 5, 6, tzinfo=UTC),))
        old.execute("INSERT INTO conversation_memory VALUES (100, 'new', 'assistant', 'given an id')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            old.execute("INSERT INTO conversation_memory VALUES (100, 'new', 'assistant', 'the same id')")
        assert old.execute("UPDATE conversation_memory SET content = 'at ten' WHERE id = 13").rowcount == 1
        assert old.execute("DELETE FROM conversation_memory WHERE session_id = 's2'").rowcount == 4
        assert old.execute("UPDATE conversation_memory SET content = 'x' WHERE id = 999").rowcount == 0
        with old.cursor().copy("COPY conversation_memory (session_id, role, content) FROM STDIN") as copy:
            copy.write_row(("copied", "user", "by copy"))
        assert old.execute(HISTORY, ("s0",)).fetchall()[-1] == ("user", "at ten")
    user = memory.user("ana")
    assert [hit.content for hit in user.search("at ten", limit=1)] == ["at ten"]
    assert [each.content for each in user.chat("new").window()] == ["x", "given an id"]
    assert user.chat("new").window()[0].timestamp == datetime(2020, 5, 6, tzinfo=UTC)
    assert user.chat("s2").window() == []
    assert [each.content for each in user.chat("copied").window()] == ["by copy"]
    assert [each.message_index for each in user.chat("s0").window()] == [1, 2, 3, 4, 5]


def test_what_ltst_adds_is_seen_by_the_old_program(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    chat = memory.user("ana").chat("s1")
    chat.add("user", "one more")
    chat.add_many([{"role": "assistant", "content": "two"}, {"role": "system", "content": "three"}])
    assert owner.execute("SELECT id, role, content FROM conversation_memory WHERE id > 12 ORDER BY id").fetchall() == [
        (13, "user", "one more"),
        (14, "assistant", "two"),
        (15, "system", "three"),
    ]
    memory.user("ana").chat("another").add("user", "a conversation of ltst alone")
    memory.user("eve").chat("s1").add("user", "of another user")
    assert value(owner, "SELECT count(*) FROM conversation_memory") == 15


def test_a_correction_is_learnt_and_indexed_anew(owner: Connection, memory: Memory) -> None:
    owner.execute("UPDATE conversation_memory SET content = 'My name is Piyush.' WHERE id = 1")
    memory.adopt(TABLE, user_id="ana")
    user = memory.user("ana")
    answer = user.chat("s0").add("assistant", "Noted.", parent=user.chat("s0").window()[0].message_id)
    memory.settle()
    assert [each["value"] for each in user.profile()["facts"]] == ["Piyush"]
    owner.execute("UPDATE conversation_memory SET content = 'My name is Martha.' WHERE id = 1")
    memory.settle()
    assert [each["value"] for each in user.profile()["facts"]] == ["Martha"]
    first, *_, last = user.chat("s0").window()
    assert (first.content, first.message_index, last.parent_message_id) == ("My name is Martha.", 1, first.message_id)
    assert last.message_id == answer.message_id
    assert [hit.content for hit in user.search("what is my name Piyush", kinds=["message"], limit=1)] == [
        "My name is Martha."
    ]
    assert holding(owner, "Piyush") == set()


def test_a_row_can_move_to_another_session(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    owner.execute("UPDATE conversation_memory SET session_id = 'moved' WHERE session_id = 's0'")
    assert [each.content for each in memory.user("ana").chat("moved").window()] == [f"message {n}" for n in range(4)]
    assert value(owner, "SELECT count(*) FROM conversation_memory WHERE session_id = 's0'") == 0
    assert owner.execute("SELECT array_agg(id ORDER BY id) FROM conversation_memory").fetchone() == ([*range(1, 13)],)


def test_the_way_back_loses_nothing(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    owner.execute("INSERT INTO conversation_memory (session_id, role, content) VALUES ('s0', 'user', 'by the program')")
    owner.execute("UPDATE conversation_memory SET content = 'corrected' WHERE id = 2")
    owner.execute("DELETE FROM conversation_memory WHERE id = 3")
    memory.user("ana").chat("s1").add("assistant", "by ltst")
    memory.user("ana").sessions.delete("s2")
    before = rows(owner)
    done = memory.give_back(TABLE)
    assert (done.table, done.rows, done.added, done.sessions) == (f"public.{TABLE}", 9, 3, 2)
    assert TABLE in tables(owner)
    assert KEPT not in tables(owner)
    assert rows(owner) == before
    owner.execute("INSERT INTO conversation_memory (session_id, role, content) VALUES ('s0', 'user', 'goes on')")
    assert value(owner, "SELECT max(id) FROM conversation_memory") > 14
    assert memory.user("ana").sessions.list() == []
    assert {name: counts(owner)[name] for name in ("adopted_tables", "adopted_messages", "conversation_messages")} == {
        "adopted_tables": 0,
        "adopted_messages": 0,
        "conversation_messages": 0,
    }
    told = memory.adopt(TABLE, user_id="ana")
    assert told.messages == 10


def test_the_way_back_can_leave_the_conversations_here(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    assert memory.give_back(TABLE, keep=True).kept
    assert memory.user("ana").chat("s0").window()[-1].content == "message 3"
    memory.user("ana").chat("s0").add("user", "here alone")
    assert value(owner, "SELECT count(*) FROM conversation_memory") == 12
    with pytest.raises(ltst.Conflict, match="another conversation with this session id"):
        memory.adopt(TABLE, user_id="ana")
    with pytest.raises(ltst.NotFound, match="was adopted"):
        memory.give_back(TABLE)


def test_the_way_back_is_refused_where_the_table_does_not_take_a_row(owner: Connection, memory: Memory) -> None:
    owner.execute("ALTER TABLE conversation_memory ADD CHECK (role IN ('user', 'assistant'))")
    memory.adopt(TABLE, user_id="ana")
    memory.user("ana").chat("s0").add("system", "be brief")
    with pytest.raises(ltst.Conflict, match="does not take what was written since; nothing was changed"):
        memory.give_back(TABLE)
    assert value(owner, "SELECT count(*) FROM conversation_memory") == 13


IDS = {
    "serial": ("id SERIAL PRIMARY KEY", "DEFAULT"),
    "identity": ("id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "DEFAULT"),
    "counted": ("id INTEGER", "{n}"),
    "uuid": ("id UUID PRIMARY KEY DEFAULT gen_random_uuid()", "DEFAULT"),
    "text": ("id TEXT PRIMARY KEY", "'row {n}'"),
    "small": ("id SMALLSERIAL PRIMARY KEY", "DEFAULT"),
    "char": ("id CHAR(40) PRIMARY KEY", "'row {n}'"),
    "words": ("id words PRIMARY KEY", "'row {n}'"),
    "none": ("model TEXT", "'m'"),
}
SESSIONS = {
    "text": ("VARCHAR(40)", "'s{s}'"),
    "uuid": ("UUID", "'00000000-0000-0000-0000-00000000000{s}'"),
    "int": ("INT", "{s}"),
    "numeric": ("NUMERIC(20)", "1844674407370955161{s}"),
    "char": ("CHAR(40)", "'s{s}'"),
    "enum": ("chosen", "'s{s}'"),
}
TIMES = {
    "zone": ("created_at TIMESTAMPTZ NOT NULL DEFAULT now()", "'2024-05-06 07:08:09.123456+00'"),
    "naive": ('"timestamp" TIMESTAMP', "'2024-05-06 07:08:09.123456'"),
    "null": ("created_at TIMESTAMPTZ", "NULL"),
    "none": ("language TEXT", "'en'"),
}
USERS = {
    "text": ("TEXT", "'eve'", "eve"),
    "varchar": ("VARCHAR(40)", "'eve'", "eve"),
    "char": ("CHAR(8)", "'eve'", "eve"),
    "small": ("SMALLINT", "7", "7"),
    "int": ("INTEGER", "7", "7"),
    "big": ("BIGINT", "70000000000", "70000000000"),
    "numeric": ("NUMERIC(20)", "18446744073709551615", "18446744073709551615"),
    "uuid": ("UUID", "'00000000-0000-0000-0000-000000000007'", "00000000-0000-0000-0000-000000000007"),
}


@pytest.mark.parametrize(
    ("id", "session", "time", "user"),
    [
        *[(id, "text", "zone", "text") for id in IDS],
        *[("serial", session, "naive", "text") for session in SESSIONS],
        *[(id, "uuid", time, "text") for id in ("serial", "none") for time in TIMES],
        *[("serial", "text", "zone", user) for user in USERS if user != "text"],
        ("none", "int", "zone", "int"),
    ],
)
def test_tables_of_every_kind_go_there_and_back(
    database_url: str, memory: Memory, id: str, session: str, time: str, user: str
) -> None:
    type, written, person = USERS[user]
    with superuser(database_url) as owner:
        owner.execute("CREATE DOMAIN words AS VARCHAR(100)")
        owner.execute("CREATE TYPE chosen AS ENUM ('s0', 's1')")
        owner.execute(
            f"CREATE TABLE chats ({IDS[id][0]}, session_id {SESSIONS[session][0]} NOT NULL, role TEXT, "
            f"content VARCHAR(500), {TIMES[time][0]}, user_id {type})"
        )
        for number in range(6):
            given = (IDS[id][1], SESSIONS[session][1], "'user'", f"'text {number // 2}'", TIMES[time][1], written)
            owner.execute(f"INSERT INTO chats VALUES ({', '.join(given)})".format(n=number, s=number % 2))
        types = (
            "SELECT array_agg(format_type(atttypid, NULL) ORDER BY attnum) FROM pg_attribute "
            "WHERE attrelid = 'chats'::regclass AND attnum > 0 AND NOT attisdropped"
        )
        before, shape = owner.execute("SELECT * FROM chats ORDER BY chats::text").fetchall(), value(owner, types)
        told = memory.adopt("chats", user_id="ana")
        assert (told.messages, told.undated) == (6, 6 if time in ("null", "none") else 0)
        assert owner.execute("SELECT * FROM chats ORDER BY chats::text").fetchall() == before
        assert value(owner, types) == shape
        name = SESSIONS[session][1].format(s=1)
        sessions = memory.user(person).sessions.list()
        assert [each.content for each in memory.user(person).chat(name.strip("'")).window()] == [
            "text 0",
            "text 1",
            "text 2",
        ]
        assert [each.session_length for each in sessions] == [3, 3]
        where = f"session_id = {name} AND content = 'text 1'"
        assert owner.execute(f"UPDATE chats SET content = 'changed' WHERE {where}").rowcount == 1
        memory.user(person).chat(name.strip("'")).add("user", "of ltst")
        insert = (
            "INSERT INTO chats ({}session_id, role, content, user_id) VALUES ({}{}, 'user', 'of the program', {}) "
            "RETURNING content"
        )
        own = ("id, ", "'new', ") if id in ("text", "char", "words") else ("", "")
        assert value(owner, insert.format(own[0], own[1], name, written)) == "of the program"
        told_of = owner.execute(f"SELECT count(*), min(user_id::text) FROM chats WHERE user_id = '{person}'").fetchone()
        assert told_of == (8, person)
        assert memory.user(person).chat(name.strip("'")).window()[-1].content == "of the program"
        assert owner.execute(f"DELETE FROM chats WHERE session_id = {name} AND content = 'text 2'").rowcount == 1
        shown = owner.execute("SELECT * FROM chats ORDER BY chats::text").fetchall()
        assert len(shown) == 7
        assert memory.give_back("chats").rows == 7
        assert owner.execute("SELECT * FROM chats ORDER BY chats::text").fetchall() == shown
        assert value(owner, types) == shape


def test_other_columns_are_metadata_and_are_shown_as_they_were(database_url: str, memory: Memory) -> None:
    with superuser(database_url) as owner:
        owner.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
        owner.execute(
            "CREATE TABLE chats (id SERIAL PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, metadata JSONB, "
            "raw JSON, "
            'tags TEXT[], cost NUMERIC(10, 4), score FLOAT, "it\'s ""odd"" %s" BOOLEAN, day DATE, feeling mood, '
            "embedding VECTOR(3), words INTEGER GENERATED ALWAYS AS (length(content)) STORED, tokens INTEGER DEFAULT 7)"
        )
        insert = (
            "INSERT INTO chats (session_id, role, content, metadata, raw, tags, cost, score, "
            'day, feeling, embedding, "it\'s ""odd"" %%s") VALUES '
            "('s', %s, %s, '{\"language\": \"en\"}', '{\"a\" : 1}', '{a,\"b c\",NULL}', 1.50, 0.1, "
            "'2024-02-29', 'bad', '[1,2,3]', true)"
        )
        owner.execute(insert, ("user", "hello"))
        owner.execute("INSERT INTO chats (session_id, role, content) VALUES ('s', 'assistant', 'nothing else')")
        told = memory.adopt("chats", user_id="ana")
        assert told.left_behind == ("embedding", "words")
        owner.execute(insert, ("user", "again"))
        kept = "id, session_id, role, content, metadata, raw::jsonb, tags, cost, score, day, feeling, tokens"
        first, second, third = owner.execute(f"SELECT {kept} FROM chats ORDER BY id").fetchall()
        assert first[4:] == ({"language": "en"}, {"a": 1}, ["a", "b c", None], first[7], 0.1, first[9], "bad", 7)
        assert str(first[7]) == "1.5000"
        assert second[4:] == (None,) * 7 + (7,)
        assert third[4:] == first[4:]
        one, *_ = memory.user("ana").chat("s").window()
        assert one.metadata is not None
        assert (one.metadata["language"], one.metadata["tokens"], one.metadata['it\'s "odd" %s']) == ("en", 7, True)
        assert "embedding" not in one.metadata
        assert memory.give_back("chats").added == 1
        assert owner.execute(f"SELECT {kept} FROM chats ORDER BY id").fetchall() == [first, second, third]
        assert owner.execute("SELECT embedding::text, words FROM chats ORDER BY id").fetchall() == [
            ("[1,2,3]", 5),
            (None, 12),
            (None, 5),
        ]


def test_what_ltst_adds_does_not_make_columns_of_other_types_unreadable(database_url: str, memory: Memory) -> None:
    """A role that their type does not know is shown as none, and words in a column of JSON are a string."""
    with superuser(database_url) as owner:
        owner.execute("CREATE TYPE speaker AS ENUM ('USER', 'ASSISTANT')")
        owner.execute("CREATE TABLE chats (id SERIAL PRIMARY KEY, session_id TEXT, role speaker, content JSON)")
        owner.execute(
            """INSERT INTO chats VALUES (-1, 's', 'USER', '{"text" : "hello"}'), (0, 's', 'ASSISTANT', '"hi"'), """
            """(10, 's', 'USER', '"\\u0000"')"""
        )
        told = memory.adopt("chats", user_id="ana", leave_out=True)
        assert [each.row for each in told.faults] == ["10"]
        memory.user("ana").chat("s").add("assistant", "bye")
        memory.user("ana").chat("s").add("system", "be brief")
        owner.execute("INSERT INTO chats (session_id, role, content) VALUES ('s', 'ASSISTANT', '[1]')")
        owner.execute("""UPDATE chats SET content = '"changed"' WHERE id = 1""")
        shown = [
            (-1, "s", "USER", {"text": "hello"}),
            (0, "s", "ASSISTANT", "hi"),
            (1, "s", "ASSISTANT", "changed"),
            (2, "s", None, "be brief"),
            (3, "s", "ASSISTANT", [1]),
        ]
        assert rows(owner, "chats") == shown
        assert memory.give_back("chats").added == 3
        assert owner.execute("SELECT * FROM chats WHERE id < 10 ORDER BY id").fetchall() == shown


def test_metadata_of_ltst_does_not_make_the_view_unreadable(owner: Connection, memory: Memory) -> None:
    owner.execute("ALTER TABLE conversation_memory ADD COLUMN tokens INTEGER")
    memory.adopt(TABLE, user_id="ana")
    metadata = {"tokens": "many", "columns": {"tokens": "x"}, "adopted": {"tokens": "x"}, "undated": True, "role": "x"}
    memory.user("ana").chat("s0").add("user", "hello", metadata=metadata)
    assert rows(owner)[-1][1:4] + rows(owner)[-1][5:] == ("s0", "user", "hello", None)


def test_names_that_need_quotes(database_url: str, memory: Memory) -> None:
    with superuser(database_url) as owner:
        owner.execute('CREATE SCHEMA "My ""App"""')
        owner.execute(
            'CREATE TABLE "My ""App"""."Chat\'s; DROP TABLE x" (id SERIAL, session_id TEXT, role TEXT, content TEXT)'
        )
        owner.execute('INSERT INTO "My ""App"""."Chat\'s; DROP TABLE x" VALUES (1, \'s\', \'user\', \'hello\')')
        name = 'My "App".Chat\'s; DROP TABLE x'
        assert memory.adopt(name, user_id="ana").messages == 1
        owner.execute(
            'INSERT INTO "My ""App"""."Chat\'s; DROP TABLE x" (session_id, role, content) '
            "VALUES ('s', 'ai', 'hi')"
        )
        assert [each.content for each in memory.user("ana").chat("s").window()] == ["hello", "hi"]
        assert memory.give_back('"My ""App"""."Chat\'s; DROP TABLE x"').rows == 2


LONG = "x" * 256
FAULTY = {
    "the session id is missing or blank": ("' '", "'user'", "'x'", "now()"),
    "the session id is longer than 255 characters": (f"'{LONG}'", "'user'", "'x'", "now()"),
    'the role "wizard" is unknown': ("'f'", "'wizard'", "'x'", "now()"),
    "the role is missing or unknown": ("'f'", "NULL", "'x'", "now()"),
    "the content is missing": ("'f'", "'user'", "NULL", "now()"),
    "the content is longer than 1048576 bytes": ("'f'", "'user'", "repeat('é', 600000)", "now()"),
    "the date is outside of the years 2 to 9998": ("'f'", "'user'", "'x'", "'infinity'"),
}


def test_rows_that_cannot_become_messages_are_named_and_stop_it(owner: Connection, memory: Memory) -> None:
    for values in FAULTY.values():
        owner.execute(
            f"INSERT INTO conversation_memory (session_id, role, content, created_at) VALUES ({', '.join(values)})"
        )
    before = state(owner)
    told = memory.adopt(TABLE, user_id="ana", dry_run=True)
    assert (told.rows, told.messages) == (12 + len(FAULTY), 12)
    assert [(int(each.row), each.reason) for each in told.faults] == [*enumerate(FAULTY, start=13)]
    assert dict(told.reasons) == dict.fromkeys(FAULTY, 1)
    with pytest.raises(ltst.Conflict, match=r"7 of 19 rows cannot be taken over: .*wizard.* 13, 14, .*--leave-out"):
        memory.adopt(TABLE, user_id="ana")
    assert state(owner) == before
    everything = texts(owner)
    assert memory.adopt(TABLE, user_id="ana", leave_out=True).messages == 12
    assert texts(owner) == everything[:12]
    assert texts(owner, KEPT) == everything
    memory.give_back(TABLE)
    assert texts(owner) == everything


@pytest.mark.parametrize("values", FAULTY.values(), ids=FAULTY)
def test_the_view_refuses_what_a_message_cannot_be(owner: Connection, memory: Memory, values: tuple[str, ...]) -> None:
    memory.adopt(TABLE, user_id="ana")
    before = state(owner)
    with pytest.raises(psycopg.errors.IntegrityError):
        owner.execute(
            f"INSERT INTO conversation_memory (session_id, role, content, created_at) VALUES ({', '.join(values)})"
        )
    with pytest.raises(psycopg.errors.IntegrityError):
        owner.execute(f"UPDATE conversation_memory SET (session_id, role, content, created_at) = ({', '.join(values)})")
    assert state(owner) == before


def test_blank_words_and_other_names_of_roles_are_kept(owner: Connection, memory: Memory) -> None:
    owner.execute(
        "INSERT INTO conversation_memory (session_id, role, content) VALUES ('s9', 'Human', ''), ('s9', 'BOT', ' ')"
    )
    before = rows(owner)
    assert memory.adopt(TABLE, user_id="ana").blank == 2
    assert rows(owner) == before
    assert [each.role for each in memory.user("ana").chat("s9").window()] == ["human", "ai"]


OBSTACLES = {
    "has policies of its own": "ALTER TABLE conversation_memory ENABLE ROW LEVEL SECURITY",
    "a foreign key rests on": "CREATE TABLE votes (id INTEGER REFERENCES conversation_memory)",
    "a view rests on": "CREATE VIEW newest AS SELECT * FROM conversation_memory",
    "a trigger rests on": "CREATE TRIGGER told AFTER INSERT ON conversation_memory FOR EACH ROW EXECUTE FUNCTION "
    "suppress_redundant_updates_trigger()",
    "is not a chat table: it has id, session_id, said": "ALTER TABLE conversation_memory DROP COLUMN role, "
    "DROP COLUMN created_at, DROP COLUMN content, ADD COLUMN said TEXT",
}


ODD = {
    "numeric id": ("id", "NUMERIC(20)", "id is of the type numeric.*integer, smallint, bigint, uuid and text"),
    "domain id": ("id", "positive", "id is of the type positive"),
    "moment id": ("id", "TIMESTAMPTZ USING now()", "id is of the type timestamp with time zone"),
    "moment session": ("session_id", "TIMESTAMPTZ USING now()", "session_id is of the type timestamp with time zone"),
    "array session": ("session_id", "TEXT[] USING ARRAY[session_id]", r"session_id is of the type text\[\]"),
    "moment user": ("user_id", "DATE USING now()", "user_id is of the type date"),
}


@pytest.mark.parametrize(("column", "type", "words"), ODD.values(), ids=ODD)
def test_ids_of_types_that_ltst_cannot_look_up_are_refused(
    owner: Connection, memory: Memory, column: str, type: str, words: str
) -> None:
    owner.execute("CREATE DOMAIN positive AS INTEGER CHECK (value > 0)")
    owner.execute("ALTER TABLE conversation_memory ALTER COLUMN id DROP DEFAULT, ADD COLUMN user_id TEXT")
    owner.execute("ALTER TABLE conversation_memory DROP CONSTRAINT conversation_memory_pkey")
    owner.execute(f"ALTER TABLE conversation_memory ALTER COLUMN {column} TYPE {type}".encode())
    before = state(owner)
    for dry in (True, False):
        with pytest.raises(ltst.Invalid, match=words):
            memory.adopt(TABLE, dry_run=dry)
    assert state(owner) == before


@pytest.mark.parametrize(("words", "change"), OBSTACLES.items(), ids=OBSTACLES)
def test_what_stands_in_the_way_is_said(owner: Connection, memory: Memory, words: str, change: str) -> None:
    owner.execute(change)
    before = state(owner)
    for dry in (True, False):
        with pytest.raises((ltst.Conflict, ltst.Invalid), match=words):
            memory.adopt(TABLE, dry_run=dry)
    assert state(owner) == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"table": "nothing"}, "there is no table 'nothing'"),
        ({"table": "conversation_messages"}, "ltst's own"),
        ({"table": "chat_message_history"}, "ltst's own"),
        ({"table": "pg_catalog.pg_class"}, "is not a chat table"),
        ({"table": ""}, "table must be"),
        ({"table": "x\x00"}, "table must not contain NUL"),
        ({"user_id": "system"}, "reserved"),
        ({"user_id": " "}, "user_id must be"),
        ({"zone": "Mars/Olympus"}, "zone must be the name of a time zone"),
        ({"zone": "../../etc/passwd"}, "zone must be the name of a time zone"),
        ({"dry_run": 1}, "dry_run must be True or False"),
    ],
)
def test_bad_input_is_refused(owner: Connection, memory: Memory, given: dict[str, Any], words: str) -> None:
    before = state(owner)
    with pytest.raises(ltst.LtstError, match=words):
        memory.adopt(**{"table": TABLE, **given})
    assert state(owner) == before


def test_a_table_is_adopted_once(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    for dry in (True, False):
        with pytest.raises(ltst.Conflict, match=r"adopted already; the way back: ltst db adopt .* --back"):
            memory.adopt(TABLE, user_id="ana", dry_run=dry)


def test_rows_go_to_the_users_that_they_name(owner: Connection, memory: Memory) -> None:
    owner.execute("ALTER TABLE conversation_memory ADD COLUMN user_id TEXT")
    owner.execute("UPDATE conversation_memory SET user_id = CASE id % 3 WHEN 0 THEN 'ana' WHEN 1 THEN 'eve' END")
    told = memory.adopt(TABLE, user_id="rest")
    assert (told.users, told.sessions) == (3, 9)
    assert [each.content for each in memory.user("ana").chat("s0").window()] == ["message 2"]
    assert [each.content for each in memory.user("rest").chat("s0").window()] == ["message 1"]
    insert = (
        "INSERT INTO conversation_memory (session_id, role, content, user_id) VALUES ('s0', 'user', %s, %s) "
        "RETURNING user_id"
    )
    assert value(owner, insert, "of eve", "eve") == "eve"
    assert value(owner, insert, "of nobody", None) == "rest"
    with pytest.raises(psycopg.errors.CheckViolation, match="system"):
        owner.execute(insert, ("of the system", "system"))
    assert memory.user("eve").chat("s0").window()[-1].content == "of eve"
    assert memory.user("rest").chat("s0").window()[-1].content == "of nobody"


@pytest.mark.parametrize(("user", "shown"), [("ana", None), ("7", 7), ("007", None), ("99999999999", None)])
def test_rows_without_a_user_where_users_are_numbers(
    owner: Connection, memory: Memory, user: str, shown: int | None
) -> None:
    """Whom they are adopted for is shown where the column can hold it."""
    owner.execute("ALTER TABLE conversation_memory ADD COLUMN user_id INTEGER")
    owner.execute("UPDATE conversation_memory SET user_id = 8 WHERE session_id = 's0'")
    before = rows(owner)
    told = memory.adopt(TABLE, user_id=user)
    assert (told.users, told.sessions) == (2, 3)
    assert rows(owner) == [(*row[:5], row[5] or shown) for row in before]
    insert = "INSERT INTO conversation_memory (session_id, role, content, user_id) VALUES ('s1', 'user', 'new', %s)"
    assert value(owner, f"{insert} RETURNING user_id", None) == shown
    assert value(owner, f"{insert} RETURNING user_id", 8) == 8
    memory.user(user).chat("s1").add("assistant", "of ltst")
    assert [each.content for each in memory.user(user).chat("s1").window()][-2:] == ["new", "of ltst"]
    assert [each.content for each in memory.user("8").chat("s1").window()] == ["new"]
    assert owner.execute("UPDATE conversation_memory SET content = 'changed' WHERE id = 5").rowcount == 1
    assert value(owner, "SELECT count(*) FROM conversation_memory WHERE user_id = %s", 8) == 5
    assert memory.give_back(TABLE).rows == 15
    assert value(owner, "SELECT count(*) FROM conversation_memory WHERE user_id = %s", 8) == 5
    assert value(owner, "SELECT user_id FROM conversation_memory WHERE id = 5") == shown


def test_who_is_erased_is_gone_from_the_view_and_from_what_was_kept(owner: Connection, memory: Memory) -> None:
    owner.execute("ALTER TABLE conversation_memory ADD COLUMN user_id TEXT")
    owner.execute("UPDATE conversation_memory SET user_id = 'eve', content = 'EVES-WORDS ' || id WHERE id > 4")
    owner.execute(
        "INSERT INTO conversation_memory (session_id, role, content, user_id) VALUES ('s', 'x', 'EVES-WORDS', 'eve')"
    )
    memory.adopt(TABLE, user_id="rest", leave_out=True)
    receipt = memory.user("eve").erase()
    assert receipt.removed[f"public.{KEPT}"] == 9
    assert receipt.remaining[f"public.{KEPT}"] == 0
    assert receipt.removed["adopted_messages"] == 8
    assert holding(owner, "EVES-WORDS") == set()
    assert [row[0] for row in rows(owner)] == [1, 2, 3, 4]
    assert [row[0] for row in rows(owner, KEPT)] == [1, 2, 3, 4]
    memory.user("rest").erase()
    assert (rows(owner), rows(owner, KEPT)) == ([], [])
    owner.execute(
        "INSERT INTO conversation_memory (session_id, role, content) VALUES ('s0', 'user', 'the program goes on')"
    )
    assert memory.give_back(TABLE).rows == 1


def test_what_is_deleted_is_gone_from_what_was_kept(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    memory.user("ana").sessions.delete("s0")
    owner.execute("DELETE FROM conversation_memory WHERE id = 5")
    owner.execute("UPDATE conversation_memory SET content = 'redacted' WHERE id = 6")
    assert [row[0] for row in rows(owner, KEPT)] == [7, 8, 9, 10, 11, 12]


def test_what_ltst_removes_and_replaces_is_so_for_the_old_program_and_stays_so(
    owner: Connection, memory: Memory
) -> None:
    memory.adopt(TABLE, user_id="ana")
    chat = memory.user("ana").chat("s1")
    first, second, *_ = chat.window()
    chat.replace(str(first.message_id), "redacted")
    chat.remove(str(second.message_id))
    assert owner.execute(HISTORY, ("s1",)).fetchall() == [
        ("user", "redacted"),
        ("user", "message 6"),
        ("assistant", "message 7"),
    ]
    assert [row[0] for row in rows(owner, KEPT)] == [1, 2, 3, 4, *range(7, 13)]
    before = rows(owner)
    assert [row[0] for row in before] == [*range(1, 6), *range(7, 13)]
    memory.give_back(TABLE)
    assert rows(owner) == before


def test_what_ltst_replaces_in_langchains_table_is_read_by_its_class(
    database_url: str, memory: Memory, session: str
) -> None:
    with psycopg.connect(database_url) as connection:
        PostgresChatMessageHistory.create_tables(connection, "chats")
        history = PostgresChatMessageHistory("chats", session, sync_connection=connection)
        history.add_messages([HumanMessage([{"type": "text", "text": "the zebrawood table"}]), AIMessage("noted")])
        # As nobody else writes it, so that ltst keeps it as it is.
        connection.execute('UPDATE chats SET message = message || \'{"more": "zebrawood"}\' WHERE id = 1')
        connection.commit()
        memory.adopt("chats", user_id="ana")
        chat = memory.user("ana").chat(session)
        chat.replace(str(chat.window()[0].message_id), "the oak table")
        assert [each.content for each in history.get_messages()] == ["the oak table", "noted"]
        connection.commit()
        with superuser(database_url) as admin:
            assert holding(admin, "zebrawood") == set()
        memory.give_back("chats")
        assert [each.content for each in history.get_messages()] == ["the oak table", "noted"]


def test_the_old_program_sees_its_own_sessions_and_nothing_else(
    owner: Connection, database_url: str, memory: Memory
) -> None:
    memory.user("ana").chat("private").add("user", "SECRET of ana")
    memory.user("eve").chat("s0").add("user", "SECRET of eve")
    with program(database_url) as old:
        memory.adopt(TABLE, user_id="ana")
        old.execute(
            "CREATE FUNCTION pg_temp.leak(told TEXT) RETURNS BOOLEAN LANGUAGE plpgsql COST 0.0000001 AS "
            "$$ BEGIN RAISE NOTICE '%', told; RETURN true; END $$"
        )
        heard: list[str] = []
        old.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        old.execute("SELECT * FROM conversation_memory WHERE pg_temp.leak(content)")
        assert len(heard) == 12
        assert "SECRET" not in str(heard)
        for attempt in ("private", "s0"):
            insert = "INSERT INTO conversation_memory (session_id, role, content) VALUES (%s, 'user', 'x')"
            if attempt == "private":
                with pytest.raises(psycopg.errors.UniqueViolation, match="does not belong to this table"):
                    old.execute(insert, (attempt,))
            else:
                old.execute(insert, (attempt,))
        for table in ("conversation_messages", "conversation_sessions", "adopted_messages", "adopted_tables"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                old.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
        for call in ("ltst_erase_kept('ana')", "ltst_number_adopted('ana', 'private', '{}')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                old.execute(f"SELECT {call}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            old.execute("CREATE TEMP VIEW mine AS SELECT 1 AS one")
            old.execute(
                "CREATE TRIGGER t INSTEAD OF INSERT ON mine FOR EACH ROW EXECUTE FUNCTION ltst_write_adopted('x')"
            )
    assert [each.content for each in memory.user("eve").chat("s0").window()] == ["SECRET of eve"]
    assert memory.user("ana").chat("private").window()[-1].content == "SECRET of ana"


def test_a_temporary_table_does_not_catch_what_is_written(owner: Connection, database_url: str, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    with superuser(database_url) as old:
        for name in (
            "conversation_messages",
            "conversation_sessions",
            "adopted_tables",
            "adopted_messages",
            "event_ledger",
        ):
            old.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM public.{name} LIMIT 0")
        old.execute("INSERT INTO conversation_memory (session_id, role, content) VALUES ('s0', 'user', 'caught?')")
        assert value(old, "SELECT count(*) FROM pg_temp.conversation_messages") == 0
    assert memory.user("ana").chat("s0").window()[-1].content == "caught?"


def test_an_import_cannot_put_a_session_into_the_view(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    adoption = str(value(owner, "SELECT adoption_id FROM adopted_tables"))
    document = memory.user("ana").export()
    assert adoption not in json.dumps(document)
    for session in document["sessions"]:
        session["adoption_id"] = adoption
    memory.user("eve").restore(document)
    assert value(owner, "SELECT count(*) FROM conversation_memory") == 12
    assert memory.user("eve").chat("s0").window()[-1].content == "message 3"


def test_rights_are_carried_over(owner: Connection, database_url: str, memory: Memory) -> None:
    owner.execute("DROP ROLE IF EXISTS reader")
    owner.execute("CREATE ROLE reader")
    owner.execute("GRANT SELECT (session_id, content), UPDATE (content) ON conversation_memory TO reader")
    memory.adopt(TABLE, user_id="ana")
    owner.execute("SET ROLE reader")
    assert value(owner, "SELECT count(content) FROM conversation_memory WHERE session_id = 's0'") == 4
    owner.execute("UPDATE conversation_memory SET content = 'mine' WHERE session_id = 's1'")
    for denied in ("SELECT role FROM conversation_memory", "DELETE FROM conversation_memory"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute(denied)
    owner.execute("RESET ROLE")
    owner.execute("DROP OWNED BY reader")
    owner.execute("DROP ROLE reader")
    assert {each.content for each in memory.user("ana").chat("s1").window()} == {"mine"}


def test_writers_wait_and_nothing_of_theirs_is_lost(owner: Connection, database_url: str, memory: Memory) -> None:
    owner.execute(FILL.replace("11", "4000"))
    told: list[str] = []
    wrong: list[BaseException] = []
    stop = threading.Event()

    def write(name: str) -> None:
        try:
            with psycopg.connect(database_url) as connection:
                number = 0
                while not stop.is_set():
                    connection.execute(HISTORY, (name,)).fetchall()  # in the same transaction, as such programs do
                    words = f"{name} {number}"
                    connection.execute(
                        "INSERT INTO conversation_memory (session_id, role, content) VALUES (%s, 'user', %s)",
                        (name, words),
                    )
                    connection.commit()
                    told.append(words)
                    number += 1
        except BaseException as problem:
            wrong.append(problem)

    writers = [threading.Thread(target=write, args=(f"writer {number}",)) for number in range(4)]
    for writer in writers:
        writer.start()
    adopted = memory.adopt(TABLE, user_id="ana")
    between = len(told)
    _wait(lambda: len(told) > between + 20)
    memory.give_back(TABLE)
    _wait(lambda: len(told) > between + 60)
    stop.set()
    for writer in writers:
        writer.join()
    assert wrong == []
    assert adopted.messages >= 4013
    written = {row[3] for row in rows(owner) if row[1].startswith("writer")}
    assert written == set(told)
    assert len(told) == len(set(told))


class Meanwhile:
    """A statement on a connection of its own, which waits for another's transaction."""

    def __init__(self, url: str, statement: str, isolation: str = "READ COMMITTED") -> None:
        self.problem: psycopg.Error | None = None
        self.rowcount: int | None = None
        self.returned: list[tuple[Any, ...]] = []
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(f"SET default_transaction_isolation = '{isolation}'".encode())
        self._thread = threading.Thread(target=self._run, args=(statement,))
        self._thread.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
        with superuser(url) as watcher:
            _wait(lambda: value(watcher, waiting, self._connection.info.backend_pid) == 1)

    def _run(self, statement: str) -> None:
        try:
            cursor = self._connection.execute(statement.encode())
            self.rowcount = cursor.rowcount
            self.returned = cursor.fetchall() if cursor.description else []
        except psycopg.Error as problem:
            self.problem = problem

    def done(self) -> Meanwhile:
        self._thread.join()
        self._connection.close()
        return self


def test_changes_of_one_row_at_once_are_both_kept(owner: Connection, database_url: str, memory: Memory) -> None:
    owner.execute("ALTER TABLE conversation_memory ADD COLUMN tokens INTEGER, ADD COLUMN tags TEXT[]")
    memory.adopt(TABLE, user_id="ana")
    with owner.transaction():
        owner.execute("UPDATE conversation_memory SET content = 'a', tags = '{x,y}', session_id = 's2' WHERE id = 1")
        other = Meanwhile(database_url, "UPDATE conversation_memory SET tokens = 5 WHERE id = 1 RETURNING *")
    assert other.done().problem is None
    ((id, session, role, content, _, tokens, tags),) = other.returned
    assert (id, session, role, content, tokens, tags) == (1, "s2", "user", "a", 5, ["x", "y"])
    assert rows(owner)[0] == other.returned[0]
    assert memory.user("ana").chat("s2").window()[-1].content == "a"
    assert memory.give_back(TABLE).rows == 12
    assert rows(owner)[0] == other.returned[0]


@pytest.mark.parametrize(
    ("statement", "isolation"),
    [
        ("UPDATE conversation_memory SET content = content || '!' WHERE id = 1", "READ COMMITTED"),
        ("UPDATE conversation_memory SET content = 'b', role = 'tool' WHERE id = 1", "READ COMMITTED"),
        ("DELETE FROM conversation_memory WHERE content = 'message 0'", "READ COMMITTED"),
        ("UPDATE conversation_memory SET role = 'tool' WHERE id = 1", "REPEATABLE READ"),
        ("DELETE FROM conversation_memory WHERE id = 1", "REPEATABLE READ"),
    ],
)
def test_what_another_changed_is_not_overwritten_unseen(
    owner: Connection, database_url: str, memory: Memory, statement: str, isolation: str
) -> None:
    memory.adopt(TABLE, user_id="ana")
    with owner.transaction():
        owner.execute("UPDATE conversation_memory SET content = 'a' WHERE id = 1")
        before = rows(owner)
        other = Meanwhile(database_url, statement, isolation)
    assert isinstance(other.done().problem, psycopg.errors.SerializationFailure)
    if isolation == "READ COMMITTED":
        assert "row 1 was changed by another since this statement began (content)" in str(other.problem)
    assert rows(owner) == before


def test_the_same_change_twice_and_a_row_that_is_gone_are_no_failures(
    owner: Connection, database_url: str, memory: Memory
) -> None:
    memory.adopt(TABLE, user_id="ana")
    same = "UPDATE conversation_memory SET content = 'a' WHERE id = 1"
    with owner.transaction():
        owner.execute(same)
        other = Meanwhile(database_url, same)
    assert (other.done().problem, other.rowcount) == (None, 1)
    for statement in (same.replace("'a'", "'b'"), "DELETE FROM conversation_memory WHERE id = 1"):
        with owner.transaction(force_rollback=statement != "DELETE FROM conversation_memory WHERE id = 1"):
            owner.execute("DELETE FROM conversation_memory WHERE id = 1")
            other = Meanwhile(database_url, statement)
        assert other.done().problem is None
    assert (other.rowcount, value(owner, "SELECT count(*) FROM conversation_memory")) == (0, 11)


def test_a_statement_that_meets_a_row_twice_says_so(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    before = rows(owner)
    twice = "UPDATE conversation_memory SET content = v FROM (VALUES (1, 'a'), (1, %s)) AS t (n, v) WHERE id = n"
    with pytest.raises(psycopg.errors.SerializationFailure, match="row 1 was changed"):
        owner.execute(twice, ("b",))
    assert rows(owner) == before
    owner.execute(twice, ("a",))
    assert rows(owner)[0][3] == "a"


def test_changes_at_once_where_rows_have_no_id(owner: Connection, database_url: str, memory: Memory) -> None:
    owner.execute("ALTER TABLE conversation_memory DROP COLUMN id, ADD COLUMN tokens INTEGER")
    memory.adopt(TABLE, user_id="ana")
    with owner.transaction():
        owner.execute("UPDATE conversation_memory SET content = 'a' WHERE content = 'message 0'")
        other = Meanwhile(database_url, "UPDATE conversation_memory SET tokens = 5 WHERE content = 'message 0'")
    assert (other.done().problem, other.rowcount) == (None, 0)
    assert value(owner, "SELECT count(*) FROM conversation_memory WHERE content = 'a' AND tokens IS NULL") == 1


@pytest.mark.parametrize("id", ["serial", "identity", "uuid", "text"])
def test_an_id_is_given_out_once(database_url: str, memory: Memory, id: str) -> None:
    given = {"uuid": "'00000000-0000-0000-0000-000000000001'", "text": f"'{'long' * 5000}'"}.get(id, "50")
    with superuser(database_url) as owner:
        owner.execute(f"CREATE TABLE chats ({IDS[id][0]}, session_id TEXT, role TEXT, content TEXT)")
        memory.adopt("chats", user_id="ana")
        insert = f"INSERT INTO chats VALUES ({given}, '{{}}', 'user', 'x')"
        with owner.transaction():
            owner.execute(insert.format("one"))
            other = Meanwhile(database_url, insert.format("two"))
        assert isinstance(other.done().problem, psycopg.errors.UniqueViolation)
        assert value(owner, "SELECT count(*) FROM chats") == 1
        assert memory.give_back("chats").rows == 1


def test_ids_that_were_given_out_twice_are_told_by_the_migration(owner: Connection, memory: Memory) -> None:
    memory.adopt(TABLE, user_id="ana")
    migration = next(each for each in migrate.migrations() if each.name == "0012_adopted_rows")
    check = migration.text[: migration.text.index("DROP INDEX")].encode()
    owner.execute("DROP INDEX idx_adopted_messages_row_integer")
    owner.execute(check)
    owner.execute("UPDATE adopted_messages SET row_integer = 3 WHERE row_integer = 4")
    with pytest.raises(psycopg.errors.UniqueViolation, match=f"table public.{TABLE} have the id 3") as told:
        owner.execute(check)
    way_out = str(told.value.diag.message_primary).partition("such as: ")[2]
    owner.execute(way_out.encode())
    owner.execute(check)
    assert value(owner, "SELECT array_agg(id ORDER BY id) FROM conversation_memory") == [1, 2, 3, *range(5, 14)]


def _wait(until: Any) -> None:
    for _ in range(3000):
        if until():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to that")


KILLED = """
import sys
from ltst import Memory
with Memory(sys.argv[1]) as memory:
    print("ready", flush=True)
    getattr(memory, sys.argv[2])("conversation_memory")
    print("done", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("verb", ["adopt", "give_back"])
def test_a_kill_in_the_middle_leaves_the_old_state_or_the_new(
    owner: Connection, database_url: str, memory: Memory, verb: str
) -> None:
    owner.execute(FILL.replace("11", "2000"))
    if verb == "give_back":
        memory.adopt(TABLE)
    before = rows(owner)
    found = set()
    for delay in (0.02, 0.2, None):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, database_url, verb], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if delay is None:
            assert process.stdout.readline() == "done\n"
        else:
            time.sleep(delay)
        process.kill()
        process.communicate()
        _wait(
            lambda: (
                value(owner, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
                <= 2 + memory.settings.pool_size
            )
        )
        _wait(lambda: value(owner, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0)
        adopted = TABLE in views(owner)
        assert rows(owner) == before
        assert (KEPT in tables(owner)) == adopted
        assert value(owner, "SELECT count(*) FROM conversation_messages") == (len(before) if adopted else 0)
        assert value(owner, "SELECT count(*) FROM adopted_tables") == adopted
        found.add(adopted)
        if adopted == (verb == "adopt"):
            break
    assert (verb == "adopt") in found


MESSAGES: list[BaseMessage] = [
    HumanMessage("What is the weather?", additional_kwargs={"turn": 1}),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Porto"}, "id": "1"}]),
    ToolMessage("21 degrees", tool_call_id="1"),
    AIMessageChunk(content="It is warm."),
    ChatMessage(role="user", content="Thank you!"),
    HumanMessage([{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]),
]


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def test_langchains_own_class_goes_on(database_url: str, memory: Memory, session: str) -> None:
    with psycopg.connect(database_url) as connection:
        PostgresChatMessageHistory.create_tables(connection, "chats")
        history = PostgresChatMessageHistory("chats", session, sync_connection=connection)
        history.add_messages(MESSAGES)
        before = history.get_messages()
        stored = connection.execute("SELECT * FROM chats ORDER BY id").fetchall()
        connection.commit()
        told = memory.adopt("chats", user_id="ana")
        assert (told.shape, told.messages, told.sessions) == ("langchain", 6, 1)
        assert history.get_messages() == before
        assert connection.execute("SELECT * FROM chats ORDER BY id").fetchall() == stored
        history.add_messages(MESSAGES)
        assert history.get_messages() == before * 2
        chat = memory.user("ana").chat(session)
        chat.add("assistant", "From ltst.")
        chat.add("tool", "a tool of ltst's")
        assert [each.content for each in history.get_messages()[-2:]] == ["From ltst.", "a tool of ltst's"]
        assert [each.role for each in chat.window()][:6] == ["human", "ai", "tool", "ai", "human", "human"]
        assert [each.message_index for each in chat.window()] == [*range(1, 15)]
        other = PostgresChatMessageHistory("chats", str(uuid.uuid4()), sync_connection=connection)
        other.add_messages([HumanMessage("hello")])
        other.clear()
        assert other.get_messages() == []
        connection.commit()
        assert len(memory.user("ana").sessions.list()) == 2
        assert memory.give_back("chats").rows == 14
        assert [each.content for each in history.get_messages()[:12]] == [each.content for each in before * 2]
        assert connection.execute("SELECT * FROM chats ORDER BY id LIMIT 6").fetchall() == stored


async def test_langchains_asynchronous_class_goes_on(database_url: str, memory: Memory, session: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await PostgresChatMessageHistory.acreate_tables(connection, "chats")
        history = PostgresChatMessageHistory("chats", session, async_connection=connection)
        await history.aadd_messages(MESSAGES[:2])
        await connection.commit()
        memory._portal.run(memory._inner.adopt("chats", user_id="ana"))
        await history.aadd_messages(MESSAGES[2:3])
        assert await history.aget_messages() == MESSAGES[:3]
        await history.aclear()
        assert await history.aget_messages() == []


@pytest.mark.parametrize("type", ["TEXT", "JSON", "JSONB"])
def test_messages_of_langchain_in_columns_of_other_types(database_url: str, memory: Memory, type: str) -> None:
    """As the table message_store of langchain_community: sessions are text, and there is no date."""
    written = [json.dumps(message_to_dict(each)) for each in MESSAGES]
    with superuser(database_url) as owner:
        owner.execute(f"CREATE TABLE message_store (id SERIAL PRIMARY KEY, session_id TEXT, message {type})")
        for each in written:
            owner.execute("INSERT INTO message_store (session_id, message) VALUES ('one', %s)", (each,))
        if type == "TEXT":
            for bad in ("not json", '{"type": "human"}', "[]", '{"type": "human", "data": {"content": "a\\u0000b"}}'):
                owner.execute("INSERT INTO message_store (session_id, message) VALUES ('one', %s)", (bad,))
        told = memory.adopt("message_store", user_id="ana", leave_out=True)
        assert (told.messages, told.undated, told.rows - told.messages) == (6, 6, 4 if type == "TEXT" else 0)
        owner.execute("INSERT INTO message_store (session_id, message) VALUES ('one', %s)", (written[0],))
        shown = [
            row for (row,) in owner.execute("SELECT message FROM message_store WHERE session_id = 'one' ORDER BY id")
        ]
        read = [json.loads(each) for each in shown] if type == "TEXT" else shown
        assert read == [json.loads(each) for each in [*written, written[0]]]
        with pytest.raises(psycopg.errors.IntegrityError, match="must be a message of LangChain"):
            owner.execute("INSERT INTO message_store (session_id, message) VALUES ('one', '{}')")
        owner.execute("UPDATE message_store SET message = %s WHERE id = 1", (written[2],))
        assert memory.user("ana").chat("one").window()[0].content == "21 degrees"
        assert memory.give_back("message_store").rows == 7 + (4 if type == "TEXT" else 0)


UNREADABLE = {
    "nul": '{"a": "x\\u0000y"}',
    "surrogate": '{"a": "\\ud800"}',
    "number": '{"a": 1e999999}',
}


@pytest.mark.parametrize("broken", UNREADABLE.values(), ids=UNREADABLE)
def test_json_that_cannot_be_kept_is_a_fault_of_its_row(owner: Connection, memory: Memory, broken: str) -> None:
    owner.execute('ALTER TABLE conversation_memory ADD COLUMN "raw data" JSON, ADD COLUMN other JSON')
    owner.execute("""UPDATE conversation_memory SET "raw data" = '{"a" : 1}', other = 'null' WHERE id < 5""")
    owner.execute('UPDATE conversation_memory SET "raw data" = %s WHERE id = 7', (broken,))
    everything = texts(owner)
    told = memory.adopt(TABLE, user_id="ana", dry_run=True)
    reason = 'the column "raw data" holds what cannot be kept as JSON, such as \\u0000'
    assert [(each.row, each.reason) for each in told.faults] == [("7", reason)]
    with pytest.raises(ltst.Conflict, match=r"1 of 12 rows cannot be taken over: the column .*--leave-out"):
        memory.adopt(TABLE, user_id="ana")
    assert memory.adopt(TABLE, user_id="ana", leave_out=True).messages == 11
    assert [row[0] for row in rows(owner)] == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    with pytest.raises(psycopg.errors.DataError):
        owner.execute(
            "INSERT INTO conversation_memory (session_id, role, content, other) VALUES ('s0', 'user', 'x', %s)",
            (broken,),
        )
    memory.give_back(TABLE)
    assert texts(owner) == everything


@pytest.mark.parametrize("type", ["TEXT", "JSON"])
def test_messages_of_langchain_that_cannot_be_kept_are_faults_of_their_rows(
    database_url: str, memory: Memory, type: str
) -> None:
    content = '{"type": "human", "data": {"content": %s}}'
    with superuser(database_url) as owner:
        owner.execute(f"CREATE TABLE message_store (id SERIAL PRIMARY KEY, session_id TEXT, message {type})")
        for each in ('"hello"', '"a\\u0000b"', '"\\ud800"', "1e999999"):
            owner.execute("INSERT INTO message_store (session_id, message) VALUES ('one', %s)", (content % each,))
        told = memory.adopt("message_store", user_id="ana", dry_run=True)
        reason = 'the column "message" holds what cannot be kept as JSON, such as \\u0000'
        assert [(each.row, each.reason) for each in told.faults] == [("2", reason), ("3", reason), ("4", reason)]
        assert memory.adopt("message_store", user_id="ana", leave_out=True).messages == 1
        assert memory.give_back("message_store").rows == 4


def test_the_history_of_langchain_community_goes_on(database_url: str, memory: Memory) -> None:
    histories = pytest.importorskip("langchain_community.chat_message_histories")
    given = psycopg.conninfo.conninfo_to_dict(database_url)
    url = f"postgresql+psycopg://{given['user']}@/{given['dbname']}?host={given['host']}"
    history = histories.SQLChatMessageHistory("one", connection=url)
    history.add_messages(MESSAGES[:3])
    memory.adopt("message_store", user_id="ana")
    again = histories.SQLChatMessageHistory("one", connection=url)
    again.add_messages([HumanMessage("hello")])
    assert again.messages == [*MESSAGES[:3], HumanMessage("hello")]
    again.clear()
    assert history.messages == []


def test_a_table_whose_name_ltst_needs_is_adopted_from_beside_it(empty_database_url: str, session: str) -> None:
    with psycopg.connect(empty_database_url) as connection:
        PostgresChatMessageHistory.create_tables(connection, "chat_message_history")
        history = PostgresChatMessageHistory("chat_message_history", session, sync_connection=connection)
        history.add_messages(MESSAGES[:3])
        connection.commit()
        with pytest.raises(ltst.DatabaseUnavailable, match=r"public\.chat_message_history.*search_path=ltst,public"):
            Memory(empty_database_url).open()
        connection.execute("CREATE SCHEMA brain")
        connection.execute("CREATE EXTENSION vector")
        connection.commit()
        inside = psycopg.conninfo.make_conninfo(empty_database_url, options="-c search_path=brain,public")
        with Memory(inside, embedder=corpus.embedder()) as memory:
            assert memory.adopt("public.chat_message_history", user_id="ana").messages == 3
            history.add_messages([HumanMessage("Where is my umbrella?")])
            assert history.get_messages() == [*MESSAGES[:3], HumanMessage("Where is my umbrella?")]
            connection.commit()
            assert memory.user("ana").search("umbrella")[0].content == "Where is my umbrella?"
            memory.user("ana").chat(session).add("assistant", "Later.")
            assert memory.give_back("public.chat_message_history").rows == 5
            assert len(history.get_messages()) == 5


async def test_a_reset_puts_the_table_back_as_it_was(owner: Connection, database_url: str, settings: Settings) -> None:
    before = rows(owner)
    with Memory(settings=settings) as memory:
        memory.adopt(TABLE)
    database = Database(ConnectionPool(database_url, size=2, timeout=60))
    try:
        await upkeep.reset(database)
    finally:
        await database.close()
    assert rows(owner) == before
    assert (TABLE in tables(owner), KEPT in tables(owner)) == (True, False)
    with Memory(settings=settings) as memory:
        assert memory.user(memory.settings.user).sessions.list() == []
        assert memory.adopt(TABLE).messages == 12


async def test_a_restored_backup_shows_the_table_again(
    owner: Connection, database_url: str, settings: Settings, tmp_path: Path
) -> None:
    with Memory(settings=settings) as memory:
        memory.adopt(TABLE)
    owner.execute("INSERT INTO conversation_memory (session_id, role, content) VALUES ('s0', 'user', 'later')")
    before = rows(owner)
    database = Database(ConnectionPool(database_url, size=2, timeout=60))
    try:
        await backup.backup(database, tmp_path / "memory.dump")
        owner.execute("DELETE FROM conversation_memory WHERE id = 13")
        await upkeep.restore(database, tmp_path / "memory.dump", replace=True)
    finally:
        await database.close()
    assert rows(owner) == before
    with Memory(settings=settings) as memory:
        assert memory.give_back(TABLE).rows == 13


def test_an_owner_who_is_no_superuser_adopts_too(
    server: EmbeddedServer, empty_database_url: str, tmp_path: Path
) -> None:
    with superuser(empty_database_url) as admin:
        admin.execute("DROP ROLE IF EXISTS app")
        admin.execute("CREATE ROLE app LOGIN")
        for role in ("ltst_user", "ltst_keeper"):
            if value(admin, "SELECT count(*) FROM pg_roles WHERE rolname = %s", role) == 0:
                admin.execute(f"CREATE ROLE {role} NOLOGIN")
        admin.execute("GRANT ltst_user, ltst_keeper TO app")
        admin.execute("CREATE EXTENSION vector")
        admin.execute("GRANT USAGE, CREATE ON SCHEMA public TO app")
        admin.execute("SET ROLE app")
        admin.execute(CREATE)
        admin.execute(FILL)
        admin.execute("RESET ROLE")
        url = psycopg.conninfo.make_conninfo(empty_database_url, options="-c role=app")
        settings = Settings(worker=False, database_url=url, home=tmp_path)
        with Memory(settings=settings, embedder=corpus.embedder()) as memory:
            memory.user("eve").chat("own").add("user", "SECRET")
            assert memory.adopt(TABLE, user_id="ana").messages == 12
            with program(empty_database_url) as old:
                old.execute("RESET ROLE")
                old.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON conversation_memory TO old_program")
                old.execute("SET ROLE old_program")
                old.execute("INSERT INTO conversation_memory (session_id, role, content) VALUES ('s0', 'user', 'more')")
                old.execute("UPDATE conversation_memory SET content = 'changed' WHERE id = 1")
                old.execute("DELETE FROM conversation_memory WHERE id = 2")
                assert value(old, "SELECT count(*) FROM conversation_memory") == 12
            chat = memory.user("ana").chat("s0")
            chat.add("user", "by ltst")
            chat.replace(str(chat.window()[1].message_id), "replaced")
            chat.remove(str(chat.window()[2].message_id))
            assert [each.content for each in chat.window()] == ["changed", "replaced", "more", "by ltst"]
            assert [row[0] for row in rows(admin, KEPT)] == [*range(5, 13)]
            assert memory.user("ana").erase().remaining[f"public.{KEPT}"] == 0
            assert memory.give_back(TABLE).rows == 0
        admin.execute("DROP OWNED BY app CASCADE")
        admin.execute("DROP ROLE app")
