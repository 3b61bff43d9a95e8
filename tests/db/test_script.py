"""The schema as one script: `psql -f` makes the same database from it as the migrations do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from helpers.probes import Connection, superuser, value
from ltst import Memory
from ltst.db import migrate
from ltst.db.embedded import EmbeddedServer, binaries
from ltst.db.script import script

OURS = "relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S')"
# Everything that two databases of one schema have in common, each as rows of text.
CATALOG = {
    "relations": f"""
        SELECT relname, relkind::text, relacl::text, reloptions::text, relrowsecurity, relforcerowsecurity
        FROM pg_class WHERE {OURS}""",
    "columns": f"""
        SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attstorage::text, attidentity::text,
               -- The number of an epoch is the millisecond in which it began.
               regexp_replace(pg_get_expr(adbin, adrelid), '[0-9]{{13}}', 'epoch')
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE {OURS} AND attnum > 0 AND NOT attisdropped""",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace""",
    "functions": """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid), proacl::text FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' AND prolang <> 13""",
    "triggers": "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
    "policies": "SELECT tablename, policyname, roles::text, cmd, qual, with_check FROM pg_policies",
    "schema": "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname = 'public'",
    "migrations": "SELECT version, name, sha256 FROM ltst_migrations",
    "defaults": "SELECT user_id, preference_key, preference_value, preference_type, source FROM user_preferences",
}


def run_script(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as people do."""
    file = folder / "schema.sql"
    file.write_text(script())
    command = [f"{binaries()}/psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={file}", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def catalog(connection: Connection, part: str) -> set[tuple[object, ...]]:
    return {*connection.execute(CATALOG[part])}


@pytest.fixture
def scripted(empty_database_url: str, tmp_path: Path) -> str:
    """A database that the script made, run twice."""
    for expected in ("0001_tables: applied", "0001_tables: was applied before"):
        ran = run_script(empty_database_url, tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert expected in ran.stdout
    return empty_database_url


def test_it_makes_the_same_database_as_the_migrations(scripted: str, database_url: str) -> None:
    with superuser(scripted) as made, superuser(database_url) as migrated:
        for part in CATALOG:
            assert catalog(migrated, part), part
            assert catalog(made, part) == catalog(migrated, part), part


def test_ltst_takes_it_as_its_own(scripted: str) -> None:
    with Memory(scripted) as memory:
        memory.user("ada").chat("monday").add("user", "Hello.")
        assert memory.health().ok


def test_it_brings_an_older_database_up_to_date(
    server: EmbeddedServer, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = migrate.migrations()
    with monkeypatch.context() as older:
        older.setattr("ltst.db.script.migrations", lambda: newest[:-1])
        assert run_script(empty_database_url, tmp_path).returncode == 0
    ran = run_script(empty_database_url, tmp_path)
    assert f"{newest[-2].name}: was applied before" in ran.stdout
    assert f"{newest[-1].name}: applied" in ran.stdout


def test_one_that_differs_is_refused_and_nothing_changes(scripted: str, tmp_path: Path) -> None:
    with superuser(scripted) as connection:
        connection.execute("UPDATE ltst_migrations SET sha256 = 'other' WHERE version = 2")
        connection.execute("DELETE FROM ltst_migrations WHERE version = 1")
        ran = run_script(scripted, tmp_path)
        assert ran.returncode != 0
        assert "already exists" in ran.stderr
        assert value(connection, "SELECT count(*) FROM ltst_migrations WHERE version = 1") == 0
        connection.execute("INSERT INTO ltst_migrations SELECT 1, '0001_tables', %s", (migrate.migrations()[0].sha256,))
        assert "0002_functions differs" in run_script(scripted, tmp_path).stderr
