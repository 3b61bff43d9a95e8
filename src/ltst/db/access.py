"""Whether servers require API keys; a restore or reset carries this over from the database it replaces."""

from __future__ import annotations

from ltst.db.connections import Connection

TABLE = "key_requirement"
# Only in the schema of ltst's own tables, because another program may have a table of the same name.
PRESENT = b"""
SELECT relname::text FROM pg_class
WHERE relname IN ('key_requirement', 'api_keys') AND relnamespace =
    (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('ltst_migrations'))
"""
REQUIRE = "INSERT INTO key_requirement DEFAULT VALUES ON CONFLICT DO NOTHING"
# For a schema that lacks the table: the migration that creates it looks for this event.
REQUIRE_LATER = """
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
VALUES ('system', 'restore', 'require', 'key', 'keys')
"""


async def condition(connection: Connection) -> str:
    """Returns the SQL condition under which servers require keys, for the keeper; also works for older schemas."""
    found = await connection.rows(PRESENT)
    return " OR ".join(f"EXISTS (SELECT FROM {name})" for (name,) in found) or "false"


async def required(connection: Connection) -> bool:
    """Returns whether servers require keys."""
    wanted = f"SELECT {await condition(connection)}"
    await connection.execute(b"SET LOCAL ROLE ltst_keeper")
    found = await connection.value(wanted)
    await connection.execute(b"RESET ROLE")
    return bool(found)


async def require(connection: Connection) -> None:
    """Makes servers ask for keys from now on."""
    await connection.execute(b"SET LOCAL ROLE ltst_keeper")
    await connection.execute(REQUIRE.encode())
    await connection.execute(b"RESET ROLE")
