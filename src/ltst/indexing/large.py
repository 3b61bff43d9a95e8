"""Large memories: beyond a number of vectors, a user's are found through an HNSW index instead of one by one."""

from __future__ import annotations

from ltst.db.pool import Database, user_scope
from ltst.rooms import search

BATCH = 500


async def index_large(database: Database, user_id: str, threshold: int) -> bool:
    """Moves the vectors of a user who has more than `threshold` into the HNSW index; returns whether it did."""
    calls = database.user(user_id)
    known = await search.large(calls)
    if known.ready or not (known.begun or (known.units > threshold and await search.vectored(calls) > threshold)):
        return False
    # From here on new vectors go there by themselves; the existing ones follow below.
    async with database.transaction(user_scope(user_id)) as tx:
        await search.begin_large(tx)
    after, more = -1, True
    while more:
        async with database.transaction(user_scope(user_id)) as tx:
            more = await search.mark_large(tx, after, BATCH)
        after += BATCH
    await search.finish_large(calls)
    return True
