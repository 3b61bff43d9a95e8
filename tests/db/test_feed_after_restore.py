"""The change feed after a restore: on whatever server it goes on, nothing is skipped and nothing repeated."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from helpers.probes import cloned, connected
from ltst import AsyncMemory, Conflict, Settings
from ltst.db import backup
from ltst.db.embedded import EmbeddedServer, binaries

# Far more than any server gives out in these tests, so that one of the two is always ahead.
TRANSACTIONS = 20_000
SPEND = "DO $$ BEGIN FOR n IN 1..%s LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Another server, with a count of transactions of its own."""
    held = EmbeddedServer.acquire(tmp_path_factory.mktemp("other"))
    yield held
    held.release()


@contextmanager
def empty(server: EmbeddedServer, name: str) -> Iterator[str]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield make_conninfo(server.dsn, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["behind", "ahead"])
def places(
    request: pytest.FixtureRequest, server: EmbeddedServer, template: str, other: EmbeddedServer
) -> Iterator[tuple[str, str]]:
    """The database that is backed up, and an empty one on a server whose transactions are behind or ahead."""
    advanced = server if request.param == "behind" else other
    with psycopg.connect(advanced.dsn, dbname="postgres", autocommit=True) as connection:
        connection.execute(SPEND % TRANSACTIONS)
    with cloned(server, template) as source, empty(other, "restored") as target:
        yield source, target


@asynccontextmanager
async def opened(url: str, home: Path) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(settings=Settings(worker=False, database_url=url, home=home)) as memory:
        yield memory


async def back_up(url: str, file: Path) -> Path:
    async with connected(url) as database:
        await backup.backup(database, file)
    return file


async def restore(url: str, file: Path, *, replace: bool = False) -> None:
    async with connected(url) as database:
        await backup.restore(database, file, replace=replace)


def move_by_hand(source: str, target: str, file: Path) -> None:
    """As an operator does who knows nothing of ltst's own backups."""
    programs = binaries()
    subprocess.run([f"{programs}/pg_dump", "--format=custom", f"--file={file}", f"--dbname={source}"], check=True)
    with psycopg.connect(target, autocommit=True) as connection:
        for role in ("ltst_user", "ltst_keeper"):
            if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchall():
                connection.execute(f"CREATE ROLE {role} NOLOGIN")
    subprocess.run([f"{programs}/pg_restore", "--no-owner", f"--dbname={target}", str(file)], check=True)


async def change(memory: AsyncMemory, *keys: str) -> None:
    for key in keys:
        await memory.user("ana").facts.set(key, "value")


class Follower:
    """Reads on from the last cursor, as a workflow that keeps only that does; it knows facts by their order."""

    def __init__(self, *, everyone: bool = False, after: str | int = 0) -> None:
        self.after: str | int = after
        self._everyone = everyone

    async def read(self, memory: AsyncMemory) -> list[str]:
        """What is new, in pages of two."""
        new: list[str] = []
        feed: Any = memory.feed if self._everyone else memory.user("ana").events.feed
        while page := await feed(after=self.after, limit=2):
            new += [each.row_id for each in page]
            self.after = page[-1].cursor
        return new


async def names(memory: AsyncMemory, rows: list[str]) -> list[str]:
    """The keys of facts, by their ids."""
    known = {each.fact_id: each.fact_key for each in await memory.user("ana").facts.list()}
    return [known.get(row, "gone") for row in rows]


@pytest.mark.parametrize("everyone", [False, True], ids=["own", "everyone"])
async def test_new_followers_and_old_cursors_go_on_after_a_restore(
    places: tuple[str, str], tmp_path: Path, everyone: bool
) -> None:
    source, target = places
    early, late, lost = (Follower(everyone=everyone) for _ in range(3))
    async with opened(source, tmp_path) as memory:
        await change(memory, "a", "b")
        await early.read(memory)
        await change(memory, "c")
        await late.read(memory)
        file = await back_up(source, tmp_path / "memory.dump")
        await change(memory, "lost", "lost too")
        await lost.read(memory)
        number = (await memory.user("ana").events.list())[-1].event_id

    await restore(target, file)

    async with opened(target, tmp_path) as memory:
        assert await names(memory, await Follower(everyone=everyone).read(memory)) == ["a", "b", "c"]
        assert await names(memory, await early.read(memory)) == ["c"]
        await change(memory, "d", "e")
        assert await names(memory, await Follower(everyone=everyone).read(memory)) == ["a", "b", "c", "d", "e"]
        assert await names(memory, await early.read(memory)) == ["d", "e"]
        for follower in (late, lost, Follower(everyone=everyone, after=number)):
            assert await names(memory, await follower.read(memory)) == ["d", "e"]
            assert await follower.read(memory) == []


async def test_one_backup_restored_twice_in_the_same_place(places: tuple[str, str], tmp_path: Path) -> None:
    source, target = places
    follower = Follower()
    async with opened(source, tmp_path) as memory:
        await change(memory, "a")
        file = await back_up(source, tmp_path / "memory.dump")
        await change(memory, "b")
        newer = await back_up(source, tmp_path / "newer.dump")

    await restore(target, file)
    async with opened(target, tmp_path) as memory:
        await change(memory, "lost")
        assert await names(memory, await follower.read(memory)) == ["a", "lost"]
    await restore(target, file, replace=True)
    async with opened(target, tmp_path) as memory:
        assert await follower.read(memory) == []
        await change(memory, "c", "d")
        assert await names(memory, await follower.read(memory)) == ["c", "d"]

    await restore(target, newer, replace=True)
    async with opened(target, tmp_path) as memory:
        await change(memory, "e")
        assert await names(memory, await follower.read(memory)) == ["b", "e"]


async def test_a_cursor_of_another_ledger_is_told_where_to_go_on(places: tuple[str, str], tmp_path: Path) -> None:
    source, target = places
    async with opened(source, tmp_path) as memory:
        await change(memory, "a")
        file = await back_up(source, tmp_path / "memory.dump")
    follower = Follower()
    await restore(target, file)
    async with opened(target, tmp_path) as memory:
        await change(memory, "b")
        await follower.read(memory)

    await restore(source, file, replace=True)  # which has never heard of the other restore

    async with opened(source, tmp_path) as memory:
        await change(memory, "c")
        with pytest.raises(Conflict, match=r"not of this ledger.* Go on from \d+-0-0 .* or from 0") as told:
            await follower.read(memory)
        assert await names(memory, await Follower(after=told.value.go_on).read(memory)) == ["c"]  # type: ignore[attr-defined]
        with pytest.raises(Conflict, match="not of this ledger"):
            await memory.feed(after=follower.after)


async def test_a_cursor_of_transactions_that_are_yet_to_come_is_refused(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        await change(memory, "a")
        epoch = (await memory.feed())[0].cursor.split("-")[0]
        with pytest.raises(Conflict, match="not of this ledger"):
            await memory.feed(after=f"{epoch}-{2**62}-1")


async def test_a_ledger_that_other_tools_moved_goes_on(places: tuple[str, str], tmp_path: Path) -> None:
    source, target = places
    follower = Follower()
    async with opened(source, tmp_path) as memory:
        await change(memory, "a", "b")
        await follower.read(memory)
    move_by_hand(source, target, tmp_path / "theirs.dump")

    async with opened(target, tmp_path) as memory:
        assert await names(memory, await Follower().read(memory)) == ["a", "b"]
        await change(memory, "c")
        assert await names(memory, await follower.read(memory)) == ["c"]
    async with opened(target, tmp_path) as memory:
        await change(memory, "d")
        assert await names(memory, await follower.read(memory)) == ["d"]


async def test_cursors_from_before_epochs_go_on(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        await change(memory, "a", "b")
        with psycopg.connect(str(settings.database_url)) as owner:
            owner.execute("UPDATE event_ledger SET epoch = 0")
        first = (await memory.feed())[0].cursor.removeprefix("0-")
        await change(memory, "c")
        assert await names(memory, await Follower(after=first).read(memory)) == ["b", "c"]
