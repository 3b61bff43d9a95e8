"""Two users who talk about the same: neither finds anything of the other, nor can tell what the other does.

What a search compares (each row with its score in every arm) is looked at as the database sends it: if that stays the
same, so does all that is made of it. Ten thousand looks, in twenty states of the other's memory, small and large.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from helpers.probes import cloned, superuser
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, Settings
from ltst.arguments import Filters
from ltst.db.connections import Reals
from ltst.db.embedded import EmbeddedServer
from ltst.recall import retrieve
from ltst.recall.retrieve import NEAR, UNIT
from ltst.rooms import search
from ltst.rooms.search import Asked, Look
from ltst.support.terms import distinct

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
THRESHOLD = 50
# Of a large memory not all is compared: this is more than that.
SIZES = {"small": 40, "large": 260}
WORDS = ["harbour", "ship", "baker", "bread", "garden", "rose", "engine", "wheel"]
WORDS += ["doctor", "tooth", "violin", "concert", "river", "bridge", "winter", "coat"]
LOOKS, LOOKS_BACK = 200, 50
DEPTH = 100
ROWS = "SELECT unit_no, row_id::text FROM search_units WHERE user_id = %s"


@cache
def drawn(word: str) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(word.encode())).normal(size=384)


def summed(texts: Sequence[str]) -> NDArray[np.float64]:
    """A direction for each word, and a little of each text's own: no two texts are equally near to a third."""
    return np.array([sum(map(drawn, re.findall(r"\w+", text.lower())), 0.1 * drawn(text)) for text in texts])


def phrase(number: int) -> str:
    """One of many about few things."""
    first, second, third = (WORDS[number // step % len(WORDS)] for step in (1, 16, 7))
    return f"{first} {second} {third} {number % 13}"


def questions(count: int) -> list[Asked]:
    texts = [f"{phrase(number * 37 + 5)} and {phrase(number)}" for number in range(count)]
    vectors = summed(texts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = zip(texts, vectors.tolist(), strict=True)
    return [Asked("no such key", "summed", Reals.of(vector), distinct(text), NOW) for text, vector in pairs]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["small", "large"])
async def memory(
    request: pytest.FixtureRequest, server: EmbeddedServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AsyncMemory]:
    """Ana and Eve, who said the same things; in a large memory, by way of one and the same index of vectors."""
    large = request.param == "large"
    with cloned(server, template) as url:
        settings = Settings(
            worker=False,
            database_url=url,
            home=tmp_path_factory.mktemp("home"),
            large_memory=THRESHOLD if large else 50_000,
        )
        async with AsyncMemory(settings=settings, embedder=CallableEmbedder(summed, "summed", 384)) as opened:
            for name in ("ana", "eve"):
                await talk(opened.user(name), "monday", SIZES[request.param])
                await furnish(opened.user(name))
            await opened.settle()
            yield opened


async def talk(user: AsyncUser, session: str, count: int, *, first: int = 0) -> None:
    given = [{"role": "user", "content": phrase(number), "at": NOW} for number in range(first, first + count)]
    await user.chat(session).add_many(given)


async def furnish(user: AsyncUser) -> None:
    for number in range(5):
        await user.facts.set(WORDS[number], phrase(number), valid_from=NOW - timedelta(days=1))
        await user.entries.add(phrase(number + 50), occurred_at=NOW)
    await user.documents.add(". ".join(phrase(number) for number in range(100, 140)))


@pytest.fixture(autouse=True)
def not_all_is_ranked(memory: AsyncMemory, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the large memories, only what may be among the best."""
    if request.node.callspec.params["memory"] == "large":
        monkeypatch.setattr(retrieve, "EVERY", THRESHOLD)
        monkeypatch.setattr(retrieve, "DEPTH", DEPTH)


async def is_large(memory: AsyncMemory, user_id: str) -> bool:
    return (await search.large(memory._core.database.user(user_id))).ready


async def seen(memory: AsyncMemory, user_id: str, asked: Sequence[Asked]) -> list[Any]:
    """For each question all that is compared with it, row by row."""
    with superuser(memory.database_url) as connection:
        rows = dict(connection.execute(ROWS, (user_id,)).fetchall())
    return [_in_order(rows, each, await _looked(memory, user_id, each)) for each in asked]


async def _looked(memory: AsyncMemory, user_id: str, asked: Asked) -> Look:
    database, how = memory._core.database, {"depth": retrieve.DEPTH, "most": retrieve.MOST_POSTINGS}
    look = await search.look(database, user_id, asked, Filters(), anyway=True, every=retrieve.EVERY, **how)
    if look.units is not None:
        return look
    question = retrieve.Question(" ".join(asked.terms), NOW)
    numbers = retrieve._choose_candidates(question, look, retrieve.DEPTH)
    units, dense = await search.candidates(database, user_id, asked, Filters(), numbers)
    return replace(look, units=units, dense=dense)


def _in_order(rows: Mapping[int, str], asked: Asked, look: Look) -> Any:
    """What the database sends, in an order of its own: it comes as it is found."""
    assert look.looked
    units = np.sort(np.frombuffer(look.units or b"", UNIT), order="number")
    near = np.sort(np.frombuffer(look.dense or b"", NEAR))
    postings = retrieve._Postings.of(look, asked.terms)
    frequencies, holders = postings.table(units["number"].astype(np.int64)), postings.holders
    return (
        [rows.get(number, f"unit {number} of another") for number in units["number"].tolist()],
        *(each.tobytes() for each in (units, near, frequencies, holders)),
        sorted(look.speakers or ()),
        (look.total, look.total_words, look.conversations, look.version),
    )


def ids(answer: Any) -> set[str]:
    return {*answer[0]}


OWNED = """
SELECT message_id::text FROM conversation_messages WHERE user_id = %(user)s
UNION ALL SELECT fact_id::text FROM user_facts WHERE user_id = %(user)s
UNION ALL SELECT entry_id::text FROM memory_entries WHERE user_id = %(user)s
UNION ALL SELECT chunk_id::text FROM document_chunks WHERE user_id = %(user)s
"""


def owned(memory: AsyncMemory, user_id: str) -> set[str]:
    with superuser(memory.database_url) as connection:
        return {each for (each,) in connection.execute(OWNED, {"user": user_id})}


Change = Callable[[AsyncUser], Awaitable[Any]]


async def forget_document(user: AsyncUser) -> None:
    for document in await user.documents.list():
        await user.documents.forget(document.document_id)


async def forget_entries(user: AsyncUser) -> None:
    for entry in await user.entries.list():
        await user.entries.forget(str(entry.entry_id))


async def move(user: AsyncUser) -> None:
    """Out and in again."""
    document = await user.export()
    await user.erase()
    await user.restore(document)


async def ask(user: AsyncUser) -> None:
    for number in range(10):
        await user.search(phrase(number), limit=200)


CHANGES: dict[str, Change] = {
    "nothing": lambda eve: asyncio.sleep(0),
    "asks": ask,
    "says a word": lambda eve: eve.chat("monday").add("user", phrase(3)),
    "says the same again": lambda eve: talk(eve, "tuesday", 100),
    "says other things": lambda eve: talk(eve, "wednesday", 60, first=1000),
    "repeats one word": lambda eve: eve.chat("loud").add("user", "harbour " * 5000),
    "changes a fact": lambda eve: eve.facts.set(WORDS[0], phrase(77)),
    "rejects a fact": lambda eve: eve.facts.reject(WORDS[1], phrase(1)),
    "adds a document": lambda eve: eve.documents.add(". ".join(phrase(number) for number in range(300))),
    "branches off": lambda eve: eve.chat("tuesday").fork(session_id="branch"),
    "links": lambda eve: eve.sessions.link("monday", "tuesday"),
    "keeps a secret": lambda eve: eve.preferences.set("diet", "no nuts", sensitive=True),
    "deletes a session": lambda eve: eve.sessions.delete("tuesday"),
    "forgets her documents": forget_document,
    "forgets her entries": forget_entries,
    "moves out and in": move,
    "is erased": lambda eve: eve.erase(),
    "begins anew": lambda eve: talk(eve, "monday", 80),
    "becomes large": lambda eve: talk(eve, "monday", 300, first=80),
    "is erased again": lambda eve: eve.erase(),
}


async def test_the_other_cannot_be_seen(memory: AsyncMemory, rounds: Callable[[int], int]) -> None:
    looks = rounds(LOOKS)
    mine, theirs = questions(looks), questions(looks + rounds(LOOKS_BACK))[looks:]
    ana, eve = owned(memory, "ana"), memory.user("eve")
    expected = await seen(memory, "ana", mine)
    assert all(ids(answer) and ids(answer) <= ana for answer in expected)
    for change, make in CHANGES.items():
        await make(eve)
        await memory.settle()
        found = await seen(memory, "ana", mine)
        differ = [number for number, answer in enumerate(found) if answer != expected[number]]
        assert not differ, f"Eve {change}, and {len(differ)} answers for Ana change"
        others = owned(memory, "eve")
        for answer in await seen(memory, "eve", theirs):
            assert ids(answer) <= others, f"Eve {change}, and sees what is not hers"


async def test_nor_in_what_is_returned(memory: AsyncMemory) -> None:
    """The same through the front door: ids, contents, scores and their number."""
    ana, eve = memory.user("ana"), memory.user("eve")
    if not await eve.sessions.get("monday"):
        await talk(eve, "monday", 100)
    asked = [phrase(number * 11) for number in range(15)]

    async def answers() -> list[Any]:
        return [await ana.search(query, limit=limit, now=NOW) for query in asked for limit in (10, 200)]

    expected, mine = await answers(), owned(memory, "ana")
    for number, change in enumerate(("says the same again", "deletes a session", "becomes large", "is erased")):
        await CHANGES[change](eve)
        await memory.settle()
        await ana.preferences.set("round", f"{number}")  # or the answers would come from the cache
        found = await answers()
        assert found == expected, change
        for hits in found:
            assert {hit.id for hit in hits if hit.kind != "document"} <= mine


async def test_large_means_by_the_index(memory: AsyncMemory, request: pytest.FixtureRequest) -> None:
    large = request.node.callspec.params["memory"] == "large"
    assert await is_large(memory, "ana") == large
    with superuser(memory.database_url) as connection:
        marked = "SELECT bool_and(ann), bool_or(ann) FROM search_vectors WHERE user_id = 'ana'"
        assert connection.execute(marked).fetchone() == (large, large)
