"""Every named query is valid against the migrated schema, and every one is used."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

import ltst
from ltst.db.embedded import EmbeddedServer
from ltst.db.queries import queries

PLACEHOLDER = re.compile(rb"%(?:\((\w+)\))?s")


def numbered(query: bytes) -> bytes:
    """The query with Postgres's own placeholders."""
    names: list[bytes] = []

    def number(found: re.Match[bytes]) -> bytes:
        name = found.group(1) or b"#%d" % len(names)
        if name not in names:
            names.append(name)
        return b"$%d" % (names.index(name) + 1)

    return PLACEHOLDER.sub(number, query)


@pytest.mark.parametrize("name", sorted(queries()))
def test_query_prepares(name: str, server: EmbeddedServer, template: str) -> None:
    with psycopg.connect(server.dsn, dbname=template) as connection:
        connection.execute(b"PREPARE checked AS " + numbered(queries()[name]))


def test_every_query_is_used() -> None:
    source = "\n".join(file.read_text() for file in Path(ltst.__file__).parent.rglob("*.py"))
    unused = [
        name
        for name in queries()
        if f'"{name}"' not in source and not name.startswith(("archive.export_", "archive.restore_"))
    ]
    assert unused == []
