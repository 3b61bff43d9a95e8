"""Damage to the schema: health notices it, and its advice works."""

from __future__ import annotations

import json

import pytest

from helpers.probes import Connection, value
from helpers.shell import Run
from ltst import Memory, Settings
from ltst.db.blueprint import blueprint, statements

FUNCTIONS = """
SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
"""
COLUMNS = """
SELECT relname || '.' || attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
"""
INDEXES = "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE 'idx\\_%'"
TRIGGERS = "SELECT tgname || ' on ' || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal"
# What a part is, with its grants and settings: the same before it was damaged and after it was repaired.
FINGERPRINTS = {
    "indexes": "SELECT array_agg(pg_get_indexdef(indexrelid) ORDER BY indexrelid::regclass::text) FROM pg_index "
    "JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace",
    "triggers": "SELECT array_agg(pg_get_triggerdef(oid) || tgenabled::text ORDER BY tgrelid::regclass::text, tgname) "
    "FROM pg_trigger WHERE NOT tgisinternal",
    "views": "SELECT array_agg(pg_get_viewdef(oid) || relacl::text || reloptions::text ORDER BY relname) FROM pg_class "
    "WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace",
    "isolation": "SELECT array_agg((relname, relrowsecurity, relforcerowsecurity)::text ORDER BY relname) "
    "FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    "functions": "SELECT array_agg(pg_get_functiondef(oid) || coalesce(proacl::text, '') ORDER BY proname) "
    "FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname ~ '^(ltst_|update_|clean_)'",
}
DAMAGES = {
    "a dropped index": "DROP INDEX idx_conversation_messages_embedding, idx_user_facts_open",
    "a dropped trigger": "DROP TRIGGER update_session_length_trigger ON conversation_messages",
    "a trigger that is switched off": "ALTER TABLE conversation_messages DISABLE TRIGGER fill_message_trigger",
    "a dropped view": "DROP VIEW session_summary, chat_message_history",
    "a replaced function": "CREATE OR REPLACE FUNCTION clean_expired_cache() RETURNS INTEGER "
    "LANGUAGE sql AS 'SELECT 0'",
    "a replaced function with settings": "CREATE OR REPLACE FUNCTION ltst_forget_kept() RETURNS TRIGGER "
    "LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "a replaced expression": "CREATE OR REPLACE FUNCTION ltst_role(word TEXT) RETURNS TEXT "
    "LANGUAGE sql AS 'SELECT word'",
    "a dropped function": "DROP FUNCTION ltst_write_adopted() CASCADE",
    "a function with its trigger": "DROP FUNCTION ltst_note_update() CASCADE",
    "row-level security that is off": "ALTER TABLE user_facts DISABLE ROW LEVEL SECURITY",
    "row-level security that spares the owner": "ALTER TABLE user_facts NO FORCE ROW LEVEL SECURITY; "
    "ALTER TABLE conversation_messages NO FORCE ROW LEVEL SECURITY",
    "all at once": "DROP FUNCTION update_session_length() CASCADE; DROP VIEW user_preference_summary; "
    "DROP INDEX idx_claims_key",
}


def state(connection: Connection) -> dict[str, object]:
    return {kind: value(connection, query) for kind, query in FINGERPRINTS.items()}


class TestTheBlueprint:
    def test_it_is_what_the_migrations_make(self, database: Connection) -> None:
        drawn = blueprint()
        there = {name for (name,) in database.execute(COLUMNS) if not name.startswith("ltst_migrations.")}
        assert drawn.columns == there
        assert {*drawn.indexes} == {name for (name,) in database.execute(INDEXES)}
        assert {*drawn.triggers} == {name for (name,) in database.execute(TRIGGERS)}
        assert {(name, part.source) for name, part in drawn.functions.items()} == {*database.execute(FUNCTIONS)}

    def test_statements_end_where_they_end(self) -> None:
        script = "-- one; two\nSELECT ';' -- three;\n, 1;\nDO $$ BEGIN; END $$;  "
        assert [*statements(script)] == ["SELECT ';' \n, 1;", "DO $$ BEGIN; END $$;"]


class TestRepair:
    @pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
    def test_health_notices_and_repair_mends(
        self, database: Connection, settings: Settings, run: Run, damage: str
    ) -> None:
        before = state(database)
        database.execute(damage)
        assert state(database) != before
        with Memory(settings=settings) as memory:
            seen = memory.health()
        assert not seen.ok
        assert "ltst db repair" in " ".join(check.detail for check in seen.checks if check.status == "error")
        repaired = json.loads(run("db", "repair", "--json").stdout)["repaired"]
        assert repaired
        assert state(database) == before
        with Memory(settings=settings) as memory:
            assert memory.health().ok

    def test_a_whole_schema_is_left_alone(self, database: Connection, run: Run) -> None:
        before = state(database)
        assert json.loads(run("db", "repair", "--json").stdout) == {"repaired": [], "lost": []}
        assert state(database) == before

    def test_a_dropped_column_is_named_and_only_a_backup_helps(
        self, database: Connection, settings: Settings, run: Run
    ) -> None:
        database.execute("ALTER TABLE conversation_sessions DROP COLUMN context_summary")
        with Memory(settings=settings) as memory:
            seen = {check.name: check for check in memory.health().checks}
        assert seen["schema"].status == "error"
        assert "conversation_sessions.context_summary (missing)" in seen["schema"].detail
        assert "ltst db restore" in seen["schema"].detail
        assert json.loads(run("db", "repair", "--json", status=1).stdout)["lost"] == [
            {"kind": "column", "name": "conversation_sessions.context_summary", "problem": "missing"}
        ]

    def test_a_schema_that_lacks_a_migration_is_migrated_first(self, database: Connection, run: Run) -> None:
        database.execute("DELETE FROM ltst_migrations WHERE version = 17")
        assert "ltst db migrate" in run("db", "repair", status=1).stderr
