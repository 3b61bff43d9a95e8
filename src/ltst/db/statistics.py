"""Updates the planner's statistics about the tables of conversations.

For a new table the planner knows nothing, considers any index that begins with the user as good as the key, and keeps
that plan while the table grows. Autovacuum would only analyze it after a minute or so.
"""

from __future__ import annotations

from ltst.db.pool import Database

FEW = 100
SMALL = b"SELECT reltuples < %s FROM pg_class WHERE oid = to_regclass('conversation_sessions')"
LOOK = b"ANALYZE conversation_sessions, conversation_messages"


async def gather(database: Database) -> None:
    """Analyzes the tables now, if they were small at the last analysis."""
    async with database.owner(hurry=False) as connection:
        if await connection.value(SMALL, (FEW,)):
            await connection.execute(LOOK)
