"""The retrieval cache: what a search found, for an hour."""

from ltst.db.pool import Executor


async def clean(tx: Executor) -> int:
    """Remove what has expired; the number removed."""
    return int(await tx.value("cache.clean"))
