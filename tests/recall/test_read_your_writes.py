"""What was added is found by the next search: by anyone, at once, however many write and however slow the model is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.embedders import hashed
from helpers.probes import superuser
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, Memory, Settings
from ltst.indexing.index import WORDED, index_words

TASKS = 8
USERS = ("ana", "bob", "eve", "kim", "lea", "max")
COLOURS = ("amber", "azure", "coral", "ivory", "khaki", "ochre", "olive", "umber")


def slowly(texts: Sequence[str]) -> NDArray[np.float64]:
    time.sleep(0.03)
    return hashed(texts)


def sentence(number: int) -> str:
    """Unlike any other, though all speak of the same."""
    return f"The {COLOURS[number % 8]} locker of guest {number} holds parcel P{number * 7919}."


Write = Callable[[AsyncUser, int], Awaitable[str]]


async def add(user: AsyncUser, number: int) -> str:
    return str((await user.chat(f"day {number % 5}").add("user", sentence(number))).message_id)


async def add_many(user: AsyncUser, number: int) -> str:
    given = [{"role": "user", "content": content} for content in ("Good morning.", sentence(number))]
    return str((await user.chat(f"day {number % 5}").add_many(given))[1].message_id)


async def set_fact(user: AsyncUser, number: int) -> str:
    return (await user.facts.set(f"locker {number}", sentence(number))).fact_id


async def add_entry(user: AsyncUser, number: int) -> str:
    return str((await user.entries.add(sentence(number))).entry_id)


async def add_document(user: AsyncUser, number: int) -> str:
    return (await user.documents.add(sentence(number))).document_id


async def missed(memory: AsyncMemory, count: int, write: Write = add) -> list[int]:
    """Add and search so many times, from several tasks for several users; what was not found at once."""
    numbers = iter(range(count))
    lost: list[int] = []

    async def work() -> None:
        for number in numbers:
            user = memory.user(USERS[number % len(USERS)])
            written = await write(user, number)
            hits = await user.search(f"which locker of guest {number} holds parcel P{number * 7919}?", limit=3)
            if not hits or hits[0].id != written:
                lost.append(number)

    await asyncio.gather(*(work() for _ in range(TASKS)))
    return lost


NOT_INDEXED = """
SELECT FROM search_sources AS source WHERE source.vectored AND NOT EXISTS (
    SELECT FROM search_units AS unit JOIN search_vectors AS vector USING (user_id, unit_no)
    WHERE unit.user_id = source.user_id AND unit.row_id = source.row_id AND words > 0 AND embedding IS NOT NULL)
UNION ALL SELECT FROM search_due
"""


def everything_indexed(url: str) -> bool:
    with superuser(url) as connection:
        return connection.execute(NOT_INDEXED).fetchone() is None


async def test_a_thousand_times(settings: Settings, rounds: Callable[[int], int]) -> None:
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        assert await missed(memory, rounds(1000)) == []
        assert everything_indexed(memory.database_url)


async def test_with_a_slow_model(settings: Settings, rounds: Callable[[int], int]) -> None:
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(slowly, "slow", 384)) as memory:
        assert await missed(memory, rounds(100)) == []


@pytest.mark.parametrize("model", [hashed, slowly])
async def test_while_the_background_works(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    model: Callable[[Sequence[str]], NDArray[np.float64]],
    rounds: Callable[[int], int],
) -> None:
    monkeypatch.setattr("ltst.worker.QUIET_SECONDS", 0.001)
    busy = replace(settings, worker=True)
    async with AsyncMemory(settings=busy, embedder=CallableEmbedder(model, "model", 384)) as memory:
        assert await missed(memory, rounds(100)) == []


@pytest.mark.parametrize("write", [add_many, set_fact, add_entry, add_document])
async def test_every_kind(settings: Settings, write: Write, rounds: Callable[[int], int]) -> None:
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        assert await missed(memory, rounds(60), write) == []


async def test_by_a_program_whose_clock_is_behind(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact holds from now on by the clock of the server, which is not the one of the program."""
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        user = memory.user("ana")
        monkeypatch.setattr("ltst.handles.recall.now", lambda: datetime.now(UTC) - timedelta(seconds=30))
        fact = await user.facts.set("city", "Lisbon")
        assert [hit.id for hit in await user.search("city")] == [fact.fact_id]
        assert "Lisbon" in (await user.chat("today").context("Where to?")).text


async def test_what_another_program_wrote(settings: Settings) -> None:
    def opened() -> AsyncMemory:
        return AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384))

    async with opened() as writer, opened() as reader:
        for number in range(50):
            written = await add(writer.user("ana"), number)
            hits = await reader.user("ana").search(f"guest {number} parcel P{number * 7919}", limit=1)
            assert [hit.id for hit in hits] == [written]


def test_from_threads(settings: Settings) -> None:
    with Memory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:

        def found(number: int) -> bool:
            user = memory.user(USERS[number % len(USERS)])
            written = user.chat("monday").add("user", sentence(number)).message_id
            return user.search(f"guest {number} parcel P{number * 7919}", limit=1)[0].id == written

        with ThreadPoolExecutor(TASKS) as threads:
            assert all(threads.map(found, range(100)))


async def test_by_meaning_with_the_local_model(settings: Settings) -> None:
    said = {
        "I moved to Lisbon in March.": "where do I live?",
        "We adopted a puppy called Biscuit.": "do I have a pet?",
        "Dr. Okonkwo looks after my teeth.": "who is my dentist?",
        "Peanuts make my throat swell up.": "what food am I allergic to?",
    }
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user("ana")
        for content, question in said.items():
            await user.chat("monday").add("user", content)
            assert (await user.search(question))[0].content == content


async def test_after_a_large_import_words_are_enough(settings: Settings) -> None:
    """More than a search indexes while someone waits: the newest have their words at once, the rest before vectors."""
    count = 3 * WORDED
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        user = memory.user("ana")
        given = [{"role": "user", "content": sentence(number)} for number in range(count)]
        stored = await user.chat("import").add_many(given)

        async def is_found(number: int) -> bool:
            hits = await user.search(f"guest {number} parcel P{number * 7919}", limit=1)
            return [hit.id for hit in hits] == [stored[number].message_id]

        assert all([await is_found(number) for number in (count - 1, count - 100, count - WORDED // 2)])
        await index_words(memory._core.database, "ana")  # as the background does before anything else
        assert all([await is_found(number) for number in (0, count // 2, count - 1)])
        with superuser(memory.database_url) as connection:
            lacking = "SELECT count(*) FILTER (WHERE stage = 0), count(*) > 500 FROM search_due"
            assert connection.execute(lacking).fetchone() == (0, True)
        await memory.settle("ana")
        assert everything_indexed(memory.database_url)
        assert all([await is_found(number) for number in (0, count // 2, count - 1)])
