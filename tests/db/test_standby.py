"""Reads from a real streaming standby: what was written before is there, nothing is written, nothing fails."""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

import ltst
from bench.nodes import Node
from helpers.household import furnish
from helpers.probes import superuser, value
from ltst import AsyncMemory, Check, Conflict, Memory, Settings
from ltst.db import standby as standby_module
from ltst.db.pool import user_scope

PAIRS = 100, 1000  # writes that are read back at once; the second with --full


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Node, Node]]:
    """A primary and a standby that follows it."""
    with tempfile.TemporaryDirectory(prefix="ltst-standby-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        primary, follower = (Node(Path(folder) / name, fsync="off") for name in ("primary", "follower"))
        try:
            primary.begin()
            with Memory(settings=Settings(worker=False, database_url=primary.dsn(), home=Path(folder))):
                pass
            follower.follow(primary)
            yield primary, follower
        finally:
            follower.kill()
            primary.kill()


@pytest.fixture
def settings(nodes: tuple[Node, Node], tmp_path: Path) -> Settings:
    primary, follower = nodes
    where = {"database_url": primary.dsn(), "read_database_url": follower.dsn()}
    return Settings(worker=False, home=tmp_path, failover_timeout=2.0, **where)


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(settings=settings) as opened:
        yield opened


def reads_by(node: Node) -> int:
    """How many transactions ended in the database of this server so far, as its statistics tell."""
    with superuser(node.dsn()) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        return int(value(connection, "SELECT xact_commit FROM pg_stat_database WHERE datname = 'ltst'"))


async def test_everyone_reads_what_they_wrote(memory: AsyncMemory, pytestconfig: pytest.Config) -> None:
    pairs = PAIRS[bool(pytestconfig.getoption("--full"))]

    async def live(name: str, writes: int) -> int:
        chat, seen = memory.user(name).chat("one"), 0
        for number in range(writes):
            said = await chat.add("user", f"{name} {number}")
            # Two at once: the one does not read before the other knows how far the standby must be.
            both = await asyncio.gather(chat.window(1), chat.window(1))
            seen += {window[-1].message_id for window in both} == {said.message_id}
        return seen

    assert sum(await asyncio.gather(*(live(f"writer {each}", pairs // 10) for each in range(10)))) == pairs


async def test_what_was_added_is_found_at_once(memory: AsyncMemory) -> None:
    user = memory.user("finder")
    for number, word in enumerate(("zebra", "yak", "xerus")):
        await user.chat("one").add("user", f"I met a {word} today.")
        assert [hit.content for hit in await user.search(f"who met the {word}?", limit=1)] == [f"I met a {word} today."]
        assert len(await user.chat("one").history()) == number + 1
    assert "xerus" in (await user.chat("two").context("which xerus?")).text


async def servers(memory: AsyncMemory) -> Check:
    """What health says of the servers."""
    return next(each for each in (await memory.health()).checks if each.name == "servers")


async def test_health_tells_how_far_the_standby_is(memory: AsyncMemory) -> None:
    check = await servers(memory)
    assert check.status == "ok"
    assert re.fullmatch(r"all can be reached; the standby has [\d,]+ bytes of the log to replay", check.detail)


async def test_reads_are_the_standbys(memory: AsyncMemory, nodes: tuple[Node, Node]) -> None:
    user = memory.user("reader")
    await user.chat("one").add("user", "I live in Lisbon.")
    await user.facts.set("city", "Lisbon")
    await user.preferences.set("diet", "vegan", sensitive=True)
    await memory.settle()
    before = reads_by(nodes[1])
    chat = user.chat("one")
    assert len(await chat.window()) == len(await chat.history()) == 1
    assert (await user.facts.get("city")).value == "Lisbon"  # type: ignore[union-attr]
    assert (await user.preferences.get("diet")).value == "vegan"  # type: ignore[union-attr]
    assert (await user.search("where do I live?"))[0].content == "I live in Lisbon."
    assert "Lisbon" in (await chat.context("where do I live?")).text
    assert len((await user.export())["messages"]) == 1
    await memory.close()
    assert reads_by(nodes[1]) >= before + 8


async def test_another_database_is_refused(memory: AsyncMemory, settings: Settings, database_url: str) -> None:
    await memory.user("ana").chat("one").add("user", "I live in Lisbon.")
    async with AsyncMemory(settings=replace(settings, read_database_url=database_url)) as mistaken:
        for read in (mistaken.user("ana").chat("one").window, partial(mistaken.user("ana").search, "Lisbon")):
            with pytest.raises(Conflict, match="LTST_READ_DATABASE_URL names another database"):
                await read()
        check = await servers(mistaken)
        assert (check.status, check.detail) == ("error", standby_module.ANOTHER)


async def test_a_lagging_standby_is_not_asked(
    memory: AsyncMemory, nodes: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby_module, "CATCH_UP_SECONDS", 0.1)
    user = memory.user("hurried")
    await user.chat("one").add("user", "before")
    assert len(await user.chat("one").window()) == 1
    with superuser(nodes[1].dsn()) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        try:
            await user.chat("one").add("user", "after")
            assert [each.content for each in await user.chat("one").window()] == ["before", "after"]
            assert await memory.user("stranger").chat("one").window() == []
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")


async def test_a_cursor_that_the_standby_cannot_know_yet_is_good(
    memory: AsyncMemory, settings: Settings, nodes: tuple[Node, Node]
) -> None:
    user = memory.user("follower")
    await user.facts.set("home", "Porto")
    assert await user.facts.get("home")
    with superuser(nodes[1].dsn()) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        try:
            async with AsyncMemory(settings=replace(settings, read_database_url=None)) as elsewhere:
                await elsewhere.user("follower").facts.set("work", "nurse")
                seen = await elsewhere.user("follower").events.feed()
            assert await user.events.feed(after=seen[-1].cursor) == []
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")


async def test_a_standby_that_cannot_be_reached_is_done_without(settings: Settings) -> None:
    gone = psycopg.conninfo.make_conninfo(str(settings.read_database_url), port=1)
    async with AsyncMemory(settings=replace(settings, read_database_url=gone)) as memory:
        await memory.user("alone").chat("one").add("user", "hello")
        assert len(await memory.user("alone").chat("one").window()) == 1
        assert len((await memory.user("alone").export())["messages"]) == 1
        assert (await servers(memory)).status == "warning"
        assert "the primary answers reads, since the standby cannot" in (await servers(memory)).detail


async def test_a_standby_that_goes_away_is_done_without(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    gone = psycopg.conninfo.make_conninfo(str(settings.read_database_url), port=1)
    async with AsyncMemory(settings=replace(settings, read_database_url=gone)) as memory:
        user, standby = memory.user("left"), memory._core.standby
        assert standby is not None
        await user.preferences.set("diet", "vegan", sensitive=True)
        for read in (user.preferences.list, user.export, user.facts.list):
            # As if it had just been there, and had everything.
            standby._needed, standby._rests_until = {}, 0.0
            caplog.clear()
            assert await read() is not None
            assert [each.message for each in caplog.records] == ["the standby cannot be read; the primary is asked"]


async def test_a_standby_that_was_promoted_beside_its_primary_is_not_read(
    settings: Settings, nodes: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby_module, "KNOWN_SECONDS", 0.0)
    with tempfile.TemporaryDirectory(prefix="ltst-promoted-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        third = Node(Path(folder) / "third", fsync="off")
        try:
            third.follow(nodes[0])
            there = replace(settings, read_database_url=third.dsn())
            async with AsyncMemory(settings=there) as memory, AsyncMemory(settings=there) as reader:
                user = memory.user("split")
                await user.chat("one").add("user", "before")
                for each in (memory, reader):
                    assert len(await each.user("split").chat("one").window()) == 1
                third.promote()
                await user.chat("one").add("user", "after")
                for each in (memory, reader, memory):
                    window = await each.user("split").chat("one").window()
                    assert [message.content for message in window] == ["before", "after"]
                assert (await servers(memory)).detail.endswith(standby_module.PROMOTED)
            # When programs write to it, it is the primary itself.
            async with AsyncMemory(settings=replace(there, database_url=third.dsn())) as alone:
                await alone.user("split").chat("one").add("user", "elsewhere")
                window = await alone.user("split").chat("one").window()
                assert [each.content for each in window] == ["before", "elsewhere"]
                assert (await servers(alone)).status == "ok"
        finally:
            third.kill()


async def test_a_search_does_not_hide_that_the_primary_fails(settings: Settings, nodes: tuple[Node, Node]) -> None:
    async with AsyncMemory(settings=replace(settings, statement_timeout=1.5)) as memory:
        user = memory.user("unlucky")
        await user.chat("one").add("user", "My sister lives in Porto.")
        with superuser(nodes[0].dsn()) as connection, connection.transaction():
            connection.execute("LOCK TABLE search_units IN SHARE MODE")
            for question in ("sister", None):
                with pytest.raises(ltst.DatabaseUnavailable):
                    await user.search(question)
        assert len(await user.search("sister")) == 1


async def test_a_server_that_only_reads_answers_without_writing(
    settings: Settings, nodes: tuple[Node, Node], caplog: pytest.LogCaptureFixture
) -> None:
    """What waits for its index keeps nobody from searching, and nothing is tried that must fail."""
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user("archive")
        await user.chat("one").add("user", "My sister lives in Porto.")
        await memory.settle("archive")
        await user.chat("one").add("user", "Porto is where the river ends.")
        await user.chat("one").window()  # when it is there, so is what was written
    with caplog.at_level(logging.WARNING, "ltst"):
        alone = replace(settings, database_url=nodes[1].dsn(), read_database_url=None, worker=True)
        async with AsyncMemory(settings=alone) as memory:
            user = memory.user("archive")
            assert len(await user.chat("one").window()) == len(await user.chat("one").history()) == 2
            assert [hit.content for hit in await user.search("sister")] == ["My sister lives in Porto."]
            assert "sister" in (await user.chat("one").context("who lives in Porto?")).text
            assert len((await user.export())["messages"]) == 2
            assert (await user.events.list())[-1].noun == "message"
            with pytest.raises(ltst.DatabaseUnavailable, match="follow the ledger at the primary"):
                await user.events.feed()
            health = {each.name: each.status for each in (await memory.health()).checks}
            assert (health["schema"], health["derived work"]) == ("ok", "ok")
            assert (await memory.stats()).database_bytes
            with pytest.raises(ltst.DatabaseUnavailable, match="read-only"):
                await user.chat("one").add("user", "no")
    assert [each.message for each in caplog.records] == []


def test_a_household_is_read_whole(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        furnish(memory.user("household"), "words")
        document = memory.user("household").export()
    with Memory(settings=replace(settings, read_database_url=None)) as memory:
        assert memory.user("household").export() == document


async def test_what_is_written_while_the_position_is_asked_for_is_waited_for_too(
    memory: AsyncMemory, nodes: tuple[Node, Node]
) -> None:
    """Two calls of one user at the same time: neither forgets that the other wrote."""
    chat = memory.user("both hands").chat("one")
    for number in range(20):
        await asyncio.gather(chat.add("user", f"left {number}"), chat.window(), chat.add("user", f"right {number}"))
        assert len(await chat.window(100)) == 2 * number + 2
    async with (await memory._core.reads("both hands")).snapshot(user_scope("both hands")):
        pass
