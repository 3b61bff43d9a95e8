"""Opening: from the settings to a database, whose server is started or joined if it is the embedded one."""

from __future__ import annotations

from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database
from ltst.settings import Settings
from ltst.support.place import beside


class Connected:
    """The database as it is, for the time of an `async with` block; the schema is left alone.

    A class and not a generator: a loop that ends closes the generators that are left, in the middle of their work.
    """

    def __init__(self, settings: Settings) -> None:
        """Use the database of the settings, else the embedded one."""
        self._settings = settings
        self._server: EmbeddedServer | None = None

    async def __aenter__(self) -> Database:
        """Start or join the server, and be ready to connect to it."""
        if self._settings.database_url is None:
            self._server = await beside(EmbeddedServer.acquire, self._settings.home)
        self._database = Database(self._pool(), self._server.data_dir if self._server else None)
        return self._database

    async def __aexit__(self, *_: object) -> None:
        """Close the connections and leave the server."""
        try:
            await self._database.close()
        finally:
            if self._server is not None:
                await beside(self._server.release)

    def _pool(self) -> ConnectionPool:
        server, settings = self._server, self._settings
        return ConnectionPool(
            settings.database_url or (server.dsn if server else ""),
            size=settings.pool_size,
            timeout=settings.pool_timeout,
            statement_timeout=settings.statement_timeout,
            revive=server.ensure_running if server else None,
        )
