"""Opening: from the settings to a database, whose server is started or joined if it is the embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database
from ltst.settings import Settings


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Database]:
    """The database as it is, for the time of the block; the schema is left alone."""
    if settings.database_url is not None:
        pool = ConnectionPool(settings.database_url, size=settings.pool_size, timeout=settings.pool_timeout)
        async with _closing(Database(pool)) as database:
            yield database
        return
    server = await asyncio.to_thread(EmbeddedServer.acquire, settings.home)
    try:
        pool = ConnectionPool(
            server.dsn, size=settings.pool_size, timeout=settings.pool_timeout, revive=server.ensure_running
        )
        async with _closing(Database(pool, server.data_dir)) as database:
            yield database
    finally:
        await asyncio.to_thread(server.release)


@asynccontextmanager
async def _closing(database: Database) -> AsyncIterator[Database]:
    try:
        yield database
    finally:
        await database.close()
