"""Large memories: with very many vectors, a user's are found by an index instead of being compared one by one."""

from __future__ import annotations

from ltst.db.pool import Database, user_scope
from ltst.rooms import search

BATCH = 500
BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


async def index_large(database: Database, user_id: str, threshold: int) -> bool:
    """Put the vectors of a user who has more than so many into the index; whether it did."""
    calls = database.user(user_id)
    known = await search.large(calls)
    if known.ready or not (known.begun or known.vectors > threshold):
        return False
    # From here on, what is indexed goes there by itself; what was indexed before follows.
    async with database.transaction(user_scope(user_id)) as tx:
        await search.begin_large(tx)
    for mark in (search.mark_messages, search.mark_parts):
        last: str | None = BEFORE_ALL
        while last is not None:
            async with database.transaction(user_scope(user_id)) as tx:
                last = await mark(tx, last, BATCH)
    await search.finish_large(calls)
    return True
