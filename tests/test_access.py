"""Once a key was made, a server asks for one: whoever is erased, whatever is revoked, restored or reset."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from starlette.testclient import TestClient

from helpers.probes import superuser, value
from ltst import AsyncMemory, Conflict, Memory, Settings
from ltst.adoption import upkeep
from ltst.db import backup, migrate
from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer
from ltst.db.pool import Database
from ltst.doors.http.app import Serving, create
from ltst.doors.mcp.app import Serving as McpServing
from ltst.doors.mcp.app import application
from ltst.handles import callers

HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
ACCEPTED = {"Accept": "application/json, text/event-stream"}
ACCESS = next(each for each in migrate.migrations() if each.name.endswith("_access"))


@contextmanager
def asked(settings: Settings) -> Iterator[Any]:
    """What a stranger is answered by both servers, which run all the while; each looks at the database every time."""
    with (
        TestClient(create(Serving(settings)), base_url="http://localhost") as http,
        TestClient(application(McpServing(settings)), base_url="http://localhost") as mcp,
    ):

        def statuses() -> tuple[int, int]:
            return (
                http.get("/v1/profile", headers={"X-User-Id": "ana"}).status_code,
                mcp.post("/mcp", headers=ACCEPTED, json=HANDSHAKE).status_code,
            )

        yield statuses


OPEN, CLOSED = (200, 200), (401, 401)


@pytest.fixture(autouse=True)
def looking_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "KEYS_LOOKED_FOR_EVERY", -1.0)


def before_the_table(url: str) -> None:
    """Make the database one of an ltst that did not know of the requirement."""
    with superuser(url) as connection:
        connection.execute("DROP TABLE key_requirement")
        connection.execute("DROP FUNCTION ltst_require_keys() CASCADE")
        connection.execute("DELETE FROM ltst_migrations WHERE version = %s", (ACCESS.version,))


def test_erasing_the_last_user_with_a_key_leaves_the_servers_closed(settings: Settings) -> None:
    with Memory(settings=settings) as memory, asked(settings) as statuses:
        assert statuses() == OPEN
        memory.keys.create("ana")
        assert statuses() == CLOSED
        memory.user("ana").erase()
        assert memory.keys.list() == []
        assert statuses() == CLOSED
    with asked(settings) as statuses:
        assert statuses() == CLOSED


def test_a_user_who_erases_herself_opens_nothing(settings: Settings) -> None:
    with (
        Memory(settings=settings) as memory,
        TestClient(create(Serving(settings)), base_url="http://localhost") as client,
    ):
        bearer = {"Authorization": f"Bearer {memory.keys.create('ana').secret}"}
        assert client.post("/v1/erase", headers=bearer, json={"user_id": "ana"}).status_code == 200
        assert client.get("/v1/profile", headers=bearer).status_code == 401
        assert client.get("/v1/profile", headers={"X-User-Id": "bob"}).status_code == 401


def test_revoking_the_last_key_leaves_the_servers_closed(settings: Settings) -> None:
    with Memory(settings=settings) as memory, asked(settings) as statuses:
        memory.keys.revoke(memory.keys.create(admin=True).key_id)
        assert statuses() == CLOSED


def test_rows_removed_by_hand_leave_the_servers_closed(settings: Settings) -> None:
    with Memory(settings=settings) as memory, asked(settings) as statuses:
        memory.keys.create(admin=True)
        with superuser(str(settings.database_url)) as connection:
            connection.execute("DELETE FROM api_keys")
        assert statuses() == CLOSED


def test_only_the_command_opens_a_server_again(settings: Settings) -> None:
    with Memory(settings=settings) as memory, asked(settings) as statuses:
        made = memory.keys.create("ana")
        with pytest.raises(Conflict, match="revoke them first"):
            memory.keys.lift_requirement()
        assert statuses() == CLOSED
        memory.keys.revoke(made.key_id)
        memory.keys.lift_requirement()
        assert statuses() == OPEN
        memory.keys.create("bob")
        assert statuses() == CLOSED
        assert [each.action for each in memory.feed(limit=100) if each.noun == "server"] == ["open"]


async def test_whoever_opens_a_server_waits_for_a_key_that_is_being_made(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        await memory.keys.revoke((await memory.keys.create("ana")).key_id)
        with psycopg.connect(str(settings.database_url)) as maker:
            maker.execute("INSERT INTO api_keys VALUES ('bob', gen_random_uuid(), '', 'hash')")
            opening = asyncio.create_task(memory.keys.lift_requirement())
            with superuser(str(settings.database_url)) as watching:
                while not value(watching, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
                    assert not opening.done(), "it did not wait"
                    await asyncio.sleep(0.01)
            maker.commit()
        with pytest.raises(Conflict):
            await opening
        assert await memory.keys.required()


@pytest.mark.parametrize("left", ["a key", "a revoked key", "the ledger", "a receipt"])
def test_a_database_from_before_is_closed_if_it_ever_had_keys(settings: Settings, left: str) -> None:
    with Memory(settings=settings) as memory:
        made = memory.keys.create("ana")
        if left == "a revoked key":
            memory.keys.revoke(made.key_id)
        if left == "a receipt":
            memory.user("ana").erase()
    if left == "the ledger":
        with superuser(str(settings.database_url)) as connection:
            connection.execute("DELETE FROM api_keys")
    before_the_table(str(settings.database_url))
    with Memory(settings=settings) as memory:
        assert memory.keys.required()


def test_a_database_from_before_without_keys_stays_open(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        memory.user("ana").chat("monday").add("user", "hello")
        memory.user("ana").erase()
    before_the_table(str(settings.database_url))
    with Memory(settings=settings) as memory:
        assert not memory.keys.required()


async def test_the_migration_sees_the_keys_though_policies_bind_the_owner(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    """An owner who is no superuser sees no rows of users, and so no keys."""
    name = f"owner_{uuid.uuid4().hex}"
    with psycopg.connect(server.dsn, dbname="postgres", autocommit=True) as administrator:
        for role in ("ltst_user", "ltst_keeper"):
            if not value(administrator, "SELECT count(*) FROM pg_roles WHERE rolname = %s", role):
                administrator.execute(f"CREATE ROLE {role} NOLOGIN")
        administrator.execute(f"CREATE ROLE {name} NOLOGIN NOSUPERUSER")
        administrator.execute(f"GRANT ltst_user, ltst_keeper TO {name}")
        administrator.execute(f"CREATE DATABASE {name} OWNER {name}")
    try:
        with superuser(make_conninfo(server.dsn, dbname=name)) as connection:
            connection.execute("CREATE EXTENSION vector")
        url = make_conninfo(server.dsn, dbname=name, options=f"-crole={name}")
        settings = Settings(worker=False, database_url=url, home=tmp_path)
        async with AsyncMemory(settings=settings) as memory:
            await memory.keys.create("ana")
        before_the_table(url)
        async with AsyncMemory(settings=settings) as memory:
            assert await memory.keys.required()
            await memory.user("ana").erase()
            assert await memory.keys.required()
    finally:
        with psycopg.connect(server.dsn, dbname="postgres", autocommit=True) as administrator:
            administrator.execute(f"DROP DATABASE {name} WITH (FORCE)")
            administrator.execute(f"DROP ROLE {name}")


async def restored(url: str, file: Path) -> None:
    database = Database(ConnectionPool(url, size=2, timeout=60))
    try:
        await backup.restore(database, file, replace=True)
    finally:
        await database.close()


async def saved(url: str, file: Path) -> None:
    database = Database(ConnectionPool(url, size=2, timeout=60))
    try:
        await backup.backup(database, file)
    finally:
        await database.close()


@pytest.mark.parametrize("old", [False, True], ids=["of today", "from before the table"])
async def test_a_backup_without_keys_does_not_open_a_server(
    settings: Settings, empty_database_url: str, tmp_path: Path, old: bool
) -> None:
    elsewhere = replace(settings, database_url=empty_database_url)
    async with AsyncMemory(settings=elsewhere) as memory:
        await memory.user("ana").chat("monday").add("user", "hello")
    if old:
        before_the_table(empty_database_url)
    await saved(empty_database_url, tmp_path / "memory.dump")
    async with AsyncMemory(settings=settings) as memory:
        await memory.keys.create("ana")
    await restored(str(settings.database_url), tmp_path / "memory.dump")
    async with AsyncMemory(settings=settings) as memory:
        assert await memory.keys.list() == []
        assert await memory.keys.required()


async def test_a_backup_without_keys_leaves_an_open_server_open(settings: Settings, tmp_path: Path) -> None:
    async with AsyncMemory(settings=settings) as memory:
        await memory.user("ana").chat("monday").add("user", "hello")
    await saved(str(settings.database_url), tmp_path / "memory.dump")
    await restored(str(settings.database_url), tmp_path / "memory.dump")
    async with AsyncMemory(settings=settings) as memory:
        assert not await memory.keys.required()


async def test_the_requirement_is_in_a_backup(settings: Settings, empty_database_url: str, tmp_path: Path) -> None:
    async with AsyncMemory(settings=settings) as memory:
        await memory.keys.create("ana")
        await memory.user("ana").erase()
    await saved(str(settings.database_url), tmp_path / "memory.dump")
    await restored(empty_database_url, tmp_path / "memory.dump")
    async with AsyncMemory(settings=replace(settings, database_url=empty_database_url)) as memory:
        assert await memory.keys.required()


@pytest.mark.parametrize("old", [False, True], ids=["of today", "from before the table"])
async def test_a_reset_does_not_open_a_server(settings: Settings, old: bool) -> None:
    async with AsyncMemory(settings=settings) as memory:
        await memory.keys.create("ana")
    if old:
        before_the_table(str(settings.database_url))
    database = Database(ConnectionPool(str(settings.database_url), size=2, timeout=60))
    await upkeep.reset(database)
    await database.close()
    async with AsyncMemory(settings=settings) as memory:
        assert await memory.keys.list() == []
        assert await memory.keys.required()
