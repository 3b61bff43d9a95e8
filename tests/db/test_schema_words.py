"""What people who know such a schema write by hand: its names, widths, defaults and what triggers fill in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from helpers.probes import Connection, columns, value
from ltst import AsyncMemory, Invalid

SESSION = "INSERT INTO conversation_sessions (user_id, session_id) VALUES ('ada', %s)"
METRIC = "INSERT INTO memory_performance_metrics (operation_type, execution_time_ms) VALUES (%s, 12)"
RETRIEVAL = """
INSERT INTO memory_retrieval_cache (cache_key, session_id, query_hash, retrieved_context)
VALUES ('a key', %s, 'a hash', '[]') RETURNING user_id
"""
LONG = "a word of a hundred characters ".ljust(100, "x")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class TestViews:
    def test_the_summary_of_sessions_tells_the_average_relevance(self, database: Connection) -> None:
        database.execute(SESSION, ("monday",))
        for content, relevance in (("one", 0.2), ("two", 0.6)):
            database.execute(
                "INSERT INTO conversation_messages (session_id, role, content, relevance_score) "
                "VALUES ('monday', 'human', %s, %s)",
                (content, relevance),
            )
        told = "SELECT avg_message_relevance, message_count, last_message_time IS NOT NULL FROM session_summary"
        assert database.execute(told).fetchall() == [(pytest.approx(0.4), 2, True)]

    def test_the_summary_of_preferences_tells_confidence_and_use(self, database: Connection) -> None:
        for key, confidence, used in (("tone", 1.0, 3), ("theme", 0.5, 4)):
            database.execute(
                "INSERT INTO user_preferences (user_id, preference_key, preference_value, confidence_score,"
                " usage_count, last_used) VALUES ('ada', %s, 'x', %s, %s, %s)",
                (key, confidence, used, LONG_AGO),
            )
        told = (
            "SELECT preference_count, avg_confidence, total_usage, last_preference_used FROM user_preference_summary "
            "WHERE user_id = 'ada'"
        )
        assert database.execute(told).fetchall() == [(2, 0.75, 7, LONG_AGO)]

    async def test_the_library_tells_the_same(self, memory: AsyncMemory) -> None:
        user = memory.user("ada")
        await user.chat("monday").add("user", "Hello.")
        summary = await user.sessions.summary("monday")
        assert (summary.average_relevance, summary.last_message_at is None) == (0, False)


class TestUpdatedAt:
    @pytest.mark.parametrize("table", ["conversation_sessions", "conversation_context"])
    def test_any_update_moves_it(self, database: Connection, table: str) -> None:
        database.execute(SESSION, ("monday",))
        database.execute(
            "INSERT INTO conversation_context (session_id, context_type, context_key, context_value, context_hash) "
            "VALUES ('monday', 'project', 'name', 'ltst', 'a hash')"
        )
        database.execute(f"UPDATE {table} SET metadata = '{{}}', updated_at = %s", (LONG_AGO,))
        assert value(database, f"SELECT updated_at > now() - interval '1 hour' FROM {table}") is True

    async def test_a_message_moves_that_of_its_session(self, memory: AsyncMemory, database: Connection) -> None:
        moment = "SELECT updated_at FROM conversation_sessions"
        chat = memory.user("ada").chat("monday")
        await chat.add("user", "Hello.")
        before = value(database, moment)
        await chat.add("user", "Hello again.")
        assert before < value(database, moment)


class TestOpenWords:
    @pytest.mark.parametrize(
        ("table", "column"),
        [
            ("user_preferences", "source"),
            ("session_relationships", "relationship_type"),
            ("memory_performance_metrics", "operation_type"),
        ],
    )
    def test_a_column_takes_a_hundred_characters(self, database: Connection, table: str, column: str) -> None:
        assert column in columns(database, table)
        width = "SELECT atttypmod - 4 FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"
        assert value(database, width, table, column) == 100

    def test_rows_by_hand_take_any_word(self, database: Connection) -> None:
        for session in ("monday", "tuesday"):
            database.execute(SESSION, (session,))
        database.execute(
            "INSERT INTO session_relationships (source_session_id, target_session_id, relationship_type) "
            "VALUES ('monday', 'tuesday', 'similar')"
        )
        database.execute(
            "INSERT INTO user_preferences (user_id, preference_key, preference_value, source) "
            "VALUES ('ada', 'tone', 'dry', 'imported')"
        )
        database.execute(METRIC, ("consolidation",))

    async def test_so_does_the_library(self, memory: AsyncMemory) -> None:
        user = memory.user("ada")
        for session in ("monday", "tuesday"):
            await user.chat(session).add("user", "Hello.")
        assert (await user.sessions.link("monday", "tuesday", "similar")).relationship_type == "similar"
        assert (await user.preferences.set("tone", "dry", source=LONG)).source == LONG

    @pytest.mark.parametrize("word", ["", "  ", "x" * 101])
    async def test_the_library_names_what_it_takes(self, memory: AsyncMemory, word: str) -> None:
        user = memory.user("ada")
        with pytest.raises(Invalid, match="characters"):
            await user.preferences.set("tone", "dry", source=word)
        with pytest.raises(Invalid, match="characters"):
            await user.sessions.link("monday", "tuesday", word)

    async def test_a_wish_overrules_a_preference_of_a_source_of_its_own_as_an_explicit_one(
        self, memory: AsyncMemory, database: Connection
    ) -> None:
        user = memory.user("ada")
        await user.preferences.set("answer_length", "long", source="imported")
        database.execute("UPDATE user_preferences SET updated_at = %s WHERE user_id = 'ada'", (LONG_AGO,))
        await user.chat("monday").add("user", "Please keep your answers short.")
        await memory.settle("ada")
        found = await user.preferences.get("answer_length")
        assert found is not None
        assert (found.value, found.source) == ("short", "explicit")


class TestLeftOut:
    """The `user_id` of rows written by hand."""

    def test_a_retrieval_belongs_to_the_owner_of_its_session(self, database: Connection) -> None:
        database.execute(SESSION, ("monday",))
        assert value(database, RETRIEVAL, "monday") == "ada"

    def test_one_without_a_session_belongs_to_whoever_acts_else_to_nobody(self, database: Connection) -> None:
        assert value(database, RETRIEVAL, None) == "system"
        database.execute("SELECT set_config('ltst.user_id', 'eve', false)")
        assert value(database, RETRIEVAL, None) == "eve"

    def test_one_of_an_unknown_session_is_refused(self, database: Connection) -> None:
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="create it first"):
            database.execute(RETRIEVAL, ("nowhere",))

    def test_a_measurement_says_nobodys_name(self, database: Connection) -> None:
        database.execute("SELECT set_config('ltst.user_id', 'eve', false)")
        database.execute(METRIC, ("retrieval",))
        seen: list[Any] = database.execute(
            "SELECT user_id, operation_name, length(operation_hash), metadata FROM memory_performance_metrics"
        ).fetchall()
        assert seen == [("system", "retrieval", 64, {})]
