"""Space: takes what removed rows leave behind in the tables and their indexes."""

from __future__ import annotations

from collections.abc import Iterable

from ltst.db.pool import Database

# By whoever may: since Postgres 17 that is a right of its own.
ALLOWED = b"""
SELECT class.oid::regclass::text, CASE
    WHEN (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) THEN true
    WHEN current_setting('server_version_num')::integer >= 170000 THEN has_table_privilege(class.oid, 'MAINTAIN')
    ELSE pg_has_role(class.relowner, 'USAGE') END
FROM unnest(%s::text[]) AS given JOIN pg_class AS class ON class.oid = to_regclass(given)
ORDER BY 1
"""


async def vacuum(database: Database, tables: Iterable[str]) -> tuple[list[str], list[str]]:
    """VACUUM the tables that this role may; those that were vacuumed, and those that it may not."""
    async with database.alone() as connection:
        found = await connection.rows(ALLOWED, ([*tables],))
        done = [str(name) for name, may in found if may]
        if done:
            await connection.execute(f"VACUUM (INDEX_CLEANUP ON) {', '.join(done)}".encode())
    return done, [str(name) for name, may in found if not may]
