"""Reset and restore of a database in which tables of other programs are adopted."""

from __future__ import annotations

from pathlib import Path

from ltst.adoption.adopting import give_all_back, show_again
from ltst.adoption.views import all_taken
from ltst.db import backup, migrate
from ltst.db.migrate import MigrationStatus
from ltst.db.pool import Database


async def reset(database: Database) -> None:
    """Drop everything that ltst made in this database and build it anew; adopted tables are put back first."""
    await migrate.reset(database, first=give_all_back)


async def restore(database: Database, file: Path, *, replace: bool = False) -> list[MigrationStatus]:
    """Restore a backup, and show adopted tables as the backup knows them; returns the migrations that it has."""
    async with database.owner() as connection:
        before = await all_taken(connection)
    known = await backup.restore(database, file, replace=replace)
    async with database.owner(hurry=False) as connection:
        await show_again(connection, before)
    return known
