"""Opens the database and the standby that the settings name; starts or joins the embedded server."""

from __future__ import annotations

from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database
from ltst.db.standby import Standby
from ltst.settings import Settings
from ltst.support.place import in_thread


class Connected:
    """The database for an `async with` block; does not touch the schema.

    A class because an event loop that ends would close a generator in the middle of its work.
    """

    def __init__(self, settings: Settings) -> None:
        """Uses the database of the settings, else the embedded one."""
        self._settings = settings
        self._server: EmbeddedServer | None = None
        self.standby: Standby | None = None
        """The standby for reads, if the settings name one."""

    async def __aenter__(self) -> Database:
        """Starts or joins the server and returns the database."""
        if self._settings.database_url is None:
            self._server = await in_thread(EmbeddedServer.acquire, self._settings.home)
        self._database = Database(self._pool(), self._server.data_dir if self._server else None)
        if self._settings.read_database_url is not None:
            self.standby = Standby(self._read_pool(self._settings.read_database_url), self._database)
        return self._database

    async def __aexit__(self, *_: object) -> None:
        """Closes the connections and leaves the server."""
        try:
            if self.standby is not None:
                await self.standby.close()
            await self._database.close()
        finally:
            if self._server is not None:
                await in_thread(self._server.release)

    def _read_pool(self, url: str) -> ConnectionPool:
        settings = self._settings
        # Without patience, because the primary can serve the read as well.
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
