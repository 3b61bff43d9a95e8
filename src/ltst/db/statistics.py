"""Statistics: what the planner knows of the tables of conversations.

Of a table that is new it knows nothing, takes any index that begins with the user for as good as the key, and keeps
that plan while the table grows. Postgres looks at it by itself, but not before a minute or so.
"""

from __future__ import annotations

from ltst.db.pool import Database

FEW = 100
SMALL = b"SELECT reltuples < %s FROM pg_class WHERE oid = to_regclass('conversation_sessions')"
LOOK = b"ANALYZE conversation_sessions, conversation_messages"


async def gather(database: Database) -> None:
    """Look at the tables now, if they were small when somebody last did."""
    async with database.owner(hurry=False) as connection:
        if await connection.value(SMALL, (FEW,)):
            await connection.execute(LOOK)
