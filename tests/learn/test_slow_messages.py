"""Messages that take too long to read: set aside at once, while all that stands around them is learnt."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from helpers import slow_rules
from helpers.embedders import opened
from helpers.probes import Connection
from ltst import AsyncMemory, AsyncUser, Settings

SLOW = f"I work as a baker. {slow_rules.SLOW}"
LONG_AGO = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture
def hasty(settings: Settings) -> Settings:
    """Settings with little time for a message."""
    return replace(settings, learn_seconds=0.5)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Rules that take for ever for some messages."""
    monkeypatch.setattr("ltst.learn.listen.read_message", slow_rules.read_message)
    return monkeypatch


async def talk(user: AsyncUser, *said: str) -> None:
    await user.chat("monday").add_many([{"role": "user", "content": text, "at": LONG_AGO} for text in said])


async def known(user: AsyncUser) -> list[str]:
    return sorted(fact.value for fact in await user.facts.list())


def aside(database: Connection) -> list[tuple[str, str, bool]]:
    return database.execute("SELECT task, reason, set_aside_at IS NOT NULL FROM derived_work").fetchall()


async def check(memory: AsyncMemory) -> str:
    return next(each.detail for each in (await memory.health()).checks if each.name == "derived work")


async def test_it_is_set_aside_at_once_and_its_neighbours_are_learnt(
    hasty: Settings, database: Connection, slowly: pytest.MonkeyPatch
) -> None:
    async with opened(hasty) as memory:
        await talk(memory.user("ana"), "I live in Porto.", SLOW, "My name is Ana.", SLOW, "I have a dog named Rex.")
        await talk(memory.user("bob"), "I live in Oslo.")
        await memory.settle()
        assert {"Porto", "Ana", "Rex"} <= set(await known(memory.user("ana")))
        assert await known(memory.user("bob")) == ["Oslo"]
        assert "2 × read (it takes more than 0.5 s to read (LTST_LEARN_SECONDS))" in await check(memory)
    assert aside(database) == [("read", "it takes more than 0.5 s to read (LTST_LEARN_SECONDS)", True)] * 2


async def test_a_restart_leaves_it_alone_and_a_retry_reads_it_by_itself(
    hasty: Settings, database: Connection, slowly: pytest.MonkeyPatch
) -> None:
    async with opened(hasty) as memory:
        await talk(memory.user("ana"), "I live in Porto.", SLOW)
        await memory.settle()
        await memory.user("ana").facts.forget("home")
    before = database.execute("SELECT * FROM derived_work").fetchall()
    slowly.undo()
    async with opened(hasty) as memory:
        await memory.settle()
        assert database.execute("SELECT * FROM derived_work").fetchall() == before
        assert await memory.retry() == 1
        await memory.settle()
        assert await known(memory.user("ana")) == ["baker"], "what was forgotten is not read again"
        assert await check(memory) == "nothing was set aside"
    assert aside(database) == []


async def test_what_is_slow_again_is_set_aside_again(
    hasty: Settings, database: Connection, slowly: pytest.MonkeyPatch
) -> None:
    async with opened(hasty) as memory:
        await talk(memory.user("ana"), SLOW)
        await memory.settle()
        assert await memory.retry() == 1
        await memory.settle()
    assert aside(database) == [("read", "it takes more than 0.5 s to read (LTST_LEARN_SECONDS)", True)]


async def test_catching_up_goes_past_it(hasty: Settings, slowly: pytest.MonkeyPatch) -> None:
    async with opened(hasty) as memory:
        await talk(memory.user("ana"), SLOW, "I live in Porto.")
        assert await memory.user("ana").learning.catch_up() == 2, "once up to it, once from there on"
        assert await known(memory.user("ana")) == ["Porto"]


async def test_others_are_served_while_it_is_read(settings: Settings, slowly: pytest.MonkeyPatch) -> None:
    async with opened(replace(settings, learn_seconds=3600.0)) as memory:
        await talk(memory.user("ana"), SLOW)
        task = asyncio.create_task(memory.user("ana").learning.catch_up())
        bob = memory.user("bob")
        for number in range(20):
            await bob.chat("monday").add("user", f"The river is {number} feet high.")
        assert (await bob.search("river"))[0].content.startswith("The river")
        assert (await bob.chat("monday").context("How high is the river?")).messages
        await bob.chat("monday").add("user", "I live in Oslo.")
        assert await bob.learning.catch_up() and await known(bob) == ["Oslo"]
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_episode_that_takes_too_long_is_set_aside(
    hasty: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltst.retelling.episodes.composed", slow_rules.composed)
    async with opened(hasty) as memory:
        await talk(
            memory.user("ana"), *(f"We talked at length about the harbour of Lisbon, number {n}." for n in range(5))
        )
        await memory.settle()
        assert "1 × episode (" in await check(memory)
    assert [(task, done) for task, _, done in aside(database)] == [("episode", True)]
