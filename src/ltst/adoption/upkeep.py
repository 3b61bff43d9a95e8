"""Resets and restores a database that has adopted tables of other programs."""

from __future__ import annotations

from pathlib import Path

from ltst.adoption.adopting import give_all_back, show_again
from ltst.adoption.views import all_taken
from ltst.db import backup, migrate
from ltst.db.migrate import MigrationStatus
from ltst.db.pool import Database


async def reset(database: Database) -> None:
    """Drops everything that ltst created in this database and creates it again, after putting adopted tables back."""
    await migrate.reset(database, first=give_all_back)


async def restore(database: Database, file: Path, *, replace: bool = False) -> list[MigrationStatus]:
    """Restores a backup and shows adopted tables as the backup knows them; returns its migrations."""
    async with database.owner() as connection:
        before = await all_taken(connection)
    known = await backup.restore(database, file, replace=replace)
    async with database.owner(hurry=False) as connection:
        await show_again(connection, before)
    return known
