"""The retrieval cache: the same search is answered from it until the memory changes, and it tells nobody anything.

A search that was answered from the cache is known by a trick: the row is emptied by hand, so that whoever is served
from it finds nothing.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from helpers.embedders import hashed, opened
from helpers.probes import Connection, holding, pass_time, superuser, value
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, ConversationMessage, Settings
from ltst.handles import desk
from ltst.rooms import cache, search

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = "SELECT count(*) FROM memory_retrieval_cache WHERE user_id = %s"
EMPTY = "UPDATE memory_retrieval_cache SET retrieved_context = '[]' WHERE user_id = %s"
HITS = "SELECT sum(cache_hit_count) FROM memory_retrieval_cache WHERE user_id = %s"
BEGIN_WRITING = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 2))"
ADD_EVENT = "INSERT INTO event_ledger (user_id, actor, action, noun, row_id) VALUES (%s, 'hand', 'add', 'message', 'x')"
ADD_MESSAGE = """
INSERT INTO conversation_messages (user_id, session_id, role, content) VALUES (%s, 'monday', 'human', 'apple by hand')
"""
UNITS = "SELECT unit_no, row_id::text FROM search_units WHERE user_id = %s"
GATE = 4711
GATED = """
CREATE OR REPLACE FUNCTION ltst_is_due(whose TEXT) RETURNS BOOLEAN LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(4711);
    RETURN false;
END $$
"""
WAITING = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted)"
HOUR = timedelta(hours=1)


@pytest.fixture
def database(url: str) -> Iterator[Connection]:
    with superuser(url) as connection:
        yield connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(module_settings: Settings) -> AsyncIterator[AsyncMemory]:
    async with opened(module_settings) as made:
        yield made


async def furnish(user: AsyncUser) -> None:
    """Something of every kind about apples, and something else to delete."""
    await user.chat("monday").add("user", "The apple is red.")
    await user.chat("other").add("user", "A pear.", key="pear")
    await user.facts.set("fruit", "apple")
    await user.facts.set("drink", "tea")
    await user.entries.add("An apple a day.")
    await user.documents.add("How to bake an apple pie")


async def asked(memory: AsyncMemory, user: AsyncUser, query: str = "apple", **others: Any) -> list[str]:
    """What a search finds, once what it left for later is done."""
    found = [hit.content for hit in await user.search(query, **others)]
    await memory._core.finish()
    return found


async def served_from_cache(memory: AsyncMemory, user: AsyncUser, database: Connection, **others: Any) -> bool:
    """Whether the search, whose answer is not empty, is answered from the cache."""
    database.execute(EMPTY, (user.user_id,))
    return not await asked(memory, user, **others)


class TestUse:
    async def test_the_same_search_twice(self, memory: AsyncMemory, user: AsyncUser, database: Connection) -> None:
        await furnish(user)
        first = await user.search("apple")
        await memory._core.finish()
        assert (value(database, ROWS, user.user_id), value(database, HITS, user.user_id)) == (1, 0)
        assert await user.search("apple") == first
        await memory._core.finish()
        assert (value(database, ROWS, user.user_id), value(database, HITS, user.user_id)) == (1, 1)
        assert await served_from_cache(memory, user, database)

    async def test_it_is_counted(self, settings: Settings) -> None:
        async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
            user = memory.user("ana")
            await furnish(user)
            for _ in range(4):
                await asked(memory, user)
            (searches,) = [each for each in (await memory.stats()).operations if each.name == "search"]
            assert (searches.count, searches.cache_hit_rate) == (4, 0.75)
            with superuser(memory.database_url) as database:
                rows = database.execute(
                    "SELECT operation_type, cache_hit FROM memory_performance_metrics WHERE operation_name = 'search' "
                    "ORDER BY created_at"
                ).fetchall()
        assert rows == [("context_search", False)] + [("context_search", True)] * 3

    async def test_an_empty_answer_is_kept_too(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        await furnish(user)
        assert await asked(memory, user, "zeppelin", floor=0.9) == []
        assert await asked(memory, user, "zeppelin", floor=0.9) == []
        assert value(database, HITS, user.user_id) == 1

    async def test_the_row_tells_what_it_is_of(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        await furnish(user)
        hits = await user.search("apple", session_id="monday")
        await memory._core.finish()
        columns = "session_id, retrieved_context, relevance_scores, retrieval_time_ms, length(query_hash), version"
        (row,) = database.execute(f"SELECT {columns} FROM memory_retrieval_cache WHERE user_id = %s", (user.user_id,))
        session, context, scores, milliseconds, length, version = row
        assert (session, length) == ("monday", 64)
        units = dict(database.execute(UNITS, (user.user_id,)).fetchall())
        assert [units[each["key"]] for each in context] == [hit.id for hit in hits]
        assert {units[int(key)]: score for key, score in scores.items()} == {
            hit.id: pytest.approx(hit.score) for hit in hits
        }
        assert milliseconds > 0
        newest = value(database, "SELECT max(event_id) FROM event_ledger WHERE user_id = %s", user.user_id)
        assert version == newest

    async def test_other_searches_have_answers_of_their_own(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        await furnish(user)
        past = datetime(2020, 1, 1, tzinfo=UTC)
        others: list[dict[str, Any]] = [
            {},
            {"query": "Apple"},
            {"kinds": ["message"]},
            {"limit": 11},
            {"session_id": "monday"},
            {"since": past},
            {"until": datetime.now(UTC) + HOUR},
            {"where": {"a": 1}},
            {"where": {"a": {"gt": 1}}},
            {"floor": 0.0},
            {"now": datetime.now(UTC)},
        ]
        answers = [await asked(memory, user, **each) for each in others]
        assert value(database, ROWS, user.user_id) == len(others)
        assert [await asked(memory, user, **each) for each in others] == answers
        assert value(database, HITS, user.user_id) == len(others)

    async def test_a_context_uses_it(self, memory: AsyncMemory, user: AsyncUser, database: Connection) -> None:
        await furnish(user)
        for _ in range(2):
            await user.chat("new").context("apple")
            await memory._core.finish()
        assert value(database, HITS, user.user_id) == 1

    async def test_it_is_good_for_an_hour(self, memory: AsyncMemory, user: AsyncUser, database: Connection) -> None:
        await furnish(user)
        await asked(memory, user)
        lives = "SELECT expires_at - created_at FROM memory_retrieval_cache WHERE user_id = %s"
        assert value(database, lives, user.user_id) == HOUR
        assert await served_from_cache(memory, user, database)
        expire = "UPDATE memory_retrieval_cache SET expires_at = now() - interval '1 s' WHERE user_id = %s"
        database.execute(expire, (user.user_id,))
        assert await asked(memory, user)
        assert value(database, lives, user.user_id) >= HOUR, "kept anew"
        assert await served_from_cache(memory, user, database)

    async def test_what_has_expired_is_cleaned_away(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        await furnish(user)
        await asked(memory, user)
        await asked(memory, user, "pear")
        expire = "UPDATE memory_retrieval_cache SET expires_at = now() WHERE user_id = %s AND query_hash = %s"
        kept = value(database, "SELECT min(query_hash) FROM memory_retrieval_cache WHERE user_id = %s", user.user_id)
        database.execute(expire, (user.user_id, kept))
        assert (await memory.maintain())["cache_expired"] >= 1
        assert value(database, ROWS, user.user_id) == 1


Write = Callable[[AsyncUser], Awaitable[Any]]


async def restore(user: AsyncUser) -> None:
    await user.restore({"format": "ltst", "version": 1, "sessions": [], "messages": []})


async def forget_entry(user: AsyncUser) -> None:
    (entry,) = await user.entries.list()
    assert await user.entries.forget(str(entry.entry_id))


async def forget_document(user: AsyncUser) -> None:
    (document,) = await user.documents.list()
    assert await user.documents.forget(document.document_id)


WRITES: dict[str, Write] = {
    "add": lambda user: user.chat("monday").add("user", "Another apple."),
    "add to a new session": lambda user: user.chat("new").add("user", "Another apple."),
    "add_many": lambda user: user.chat("monday").add_many([{"role": "user", "content": "Another apple."}]),
    "add_interaction": lambda user: user.chat("monday").add_interaction("An apple?", "An apple."),
    "store": lambda user: user.chat("monday").store(ConversationMessage("monday", "user", "Another apple.")),
    "fork": lambda user: user.chat("monday").fork(),
    "sessions.delete": lambda user: user.sessions.delete("other"),
    "sessions.link": lambda user: user.sessions.link("monday", "other"),
    "facts.set": lambda user: user.facts.set("fruit", "a green apple"),
    "facts.set of a new key": lambda user: user.facts.set("tree", "apple"),
    "facts.reject": lambda user: user.facts.reject("drink", "tea"),
    "facts.forget": lambda user: user.facts.forget("drink"),
    "entries.add": lambda user: user.entries.add("Another apple."),
    "entries.forget": forget_entry,
    "documents.add": lambda user: user.documents.add("Another apple."),
    "documents.forget": forget_document,
    "restore": restore,
}


class TestWrites:
    @pytest.mark.parametrize("verb", WRITES)
    async def test_every_write_of_the_user_ends_it(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection, verb: str
    ) -> None:
        await furnish(user)
        await asked(memory, user)
        assert await served_from_cache(memory, user, database)
        await WRITES[verb](user)
        assert not await served_from_cache(memory, user, database)
        assert await served_from_cache(memory, user, database), "the new answer is kept"

    async def test_a_message_that_was_there_already_changes_nothing(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        await furnish(user)
        await asked(memory, user)
        await user.chat("other").add("user", "A pear.", key="pear")
        assert await served_from_cache(memory, user, database)

    async def test_an_erasure_removes_it(self, memory: AsyncMemory, user: AsyncUser, database: Connection) -> None:
        await furnish(user)
        await asked(memory, user)
        receipt = await user.erase()
        assert receipt.removed["memory_retrieval_cache"] == 1
        assert value(database, ROWS, user.user_id) == 0
        assert await asked(memory, user) == []

    @pytest.mark.parametrize("statement", ["INSERT", "DELETE"])
    async def test_a_write_through_the_view_of_langchain_ends_it(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection, statement: str
    ) -> None:
        await furnish(user)
        await asked(memory, user)
        with database.transaction():
            database.execute("SELECT set_config('ltst.user_id', %s, true)", (user.user_id,))
            if statement == "INSERT":
                message = '{"type": "human", "data": {"content": "An apple from the chain."}}'
                database.execute(
                    "INSERT INTO chat_message_history (session_id, message) VALUES ('monday', %s)", (message,)
                )
            else:
                database.execute("DELETE FROM chat_message_history WHERE session_id = 'other'")
        assert not await served_from_cache(memory, user, database)

    async def test_a_message_inserted_by_hand_is_found(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        """No event tells of it; but it lacks its words, and so the memory has changed."""
        await furnish(user)
        assert "apple by hand" not in await asked(memory, user)
        database.execute(ADD_MESSAGE, (user.user_id,))
        assert "apple by hand" in await asked(memory, user)

    async def test_expiry_by_maintenance_ends_it(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        await furnish(user)
        await user.entries.add("A rotten apple.", expires_at=datetime.now(UTC) + HOUR)
        await asked(memory, user)
        expire = "UPDATE memory_entries SET expires_at = now() WHERE user_id = %s AND content = 'A rotten apple.'"
        database.execute(expire, (user.user_id,))
        assert "A rotten apple." not in await asked(memory, user)
        await memory.maintain()
        assert not await served_from_cache(memory, user, database)

    async def test_a_fact_that_begins_to_hold_meanwhile_is_found(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        """A change that was announced for later comes without a write."""
        await user.facts.set("fruit", "an apple")
        half = HOUR / 2  # of what the cache keeps at most
        await user.facts.set("fruit", "an apricot", valid_from=datetime.now(UTC) + half)
        assert await asked(memory, user, "fruit") == ["fruit: an apple"]
        passed = "UPDATE user_facts SET valid_from = valid_from - %s, valid_to = valid_to - %s WHERE user_id = %s"
        database.execute(passed, (half, half, user.user_id))
        pass_time(database, "memory_retrieval_cache", user.user_id, half)
        assert await asked(memory, user, "fruit") == ["fruit: an apricot"]


class TestTwoUsers:
    async def test_a_write_of_another_user_leaves_it(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        other = memory.user(f"user-{uuid.uuid4().hex}")
        for each in (user, other):
            await furnish(each)
        await asked(memory, user)
        await other.chat("monday").add("user", "Another apple.")
        await other.sessions.delete("other")
        await asked(memory, other)
        assert await served_from_cache(memory, user, database)
        await other.erase()
        assert await served_from_cache(memory, user, database)

    async def test_another_user_never_gets_it(self, memory: AsyncMemory, user: AsyncUser, database: Connection) -> None:
        other = memory.user(f"user-{uuid.uuid4().hex}")
        await furnish(user)
        mine = {hit.id for hit in await user.search("apple")}
        await memory._core.finish()
        assert await asked(memory, other) == []
        await furnish(other)
        theirs = {hit.id for hit in await other.search("apple")}
        await memory._core.finish()
        assert mine and theirs
        assert not mine & theirs
        keys = "SELECT count(DISTINCT cache_key), count(*) FROM memory_retrieval_cache WHERE user_id IN (%s, %s)"
        assert database.execute(keys, (user.user_id, other.user_id)).fetchone() == (1, 2)

    async def test_numbers_of_another_user_in_it_lead_nowhere(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection
    ) -> None:
        """Even a row that was forged holds numbers alone, and they are looked up as the user: one's own, or nothing."""
        other = memory.user(f"user-{uuid.uuid4().hex}")
        forge = (
            "UPDATE memory_retrieval_cache SET retrieved_context = theirs.retrieved_context "
            "FROM memory_retrieval_cache AS theirs WHERE memory_retrieval_cache.user_id = %s AND theirs.user_id = %s"
        )
        await furnish(user)
        await asked(memory, user)
        await other.chat("diary").add("user", "A secret apple.")
        await other.facts.set("secret", "apple")
        assert len(await asked(memory, other)) == 2
        database.execute(forge, (user.user_id, other.user_id))
        mine = {row_id for _, row_id in database.execute(UNITS, (user.user_id,))}
        hits = await user.search("apple")
        assert hits, "from the cache, by numbers that both have"
        assert {hit.id for hit in hits if hit.kind != "document"} <= mine
        assert not [hit for hit in hits if "secret" in hit.content]
        shift = "UPDATE search_units SET unit_no = unit_no + 100 WHERE user_id = %s"
        database.execute(shift, (user.user_id,))
        assert await asked(memory, user) == [], "numbers that only the other has"


async def test_what_was_found_before_a_write_is_not_written_to_it(
    memory: AsyncMemory, user: AsyncUser, database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be refused as old; others' searches are kept all the same."""
    written, put = list[str](), cache.put

    async def noted(tx: Any, found: Any, hours: float) -> None:
        written.extend(each.user_id for each in found)
        await put(tx, found, hours)

    monkeypatch.setattr(cache, "put", noted)
    monkeypatch.setattr(desk, "GATHERING_SECONDS", 3600.0)  # until it is told to finish
    other = memory.user(f"user-{uuid.uuid4().hex}")
    for each in (user, other):
        await furnish(each)
        await each.search("apple")
    await user.chat("monday").add("user", "And now a plum.")
    await memory._core.finish()
    assert written == [other.user_id]
    assert (value(database, ROWS, user.user_id), value(database, ROWS, other.user_id)) == (0, 1)


async def test_it_holds_no_content(memory: AsyncMemory, user: AsyncUser, database: Connection) -> None:
    mark = "CONTENTxyzzy"
    await user.chat("monday").add("user", f"{mark} in a message")
    await user.facts.set("note", f"{mark} in a fact")
    await user.entries.add(f"{mark} in an entry")
    await user.documents.add(f"{mark} in a document")
    await user.chat("other").add("user", "Something else.")
    hits = await user.search(f"{mark} QUERYxyzzy")
    await memory._core.finish()
    assert {hit.kind for hit in hits if mark in hit.content} == {"message", "fact", "entry", "document"}
    assert value(database, ROWS, user.user_id) == 1
    for words in (mark, mark.lower(), "QUERYxyzzy", "queryxyzzy"):
        assert not [each for each in holding(database, words) if each.startswith("memory_retrieval_cache")]


class TestWritersMeanwhile:
    async def test_a_write_that_is_not_over_is_not_hidden_afterwards(
        self, memory: AsyncMemory, user: AsyncUser, url: str, database: Connection
    ) -> None:
        """Its event has a lower number than that of a write which began later and ended sooner."""
        await furnish(user)
        with psycopg.connect(url) as slow:
            slow.execute(BEGIN_WRITING, (user.user_id,))
            slow.execute(ADD_EVENT, (user.user_id,))
            await user.chat("other").add("user", "A faster apple.")
            found = await asked(memory, user)
            assert "A faster apple." in found
            assert "apple by hand" not in found
            assert value(database, ROWS, user.user_id) == 0, "nothing is kept while someone writes"
            slow.execute(ADD_MESSAGE, (user.user_id,))
        assert "apple by hand" in await asked(memory, user)

    async def test_the_same_for_a_search_that_was_kept_before(
        self, memory: AsyncMemory, user: AsyncUser, url: str
    ) -> None:
        await furnish(user)
        await asked(memory, user)
        with psycopg.connect(url) as slow:
            slow.execute(BEGIN_WRITING, (user.user_id,))
            slow.execute(ADD_EVENT, (user.user_id,))
            slow.execute(ADD_MESSAGE, (user.user_id,))
            assert "apple by hand" not in await asked(memory, user)
        assert "apple by hand" in await asked(memory, user)

    async def test_a_writer_of_another_user_is_none(
        self, memory: AsyncMemory, user: AsyncUser, url: str, database: Connection
    ) -> None:
        await furnish(user)
        with psycopg.connect(url) as slow:
            slow.execute(BEGIN_WRITING, (f"{user.user_id}-other",))
            await asked(memory, user)
        assert value(database, ROWS, user.user_id) == 1

    async def test_a_write_that_comes_while_a_search_is_on_its_way(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await furnish(user)
        look = search.look

        async def interrupted(*args: Any, **others: Any) -> Any:
            found = await look(*args, **others)
            if found.looked:
                await user.chat("monday").add("user", "A late apple.")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(search, "look", interrupted)
            assert "A late apple." not in await asked(memory, user)
        assert value(database, ROWS, user.user_id) == 0
        assert "A late apple." in await asked(memory, user)

    async def test_a_write_that_ends_while_a_search_is_on_its_way(
        self, memory: AsyncMemory, user: AsyncUser, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It began before, with a lower number than the newest that the search knows."""
        await furnish(user)
        look = search.look
        with psycopg.connect(url) as slow:
            slow.execute(BEGIN_WRITING, (user.user_id,))
            slow.execute(ADD_EVENT, (user.user_id,))
            slow.execute(ADD_MESSAGE, (user.user_id,))
            await user.chat("other").add("user", "A faster apple.")

            async def meanwhile(*args: Any, **others: Any) -> Any:
                if others["anyway"]:
                    slow.commit()
                return await look(*args, **others)

            with monkeypatch.context() as patch:
                patch.setattr(search, "look", meanwhile)
                await asked(memory, user)
        assert "apple by hand" in await asked(memory, user)

    async def test_a_write_that_ends_while_the_database_looks(
        self, memory: AsyncMemory, user: AsyncUser, url: str, database: Connection
    ) -> None:
        """The same, after the look has seen the version, and before it asks who is writing."""
        await furnish(user)
        await memory.settle(user.user_id)
        ungated = value(database, "SELECT pg_get_functiondef('ltst_is_due'::regproc)")
        with psycopg.connect(url) as slow, superuser(url) as gate:
            slow.execute(BEGIN_WRITING, (user.user_id,))
            slow.execute(ADD_EVENT, (user.user_id,))
            slow.execute("DELETE FROM conversation_sessions WHERE user_id = %s", (user.user_id,))
            await user.preferences.set("colour", "red")
            gate.execute("SELECT pg_advisory_lock(%s)", (GATE,))
            database.execute(GATED)
            try:
                searching = asyncio.create_task(asked(memory, user))
                while not value(database, WAITING, GATE):  # noqa: ASYNC110 - only the database knows
                    await asyncio.sleep(0.01)
                slow.commit()
                gate.execute("SELECT pg_advisory_unlock(%s)", (GATE,))
                await searching
            finally:
                database.execute(ungated)
        there = {number for number, _ in database.execute(UNITS, (user.user_id,))}
        kept = "SELECT retrieved_context FROM memory_retrieval_cache WHERE user_id = %s"
        ((context,),) = database.execute(kept, (user.user_id,)).fetchall()
        assert {each["key"] for each in context} <= there, "what is kept is of after that write"

    async def test_an_erasure_that_comes_before_the_answer_is_kept(
        self,
        memory: AsyncMemory,
        user: AsyncUser,
        url: str,
        database: Connection,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What a search leaves for later must not outlive its user."""
        await furnish(user)
        erasing, put = asyncio.Event(), cache.put

        async def late(*args: Any) -> None:
            await erasing.wait()
            await put(*args)

        with monkeypatch.context() as patch:
            patch.setattr(cache, "put", late)
            await user.search("apple")
            with psycopg.connect(url) as eraser:
                tables = ["memory_retrieval_cache", "event_ledger", "conversation_sessions"]
                eraser.execute("SELECT * FROM ltst_erase_user(%s, %s)", (user.user_id, tables))
                erasing.set()
                # The answer is kept now, or waits for the erasure to end.
                await asyncio.wait(memory._core._tasks, timeout=1)
            await memory._core.finish()
        assert value(database, ROWS, user.user_id) == 0


class TestDays:
    @staticmethod
    def on(patch: pytest.MonkeyPatch, moment: datetime) -> None:
        patch.setattr("ltst.handles.recall.now", lambda: moment)

    @pytest.mark.parametrize("query", ["apple yesterday", "which apple did I eat last week?", "apple three days ago"])
    async def test_yesterdays_answer_about_yesterday_is_not_todays(
        self,
        memory: AsyncMemory,
        user: AsyncUser,
        database: Connection,
        monkeypatch: pytest.MonkeyPatch,
        query: str,
    ) -> None:
        await furnish(user)
        today = datetime.now(UTC).replace(hour=12)
        self.on(monkeypatch, today)
        await asked(memory, user, query)
        self.on(monkeypatch, today + timedelta(hours=1))
        assert await served_from_cache(memory, user, database, query=query), "on the same day it is"
        self.on(monkeypatch, today + timedelta(days=1))
        assert not await served_from_cache(memory, user, database, query=query)

    async def test_a_question_without_a_date_is_the_same_on_any_day(
        self, memory: AsyncMemory, user: AsyncUser, database: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await furnish(user)
        today = datetime.now(UTC)
        self.on(monkeypatch, today)
        await asked(memory, user)
        self.on(monkeypatch, today + timedelta(days=1))
        assert await served_from_cache(memory, user, database)
