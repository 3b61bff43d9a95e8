"""Users: who has something stored."""

from __future__ import annotations

from collections.abc import Collection

from ltst.db.pool import Executor
from ltst.records import KnownUser


async def list_all(tx: Executor, tables: Collection[str], after: str | None, *, limit: int) -> list[KnownUser]:
    """The users who own a row in one of the tables, by id."""
    return await tx.rows("users.list", KnownUser, after=after or "", limit=limit, tables=[*tables])
