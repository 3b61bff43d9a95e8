"""Large memories: with very many vectors, a user's are found by an index instead of being compared one by one."""

from __future__ import annotations

from ltst.db.pool import Database, user_scope
from ltst.rooms import search

BATCH = 500


async def index_large(database: Database, user_id: str, threshold: int) -> bool:
    """Put the vectors of a user who has more than so many into the HNSW index; return whether it did."""
    calls = database.user(user_id)
    known = await search.large(calls)
    if known.ready or not (known.begun or (known.units > threshold and await search.vectored(calls) > threshold)):
        return False
    # From here on, new vectors go there by themselves; those from before follow.
    async with database.transaction(user_scope(user_id)) as tx:
        await search.begin_large(tx)
    after, more = -1, True
    while more:
        async with database.transaction(user_scope(user_id)) as tx:
            more = await search.mark_large(tx, after, BATCH)
        after += BATCH
    await search.finish_large(calls)
    return True
