"""The system before ltst: its database is copied beside itself, switched over, used, and given back."""

# ruff: noqa: E501 - the tables of the system before stand here as they are

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from helpers.probes import superuser
from ltst import Memory, Settings

USERS, SESSIONS, MESSAGES = 50, 200, 10_000
COMMON = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE conversation_memory (id SERIAL PRIMARY KEY, session_id VARCHAR(255), human_message TEXT, ai_response TEXT,
    context JSONB, created_at TIMESTAMP DEFAULT now());
CREATE TABLE documents (id SERIAL PRIMARY KEY, filename VARCHAR(255), file_path TEXT, file_type VARCHAR(50),
    file_size BIGINT, chunk_count INTEGER, status VARCHAR(50) DEFAULT 'pending', created_at TIMESTAMP DEFAULT now(),
    updated_at TIMESTAMP DEFAULT now());
CREATE TABLE document_chunks (id SERIAL PRIMARY KEY, content TEXT, embedding VECTOR(384), metadata JSONB,
    document_id VARCHAR(255), chunk_index INTEGER, created_at TIMESTAMP DEFAULT now(),
    updated_at TIMESTAMP DEFAULT now());
CREATE TABLE event_ledger (id SERIAL PRIMARY KEY, what TEXT);
"""
FIRST = (
    COMMON
    + """
CREATE TABLE conversation_sessions (session_id VARCHAR(255) PRIMARY KEY, user_id VARCHAR(255), session_name VARCHAR(500),
    session_type VARCHAR(100), status VARCHAR(50), metadata JSONB, context_summary TEXT, relevance_score FLOAT,
    created_at TIMESTAMP DEFAULT now(), last_activity TIMESTAMP DEFAULT now());
CREATE TABLE conversation_messages (id SERIAL PRIMARY KEY,
    session_id VARCHAR(255) REFERENCES conversation_sessions ON DELETE CASCADE, message_type VARCHAR(50),
    role VARCHAR(50), content TEXT, content_hash VARCHAR(64), context_hash VARCHAR(64) NOT NULL,
    timestamp TIMESTAMP DEFAULT now(), message_index INTEGER, metadata JSONB, embedding VECTOR(384),
    relevance_score FLOAT, is_context_message BOOLEAN, parent_message_id INTEGER REFERENCES conversation_messages,
    UNIQUE (session_id, message_index));
CREATE TABLE conversation_context (id SERIAL PRIMARY KEY,
    session_id VARCHAR(255) REFERENCES conversation_sessions ON DELETE CASCADE, context_type VARCHAR(100),
    context_key VARCHAR(255), context_value TEXT, relevance_score FLOAT, context_hash VARCHAR(64), metadata JSONB,
    expires_at TIMESTAMP, created_at TIMESTAMP DEFAULT now(), UNIQUE (session_id, context_type, context_key));
CREATE TABLE user_preferences (id SERIAL PRIMARY KEY, user_id VARCHAR(255), preference_key VARCHAR(255),
    preference_value TEXT, metadata JSONB, updated_at TIMESTAMP DEFAULT now());
CREATE TABLE session_relationships (id SERIAL PRIMARY KEY, source_session_id VARCHAR(255), target_session_id VARCHAR(255),
    relationship_type VARCHAR(50), relationship_score FLOAT, metadata JSONB, created_at TIMESTAMP DEFAULT now());
CREATE TABLE session_summary (session_id VARCHAR(255) PRIMARY KEY, message_count INTEGER);
"""
)
SECOND = (
    COMMON
    + """
CREATE TABLE conversation_sessions (session_id VARCHAR(255) PRIMARY KEY, user_id VARCHAR(255) NOT NULL,
    session_name VARCHAR(500), session_type VARCHAR(100) DEFAULT 'conversation', status VARCHAR(50) DEFAULT 'active',
    metadata JSONB DEFAULT '{}', context_summary TEXT, relevance_score FLOAT DEFAULT 0, session_length INTEGER DEFAULT 0,
    created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now(), last_activity TIMESTAMP DEFAULT now());
CREATE TABLE conversation_messages (message_id SERIAL PRIMARY KEY,
    session_id VARCHAR(255) NOT NULL REFERENCES conversation_sessions ON DELETE CASCADE,
    message_type VARCHAR(50) DEFAULT 'message', role VARCHAR(50) NOT NULL, content TEXT NOT NULL,
    content_hash VARCHAR(64) NOT NULL, context_hash VARCHAR(64), message_index INTEGER NOT NULL,
    metadata JSONB DEFAULT '{}', embedding VECTOR(384), relevance_score FLOAT DEFAULT 0,
    is_context_message BOOLEAN DEFAULT false, parent_message_id INTEGER REFERENCES conversation_messages,
    timestamp TIMESTAMP DEFAULT now());
CREATE TABLE conversation_context (context_id SERIAL PRIMARY KEY,
    session_id VARCHAR(255) NOT NULL REFERENCES conversation_sessions ON DELETE CASCADE, context_type VARCHAR(100),
    context_key VARCHAR(255), context_value TEXT, relevance_score FLOAT DEFAULT 0, context_hash VARCHAR(64),
    metadata JSONB DEFAULT '{}', expires_at TIMESTAMP, created_at TIMESTAMP DEFAULT now(),
    updated_at TIMESTAMP DEFAULT now(), UNIQUE (session_id, context_type, context_key));
CREATE TABLE user_preferences (preference_id SERIAL PRIMARY KEY, user_id VARCHAR(255), preference_key VARCHAR(255),
    preference_value TEXT, preference_type VARCHAR(100), confidence_score FLOAT, source VARCHAR(100),
    usage_count INTEGER DEFAULT 0, last_used TIMESTAMP, metadata JSONB DEFAULT '{}', created_at TIMESTAMP DEFAULT now(),
    updated_at TIMESTAMP DEFAULT now(), UNIQUE (user_id, preference_key));
CREATE TABLE session_relationships (relationship_id SERIAL PRIMARY KEY, source_session_id VARCHAR(255),
    target_session_id VARCHAR(255), relationship_type VARCHAR(100), similarity_score FLOAT, relationship_strength FLOAT,
    metadata JSONB DEFAULT '{}', created_at TIMESTAMP DEFAULT now());
CREATE TABLE memory_retrieval_cache (cache_id SERIAL PRIMARY KEY, cache_key VARCHAR(255) UNIQUE, session_id VARCHAR(255),
    query_hash VARCHAR(64), retrieved_context JSONB, relevance_scores JSONB, retrieval_time_ms FLOAT,
    cache_hit_count INTEGER, expires_at TIMESTAMP, created_at TIMESTAMP DEFAULT now(), last_accessed TIMESTAMP);
CREATE TABLE memory_performance_metrics (metric_id SERIAL PRIMARY KEY, operation_type VARCHAR(100),
    session_id VARCHAR(255), operation_hash VARCHAR(64), execution_time_ms FLOAT, result_count INTEGER, cache_hit BOOLEAN,
    error_message TEXT, metadata JSONB, created_at TIMESTAMP DEFAULT now());
CREATE VIEW session_summary AS SELECT session_id, count(*) AS message_count FROM conversation_messages GROUP BY 1;
INSERT INTO memory_retrieval_cache (cache_key, session_id, query_hash, retrieved_context, expires_at)
    VALUES ('k1', 's-1', 'h', '[{"a": 1}]', now() + interval '1 hour');
INSERT INTO memory_performance_metrics (operation_type, session_id, operation_hash, execution_time_ms, result_count)
    VALUES ('retrieval', 's-1', 'h', 5, 3);
"""
)
OLD = (
    "conversation_sessions",
    "conversation_messages",
    "conversation_memory",
    "conversation_context",
    "user_preferences",
)


def filling(messages: int) -> str:
    return f"""
INSERT INTO conversation_sessions (session_id, user_id, session_name, status, metadata, context_summary)
SELECT 's-' || n, 'user-' || n % {USERS}, 'Session ' || n, 'active', '{{"n": 1}}', 'About ' || n
FROM generate_series(0, {SESSIONS} - 1) AS n;
INSERT INTO conversation_messages (session_id, message_type, role, content, content_hash, context_hash, message_index,
    metadata, timestamp)
SELECT 's-' || n % {SESSIONS}, 'message', CASE n / {SESSIONS} % 2 WHEN 0 THEN 'user' ELSE 'assistant' END,
       'Message ' || n || ' of user-' || n % {SESSIONS} % {USERS}, md5(n::text), md5(n::text), n / {SESSIONS},
       '{{"n": 2}}', timestamp '2026-01-01 12:00' + n * interval '1 second'
FROM generate_series(0, {messages} - 1) AS n;
INSERT INTO conversation_memory (session_id, human_message, ai_response, context)
VALUES ('pairs', 'I live in Porto.', 'Noted.', '{{"mood": "good"}}'), ('s-1', 'Again.', 'Yes.', NULL);
INSERT INTO conversation_context (session_id, context_type, context_key, context_value, relevance_score, context_hash)
SELECT 's-' || n, 'project', 'goal', 'Goal of user-' || n % {USERS}, 0.5, md5(n::text)
FROM generate_series(0, {SESSIONS} - 1) AS n;
INSERT INTO user_preferences (user_id, preference_key, preference_value)
SELECT 'user-' || n, 'theme', 'dark ' || n FROM generate_series(0, {USERS} - 1) AS n;
INSERT INTO session_relationships (source_session_id, target_session_id, relationship_type)
SELECT 's-' || n, 's-' || n + {USERS}, 'similar' FROM generate_series(0, {USERS} - 1) AS n;
INSERT INTO documents (filename, file_path, file_type) VALUES ('leaflet.txt', '/srv/leaflet.txt', 'txt');
INSERT INTO document_chunks (content, document_id, chunk_index) VALUES ('Opening hours: 9 to 5.', '1', 0), ('Closed on Monday.', '1', 1);
"""


Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def messages(rounds: Callable[[int], int]) -> int:
    return rounds(MESSAGES)


@pytest.fixture(params=[FIRST, SECOND], ids=["first generation", "second generation"])
def url(empty_database_url: str, request: pytest.FixtureRequest, messages: int) -> str:
    with superuser(empty_database_url) as database:
        database.execute(request.param)
        database.execute(filling(messages))
    return empty_database_url


@pytest.fixture
def run(url: str, tmp_path: Any) -> Run:
    def command(*arguments: str, status: int = 0) -> dict[str, Any]:
        told = subprocess.run(words(*arguments), env=environment(url, tmp_path), capture_output=True, text=True)
        assert told.returncode == status, told.stdout + told.stderr
        return json.loads(told.stdout or told.stderr)

    return command


def words(*arguments: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "ltst.doors.cli.main",
        "db",
        "adopt-predecessor",
        "--json",
        "--user",
        "local",
        *arguments,
    ]


def environment(url: str, home: Any) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": url, "LTST_HOME": str(home)}


def rows(url: str, query: str) -> list[Any]:
    with superuser(url) as database:
        return database.execute(query).fetchall()


def everything(url: str) -> dict[str, list[Any]]:
    return {table: rows(url, f"SELECT to_jsonb(each)::text FROM public.{table} AS each ORDER BY 1") for table in OLD}


@pytest.fixture
def opened(url: str, tmp_path: Any) -> Iterator[Callable[[], Memory]]:
    held: list[Memory] = []

    def opening() -> Memory:
        memory = Memory(settings=Settings(worker=False, database_url=url, home=tmp_path))
        memory.open()
        held.append(memory)
        return memory

    yield opening
    for memory in held:
        memory.close()


def test_it_is_told_what_would_be_done_and_nothing_is(run: Run, url: str, messages: int) -> None:
    before = everything(url)
    told = run("--dry-run")
    assert told["rows"]["conversation_messages"] == messages
    assert (told["users"], told["faults"], told["switched"]) == (USERS, [], False)
    assert everything(url) == before
    assert rows(url, "SELECT count(*) FROM ltst.conversation_messages") == [(0,)]


def test_it_is_copied_switched_used_and_given_back(
    run: Run, url: str, opened: Callable[[], Memory], messages: int
) -> None:
    before = everything(url)
    copied = run()
    assert set(copied["digests"]) == {"messages", "contexts", "preferences", "relationships", "chunks of documents"}
    assert everything(url) == before, "the old tables stay as they are"
    with superuser(url) as database:  # the system before goes on until the switch
        database.execute("INSERT INTO public.conversation_memory (session_id, human_message) VALUES ('pairs', 'Late.')")
    assert run("--switch", "--yes")["switched"] is True
    assert run("--switch", "--yes", status=1)["error"]

    memory = opened()  # by the same address as before
    for number in (0, 7):
        user = memory.user(f"user-{number}")
        for session in user.sessions.list(limit=100):
            said = user.chat(session.session_id).history(limit=1000)
            assert [each.message_index for each in said] == list(range(1, len(said) + 1))
            owned = [each.content for each in said if each.content.startswith("Message")]
            assert owned and all(content.endswith(f" of user-{number}") for content in owned)
        assert user.preferences.get("theme").value == f"dark {number}"
    assert [each.content for each in memory.user("local").chat("pairs").window()] == [
        "I live in Porto.",
        "Noted.",
        "Late.",
    ]
    assert memory.user("user-1").sessions.get("s-1").session_name == "Session 1"
    assert memory.user("user-1").chat("s-1").contexts.get("project", "goal").context_value == "Goal of user-1"
    assert [chunk.content for chunk in rows_of_documents(memory)] == ["Opening hours: 9 to 5.", "Closed on Monday."]

    memory.user("user-2").chat("s-2").add("user", "Something new.")
    memory.user("new").chat("fresh").add("user", "Hello from a newcomer.")
    memory.user("user-3").preferences.set("theme", "light")
    memory.user("user-4").erase()
    memory.user("user-5").chat("s-5").contexts.set("project", "goal", "another")
    memory.close()

    returned = run("--back", "--yes")
    assert returned["switched"] is False
    assert rows(url, "SELECT count(*) FROM public.conversation_sessions WHERE user_id = 'user-4'") == [(0,)]
    assert rows(url, "SELECT count(*) FROM public.user_preferences WHERE user_id = 'user-4'") == [(0,)]
    new = rows(url, "SELECT session_id, role, content FROM public.conversation_messages WHERE content LIKE '%new%'")
    assert sorted(new) == [("fresh", "human", "Hello from a newcomer."), ("s-2", "human", "Something new.")]
    assert rows(url, "SELECT preference_value FROM public.user_preferences WHERE user_id = 'user-3'") == [("light",)]
    goal = "SELECT context_value FROM public.conversation_context WHERE session_id = 's-5'"
    assert rows(url, goal) == [("another",)]
    erased = messages * 4 // SESSIONS
    kept = "SELECT count(*) FROM public.conversation_messages WHERE content LIKE 'Message%'"
    assert rows(url, kept) == [(messages - erased,)]
    run("--back", "--drop", "--yes")
    assert rows(url, "SELECT to_regnamespace('ltst') IS NULL") == [(True,)]


def rows_of_documents(memory: Memory) -> list[Any]:
    (document,) = memory.user("local").documents.list()
    return list(memory.user("local").documents.get(document.document_id).chunks)


def test_a_copy_that_was_only_tried_leaves_no_trace(run: Run, url: str) -> None:
    before = everything(url)
    run()
    run("--back", "--drop", "--yes")
    assert everything(url) == before
    assert rows(url, "SELECT to_regnamespace('ltst') IS NULL") == [(True,)]


def test_what_cannot_be_taken_over_is_named_before_anything_is_written(run: Run, url: str, messages: int) -> None:
    with superuser(url) as database:
        database.execute("UPDATE public.conversation_messages SET role = 'alien' WHERE content LIKE 'Message 3 %'")
    assert "none of human, user, ai" in run(status=1)["error"]["message"]
    assert rows(url, "SELECT count(*) FROM ltst.conversation_sessions") == [(0,)]
    told = run("--leave-out")
    assert len(told["faults"]) == 1
    assert rows(url, "SELECT count(*) FROM ltst.conversation_messages WHERE content LIKE 'Message%'") == [
        (messages - 1,)
    ]


@pytest.mark.parametrize("step", ["copy", "switch"])
def test_killed_half_way_nothing_has_changed(run: Run, url: str, tmp_path: Any, step: str, messages: int) -> None:
    if step == "switch":
        run()
    before = everything(url)
    copied = rows(url, "SELECT to_regclass('ltst.conversation_messages') IS NOT NULL")
    # A lock that somebody else holds keeps the copy from being completed; it is killed while it waits.
    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE public.document_chunks IN ACCESS EXCLUSIVE MODE")
        arguments = ["--switch", "--yes"] if step == "switch" else []
        process = subprocess.Popen(words(*arguments), env=environment(url, tmp_path), stdout=subprocess.DEVNULL)
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'public.document_chunks'::regclass"
        deadline = time.monotonic() + 120
        while rows(url, waiting) == [(0,)]:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        holder.rollback()
    assert everything(url) == before
    if copied == [(True,)]:
        assert rows(url, "SELECT count(*) FROM ltst.conversation_messages WHERE content = 'Late.'") == [(0,)]
    assert run("--switch", "--yes")["switched"] is True
    assert rows(url, "SELECT count(*) FROM ltst.conversation_messages WHERE content LIKE 'Message%'") == [(messages,)]
