"""The schema as one script: all migrations with their bookkeeping, for `psql -f` or any other client."""

from __future__ import annotations

from ltst.db.migrate import CREATE_MIGRATIONS, LOCK, Migration, migrations
from ltst.db.queries import statements

STATEMENTS = statements(__name__)


def script() -> str:
    """Returns SQL that creates the schema or brings it up to date."""
    beginning = STATEMENTS["beginning"].format(lock=LOCK, table=CREATE_MIGRATIONS.decode().strip()) + "\n"
    return "\n".join([beginning, *map(_apply_call, migrations()), STATEMENTS["end"], ""])


def _apply_call(migration: Migration) -> str:
    return (
        f"SELECT pg_temp.ltst_apply({migration.version}, '{migration.name}', '{migration.sha256}', "
        f"$ltst${migration.text}$ltst$);\n"
    )
