"""Large memories: found by the index of vectors, which users share, as exactly as if each had one of their own.

Memories that fit into a test are smaller than those of which only some units are ranked, so all are larger than that
here.
"""

from __future__ import annotations

import re
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from helpers.probes import Connection, superuser, value
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, Settings
from ltst.arguments import Filters
from ltst.db.connections import Reals
from ltst.db.pool import user_scope
from ltst.db.queries import queries
from ltst.indexing import index
from ltst.recall import retrieve
from ltst.recall.retrieve import NEAR, UNIT
from ltst.rooms import search
from ltst.rooms.search import Asked

pytestmark = pytest.mark.asyncio(loop_scope="module")

THRESHOLD = 50
SIZES = {"ana": 90, "bob": 300, "eve": 900, "tiny": 12}
LARGE = ("ana", "bob", "eve")
QUESTIONS = ["number seven", "the colour of the sea", "topic 3", "topic 11 item 5", "nothing of that", "eve and bob"]
DEPTH = 200
INDEX = "idx_search_vectors_embedding_1"
STATE = "SELECT user_id, ready FROM search_users WHERE large ORDER BY user_id"
MARKED = "SELECT count(*) FILTER (WHERE ann), count(*) FROM search_vectors WHERE user_id = %s"
IS_LARGE = "SELECT count(*) FROM search_users WHERE user_id = %s AND large"
IS_READY = "SELECT ready FROM search_users WHERE user_id = %s AND large"
# As searches compare them: in half precision.
STORED_VECTORS = """
SELECT row_id::text, embedding::real[] FROM search_vectors JOIN search_units USING (user_id, unit_no)
WHERE user_id = %s AND kind = 'message'
"""
WHOLE = """
SELECT kind, row_id::text, 2, now(), content, role, said_by, title, occurred_at, heading, by_machine
FROM search_sources WHERE user_id = %s AND kind = 'message'
"""
Vectors = Mapping[str, NDArray[np.float64]]
# By how much a cosine may differ: as Postgres computes it, and because of half precision.
COMPUTED, HALVED = 1e-6, 1e-3
ROWS = "SELECT unit_no, row_id::text FROM search_units WHERE user_id = %s"


def drawn(seed: str) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(seed.encode())).normal(size=384)


def clustered(texts: Sequence[str]) -> NDArray[np.float64]:
    """Vectors in clusters, one for each topic, which all users talk about; within one, each text has its own place."""
    return np.array([drawn((re.findall(r"topic \d+", text) or [text])[0]) + 0.7 * drawn(text) for text in texts])


@pytest.fixture(autouse=True)
def all_are_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of no memory all units are ranked."""
    monkeypatch.setattr(retrieve, "EVERY", 0)


@pytest.fixture
def database(url: str) -> Iterator[Connection]:
    with superuser(url) as connection:
        yield connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncMemory]:
    """Three users with large memories and one with a small one, who talk about the same."""
    home = tmp_path_factory.mktemp("home")
    # Nothing is learnt: "item 23" would be read as what took the place of "item 3".
    settings = Settings(
        worker=False, database_url=url, home=home, large_memory=THRESHOLD, embedded_parts=100, pool_size=1, learn=()
    )
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(clustered, "clustered", 384)) as opened:
        for name, size in SIZES.items():
            given = [
                {"role": "user", "content": f"{name} says: topic {number % 20} item {number}"} for number in range(size)
            ]
            await opened.user(name).chat("monday").add_many(given)
        await opened.settle()
        with superuser(url) as connection:
            connection.execute("ANALYZE")
        yield opened


async def newcomer(memory: AsyncMemory, size: int) -> AsyncUser:
    """A user with so many messages, settled."""
    user = memory.user(f"user-{uuid.uuid4().hex}")
    given = [{"role": "user", "content": f"new: topic {number % 20} item {number}"} for number in range(size)]
    await user.chat("monday").add_many(given)
    await memory.settle(user.user_id)
    return user


def question(text: str, terms: Sequence[str] = ()) -> tuple[NDArray[np.float64], Asked]:
    vector = clustered([text])[0]
    vector /= np.linalg.norm(vector)
    return vector, asked_for(vector, terms)


def asked_for(vector: NDArray[np.float64], terms: Sequence[str] = ()) -> Asked:
    return Asked("no such key", "clustered", Reals.of(vector.tolist()), terms, datetime.now(UTC))


async def nearest(memory: AsyncMemory, user_id: str, asked: Asked, *, every: int = 0) -> list[str]:
    """The ids of the messages that the database compares the question with, the nearest first."""
    database, only = memory._core.database, Filters(kinds=("message",))
    seen = await search.look(database, user_id, asked, only, anyway=True, every=every, depth=DEPTH, most=0)
    units, dense = seen.units, seen.dense
    if units is None:
        units, dense = await search.candidates(database, user_id, asked, only, seen.nearest or [])
    there = {*np.frombuffer(units or b"", UNIT)["number"].tolist()}
    near = np.frombuffer(dense or b"", NEAR)
    near = near[np.argsort(-near["similarity"], kind="stable")]
    with superuser(memory.database_url) as connection:
        rows = dict(connection.execute(ROWS, (user_id,)).fetchall())
    return [*dict.fromkeys(rows[number] for number in near["number"].tolist() if number in there)]


def similarities(vectors: Vectors, asked: NDArray[np.float64]) -> dict[str, float]:
    """How near each message is to a question, compared one by one."""
    given = np.array([*vectors.values()])
    similar = given @ asked / np.linalg.norm(given, axis=1) / np.linalg.norm(asked)
    return dict(zip(vectors, similar.tolist(), strict=True))


def stored_vectors(database: Connection, user_id: str) -> Vectors:
    return {str(row[0]): np.array(row[1]) for row in database.execute(STORED_VECTORS, (user_id,)).fetchall()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def whole(memory: AsyncMemory, url: str) -> Mapping[str, Vectors]:
    """The vectors of the large memories as the model makes them, by user."""
    embedding, found = await memory._core.embedding(), dict[str, Vectors]()
    with superuser(url) as connection:
        for name in LARGE:
            rows = [search.Due(*row) for row in connection.execute(WHOLE, (name,)).fetchall()]
            made = zip(rows, await index.all_vectors(rows, embedding, 1), strict=True)
            found[name] = {row.id: index.mean(parts).astype(np.float64) for row, parts in made if parts is not None}
    return found


def highest(similar: Mapping[str, float]) -> list[float]:
    """The ten highest."""
    return sorted(similar.values(), reverse=True)[:10]


class Eavesdropper:
    """Stands in for the database, to learn what it would be asked."""

    def __init__(self) -> None:
        self.parameters: Mapping[str, Any] = {}

    async def call_rows(self, name: str, record: Any, /, *, binary: bool, **parameters: Any) -> list[Any]:
        self.parameters = parameters
        return [None]


async def scans(memory: AsyncMemory, user_id: str, *relations: str, every: int = 0) -> list[int]:
    """How often a search scans each index, or from its beginning to its end each table, asked as the program asks."""
    listening = Eavesdropper()
    _, asked = question("topic 3", ["topic", "3"])
    how: dict[str, Any] = {"anyway": True, "every": every, "depth": DEPTH, "most": 1000}
    await search.look(listening, user_id, asked, Filters(), **how)  # type: ignore[arg-type]
    with superuser(memory.database_url) as analyst:
        analyst.execute("ANALYZE")  # what autovacuum saw of the users that the tests before have added is luck
    async with memory._core.database.owner() as connection:
        before = await scanned(connection, relations)
        await connection.execute(queries()["search.look"], listening.parameters)
        return [now - then for then, now in zip(before, await scanned(connection, relations), strict=True)]


async def scanned(connection: psycopg.AsyncConnection[Any], relations: Sequence[str]) -> list[int]:
    """How often this connection has scanned each, as far as it has not told the others yet."""
    counted = "SELECT pg_stat_get_xact_numscans(relation::regclass) FROM unnest(%s::text[]) AS relation"
    return [count for (count,) in await (await connection.execute(counted, ([*relations],))).fetchall()]


class TestBecomingLarge:
    async def test_users_above_the_threshold_are_in_the_index(self, memory: AsyncMemory, database: Connection) -> None:
        assert [row for row in database.execute(STATE) if row[0] in SIZES] == [(name, True) for name in LARGE]
        for name, size in SIZES.items():
            expected = (size, size) if name in LARGE else (0, size)
            assert database.execute(MARKED, (name,)).fetchone() == expected

    async def test_the_threshold_itself_is_not_above_it(self, memory: AsyncMemory, database: Connection) -> None:
        user = await newcomer(memory, THRESHOLD)
        assert value(database, IS_LARGE, user.user_id) == 0
        await user.chat("monday").add("user", "one more")
        await memory.settle(user.user_id)
        assert value(database, IS_READY, user.user_id)
        assert database.execute(MARKED, (user.user_id,)).fetchone() == (THRESHOLD + 1, THRESHOLD + 1)

    async def test_the_parts_of_long_texts_are_in_the_index(self, memory: AsyncMemory, database: Connection) -> None:
        user = await newcomer(memory, THRESHOLD + 1)
        pages = "\n\n".join(f"topic {number} page {number}. " * 60 for number in range(THRESHOLD + 10))
        await user.chat("monday").add("user", pages)
        await memory.settle(user.user_id)
        marked, total = database.execute(MARKED, (user.user_id,)).fetchone() or (0, 0)
        assert marked == total > 2 * THRESHOLD
        hits = await user.search("topic 44 page 44. " * 60)
        assert hits[0].content == pages

    async def test_settling_again_changes_nothing(self, memory: AsyncMemory, database: Connection) -> None:
        before = [database.execute(MARKED, (name,)).fetchone() for name in SIZES]
        await memory.settle()
        assert [database.execute(MARKED, (name,)).fetchone() for name in SIZES] == before

    async def test_one_that_was_stopped_on_the_way_goes_on(self, memory: AsyncMemory, database: Connection) -> None:
        user = await newcomer(memory, THRESHOLD + 20)
        database.execute("UPDATE search_users SET ready = false WHERE user_id = %s", (user.user_id,))
        half = "UPDATE search_vectors SET ann = false WHERE user_id = %s AND unit_no %% 2 = 0"
        database.execute(half, (user.user_id,))
        assert (await user.search("topic 3 item 3"))[0].content == "new: topic 3 item 3", "found meanwhile"
        await user.chat("monday").add("user", "wakes the worker")
        await memory.settle(user.user_id)
        assert value(database, IS_READY, user.user_id)
        assert database.execute(MARKED, (user.user_id,)).fetchone() == (THRESHOLD + 21, THRESHOLD + 21)

    async def test_an_erasure_meanwhile_leaves_no_trace(
        self, memory: AsyncMemory, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        user = memory.user(f"user-{uuid.uuid4().hex}")
        given = [{"role": "user", "content": f"topic {number}"} for number in range(THRESHOLD + 1)]
        await user.chat("monday").add_many(given)
        look = search.large

        async def erased_after(*args: Any) -> search.Large:
            seen = await look(*args)
            await user.erase()
            return seen

        with monkeypatch.context() as patch:
            patch.setattr(search, "large", erased_after)
            await memory.settle(user.user_id)
        for table in ("search_users", "search_units", "search_terms", "search_vectors", "search_due"):
            assert value(database, f"SELECT count(*) FROM {table} WHERE user_id = %s", user.user_id) == 0


class TestPlans:
    async def test_a_large_memory_is_searched_by_the_index_of_vectors(self, memory: AsyncMemory) -> None:
        for name in LARGE:
            (by_index,) = await scans(memory, name, INDEX)
            assert by_index == 1

    async def test_a_small_one_is_not(self, memory: AsyncMemory) -> None:
        for every in (0, 2000):
            (by_index,) = await scans(memory, "tiny", INDEX, every=every)
            assert by_index == 0

    async def test_all_that_a_memory_holds_is_compared_without_it(self, memory: AsyncMemory) -> None:
        (by_index,) = await scans(memory, "eve", INDEX, every=2000)
        assert by_index == 0

    @pytest.mark.parametrize("every", [0, 2000])
    async def test_a_small_one_reads_the_rows_of_its_user_alone(self, memory: AsyncMemory, every: int) -> None:
        tables = ("search_units", "search_vectors", "search_terms", "search_due")
        assert await scans(memory, "tiny", *tables, every=every) == [0] * len(tables)

    async def test_searches_are_planned_anew(self, memory: AsyncMemory) -> None:
        """The pool has one connection, which would have prepared by now what was asked of it often."""
        user = memory.user("ana")
        for number in range(12):
            await user.search(f"topic {number}", limit=3)
        async with memory._core.database.owner() as connection:
            cursor = await connection.execute("SELECT statement FROM pg_prepared_statements")
            prepared = [row[0] for row in await cursor.fetchall()]
        assert not [statement for statement in prepared if "<#>" in statement or "<=>" in statement]


class TestExactness:
    @pytest.mark.parametrize("text", QUESTIONS)
    @pytest.mark.parametrize("name", LARGE)
    async def test_the_nearest_ten_are_the_true_ones(
        self, memory: AsyncMemory, database: Connection, whole: Mapping[str, Vectors], name: str, text: str
    ) -> None:
        vector, asked = question(text)
        found = (await nearest(memory, name, asked))[:10]
        stored = similarities(stored_vectors(database, name), vector.astype(np.float16).astype(np.float64))
        assert [stored[each] for each in found] == pytest.approx(highest(stored), abs=COMPUTED)
        made = similarities(whole[name], vector)
        assert [made[each] for each in found] == pytest.approx(highest(made), abs=HALVED)

    async def test_as_many_come_as_there_are_up_to_the_depth(self, memory: AsyncMemory) -> None:
        for name in LARGE:
            for text in QUESTIONS:
                _, asked = question(text)
                found = len(await nearest(memory, name, asked))
                assert min(DEPTH, SIZES[name]) <= found <= SIZES[name]

    async def test_the_nearest_of_each_message_is_itself(self, memory: AsyncMemory, database: Connection) -> None:
        """Every vector is reachable in the index, however many others stand around it."""
        for message_id, vector in sorted(stored_vectors(database, "ana").items())[::6]:
            assert (await nearest(memory, "ana", asked_for(vector)))[0] == message_id

    @pytest.mark.parametrize("text", QUESTIONS)
    async def test_large_and_small_are_the_same_engine(self, memory: AsyncMemory, text: str) -> None:
        """All that ana has is near enough to be compared in either way, so nothing may differ."""
        for name in ("ana", "tiny"):
            _, asked = question(text)
            assert await nearest(memory, name, asked, every=2000) == await nearest(memory, name, asked)


class TestSearch:
    async def test_by_words_and_by_meaning(self, memory: AsyncMemory) -> None:
        for name in SIZES:
            hits = await memory.user(name).search(f"{name} says: topic 7 item 7")
            assert hits[0].content == f"{name} says: topic 7 item 7"
            assert all(hit.content.startswith(name) for hit in hits)
            assert all(0 <= hit.score <= 1 for hit in hits)

    async def test_other_kinds_are_found_too(self, memory: AsyncMemory) -> None:
        user = await newcomer(memory, THRESHOLD + 10)
        await user.facts.set("pet", "pelican")
        await user.entries.add("A pelican was seen.")
        await user.documents.add("How to feed a pelican")
        # Vectors are drawn by chance here, so what holds the word need not be among the first ten.
        hits = await user.search("pelican", limit=100)
        assert {hit.kind for hit in hits if "pelican" in hit.content} == {"fact", "entry", "document"}
        for kind in ("fact", "entry", "document"):
            assert [hit.kind for hit in await user.search("pelican", kinds=[kind])] == [kind]

    async def test_new_messages_are_found_at_once(self, memory: AsyncMemory, database: Connection) -> None:
        user = await newcomer(memory, THRESHOLD + 10)
        for number in range(5):
            said = await user.chat("tuesday").add("user", f"topic {70 + number} pelican{number}")
            assert (await user.search(f"pelican{number}"))[0].id == said.message_id
            _, asked = question(f"[{said.timestamp:%d %B %Y}] User: {said.content}")
            assert (await nearest(memory, user.user_id, asked))[0] == said.message_id
        assert database.execute(MARKED, (user.user_id,)).fetchone() == (THRESHOLD + 15, THRESHOLD + 15)

    async def test_deleted_messages_are_gone_at_once(self, memory: AsyncMemory) -> None:
        user = await newcomer(memory, THRESHOLD + 10)
        said = await user.chat("tuesday").add("user", "topic 77 pelican")
        assert (await user.search("topic 77 pelican"))[0].id == said.message_id
        await user.sessions.delete("tuesday")
        assert said.message_id not in {hit.id for hit in await user.search("topic 77 pelican", limit=200, floor=0.0)}
        _, asked = question("topic 77 pelican")
        assert said.message_id not in await nearest(memory, user.user_id, asked)
        assert len(await nearest(memory, user.user_id, asked)) == THRESHOLD + 10

    async def test_one_who_lost_almost_all_is_still_found(self, memory: AsyncMemory) -> None:
        user = await newcomer(memory, THRESHOLD + 30)
        await user.chat("tuesday").add("user", "topic 77 pelican")
        await user.search("pelican")
        await user.sessions.delete("monday")
        assert [hit.content for hit in await user.search("pelican")] == ["topic 77 pelican"]
        _, asked = question("something else")
        assert len(await nearest(memory, user.user_id, asked)) == 1

    async def test_an_erased_user_is_not_large_any_more(self, memory: AsyncMemory, database: Connection) -> None:
        user = await newcomer(memory, THRESHOLD + 10)
        receipt = await user.erase()
        assert receipt.removed["search_users"] == 1
        assert set(receipt.remaining.values()) == {0}
        assert await user.search("topic 3", floor=0.0) == []
        await user.chat("monday").add("user", "topic 3 again")
        assert [hit.content for hit in await user.search("topic 3")] == ["topic 3 again"]
        assert database.execute(MARKED, (user.user_id,)).fetchone() == (0, 1)

    async def test_a_fork_is_in_the_index_too(self, memory: AsyncMemory, database: Connection) -> None:
        user = await newcomer(memory, THRESHOLD + 10)
        await user.chat("monday").fork(session_id="branch")
        hits = await user.search("new: topic 3 item 3", limit=2)
        assert hits[0].session_id in {"monday", "branch"}
        assert hits[1].content != hits[0].content, "the copy is not found beside it"
        await memory.settle(user.user_id)
        count = 2 * (THRESHOLD + 10)
        assert database.execute(MARKED, (user.user_id,)).fetchone() == (count, count)


class TestFilters:
    """What passes the filters is found by meaning, also where hundreds that do not pass are nearer."""

    async def hoarder(self, memory: AsyncMemory) -> AsyncUser:
        user = memory.user("hoarder")
        if await user.sessions.get("monday"):
            return user
        past = datetime(2020, 1, 1, tzinfo=UTC)
        many = [{"role": "user", "content": f"topic 5 item {number}", "at": past} for number in range(400)]
        await user.chat("monday").add_many(many)
        await user.chat("rare").add("user", "harbours and ships", metadata={"color": "blue"})
        await memory.settle("hoarder")
        return user

    @pytest.mark.parametrize(
        "limited",
        [{"session_id": "rare"}, {"where": {"color": "blue"}}, {"since": datetime(2024, 1, 1, tzinfo=UTC)}],
        ids=["session_id", "where", "since"],
    )
    async def test_by_meaning(self, memory: AsyncMemory, limited: dict[str, Any]) -> None:
        hits = await (await self.hoarder(memory)).search("topic 5", floor=0.0, **limited)
        assert [hit.content for hit in hits] == ["harbours and ships"]

    async def test_by_words(self, memory: AsyncMemory) -> None:
        hits = await (await self.hoarder(memory)).search("ships", session_id="rare")
        assert [hit.content for hit in hits] == ["harbours and ships"]


async def test_units_are_counted_beyond_what_two_bytes_hold(memory: AsyncMemory) -> None:
    """The driver sends small numbers as two bytes, whose sum need not fit into two."""
    async with memory._core.database.transaction(user_scope("ana")) as tx:
        assert await search.mark_large(tx, -1, 50) and not await search.mark_large(tx, 32_700, 500)
