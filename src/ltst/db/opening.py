"""Opening: from the settings to a database and its standby; the embedded server is started or joined."""

from __future__ import annotations

from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database
from ltst.db.standby import Standby
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
        self.standby: Standby | None = None
        """The database that reads may go to, where the settings name one."""

    async def __aenter__(self) -> Database:
        """Start or join the server, and be ready to connect to it."""
        if self._settings.database_url is None:
            self._server = await beside(EmbeddedServer.acquire, self._settings.home)
        self._database = Database(self._pool(), self._server.data_dir if self._server else None)
        if self._settings.read_database_url is not None:
            self.standby = Standby(self._read_pool(self._settings.read_database_url), self._database)
        return self._database

    async def __aexit__(self, *_: object) -> None:
        """Close the connections and leave the server."""
        try:
            if self.standby is not None:
                await self.standby.close()
            await self._database.close()
        finally:
            if self._server is not None:
                await beside(self._server.release)

    def _read_pool(self, url: str) -> ConnectionPool:
        settings = self._settings
        # It is not waited for: the primary can be asked as well.
        return ConnectionPool(
            url,
            size=settings.pool_size,
            timeout=settings.pool_timeout,
            statement_timeout=settings.statement_timeout,
            patience=0.0,
        )

    def _pool(self) -> ConnectionPool:
        server, settings = self._server, self._settings
        return ConnectionPool(
            settings.database_url or (server.dsn if server else ""),
            size=settings.pool_size,
            timeout=settings.pool_timeout,
            statement_timeout=settings.statement_timeout,
            patience=settings.failover_timeout,
            revive=server.ensure_running if server else None,
            direct=server is not None,
        )
