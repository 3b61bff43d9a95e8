"""Export, restore and erase: all that a user owns, out whole, in again whole, gone whole."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ltst
from helpers.citus import by_hand
from helpers.household import SECRET_KEY, day, furnish
from helpers.probes import Connection, counts, holding, superuser, tables, value
from helpers.waiting import eventually, soon
from ltst import AsyncMemory, Memory, Settings, User
from ltst.indexing.index import index_due, index_words

NOUNS = {
    "sessions", "messages", "contexts", "relationships", "facts", "preferences", "instructions", "entries",
    "documents", "chunks", "items", "retention", "claims", "statements", "learning",
}  # fmt: skip
MISSING = "01900000-0000-7000-8000-000000000000"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Connection]:
    with superuser(url) as connection:
        yield connection


@pytest.fixture(scope="module")
def exported(shared: Memory) -> Document:
    """What a user with something of everything exports, as it comes back from JSON."""
    user = shared.user("rich")
    furnish(user, "rich")
    return dict(json.loads(json.dumps(user.export())))


@pytest.fixture
def newcomer(shared: Memory) -> User:
    return shared.user(f"newcomer-{uuid.uuid4().hex}")


def as_of(user: User, document: Document) -> Document:
    return {**document, "user_id": user.user_id}


def test_an_export_holds_something_of_every_noun(exported: Document) -> None:
    assert exported.keys() == NOUNS | {"format", "version", "user_id", "notes"}
    assert (exported["format"], exported["version"], exported["user_id"]) == ("ltst", 1, "rich")
    assert all(exported[noun] for noun in NOUNS)
    assert not any("user_id" in row or "embedding" in row for noun in NOUNS for row in exported[noun])


def test_an_export_holds_forks_parents_archives_rejections_and_secrets(exported: Document) -> None:
    assert {each["session_id"]: each["status"] for each in exported["sessions"]} == {
        "monday": "active",
        "branch": "active",
        "old": "archived",
        "typed": "active",
    }
    assert {each["relationship_type"] for each in exported["relationships"]} == {"fork", "continuation"}
    assert sum(each["parent_message_id"] is not None for each in exported["messages"]) == 2
    assert sum(each["rejected_at"] is not None for each in exported["facts"]) == 2
    assert {each["preference_key"]: each["preference_value"] for each in exported["preferences"]} == {
        "editor": "rich vim",
        SECRET_KEY: "rich secret",
    }
    assert [each["version"] for each in exported["instructions"]] == [1, 2, 1]


def test_an_export_of_nothing_is_empty(newcomer: User) -> None:
    assert newcomer.export() == {
        "format": "ltst",
        "version": 1,
        "user_id": newcomer.user_id,
        **{noun: [] for noun in NOUNS},
        "notes": [],
    }


def test_an_export_is_restored_identically_in_an_empty_database_with_another_master_key(
    exported: Document, database_url: str, tmp_path: Path
) -> None:
    with Memory(settings=Settings(worker=False, database_url=database_url, home=tmp_path / "other")) as elsewhere:
        user = elsewhere.user("rich")
        added = user.restore(exported)
        assert added == {noun: len(exported[noun]) for noun in NOUNS}
        assert json.loads(json.dumps(user.export())) == exported
        with superuser(database_url) as connection:
            assert "user_preferences.preference_value" not in holding(connection, "rich secret")
            assert "conversation_messages.content" in holding(connection, "rich")


def test_an_export_is_restored_identically_under_another_user_id(exported: Document, newcomer: User) -> None:
    newcomer.restore(exported)
    assert json.loads(json.dumps(newcomer.export())) == as_of(newcomer, exported)


def test_restoring_twice_adds_nothing(exported: Document, newcomer: User, database: Connection) -> None:
    newcomer.restore(exported)
    before = counts(database)
    assert newcomer.restore(exported) == dict.fromkeys(NOUNS, 0)
    after = counts(database)
    assert {table for table in before if before[table] != after[table]} <= {"event_ledger"}
    assert json.loads(json.dumps(newcomer.export())) == as_of(newcomer, exported)


def test_restoring_leaves_the_user_it_came_from_alone(shared: Memory, exported: Document, newcomer: User) -> None:
    newcomer.restore(exported)
    newcomer.sessions.delete("monday")
    newcomer.facts.forget("home")
    assert json.loads(json.dumps(shared.user("rich").export())) == exported


def test_a_restored_user_can_go_on(exported: Document, newcomer: User) -> None:
    newcomer.restore(exported)
    chat = newcomer.chat("monday")
    assert chat.add("assistant", "rich noted", key="answer").message_index == 2
    assert chat.add("user", "and on it goes").message_index == 5
    assert newcomer.sessions.get("monday").session_length == 5  # type: ignore[union-attr]
    assert newcomer.preferences.get(SECRET_KEY).value == "rich secret"  # type: ignore[union-attr]
    assert newcomer.facts.get("home").value == "rich Lisbon"  # type: ignore[union-attr]
    with pytest.raises(ltst.Conflict, match="rejected"):
        newcomer.facts.set("home", "rich Paris")
    assert newcomer.instructions.set("coach", "new").version == 3
    assert newcomer.chat("branch").summary().message_count == 3


def test_what_is_there_already_stays(exported: Document, newcomer: User) -> None:
    newcomer.preferences.set("editor", "emacs")
    newcomer.facts.set("home", "Braga", valid_from=day(2010))
    newcomer.instructions.set("coach", "shout")
    newcomer.chat("own").add("user", "mine")
    newcomer.restore(exported)
    assert newcomer.preferences.get("editor").value == "emacs"  # type: ignore[union-attr]
    assert newcomer.instructions.get("coach").content == "shout"  # type: ignore[union-attr]
    assert [message.content for message in newcomer.chat("own").window()] == ["mine"]
    assert newcomer.preferences.get(SECRET_KEY).value == "rich secret"  # type: ignore[union-attr]


def test_a_session_that_goes_on_under_the_same_id_does_not_keep_the_rest_from_being_restored(
    exported: Document, newcomer: User
) -> None:
    newcomer.chat("monday").add("user", "another monday")
    added = newcomer.restore(exported)
    assert newcomer.chat("monday").history()[0].content == "another monday"
    assert (added["sessions"], added["documents"]) == (3, 1)
    assert newcomer.facts.get("home").value == "rich Lisbon"  # type: ignore[union-attr]


def test_a_document_with_the_same_text_does_not_keep_the_rest_from_being_restored(
    shared: Memory, exported: Document, newcomer: User
) -> None:
    original = shared.user("rich").documents.list()[0]
    text = shared.user("rich").documents.get(original.document_id).text  # type: ignore[union-attr]
    own = newcomer.documents.add(text, uri=original.uri)
    added = newcomer.restore(exported)
    assert (added["documents"], added["chunks"], added["sessions"]) == (0, 0, 4)
    assert newcomer.documents.get(own.document_id).text == text  # type: ignore[union-attr]


def test_a_restore_is_in_the_ledger_without_contents(exported: Document, newcomer: User) -> None:
    newcomer.restore(exported)
    (event,) = newcomer.events.list()
    assert (event.action, event.noun) == ("restore", "user")
    assert event.details == {noun: len(exported[noun]) for noun in NOUNS}


def put(noun: str, position: int, **changes: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document[noun][position].update(changes)

    return change


def drop(noun: str, position: int, column: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        del document[noun][position][column]

    return change


def secret(**changes: Any) -> Callable[[Document], None]:
    """A change of the sensitive preference; None removes."""

    def change(document: Document) -> None:
        row = next(each for each in document["preferences"] if each["sensitive"])
        row.update(changes)
        for name in [name for name, given in changes.items() if given is None]:
            del row[name]

    return change


MALFORMED: dict[str, Callable[[Document], None]] = {
    "not a list of sessions": lambda document: document.update(sessions={"a": 1}),
    "a message that is no object": lambda document: document.update(messages=["text"]),
    "another format": lambda document: document.update(format="mem0"),
    "no format": lambda document: document.pop("format") and None,
    "a newer version": lambda document: document.update(version=2),
    "no version": lambda document: document.pop("version") and None,
    "a session without an id": drop("sessions", 0, "session_id"),
    "a session with a blank id": put("sessions", 3, session_id="", session_type="x"),
    "a session with a long id": put("sessions", 3, session_id="x" * 256),
    "a message without content": drop("messages", 0, "content"),
    "a message with an unknown role": put("messages", 0, role="nobody"),
    "a message with a NUL": put("messages", 0, content="a\x00b"),
    "a message with half a surrogate pair": put("messages", 0, content="a\ud800b"),
    "a message with an id that is none": put("messages", 0, message_id="not an id"),
    "a message with a time that is none": put("messages", 0, timestamp="yesterday-ish"),
    "a message with metadata that is no object": put("messages", 0, metadata=["list"]),
    "a number that is none": put("messages", 0, relevance_score=float("nan"), metadata={"a": float("nan")}),
    "a value that JSON does not have": put("messages", 0, metadata={"a": {1, 2}}),
    "a fact without a value": drop("facts", 0, "fact_value"),
    "a fact that ends before it begins": put(
        "facts", 0, valid_from="2020-01-01T00:00:00Z", valid_to="2019-01-01T00:00:00Z"
    ),
    "a fact with too much confidence": put("facts", 0, confidence=2),
    "a preference of an unknown type": put("preferences", 0, preference_type="x"),
    "a secret without an id": secret(preference_id=None),
    "a secret without a value": secret(preference_value=None),
    "a secret with half a surrogate pair": secret(preference_value="\ud800"),
    "a secret that is no text": secret(preference_value=["list"]),
    "an instruction without a version": drop("instructions", 0, "version"),
    "an entry of an unknown type": put("entries", 0, memory_type="x"),
    "a document without a hash": drop("documents", 0, "content_hash"),
    "a chunk without content": drop("chunks", 0, "content"),
    "a policy of no time": put("retention", 0, delete_after="-1 day"),
}


@pytest.mark.parametrize("fault", sorted(MALFORMED))
def test_a_malformed_document_is_invalid_and_nothing_is_written(
    exported: Document, newcomer: User, database: Connection, fault: str
) -> None:
    document, before = copy.deepcopy(exported), counts(database)
    MALFORMED[fault](document)
    with pytest.raises(ltst.Invalid):
        newcomer.restore(document)
    assert counts(database) == before
    assert newcomer.events.list() == []


@pytest.mark.parametrize("given", [None, [], "text", 5, {}, {"format": "ltst"}, [("format", "ltst")]])
def test_what_is_no_export_is_invalid(newcomer: User, given: Any) -> None:
    with pytest.raises(ltst.Invalid):
        newcomer.restore(given)


@pytest.mark.parametrize(
    ("noun", "changes"),
    [
        ("messages", {"session_id": "nowhere"}),
        ("messages", {"parent_message_id": MISSING}),
        ("contexts", {"session_id": "nowhere"}),
        ("relationships", {"target_session_id": "nowhere"}),
        ("facts", {"source_message_id": MISSING}),
        ("chunks", {"document_id": MISSING}),
    ],
)
def test_a_document_that_refers_to_what_it_does_not_hold_is_refused_whole(
    exported: Document, newcomer: User, database: Connection, noun: str, changes: Document
) -> None:
    document, before = copy.deepcopy(exported), counts(database)
    document[noun][0].update(changes)
    with pytest.raises((ltst.Invalid, ltst.NotFound)):
        newcomer.restore(document)
    assert counts(database) == before


def test_the_user_of_a_document_has_no_say_over_whose_rows_they_become(
    shared: Memory, exported: Document, newcomer: User
) -> None:
    document = copy.deepcopy(exported)
    for noun in NOUNS:
        for row in document[noun]:
            row["user_id"] = "victim"
    newcomer.restore({**document, "user_id": "victim"})
    assert shared.user("victim").export() == {**shared.user("victim").export(), **{noun: [] for noun in NOUNS}}
    assert json.loads(json.dumps(newcomer.export())) == as_of(newcomer, exported)


def test_a_secret_survives_an_id_in_capitals(exported: Document, newcomer: User) -> None:
    document = copy.deepcopy(exported)
    row = next(each for each in document["preferences"] if each["sensitive"])
    row["preference_id"] = row["preference_id"].upper()
    newcomer.restore(document)
    assert newcomer.preferences.get(SECRET_KEY).value == "rich secret"  # type: ignore[union-attr]


async def indexed(memory: Memory, user_id: str) -> None:
    """Index all that a user has; settling would wait for the work that lies about."""
    core = memory._inner._core
    await index_due(core.database, user_id, await core.embedding(), parts=core.settings.embedded_parts)


@pytest.mark.one_server("keys to servers lie with the coordinator")
def test_a_receipt_counts_what_was_removed_and_that_nothing_remains(
    shared: Memory, newcomer: User, database: Connection
) -> None:
    furnish(newcomer, "gone")
    shared._portal.run(indexed(shared, newcomer.user_id))
    newcomer.search("gone")
    cached = "SELECT count(*) FROM memory_retrieval_cache WHERE user_id = %s"
    eventually(lambda: value(database, cached, newcomer.user_id) == 1)  # what a search found is kept a little later
    with_users = "SELECT table_name::text FROM information_schema.columns WHERE column_name = 'user_id'"
    named = {name for (name,) in database.execute(with_users).fetchall()}
    owned = [table for table in tables(database) if table in named]
    held = {
        table: value(database, f"SELECT count(*) FROM {table} WHERE user_id = %s", newcomer.user_id) for table in owned
    }
    assert held["user_keys"] == 1
    assert held["conversation_messages"] == 9
    assert held["search_units"] > 0 and held["search_terms"] > 0 and held["search_vectors"] > held["search_units"]
    receipt = newcomer.erase()
    assert receipt.removed == held
    assert receipt.remaining == dict.fromkeys(owned, 0)
    assert receipt.user_id == newcomer.user_id
    for table in owned:
        assert value(database, f"SELECT count(*) FROM {table} WHERE user_id = %s", newcomer.user_id) == 0


def test_the_digest_of_a_receipt_can_be_computed_from_the_receipt(newcomer: User) -> None:
    furnish(newcomer, "gone")
    receipt = newcomer.erase()
    proof = [
        receipt.receipt_id,
        receipt.user_id,
        receipt.erased_at.isoformat(),
        dict(receipt.removed),
        dict(receipt.remaining),
    ]
    assert hashlib.sha256(json.dumps(proof, sort_keys=True).encode()).hexdigest() == receipt.digest


def test_an_erasure_leaves_one_event_that_names_nobody(newcomer: User, database: Connection) -> None:
    furnish(newcomer, "gone")
    receipt = newcomer.erase()
    rows = database.execute(
        "SELECT user_id, action, noun, details FROM event_ledger WHERE row_id = %s", (receipt.receipt_id,)
    ).fetchall()
    ((owner, action, noun, details),) = rows
    assert (action, noun) == ("erase", "user")
    assert details == {"digest": receipt.digest, "removed": dict(receipt.removed)}
    assert owner == f"erased:{hashlib.sha256(newcomer.user_id.encode()).hexdigest()}"
    assert holding(database, newcomer.user_id) == set()
    assert newcomer.events.list() == []


def test_an_erasure_leaves_everyone_else_alone(shared: Memory, newcomer: User, database: Connection) -> None:
    other = shared.user(f"other-{uuid.uuid4().hex}")
    for user in (newcomer, other):
        furnish(user, "words")
    before, events = other.export(), other.events.list(limit=1000)
    newcomer.erase()
    assert other.export() == before
    assert other.events.list(limit=1000) == events
    assert other.preferences.get(SECRET_KEY).value == "words secret"  # type: ignore[union-attr]
    assert other.preferences.get("tone").user_id == "system"  # type: ignore[union-attr]


def test_an_erased_user_is_a_new_user(newcomer: User) -> None:
    furnish(newcomer, "before")
    newcomer.erase()
    assert newcomer.profile() == {"user_id": newcomer.user_id, "facts": [], "preferences": {}, "notes": []}
    furnish(newcomer, "after")
    assert newcomer.chat("monday").window()[0].content == "after I moved"
    assert newcomer.preferences.get(SECRET_KEY).value == "after secret"  # type: ignore[union-attr]


async def test_an_erasure_lets_a_write_that_has_begun_come_to_its_end(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user("ana")
        await user.chat("one").add("user", "hello")
        await user.chat("one").contexts.set("project", "goal", "win")
        with psycopg.connect(by_hand(str(settings.database_url))) as writer:
            writer.execute("SELECT ltst_open_session('ana', 'one', NULL, NULL, 'test', now())")
            erasure = asyncio.create_task(user.erase())
            await asyncio.sleep(0.3)
            await asyncio.to_thread(writer.execute, "UPDATE conversation_context SET context_value = 'lose'")
            writer.commit()
        assert set((await erasure).remaining.values()) == {0}
        assert await user.sessions.list() == []


async def test_indexing_that_waited_for_an_erasure_writes_nothing(settings: Settings) -> None:
    waiting = """SELECT count(*) FROM pg_locks JOIN pg_database AS of ON of.oid = database
                 WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"""
    url = str(settings.database_url)
    async with AsyncMemory(settings=settings) as memory:
        await memory.user("ana").chat("one").add("user", "hello")
        with psycopg.connect(by_hand(url)) as erasing, superuser(url) as probe:
            erasing.execute("SELECT pg_advisory_xact_lock(hashtextextended('ana', 2))")
            indexing = asyncio.create_task(index_words(memory._core.database, "ana"))
            await soon(lambda: value(probe, waiting) > 0)
            erasing.execute("DELETE FROM search_due WHERE user_id = 'ana'")
            erasing.commit()
            await indexing
            assert value(probe, "SELECT count(*) FROM search_users WHERE user_id = 'ana'") == 0


async def test_a_user_can_be_erased_in_the_midst_of_their_writes(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user("ana")
        stopped = asyncio.Event()

        async def repeat(write: Callable[[], Awaitable[Any]]) -> None:
            while not stopped.is_set():
                with suppress(ltst.NotFound):
                    await write()

        async def answer() -> None:
            chat = user.chat("one")
            said = await chat.add("user", "why?")
            await chat.add("assistant", "because", parent=said.message_id)
            await user.facts.set("home", "Porto", source_message_id=said.message_id)

        writers = [
            asyncio.create_task(repeat(write))
            for write in (
                answer,
                lambda: user.chat("one").working.set("draft", uuid.uuid4().hex),
                lambda: user.chat("one").add_interaction("why?", "because"),
                lambda: user.preferences.set("diet", "secret", sensitive=True),
                lambda: user.sessions.delete("one"),
            )
        ]
        for _ in range(8):
            await user.erase()
            await asyncio.sleep(0.02)
        stopped.set()
        await asyncio.gather(*writers)
        assert set((await user.erase()).remaining.values()) == {0}


async def test_a_secret_that_is_set_while_its_user_is_erased_is_readable_or_not_there(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user("ana")
        await user.preferences.set("diet", "before", sensitive=True)
        with psycopg.connect(by_hand(str(settings.database_url))) as blocker:
            blocker.execute("LOCK user_preferences IN SHARE MODE")
            erasure = asyncio.create_task(user.erase())
            await asyncio.sleep(0.3)
            setting = asyncio.create_task(user.preferences.set("pin", "after", sensitive=True))
            await asyncio.sleep(0.3)
        await asyncio.gather(erasure, setting)
        assert [each.value for each in await user.preferences.list()] in (["after"], [])
        await user.preferences.set("other", "later", sensitive=True)
        assert "later" in [each.value for each in await user.preferences.list()]


def test_erasing_nobody_gives_a_receipt_of_nothing(newcomer: User) -> None:
    receipt = newcomer.erase()
    assert set(receipt.removed.values()) == {0}
    assert set(receipt.remaining.values()) == {0}


def test_an_export_can_be_taken_back_after_an_erasure(newcomer: User) -> None:
    furnish(newcomer, "again")
    newcomer.retention.set("imported", delete_after=timedelta(days=400, microseconds=1))
    document = json.loads(json.dumps(newcomer.export()))
    newcomer.erase()
    newcomer.restore(document)
    assert json.loads(json.dumps(newcomer.export())) == document


def test_erasing_leaves_tables_of_other_programs_alone(sync_memory: Memory) -> None:
    with psycopg.connect(sync_memory.database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (user_id TEXT, item TEXT)")
        connection.execute("GRANT ALL ON orders TO PUBLIC")
        connection.execute("INSERT INTO orders VALUES ('ana', 'a lamp')")
        sync_memory.user("ana").chat("one").add("user", "hello")
        receipt = sync_memory.user("ana").erase()
        assert "orders" not in receipt.removed
        assert connection.execute("SELECT item FROM orders").fetchall() == [("a lamp",)]


def test_two_conversations_of_one_id_are_never_mixed(sync_memory: Memory) -> None:
    ana, bob = sync_memory.user("ana"), sync_memory.user("bob")
    ana.chat("monday").add_many({"role": "user", "content": f"A{number}"} for number in range(2))
    bob.chat("monday").add_many({"role": "user", "content": f"B{number}"} for number in range(4))
    assert ana.restore(bob.export())["messages"] == 0
    assert [message.content for message in ana.chat("monday").window()] == ["A0", "A1"]


def test_a_restored_session_goes_on_where_its_messages_end_whatever_the_document_says(sync_memory: Memory) -> None:
    ana, bob = sync_memory.user("ana"), sync_memory.user("bob")
    ana.chat("monday").add_many({"role": "user", "content": f"A{number}"} for number in range(3))
    document = ana.export()
    document["sessions"][0].update(last_index=1, session_length=99)
    document["messages"][0].update(content="edited", content_hash="0" * 64)
    bob.restore(document)
    assert bob.chat("monday").add("user", "next").message_index == 4
    assert bob.sessions.get("monday").session_length == 4  # type: ignore[union-attr]
    assert bob.chat("monday").window()[0].content_hash == hashlib.sha256(b"edited").hexdigest()
