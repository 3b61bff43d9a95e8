"""The address of a database as a URL that psql, psycopg and SQLAlchemy take, sockets included."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest
import sqlalchemy

from helpers.probes import superuser
from ltst import Memory, Settings
from ltst.db.connections import as_url
from ltst.db.embedded import EmbeddedServer, binaries


@pytest.fixture
def address(tmp_path: Path) -> str:
    """What a memory on an embedded server tells, in a folder whose name needs quoting."""
    with Memory(settings=Settings(worker=False, home=tmp_path / "a home & more")) as memory:
        memory.user("ada").chat("monday").add("user", "Hello.")
        url = memory.database_url
        told = [_by_sqlalchemy(url), _by_psycopg(url), _by_psql(url)]
    assert told == [1, 1, 1]
    return url


def test_everyone_reads_the_address_of_the_embedded_server(address: str) -> None:
    assert address.startswith("postgresql://ltst@/ltst?")
    assert sqlalchemy.make_url(address).database == "ltst"


def test_a_password_and_odd_names_keep_their_letters(server: EmbeddedServer) -> None:
    given = {"host": "db.example", "port": "6432", "user": "a@b", "password": "p/w:?# ", "dbname": "my db"}
    url = as_url(psycopg.conninfo.make_conninfo(**given, options="-csearch_path=ltst,public"))
    assert psycopg.conninfo.conninfo_to_dict(url) == {**given, "options": "-csearch_path=ltst,public"}
    read = sqlalchemy.make_url(url)
    assert (read.username, read.password, read.database) == ("a@b", "p/w:?# ", "my db")


def test_a_url_stays_as_it_is() -> None:
    assert as_url("postgres://app@db.example/app?sslmode=require") == "postgres://app@db.example/app?sslmode=require"


def _by_sqlalchemy(url: str) -> int:
    address = sqlalchemy.make_url(url).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(address)
    with engine.connect() as connection:
        count = connection.execute(sqlalchemy.text("SELECT count(*) FROM conversation_messages")).scalar_one()
    engine.dispose()
    return int(count)


def _by_psycopg(url: str) -> int:
    with superuser(url) as connection:
        row = connection.execute("SELECT count(*) FROM conversation_messages").fetchone()
    assert row is not None
    return int(row[0])


def _by_psql(url: str) -> int:
    asked = [f"{binaries()}/psql", "--no-psqlrc", "-Atc", "SELECT count(*) FROM conversation_messages", url]
    return int(subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout)
