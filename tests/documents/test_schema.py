"""The schema's document: seven tables with their columns and indexes, three functions, two views, and their upkeep."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from helpers.probes import Connection, columns, value, views
from ltst import AsyncMemory, Memory, Settings

# Each column as the document types it. UUID stands where it says SERIAL, TIMESTAMPTZ where it says TIMESTAMP.
TABLES: dict[str, dict[str, str]] = {
    "conversation_sessions": {
        "session_id": "character varying(255)",
        "user_id": "character varying(255)",
        "session_name": "character varying(500)",
        "session_type": "character varying(100)",
        "status": "character varying(50)",
        "context_summary": "text",
        "relevance_score": "double precision",
        "session_length": "integer",
    },
    "conversation_messages": {
        "message_id": "uuid",
        "session_id": "character varying(255)",
        "message_type": "character varying(50)",
        "role": "character varying(50)",
        "content": "text",
        "content_hash": "character varying(64)",
        "context_hash": "character varying(64)",
        "message_index": "integer",
        "embedding": "vector(384)",
        "relevance_score": "double precision",
        "parent_message_id": "uuid",
    },
    "conversation_context": {
        "context_id": "uuid",
        "session_id": "character varying(255)",
        "context_type": "character varying(100)",
        "context_key": "character varying(255)",
        "context_value": "text",
        "relevance_score": "double precision",
        "context_hash": "character varying(64)",
        "expires_at": "timestamp with time zone",
    },
    "user_preferences": {
        "preference_id": "uuid",
        "user_id": "character varying(255)",
        "preference_key": "character varying(255)",
        "preference_value": "text",
        "preference_type": "character varying(100)",
        "confidence_score": "double precision",
        "source": "character varying(100)",
        "usage_count": "integer",
        "last_used": "timestamp with time zone",
    },
    "memory_retrieval_cache": {
        "cache_id": "uuid",
        "cache_key": "character varying(255)",
        "session_id": "character varying(255)",
        "query_hash": "character varying(64)",
        "retrieved_context": "jsonb",
        "relevance_scores": "jsonb",
        "retrieval_time_ms": "double precision",  # the document has whole milliseconds
        "cache_hit_count": "integer",
        "expires_at": "timestamp with time zone",
    },
    "session_relationships": {
        "relationship_id": "uuid",
        "source_session_id": "character varying(255)",
        "target_session_id": "character varying(255)",
        "relationship_type": "character varying(100)",
        "similarity_score": "double precision",
        "relationship_strength": "double precision",
    },
    "memory_performance_metrics": {
        "metric_id": "uuid",
        "operation_type": "character varying(100)",
        "session_id": "character varying(255)",
        "operation_hash": "character varying(64)",
        "execution_time_ms": "double precision",
        "result_count": "integer",
        "cache_hit": "boolean",
        "error_message": "text",
    },
}
INDEXES = {
    "conversation_sessions": ("user_id", "last_activity", "relevance_score"),
    "conversation_messages": ("session_id", "embedding", "message_index"),
    "conversation_context": ("session_id", "type", "relevance_score"),
    "user_preferences": ("user_id", "key", "confidence_score"),
    "memory_retrieval_cache": ("session_id", "expires_at"),
    "session_relationships": ("source", "target", "similarity"),
    "memory_performance_metrics": ("operation_type", "execution_time"),
}
TYPES = """
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""
SESSION = "INSERT INTO conversation_sessions (session_id, user_id, session_name) VALUES (%s, %s, 'A name')"
MESSAGE = "INSERT INTO conversation_messages (session_id, role, content) VALUES (%s, %s, %s)"
NEAREST = "SELECT message_id FROM conversation_messages {} ORDER BY embedding <=> %s::vector LIMIT 5"
VECTORS = """
INSERT INTO conversation_messages (session_id, role, content, embedding, ann)
SELECT 'monday', 'human', 'message ' || n, (
    SELECT array_agg(sin(n * 7 + d * n)) FROM generate_series(1, 384) AS d)::vector, n <= 1500
FROM generate_series(1, 3000) AS n
"""
VECTOR = str([0.1] * 384)


class TestTables:
    @pytest.mark.parametrize("table", TABLES)
    def test_one_has_the_columns_of_the_document(self, database: Connection, table: str) -> None:
        there = dict(database.execute(TYPES, (table,)).fetchall())
        assert {column: there.get(column) for column in TABLES[table]} == TABLES[table]

    @pytest.mark.parametrize("table", INDEXES)
    def test_one_has_the_indexes_of_the_document(self, database: Connection, table: str) -> None:
        there = {
            name for (name,) in database.execute("SELECT indexname FROM pg_indexes WHERE tablename = %s", (table,))
        }
        assert {f"idx_{table}_{name}" for name in INDEXES[table]} <= there

    def test_keys_begin_with_the_user(self, database: Connection) -> None:
        for table in TABLES:
            key = value(
                database, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", f"{table}_pkey"
            )
            assert key.startswith("PRIMARY KEY (user_id, ")

    def test_two_users_may_have_a_session_of_one_name(self, database: Connection) -> None:
        for user in ("ada", "eve"):
            database.execute(SESSION, ("monday", user))

    @pytest.mark.parametrize("kind", ["message", "system", "context", "preference"])
    @pytest.mark.parametrize("role", ["human", "ai", "system"])
    def test_messages_have_these_types_and_roles(self, database: Connection, kind: str, role: str) -> None:
        database.execute(SESSION, ("monday", "ada"))
        database.execute(
            "INSERT INTO conversation_messages (session_id, message_type, role, content) "
            "VALUES ('monday', %s, %s, 'x')",
            (kind, role),
        )


class TestFunctions:
    def test_the_length_of_a_session_follows_its_messages(self, database: Connection) -> None:
        database.execute(SESSION, ("monday", "ada"))
        for number in range(3):
            database.execute(MESSAGE, ("monday", "human", f"message {number}"))
        assert value(database, "SELECT session_length FROM conversation_sessions") == 3
        assert database.execute("SELECT message_index FROM conversation_messages ORDER BY 1").fetchall() == [
            (1,),
            (2,),
            (3,),
        ]
        called = "SELECT tgfoid::regproc::text FROM pg_trigger WHERE tgname = 'update_session_length_trigger'"
        assert value(database, called) == "update_session_length"

    @pytest.mark.parametrize(
        ("insert", "clean", "left"),
        [
            (
                "INSERT INTO memory_retrieval_cache (cache_key, session_id, query_hash, retrieved_context, expires_at) "
                "VALUES (%s, 'monday', 'hash', '{}', now() + %s::interval)",
                "SELECT clean_expired_cache()",
                "SELECT cache_key FROM memory_retrieval_cache",
            ),
            (
                "INSERT INTO conversation_context (session_id, context_type, context_key, context_value, context_hash,"
                " expires_at) VALUES ('monday', %s, 'key', 'value', 'hash', now() + %s::interval)",
                "SELECT clean_expired_context()",
                "SELECT context_type FROM conversation_context",
            ),
        ],
        ids=["cache", "contexts"],
    )
    def test_what_has_expired_is_removed(self, database: Connection, insert: Any, clean: Any, left: Any) -> None:
        database.execute(SESSION, ("monday", "ada"))
        for kind, expires in (("project", "-1 hour"), ("user_info", "1 hour")):
            database.execute(insert, (kind, expires))
        assert value(database, clean) == 1
        assert value(database, left) == "user_info"


class TestViews:
    def test_they_are_views_with_the_fields_of_the_document(self, database: Connection) -> None:
        assert {"session_summary", "user_preference_summary"} <= {*views(database)}
        session = {"session_id", "user_id", "session_name", "session_type", "status", "message_count"}
        assert session | {"avg_message_relevance", "last_message_time"} <= {*columns(database, "session_summary")}
        counted = {"preference_type", "preference_count", "avg_confidence", "total_usage"}
        assert counted <= {*columns(database, "user_preference_summary")}


class TestPerformance:
    def explained(self, database: Connection, query: str) -> str:
        with database.transaction():
            rows = database.execute(f"EXPLAIN {query}", (VECTOR,)).fetchall()
        return "\n".join(row[0] for row in rows)

    def test_the_hnsw_index_serves_plain_sql(self, database: Connection) -> None:
        """Over the rows that it holds (`WHERE ann`); over everything, once the owner adds an index of their own."""
        database.execute(SESSION, ("monday", "ada"))
        database.execute(VECTORS)
        database.execute("ANALYZE conversation_messages")
        everything, flagged = NEAREST.format(""), NEAREST.format("WHERE ann")
        assert "idx_conversation_messages_embedding" in self.explained(database, flagged)
        assert "Seq Scan" in self.explained(database, everything)
        database.execute(
            "CREATE INDEX my_messages_embedding ON conversation_messages USING hnsw (embedding vector_cosine_ops)"
        )
        assert "my_messages_embedding" in self.explained(database, everything)
        database.execute("SET ROLE ltst_keeper")
        assert "my_messages_embedding" in self.explained(database, everything), "policies do not stand in the way"

    async def test_vectors_of_all_users_can_be_copied_and_asked(
        self, memory: AsyncMemory, database: Connection
    ) -> None:
        for user, said in (("ada", "The harbour is full of ships."), ("eve", "My tooth aches.")):
            await memory.user(user).chat("monday").add("user", said)
        await memory.settle()
        (vector,) = await memory.embed(["Which boats are in the port?"])
        page = Path(__file__).parents[2] / "docs" / "database.md"
        *made, asked = re.findall(r"```sql\n(CREATE MATERIALIZED.*?)```", page.read_text(), re.DOTALL)[0].split(";")[:3]
        for statement in made:
            database.execute(statement)
        assert value(database, asked.replace("[…]", str(vector))) == "The harbour is full of ships."

    def test_cached_retrievals_live_for_an_hour(self, database: Connection) -> None:
        database.execute(SESSION, ("monday", "ada"))
        database.execute(
            "INSERT INTO memory_retrieval_cache (cache_key, session_id, query_hash, retrieved_context) "
            "VALUES ('key', 'monday', 'hash', '{}')"
        )
        assert value(database, "SELECT expires_at - created_at FROM memory_retrieval_cache") == timedelta(hours=1)


class TestSecurity:
    def test_users_see_their_own_rows(self, database: Connection) -> None:
        for user in ("ada", "eve"):
            database.execute(SESSION, (f"of {user}", user))
        database.execute("SET ROLE ltst_user")
        database.execute("SELECT set_config('ltst.user_id', 'ada', false)")
        for relation in ("conversation_sessions", "session_summary"):
            assert database.execute(f"SELECT session_id FROM {relation}").fetchall() == [("of ada",)]

    async def test_the_same_context_is_stored_once_and_the_same_message_twice(
        self, memory: AsyncMemory, database: Connection
    ) -> None:
        chat = memory.user("ada").chat("monday")
        for _ in range(2):
            await chat.add("user", "Hello.")
            await chat.contexts.set("project", "name", "ltst")
        assert value(database, "SELECT count(*) FROM conversation_context") == 1
        hashes = database.execute("SELECT content_hash FROM conversation_messages").fetchall()
        assert (len(hashes), len({*hashes})) == (2, 1)

    async def test_every_change_is_in_the_ledger(self, memory: AsyncMemory) -> None:
        user = memory.user("ada")
        await user.chat("monday").add("user", "Hello.")
        await user.preferences.set("tone", "dry")
        told = [(each.action, each.noun) for each in await user.events.list()]
        assert {("add", "session"), ("add", "message"), ("set", "preference")} <= {*told}


class TestMaintenance:
    def test_health_checks_what_the_document_asks_for(self, settings: Settings) -> None:
        with Memory(settings=settings) as memory:
            seen = memory.health()
            stored = memory.stats()
        assert seen.ok
        assert {"schema", "indexes", "triggers", "index usage", "slow queries"} <= {each.name for each in seen.checks}
        assert {*TABLES} <= {each.name for each in stored.tables}

    def test_operations_are_measured(self, settings: Settings, database: Connection) -> None:
        with Memory(settings=settings) as memory:
            memory.user("ada").chat("monday").add("user", "Hello.")
            memory.stats()
            seen: list[Any] = database.execute(
                "SELECT operation_type, execution_time_ms > 0, error_message FROM memory_performance_metrics"
            ).fetchall()
        assert ("storage", True, None) in seen
