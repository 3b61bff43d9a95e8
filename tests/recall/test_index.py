"""The index of search: whatever happened to the rows, it is the one that would be built of them from nothing."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from psycopg import sql

from helpers.embedders import hashed
from helpers.probes import Connection, columns, tables, value
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, ConversationMessage, Settings
from ltst.indexing import index
from ltst.indexing.index import WORDED, index_words
from ltst.rooms import search

USERS = ("ana", "eve")
SESSIONS = ("monday", "tuesday", "branch")
TOPICS = ["harbour", "ship", "baker", "bread", "garden", "rose", "engine", "wheel"]
TOPICS += ["doctor", "tooth", "violin", "concert", "river", "bridge", "winter", "coat"]
SOURCES = ("conversation_messages", "user_facts", "memory_entries", "document_chunks")
BLOCK = 1024
DAY = timedelta(days=1)
STEPS = 60


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[AsyncMemory]:
    embedder = CallableEmbedder(hashed, "hashed", 384, longest=300)
    async with AsyncMemory(settings=settings, embedder=embedder) as opened:
        yield opened


def index_tables(database: Connection) -> list[str]:
    return [name for name in tables(database) if name.startswith("search_")]


@dataclass
class Index:
    """All that the index holds, by the rows that it is of: units are numbered as they come."""

    units: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    postings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    vectors: dict[tuple[str, str, int], list[float]] = field(default_factory=dict)
    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    speakers: dict[tuple[str, str], int] = field(default_factory=dict)


def read(database: Connection) -> Index:
    """The index as it stands, every posting and vector of which must be that of a unit."""
    found, rows = Index(), dict[tuple[str, int], str]()
    names = [name for name in columns(database, "search_units") if name not in ("unit_no", "ranked")]
    chosen = sql.SQL(", ").join(map(sql.Identifier, ["unit_no", *names]))
    for number, *values in database.execute(sql.SQL("SELECT {} FROM search_units").format(chosen)):
        unit = dict(zip(names, values, strict=True))
        rows[unit["user_id"], number] = str(unit["row_id"])
        found.units[unit["user_id"], str(unit["row_id"])] = unit
    for user, term, block, postings in database.execute("SELECT user_id, term, block, postings FROM search_terms"):
        assert postings, "an empty posting is removed"
        numbers = [posting % BLOCK for posting in postings]
        assert len({*numbers}) == len(numbers), "each unit stands once under a term"
        for number, posting in zip(numbers, postings, strict=True):
            found.postings[user, rows[user, block * BLOCK + number], term] += posting // BLOCK
    vectors = "SELECT user_id, unit_no, part, embedding::real[] FROM search_vectors"
    for user, number, part, vector in database.execute(vectors):
        found.vectors[user, rows[user, number], part] = vector
    for user, units, words in database.execute("SELECT user_id, units, words FROM search_users WHERE units > 0"):
        found.users[user] = (units, words)
    for user, name, units in database.execute("SELECT user_id, name, units FROM search_speakers"):
        found.speakers[user, name] = units
    return found


async def rebuilt(memory: AsyncMemory, database: Connection) -> Index:
    """The index of the same rows, built from nothing: not even the vectors that rows are stored with."""
    for table in SOURCES:
        database.execute(sql.SQL("UPDATE {} SET embedding = NULL").format(sql.Identifier(table)))
    emptied = sql.SQL(", ").join(map(sql.Identifier, index_tables(database)))
    database.execute(sql.SQL("TRUNCATE {}").format(emptied))
    database.execute("INSERT INTO search_due (user_id, kind, row_id) SELECT user_id, kind, row_id FROM search_sources")
    await memory.settle()
    return read(database)


def assert_same(kept: Index, made: Index) -> None:
    assert kept.units == made.units
    assert kept.postings == made.postings
    assert kept.users == made.users
    assert kept.speakers == made.speakers
    assert kept.vectors.keys() == made.vectors.keys()
    for key, vector in made.vectors.items():
        # The index keeps numbers of two bytes, which may be rounded to either side.
        assert np.allclose(kept.vectors[key], vector, rtol=1e-3, atol=1e-5), key


class Life:
    """What may happen to two memories, drawn by lot."""

    def __init__(self, memory: AsyncMemory, database: Connection, seed: int) -> None:
        self._memory = memory
        self._database = database
        self._lot = random.Random(seed)
        self._count = 0

    async def goes_on(self, steps: int) -> None:
        events: Sequence[Callable[[AsyncUser], Awaitable[object]]] = [
            *[self._says] * 4,
            *[self._says_many] * 2,
            self._says_much,
            self._deletes_a_session,
            self._branches_off,
            *[self._sets_a_fact] * 3,
            self._ends_a_fact,
            self._rejects_a_fact,
            self._is_rejected_no_more,
            self._forgets_a_fact,
            *[self._keeps_an_entry] * 2,
            self._uses_entries,
            self._lets_entries_expire,
            self._forgets_an_entry,
            *[self._writes_a_document] * 3,
            self._forgets_a_document,
            *[self._sets_a_context] * 2,
            self._forgets_a_context,
            *[self._rewrites_messages] * 3,
            self._deletes_a_message,
            self._searches,
            self._indexes,
        ]
        for _ in range(steps):
            await self._lot.choice(events)(self._memory.user(self._lot.choice(USERS)))

    def _phrase(self, words: int = 6) -> str:
        self._count += 1
        return " ".join([*self._lot.choices(TOPICS, k=words), str(self._count)])

    def _session(self) -> str:
        return self._lot.choice(SESSIONS[:2])

    def _moment(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + self._lot.randrange(300) * DAY

    def _some(self, table: str, key: str, user: AsyncUser) -> list[Any]:
        """Some rows of a table, at most three."""
        query = sql.SQL("SELECT {1} FROM {0} WHERE user_id = %s ORDER BY {1}")
        rows = self._database.execute(query.format(sql.Identifier(table), sql.Identifier(key)), (user.user_id,))
        found = [row[0] for row in rows]
        return self._lot.sample(found, min(len(found), 3))

    async def _says(self, user: AsyncUser) -> None:
        metadata: dict[str, Any] = self._lot.choice([{}, {"speaker": "Caroline"}, {"name": "Tom"}, {"retold": True}])
        role = self._lot.choice(["user", "assistant", "tool"])
        await user.chat(self._session()).add(role, self._phrase(), metadata=metadata)

    async def _says_many(self, user: AsyncUser) -> None:
        given = [{"role": "user", "content": self._phrase(), "at": self._moment()} for _ in range(5)]
        await user.chat(self._session()).add_many(given)

    async def _says_much(self, user: AsyncUser) -> None:
        await user.chat(self._session()).add("user", ". ".join(self._phrase(40) for _ in range(8)))

    async def _deletes_a_session(self, user: AsyncUser) -> None:
        await user.sessions.delete(self._lot.choice(SESSIONS))

    async def _branches_off(self, user: AsyncUser) -> None:
        if await user.sessions.get("monday") and not await user.sessions.get("branch"):
            await user.chat("monday").fork(session_id="branch")

    async def _sets_a_fact(self, user: AsyncUser) -> None:
        begins = self._lot.choice([None, self._moment()])
        await user.facts.set(self._lot.choice(TOPICS[:4]), self._phrase(2), valid_from=begins)

    async def _ends_a_fact(self, user: AsyncUser) -> None:
        for fact in (await user.facts.list())[:1]:
            await user.facts.end(fact.fact_key)

    async def _rejects_a_fact(self, user: AsyncUser) -> None:
        for fact in (await user.facts.list())[:1]:
            await user.facts.reject(fact.fact_key, fact.fact_value)

    async def _is_rejected_no_more(self, user: AsyncUser) -> None:
        self._database.execute("UPDATE user_facts SET rejected_at = NULL WHERE user_id = %s", (user.user_id,))

    async def _forgets_a_fact(self, user: AsyncUser) -> None:
        await user.facts.forget(self._lot.choice(TOPICS[:4]))

    async def _keeps_an_entry(self, user: AsyncUser) -> None:
        await user.entries.add(self._phrase(), importance=self._lot.choice([0.2, 0.9]), occurred_at=self._moment())

    async def _uses_entries(self, user: AsyncUser) -> None:
        used = "UPDATE memory_entries SET last_used = now(), importance_score = 0.5 WHERE entry_id = ANY(%s)"
        self._database.execute(used, (self._some("memory_entries", "entry_id", user),))

    async def _lets_entries_expire(self, user: AsyncUser) -> None:
        expired = "UPDATE memory_entries SET expires_at = now() - interval '1 s' WHERE entry_id = ANY(%s)"
        self._database.execute(expired, (self._some("memory_entries", "entry_id", user),))
        if self._lot.random() < 0.5:
            await self._memory.maintain()

    async def _forgets_an_entry(self, user: AsyncUser) -> None:
        for entry in (await user.entries.list())[:1]:
            await user.entries.forget(str(entry.entry_id))

    async def _writes_a_document(self, user: AsyncUser) -> None:
        """Of few sections, in another order and under other headings each time."""
        sections = [f"{topic} is all that it is about. " * 60 for topic in TOPICS[:5]]
        chosen = self._lot.sample(sections, 3)
        text = "\n\n".join(f"# {self._lot.choice(TOPICS[:3])}\n\n{section}" for section in chosen)
        await user.documents.add(text, title=self._lot.choice(["Sea", "Land"]), uri="file:///notes.md")

    async def _forgets_a_document(self, user: AsyncUser) -> None:
        for document in await user.documents.list():
            await user.documents.forget(document.document_id)

    async def _sets_a_context(self, user: AsyncUser) -> None:
        type = self._lot.choice(["project", "user_info", "working"])
        ends = self._lot.choice([None, datetime.now(UTC) + DAY])
        key = self._lot.choice(["last_trip", "last_meal"])
        await user.chat(self._session()).contexts.set(type, key, self._phrase(3), expires_at=ends)

    async def _forgets_a_context(self, user: AsyncUser) -> None:
        if await user.sessions.get("monday"):
            await user.chat("monday").contexts.forget("project")

    async def _rewrites_messages(self, user: AsyncUser) -> None:
        """By hand; also who says it, and when."""
        change = self._lot.choice(
            [
                sql.SQL(""),
                sql.SQL(", role = 'ai'"),
                sql.SQL(", metadata = {}::jsonb").format('{"speaker": "Nora"}'),
                sql.SQL(", timestamp = {}").format(self._moment()),
            ]
        )
        for changed in self._some("conversation_messages", "message_id", user):
            written = sql.SQL("content = {0}, content_hash = ltst_sha256({0}) {1}").format(self._phrase(), change)
            query = sql.SQL("UPDATE conversation_messages SET {} WHERE message_id = {}")
            self._database.execute(query.format(written, changed))

    async def _deletes_a_message(self, user: AsyncUser) -> None:
        gone = self._some("conversation_messages", "message_id", user)[:1]
        self._database.execute("DELETE FROM conversation_messages WHERE message_id = ANY(%s)", (gone,))

    async def _searches(self, user: AsyncUser) -> None:
        await user.search(self._phrase(2))

    async def _indexes(self, user: AsyncUser) -> None:
        if self._lot.random() < 0.5:
            await index_words(self._memory._core.database, user.user_id)
        else:
            await self._memory.settle()


@pytest.mark.parametrize("seed", range(4))
async def test_it_is_what_would_be_built_from_nothing(memory: AsyncMemory, database: Connection, seed: int) -> None:
    await Life(memory, database, seed).goes_on(STEPS)
    await memory.settle()
    assert value(database, "SELECT count(*) FROM search_due") == 0
    kept = read(database)
    assert kept.units.keys() == {
        (user, str(row)) for user, row in database.execute("SELECT user_id, row_id FROM search_sources")
    }
    vectored = {str(row) for (row,) in database.execute("SELECT row_id FROM search_sources WHERE vectored")}
    assert {row for _, row, part in kept.vectors if part == 0} == vectored
    assert kept.units and kept.postings
    assert_same(kept, await rebuilt(memory, database))
    assert value(database, "SELECT count(*) FROM search_due") == 0


def words_of(database: Connection, row_id: str) -> set[str]:
    """The terms under which a row stands."""
    return {term for (_, row, term), count in read(database).postings.items() if row == row_id and count}


async def test_a_deleted_message_leaves_none_of_its_words(memory: AsyncMemory, database: Connection) -> None:
    chat = memory.user("ana").chat("monday")
    kept = await chat.add("user", "The harbour is full of pelicans.")
    gone = await chat.add("user", "The zeppelin flies over the harbour.")
    await memory.settle()
    assert {"zeppelin", "harbour"} <= words_of(database, str(gone.message_id))
    before = words_of(database, str(kept.message_id))
    database.execute("DELETE FROM conversation_messages WHERE message_id = %s", (gone.message_id,))
    assert words_of(database, str(kept.message_id)) == before
    assert {row for _, row, _ in read(database).postings} == {str(kept.message_id)}
    assert value(database, "SELECT count(*) FROM search_terms WHERE term = 'zeppelin'") == 0
    assert {row for _, row, _ in read(database).vectors} == {str(kept.message_id)}
    assert value(database, "SELECT units FROM search_users") == 1


async def test_an_erased_user_leaves_nothing(memory: AsyncMemory, database: Connection) -> None:
    for name in USERS:
        user = memory.user(name)
        await user.chat("monday").add("user", "A ship.", metadata={"speaker": "Caroline"})
        await user.facts.set("transport", "ship")
        await user.chat("monday").contexts.set("project", "ship", "It leaves.")
        await memory.settle(name)
        await user.chat("monday").add("user", "What is due is erased, too.")
    names = index_tables(database)
    counted = {
        name: sql.SQL("SELECT count(*) FROM {} WHERE user_id = %s").format(sql.Identifier(name)) for name in names
    }
    before = {name: (value(database, query, "ana"), value(database, query, "eve")) for name, query in counted.items()}
    assert len(names) >= 5
    assert all(mine and theirs for mine, theirs in before.values())
    receipt = await memory.user("ana").erase()
    for name, query in counted.items():
        assert receipt.removed[name] == before[name][0]
        assert value(database, query, "ana") == 0
        assert value(database, query, "eve") == before[name][1]


async def test_each_row_has_one_number_however_many_index_at_once(
    memory: AsyncMemory, settings: Settings, database: Connection
) -> None:
    count = WORDED + 17
    given = [{"role": "user", "content": f"{TOPICS[number % 16]} {number}"} for number in range(count)]
    await memory.user("ana").chat("monday").add_many(given)
    embedder = CallableEmbedder(hashed, "hashed", 384, longest=300)
    async with AsyncMemory(settings=settings, embedder=embedder) as other:
        databases = [memory._core.database, other._core.database] * 2
        await asyncio.gather(*(index_words(each, "ana") for each in databases))
        await asyncio.gather(memory.settle("ana"), other.settle("ana"))
    count = value(database, "SELECT count(*) FROM search_sources")  # with what is stated in them
    numbers = [number for (number,) in database.execute("SELECT unit_no FROM search_units ORDER BY unit_no")]
    assert numbers == [*range(count)]
    assert database.execute("SELECT units, next_unit FROM search_users").fetchone() == (count, count)
    assert value(database, "SELECT count(DISTINCT row_id) FROM search_units") == count
    assert_same(read(database), await rebuilt(memory, database))


async def test_indexing_writes_nothing_to_the_rows_it_reads(memory: AsyncMemory, database: Connection) -> None:
    versions = """
    SELECT message_id, ctid, xmin::text FROM conversation_messages
    UNION ALL SELECT chunk_id, ctid, xmin::text FROM document_chunks
    UNION ALL SELECT fact_id, ctid, xmin::text FROM user_facts ORDER BY 1
    """
    user = memory.user("ana")
    await user.chat("monday").add_many([{"role": "user", "content": f"A {topic} far away."} for topic in TOPICS])
    await user.documents.add("The harbour. " * 300)
    await user.facts.set("home", "Lisbon")
    written = database.execute(versions).fetchall()
    await memory.settle()
    assert read(database).vectors
    assert database.execute(versions).fetchall() == written


@pytest.mark.parametrize("verb", ["add_words", "add_vectors"])
async def test_a_row_that_is_rewritten_while_it_is_indexed_ends_with_its_new_words(
    memory: AsyncMemory, database: Connection, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    said = await memory.user("ana").chat("monday").add("user", "A ship lies in the harbour.")
    write, changes = getattr(search, verb), iter(["A violin plays.", "A tooth aches."])

    async def overtaken(*args: Any) -> Any:
        """The words are made, and before they are written the row says something else."""
        for content in changes:
            rewrite = "UPDATE conversation_messages SET content = %s WHERE message_id = %s"
            database.execute(rewrite, (content, said.message_id))
            break
        return await write(*args)

    monkeypatch.setattr(index.search, verb, overtaken)
    await memory.settle("ana")
    found = words_of(database, str(said.message_id))
    assert "ship" not in found
    assert "tooth" in found
    hits = await memory.user("ana").search("tooth")
    assert [hit.content for hit in hits] == ["A tooth aches."]
    assert_same(read(database), await rebuilt(memory, database))


async def test_what_is_only_called_otherwise_has_other_words_and_keeps_a_vector_that_was_given(
    memory: AsyncMemory, database: Connection
) -> None:
    """That goes with the content alone."""
    given = ConversationMessage("monday", "user", "A ship.", metadata={"speaker": "Caroline"}, embedding=[0.5] * 384)
    said = await memory.user("ana").chat("monday").store(given)
    await memory.settle()
    row, before = str(said.message_id), read(database)
    rename = "UPDATE conversation_messages SET metadata = jsonb_build_object('speaker', 'Nora') WHERE message_id = %s"
    database.execute(rename, (row,))
    assert words_of(database, row) == set(), "at once"
    await memory.settle()
    after = read(database)
    assert "nora" in words_of(database, row)
    assert "carolin" not in {term[:7] for term in words_of(database, row)}
    assert after.speakers == {("ana", "Nora"): 1}
    assert after.vectors == before.vectors


async def test_a_search_finds_the_newest_by_words_while_many_have_none(
    memory: AsyncMemory, database: Connection
) -> None:
    user = memory.user("ana")
    given = [{"role": "user", "content": f"{TOPICS[number % 16]} number {number}"} for number in range(5 * WORDED)]
    await user.chat("import").add_many(given)
    said = await user.chat("monday").add("user", "A zeppelin over the harbour.")
    fact = await user.facts.set("aircraft", "zeppelin")
    hits = await user.search("zeppelin", limit=2)
    assert {hit.id for hit in hits} == {said.message_id, fact.fact_id}
    assert value(database, "SELECT count(*) FROM search_due WHERE stage = 0") > WORDED
    assert (await user.search(f"number {5 * WORDED - 1}", limit=1))[0].content == given[-1]["content"]


async def test_what_no_index_would_hold_keeps_nothing_from_being_found(
    memory: AsyncMemory, database: Connection
) -> None:
    """A name of any length, a hash that is none, an importance that is nearly nothing."""
    user, lot = memory.user("ana"), random.Random(1)
    name = "".join(chr(lot.randrange(0x4E00, 0x9FFF)) for _ in range(5_000))
    await user.chat("monday").add("user", "A ship under sail.", metadata={"speaker": name})
    said = await user.chat("monday").add("user", "A ship at anchor.")
    rewrite = "UPDATE conversation_messages SET content_hash = 'a hash' WHERE message_id = %s"
    database.execute(rewrite, (said.message_id,))
    await user.entries.add("A ship in dock.", importance=5e-324)
    found = {"A ship under sail.", "A ship at anchor.", "A ship in dock."}
    assert {hit.content for hit in await user.search("ship")} == found
    await memory.settle()
    assert {hit.content for hit in await user.search("ship")} == found
    assert_same(read(database), await rebuilt(memory, database))


LOOK = """
SELECT looked, length(units) > 0, length(dense) > 0 FROM ltst_look(
    'ana', 'no', true, 'hashed', %s::real[], 'harbour', NULL, %s::jsonb, 2000, 100, 2000)
"""
FETCHED = """
SELECT relname::text, idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables
WHERE relname IN ('search_units', 'search_vectors')
"""


async def test_a_search_reads_no_row_of_the_tables_whose_rows_alternate(
    memory: AsyncMemory, database: Connection
) -> None:
    """Each would cost a page; of what a vacuum has seen, all that is ranked lies in the indexes."""
    for start in range(0, 160, 20):
        for name in ("ana", *"bcdef"):
            said = [f"the harbour at {start + number}, and the ship" for number in range(20)]
            await memory.user(name).chat("monday").add_many({"role": "assistant", "content": each} for each in said)
            await index.index_due(memory._core.database, name, await memory._core.embedding(), parts=1)
    for table in ("search_units", "search_vectors"):
        database.execute(f"VACUUM (ANALYZE) {table}")
    (vector,) = hashed(["harbour"])
    for filters in ({}, {"since": "2020-01-01T00:00:00Z"}):
        with database.transaction():
            given = [*map(float, vector)], json.dumps({"kinds": ["message"], **filters})
            assert database.execute(LOOK, given).fetchall() == [(True, True, True)]
            database.execute("RESET ROLE")
            assert dict(database.execute(FETCHED).fetchall()) == {"search_units": 0, "search_vectors": 0}
