"""Vacuums tables, so that removed rows leave nothing behind in them and their indexes."""

from __future__ import annotations

from collections.abc import Iterable

from ltst.db.pool import Database

# Whether this role may vacuum; since Postgres 17 that is a privilege of its own.
ALLOWED = b"""
SELECT class.oid::regclass::text, CASE
    WHEN (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) THEN true
    WHEN current_setting('server_version_num')::integer >= 170000 THEN has_table_privilege(class.oid, 'MAINTAIN')
    ELSE pg_has_role(class.relowner, 'USAGE') END
FROM unnest(%s::text[]) AS given JOIN pg_class AS class ON class.oid = to_regclass(given)
ORDER BY 1
"""


async def vacuum(database: Database, tables: Iterable[str]) -> tuple[list[str], list[str]]:
    """Vacuums the tables that this role may vacuum; returns those, and those that it may not."""
    async with database.alone() as connection:
        found = await connection.rows(ALLOWED, ([*tables],))
        done = [str(name) for name, may in found if may]
        if done:
            await connection.execute(f"VACUUM (INDEX_CLEANUP ON) {', '.join(done)}".encode())
    return done, [str(name) for name, may in found if not may]
