"""Updates the planner's statistics about tables that have just been filled.

For a new table the planner knows nothing, considers any index that begins with the user as good as the key, and keeps
that plan while the table grows. Autovacuum would only analyze it after a minute or so.
"""

from __future__ import annotations

from ltst.db.pool import Database
from ltst.errors import LtstError
from ltst.support.logs import LOGGER

CONVERSATIONS = "conversation_sessions, conversation_messages"
INDEX = "conversation_messages, search_units, search_terms, search_vectors"
FEW = 100
SMALL = b"SELECT min(reltuples) < %s FROM pg_class WHERE oid = ANY(string_to_array(%s, ', ')::regclass[])"
LOOK = "ANALYZE (SKIP_LOCKED) {tables}"


async def gather(database: Database, tables: str) -> None:
    """Analyzes the tables now, if one of them was small at the last analysis. A failure is logged: it costs speed."""
    try:
        async with database.owner(hurry=False) as connection:
            if await connection.value(SMALL, (FEW, tables)):
                await connection.execute(LOOK.format(tables=tables).encode())
    except LtstError as problem:
        LOGGER.warning("the tables were not analyzed", extra={"reason": str(problem)})
