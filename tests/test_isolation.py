"""One user cannot reach another's rows: not through any verb, not through SQL, not through what a connection keeps."""

from __future__ import annotations

import inspect
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql

import ltst
import ltst.memory
import ltst.sync
from helpers import citus
from helpers.household import furnish
from helpers.probes import Connection, columns, superuser, tables, value, views
from ltst import (
    AsyncMemory,
    ConversationMessage,
    ConversationSession,
    ImportedConversation,
    ImportedMessage,
    Memory,
    MemoryEntry,
    Settings,
    User,
)
from ltst.db import migrate

ANA, EVE = "ana", "eve"
MARK = "ANAS-OWN-WORDS"
METACHARACTERS = ["%", "_", "%%", "mon%", "m_nday", "mond\\ay", "\\", "monday%", "[a-z]*", ".*", "monday' OR '1'='1"]
MISSING = "01900000-0000-7000-8000-000000000000"

Ids = Mapping[str, Any]
Probe = Callable[[User, Ids], Any]


def without_ids(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same document with ids that nobody has."""
    fresh: dict[str, str] = {}
    renamed = UUID.sub(lambda found: fresh.setdefault(found.group(), str(uuid.uuid4())), json.dumps(document))
    return dict(json.loads(renamed))


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VOLATILE = [
    (re.compile(r"datetime\.datetime\([^)]*\)+|\d{4}-\d\d-\d\dT[\d:.+]+"), "<time>"),
    (UUID, "<id>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"stranger-\w+"), "<stranger>"),
    (re.compile(r"<(?:function|ltst)[^>]*>"), "<handle>"),
]

# What a stranger tries with each verb: on the ids of someone else, and on ids that nobody has.
PROBES: dict[str, Probe] = {
    "User.chat": lambda user, ids: user.chat(ids["session"]).session_id == ids["session"],
    "User.message": lambda user, ids: user.message(ids["message"]),
    "User.profile": lambda user, ids: user.profile(),
    "User.export": lambda user, ids: user.export(),
    "User.restore": lambda user, ids: user.restore(ids["document_of_all"]),
    "User.erase": lambda user, ids: [user.erase().removed, user.erase().remaining],
    "Sessions.put": lambda user, ids: user.sessions.put(ConversationSession(ids["session"], user.user_id)),
    "Sessions.add_many": lambda user, ids: [
        user.sessions.add_many([elsewhere(ids["session"], "answer")]),
        user.sessions.add_many([elsewhere(ids["session"], "answer")]),
    ],
    "Sessions.get": lambda user, ids: user.sessions.get(ids["session"]),
    "Sessions.list": lambda user, ids: user.sessions.list(),
    "Sessions.delete": lambda user, ids: user.sessions.delete(ids["session"]),
    "Sessions.archive": lambda user, ids: user.sessions.archive(ids["session"]),
    "Sessions.touch": lambda user, ids: user.sessions.touch(ids["session"]),
    "Sessions.link": lambda user, ids: [
        user.chat("own").add("user", "mine"),
        *both(lambda: user.sessions.link("own", ids["session"]), lambda: user.sessions.link(ids["session"], "own")),
    ],
    "Sessions.related": lambda user, ids: user.sessions.related(ids["session"]),
    "Sessions.summary": lambda user, ids: user.sessions.summary(ids["session"]),
    "Chat.add": lambda user, ids: [
        *both(
            lambda: user.chat(ids["session"]).add("user", "mine", parent=ids["message"]),
            lambda: user.chat(ids["session"]).add("user", "mine", key="answer"),
        )
    ],
    "Chat.add_many": lambda user, ids: [
        *both(
            lambda: user.chat(ids["session"]).add_many([{"role": "user", "content": "a", "parent": ids["message"]}]),
            lambda: user.chat(ids["session"]).add_many([{"role": "user", "content": "a", "key": "answer"}]),
        )
    ],
    "Chat.add_interaction": lambda user, ids: user.chat(ids["session"]).add_interaction("mine", "too"),
    "Chat.replace": lambda user, ids: [
        *both(
            lambda: user.chat(ids["session"]).replace(ids["message"], "mine"),
            lambda: (user.chat("own").add("user", "mine"), user.chat("own").replace(ids["message"], "mine")),
        )
    ],
    "Chat.remove": lambda user, ids: [
        *both(
            lambda: user.chat(ids["session"]).remove(ids["message"]),
            lambda: (user.chat("own").add("user", "mine"), user.chat("own").remove(ids["message"])),
        )
    ],
    "Chat.window": lambda user, ids: user.chat(ids["session"]).window(),
    "Chat.history": lambda user, ids: user.chat(ids["session"]).history(),
    "Chat.context": lambda user, ids: user.chat(ids["session"]).context("who moved?"),
    "Chat.keyed": lambda user, ids: user.chat(ids["session"]).keyed("answer"),
    "User.keyed": lambda user, ids: user.keyed("answer"),
    "User.search": lambda user, ids: user.search(MARK),
    "User.similar": lambda user, ids: user.similar(MARK, session_id=ids["session"], threshold=0),
    "Chat.search": lambda user, ids: user.chat(ids["session"]).search(MARK),
    "Chat.snapshot": lambda user, ids: user.chat(ids["session"]).snapshot(),
    "Chat.summary": lambda user, ids: user.chat(ids["session"]).summary(),
    "Chat.fork": lambda user, ids: [
        *both(
            lambda: user.chat(ids["session"]).fork(session_id="copy"),
            lambda: (user.chat("own").add("user", "mine"), user.chat("own").fork(session_id=ids["session"]).window()),
        )
    ],
    "Chat.store": lambda user, ids: [
        *both(
            lambda: user.chat(ids["session"]).store(ConversationMessage(ids["session"], "user", "mine")),
            lambda: user.chat("own").store(ConversationMessage("own", "user", "m", parent_message_id=ids["message"])),
        )
    ],
    "Contexts.set": lambda user, ids: user.chat(ids["session"]).contexts.set("project", "goal", "mine"),
    "Contexts.get": lambda user, ids: user.chat(ids["session"]).contexts.get("project", "goal"),
    "Contexts.list": lambda user, ids: user.chat(ids["session"]).contexts.list(),
    "Contexts.forget": lambda user, ids: user.chat(ids["session"]).contexts.forget("project"),
    "Working.set": lambda user, ids: user.chat(ids["session"]).working.set("draft", "mine"),
    "Working.get": lambda user, ids: user.chat(ids["session"]).working.get("draft"),
    "Working.all": lambda user, ids: user.chat(ids["session"]).working.all(),
    "Working.clear": lambda user, ids: user.chat(ids["session"]).working.clear(),
    "Working.forget": lambda user, ids: user.chat(ids["session"]).working.forget("draft"),
    "Facts.set": lambda user, ids: [
        *both(
            lambda: user.facts.set("home", "mine", source_message_id=ids["message"]),
            lambda: user.facts.set("home", ids["rejected_value"]),
        )
    ],
    "Facts.get": lambda user, ids: [user.facts.get("home"), user.facts.get("home", about="Dani")],
    "Facts.list": lambda user, ids: [user.facts.list(), user.facts.list(about="Dani")],
    "Facts.history": lambda user, ids: [user.facts.history("home"), user.facts.history("home", about="Dani")],
    "Facts.end": lambda user, ids: [user.facts.end("home"), user.facts.end("home", about="Dani")],
    "Learning.get": lambda user, ids: user.learning.get(),
    "Learning.set": lambda user, ids: user.learning.set(episodes=False),
    "Learning.catch_up": lambda user, ids: user.learning.catch_up(ids["session"]),
    "Learning.restart": lambda user, ids: user.learning.restart(),
    "Statements.list": lambda user, ids: user.statements.list(),
    "Statements.get": lambda user, ids: user.statements.get(ids["statement"]),
    "Statements.reject": lambda user, ids: user.statements.reject(ids["statement"]),
    "Facts.reject": lambda user, ids: user.facts.reject("home", "Lisbon"),
    "Facts.forget": lambda user, ids: [user.facts.forget("home"), user.facts.forget("home", about="Dani")],
    "Preferences.set": lambda user, ids: user.preferences.set("diet", "mine", sensitive=True),
    "Preferences.get": lambda user, ids: [user.preferences.get("diet"), user.preferences.get("editor")],
    "Preferences.list": lambda user, ids: user.preferences.list(defaults=True),
    "Preferences.forget": lambda user, ids: user.preferences.forget("diet"),
    "Instructions.set": lambda user, ids: user.instructions.set("coach", "mine"),
    "Instructions.get": lambda user, ids: user.instructions.get("coach"),
    "Instructions.list": lambda user, ids: user.instructions.list(),
    "Instructions.history": lambda user, ids: user.instructions.history("coach"),
    "Instructions.forget": lambda user, ids: user.instructions.forget("coach"),
    "Entries.add": lambda user, ids: user.entries.add(ids["known_text"]),
    "Entries.add_many": lambda user, ids: user.entries.add_many([MemoryEntry(ids["known_text"])]),
    "Entries.get": lambda user, ids: user.entries.get(ids["entry"]),
    "Entries.list": lambda user, ids: user.entries.list(),
    "Entries.forget": lambda user, ids: user.entries.forget(ids["entry"]),
    "Documents.add": lambda user, ids: user.documents.add(ids["known_text"]),
    "Documents.get": lambda user, ids: user.documents.get(ids["document"]),
    "Documents.list": lambda user, ids: user.documents.list(),
    "Documents.forget": lambda user, ids: user.documents.forget(ids["document"]),
    "Items.put": lambda user, ids: [
        *both(
            lambda: user.items.put(("notes", ids["namespace"]), "theme", "mine", revision=1),
            lambda: user.items.put(("notes", ids["namespace"]), "theme", "mine", revision=0),
        )
    ],
    "Items.get": lambda user, ids: user.items.get(("notes", ids["namespace"]), "theme", refresh=True),
    "Items.delete": lambda user, ids: user.items.delete(("notes", ids["namespace"]), "theme"),
    "Items.list": lambda user, ids: [user.items.list(), user.items.list(("notes", ids["namespace"]))],
    "Items.list_namespaces": lambda user, ids: user.items.list_namespaces(("notes",)),
    "Items.search": lambda user, ids: [
        user.items.search(("notes", ids["namespace"])),
        user.items.search(("notes",), MARK, floor=0),
        user.items.search(vector=[0.5, 1]),
    ],
    "Items.batch": lambda user, ids: user.items.batch(
        [
            {"do": "get", "namespace": ["notes", ids["namespace"]], "key": "theme"},
            {"do": "delete", "namespace": ["notes", ids["namespace"]], "key": "theme"},
            {"do": "list_namespaces"},
        ]
    ),
    "Retention.set": lambda user, ids: user.retention.set(delete_after=1),
    "Retention.list": lambda user, ids: user.retention.list(),
    "Retention.forget": lambda user, ids: user.retention.forget(),
    "Events.feed": lambda user, ids: [user.events.feed(), user.events.feed(after=ids["event"])],
    "Events.list": lambda user, ids: [user.events.list(), user.events.list(after=ids["event"])],
}


def elsewhere(session_id: str, key: str) -> ImportedConversation:
    """A conversation as it comes from elsewhere."""
    said = [ImportedMessage(key, "user", "mine", datetime(2024, 1, 1, tzinfo=UTC))]
    return ImportedConversation(session_id, said)


def both(*attempts: Callable[[], Any]) -> list[Any]:
    """The answers to several attempts, an error being an answer."""
    return [answer(attempt) for attempt in attempts]


def answer(attempt: Callable[[], Any]) -> Any:
    try:
        return attempt()
    except ltst.LtstError as problem:
        return f"{type(problem).__name__}: {problem}"


def verbs(handles: list[type]) -> set[str]:
    return {
        f"{handle.__name__.removeprefix('Async')}.{name}"
        for handle in handles
        for name, _ in inspect.getmembers(handle, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.fixture(scope="module")
def ana(shared: Memory, url: str) -> tuple[User, dict[str, Any]]:
    """Ana has something of everything, and so has Eve, with words of her own."""
    ids = furnish(shared.user(ANA), MARK)
    furnish(shared.user(EVE), "eves")
    for name in (ANA, EVE):
        shared.user(name).search("who moved?")
    with superuser(url) as connection:
        for name in (ANA, EVE):
            connection.execute("INSERT INTO search_speakers VALUES (%s, %s, 1) ON CONFLICT DO NOTHING", (name, name))
            connection.execute(
                "INSERT INTO search_due (user_id, kind, row_id) VALUES (%s, 'fact', gen_random_uuid())", (name,)
            )
            connection.execute(
                "INSERT INTO memory_retrieval_cache (user_id, cache_key, query_hash, retrieved_context) "
                "VALUES (%s, 'key', 'hash', %s)",
                (name, json.dumps({"text": MARK if name == ANA else "eves"})),
            )
            if "adopted_messages" not in tables(connection):
                continue  # nor are there measurements, where tables are distributed
            connection.execute(
                "INSERT INTO adopted_messages (user_id, message_id, adoption_id, session_text, row_integer) "
                "SELECT user_id, message_id, gen_random_uuid(), session_id, message_index FROM conversation_messages "
                "WHERE user_id = %s AND session_id = 'monday'",
                (name,),
            )
            connection.execute(
                "INSERT INTO memory_performance_metrics "
                "(user_id, operation_type, operation_name, operation_hash, execution_time_ms) "
                "VALUES (%s, 'storage', 'by hand', 'hash', 1)",
                (name,),
            )
    return shared.user(ANA), ids


def test_every_verb_of_every_handle_is_probed() -> None:
    sync = [each for _, each in inspect.getmembers(ltst.sync, inspect.isclass) if each.__module__ == "ltst.sync"]
    sync.remove(ltst.sync.Memory)
    for each in (ltst.sync.Keys, ltst.sync.Users):  # the memory's own, for who looks after it: no user reaches them
        sync.remove(each)
    asynchronous = [getattr(ltst.sync, f"Async{each.__name__}") for each in sync]
    assert verbs(sync) == verbs(asynchronous) == set(PROBES)
    assert len(PROBES) > 50


@pytest.mark.parametrize("verb", sorted(PROBES))
def test_what_belongs_to_another_answers_as_what_does_not_exist(
    shared: Memory, ana: tuple[User, dict[str, Any]], verb: str
) -> None:
    owner, ids = ana
    before = owner.export()
    foreign = {
        **ids,
        "document_of_all": before,
        "known_text": f"{MARK} the oven runs hot",
        "rejected_value": f"{MARK} Paris",
    }
    missing = {
        **dict.fromkeys(ids, MISSING),
        "session": "mooday",
        "namespace": "DIFFERENT-WORD",
        "event": 2**62,
        "document_of_all": without_ids(before),
        "known_text": "DIFFERENT-WORD the oven runs hot",
        "rejected_value": "DIFFERENT-WORD Paris",
    }
    given = [
        str(these[name])
        for these in (foreign, missing)
        for name in ("session", "known_text", "rejected_value", "namespace")
    ]

    def asked(these: Ids) -> str:
        stranger = shared.user(f"stranger-{uuid.uuid4().hex}")
        said = repr(answer(lambda: PROBES[verb](stranger, these)))
        for each in given:
            said = said.replace(each, "<given>")
        for pattern, name in VOLATILE:
            said = pattern.sub(name, said)
        return said

    told = asked(foreign)
    assert told == asked(missing)
    assert MARK not in told
    assert owner.export() == before


def by_id(user: User, given: Any) -> list[Callable[[], Any]]:
    """Every verb that takes the id or the key of something that exists already."""
    return [
        lambda: user.sessions.get(given),
        lambda: user.sessions.delete(given),
        lambda: user.sessions.archive(given),
        lambda: user.sessions.touch(given),
        lambda: user.sessions.related(given),
        lambda: user.sessions.summary(given),
        lambda: user.sessions.link(given, "branch"),
        lambda: user.sessions.link("branch", given),
        lambda: user.chat(given).window(),
        lambda: user.chat(given).history(),
        lambda: user.chat(given).search("coach"),
        lambda: user.chat(given).snapshot()["messages"],
        lambda: user.chat(given).summary(),
        lambda: user.chat(given).fork(),
        lambda: user.chat("monday").replace(given, "x"),
        lambda: user.chat("monday").remove(given),
        lambda: user.chat(given).contexts.list(),
        lambda: user.chat(given).contexts.get("project", "goal"),
        lambda: user.chat("monday").contexts.get("project", given),
        lambda: user.chat("monday").contexts.forget("project", given),
        lambda: user.chat(given).contexts.forget("project"),
        lambda: user.chat(given).working.all(),
        lambda: user.chat("monday").working.get(given),
        lambda: user.chat(given).working.clear(),
        lambda: user.facts.get(given),
        lambda: user.facts.history(given),
        lambda: user.facts.forget(given),
        lambda: user.facts.set("home", "x", source_message_id=given),
        lambda: user.preferences.get(given),
        lambda: user.preferences.forget(given),
        lambda: user.instructions.get(given),
        lambda: user.instructions.history(given),
        lambda: user.instructions.forget(given),
        lambda: user.entries.get(given),
        lambda: user.entries.forget(given),
        lambda: user.documents.get(given),
        lambda: user.documents.forget(given),
        lambda: user.retention.forget(given),
        lambda: user.chat("monday").add("user", "x", parent=given),
    ]


@pytest.mark.parametrize("given", METACHARACTERS)
def test_wildcards_and_quotes_in_an_id_are_letters(ana: tuple[User, dict[str, Any]], given: str) -> None:
    owner, _ = ana
    before, nothing = owner.export(), "nothing-like-it"
    answers, expected = both(*by_id(owner, given)), both(*by_id(owner, nothing))
    assert [str(each).replace(repr(given), "<id>") for each in answers] == [
        str(each).replace(repr(nothing), "<id>") for each in expected
    ]
    assert owner.export() == before


@pytest.mark.parametrize("given", ["", " ", "\t\n", None, 0, ["monday"]])
def test_an_empty_blank_or_missing_id_names_nothing_and_changes_nothing(
    ana: tuple[User, dict[str, Any]], given: Any
) -> None:
    owner, _ = ana
    before, events = owner.export(), owner.events.list(limit=1000)
    reading = [attempt for attempt in by_id(owner, given) if given is not None or not _takes_none(attempt)]
    for attempt in reading:
        try:
            assert not attempt()
        except (ltst.Invalid, ltst.NotFound):
            continue
    assert owner.export() == before
    assert owner.events.list(limit=1000) == events


def _takes_none(attempt: Callable[[], Any]) -> bool:
    """Where None is no id but an answer of its own: a new chat, no parent, no source, all keys of a type."""
    source = inspect.getsource(attempt)
    return any(each in source for each in ("user.chat(given)", "parent=", "source_message_id=", '"project", given'))


@pytest.mark.parametrize("given", ["", "  ", None, 7, b"ana"])
def test_there_is_no_user_without_a_name(shared: Memory, given: Any) -> None:
    with pytest.raises(ltst.Invalid, match="user_id"):
        shared.user(given)


def test_the_user_of_the_defaults_cannot_be_used(shared: Memory) -> None:
    with pytest.raises(ltst.Invalid, match="reserved"):
        shared.user("system")


def test_two_users_with_the_same_ids_do_not_mix(shared: Memory) -> None:
    one, two = shared.user("one"), shared.user("two")
    for user in (one, two):
        name = user.user_id
        user.chat("monday").add("user", f"of {name}", key="k")
        user.chat("monday").working.set("draft", name)
        user.facts.set("home", name)
        user.preferences.set("diet", name, sensitive=True)
        user.instructions.set("coach", name)
        user.entries.add("the same words")
        user.documents.add("the same text")
    two.sessions.delete("monday")
    two.facts.forget("home")
    two.preferences.forget("diet")
    assert [message.content for message in one.chat("monday").window()] == ["of one"]
    assert one.chat("monday").working.all() == {"draft": "one"}
    assert one.profile()["facts"][0]["value"] == "one"
    assert one.preferences.get("diet").value == "one"  # type: ignore[union-attr]
    assert one.instructions.get("coach").content == "one"  # type: ignore[union-attr]
    assert (len(one.entries.list()), len(two.entries.list())) == (1, 1)
    assert one.documents.list()[0].document_id != two.documents.list()[0].document_id


def test_users_whose_names_look_alike_are_different_users(shared: Memory) -> None:
    names = ["Bob", "bob", " bob", "bob ", "bób", "bo\u0301b", "b%", "b_b", "bob\\", "ｂob", "bob'--"]
    for name in names:
        shared.user(name).chat("monday").add("user", name)
    for name in names:
        assert [message.content for message in shared.user(name).chat("monday").window()] == [name]


# The working role may not change or remove these rows, not even those of the user that is set.
UNCHANGEABLE = ("event_ledger", "user_keys", "adopted_messages")


@contextmanager
def acting(url: str, user_id: str | None, role: str = "ltst_user") -> Iterator[Connection]:
    """A connection of one's own, working as the program does."""
    with superuser(url) as connection:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        if user_id is not None:
            connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user_id,))
        yield connection


def owned(connection: Connection) -> list[str]:
    """The tables of users' rows that the working role may read: all but the keys to the server."""
    return [name for name in tables(connection) if "user_id" in columns(connection, name) and name != "api_keys"]


def rows_of(connection: Connection, relation: str, user_id: str) -> int:
    query = sql.SQL("SELECT count(*) FROM {} WHERE user_id = %s").format(sql.Identifier(relation))
    return int(value(connection, query, user_id))


@pytest.mark.usefixtures("ana")
def test_the_working_role_sees_its_own_rows_in_every_table_and_view_and_no_others(url: str) -> None:
    with superuser(url) as all_seeing, acting(url, EVE) as eve:
        relations = owned(all_seeing) + [name for name in views(all_seeing) if name != "chat_message_history"]
        assert len(relations) == 33 - 2 * ("adopted_messages" not in relations)
        for relation in relations:
            assert rows_of(all_seeing, relation, ANA) > 0, f"{relation} has nothing to hide"
            assert rows_of(eve, relation, ANA) == 0, relation
            assert rows_of(eve, relation, EVE) == rows_of(all_seeing, relation, EVE) > 0, relation
            others = sql.SQL("SELECT count(*) FROM {} WHERE user_id NOT IN (%s, 'system')").format(
                sql.Identifier(relation)
            )
            assert value(eve, others, EVE) == 0, relation


@pytest.mark.usefixtures("ana")
@pytest.mark.parametrize("role", ["ltst_user", "ltst"])
def test_the_view_for_langchain_shows_the_rows_of_the_user_that_is_set_to_any_role(url: str, role: str) -> None:
    for user_id, seen in [(ANA, {MARK}), (EVE, {"eves"}), ("nobody", set()), ("", set()), (None, set())]:
        with acting(url, user_id, role) as connection:
            shown = connection.execute("SELECT message #>> '{data,content}' FROM chat_message_history").fetchall()
        assert {content.split()[0] for (content,) in shown} == seen


@pytest.mark.usefixtures("ana")
@pytest.mark.parametrize("nobody", [None, ""])
def test_without_a_user_the_working_role_sees_nothing_but_the_defaults(url: str, nobody: str | None) -> None:
    with superuser(url) as all_seeing, acting(url, nobody) as connection:
        for relation in owned(all_seeing):
            query = sql.SQL("SELECT coalesce(array_agg(DISTINCT user_id), '{{}}') FROM {}").format(
                sql.Identifier(relation)
            )
            expected = ["system"] if relation == "user_preferences" else []
            assert value(connection, query) == expected, relation


@pytest.mark.usefixtures("ana")
def test_a_row_cannot_be_inserted_for_another_user(url: str) -> None:
    with superuser(url) as all_seeing, acting(url, EVE) as eve:
        for table in owned(all_seeing):
            name = sql.Identifier(table)
            row = value(all_seeing, sql.SQL("SELECT to_jsonb(t) FROM {} AS t WHERE user_id = %s").format(name), ANA)
            computed = {"ranked", "path", "unlearnt", "unrefined", "untold", "last_day"}
            written = {*columns(all_seeing, table)} - computed
            given = sql.SQL(", ").join(map(sql.Identifier, written))
            insert = sql.SQL(
                "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM jsonb_populate_record(NULL::{}, %s::jsonb)"
            ).format(name, given, given, name)
            refusal = "permission denied" if table in ("event_ledger", "adopted_messages") else "row-level security"
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match=refusal):
                eve.execute(insert, (json.dumps(row),))


@pytest.mark.usefixtures("ana")
def test_a_row_cannot_be_given_to_another_user(url: str) -> None:
    with superuser(url) as all_seeing, acting(url, EVE) as eve:
        for table in owned(all_seeing):
            before = rows_of(all_seeing, table, EVE)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                eve.execute(sql.SQL("UPDATE {} SET user_id = %s").format(sql.Identifier(table)), (ANA,))
            assert rows_of(all_seeing, table, EVE) == before


@pytest.mark.usefixtures("ana")
def test_the_rows_of_another_user_cannot_be_changed_or_removed(url: str) -> None:
    with superuser(url) as all_seeing, acting(url, EVE) as eve:
        for table in owned(all_seeing):
            if table in UNCHANGEABLE:
                continue
            name, before = sql.Identifier(table), rows_of(all_seeing, table, ANA)
            assert (
                eve.execute(sql.SQL("UPDATE {} SET user_id = user_id WHERE user_id = %s").format(name), (ANA,)).rowcount
                == 0
            )
            assert eve.execute(sql.SQL("DELETE FROM {} WHERE user_id = %s").format(name), (ANA,)).rowcount == 0
            assert rows_of(all_seeing, table, ANA) == before > 0


@pytest.mark.usefixtures("ana")
@pytest.mark.parametrize("change", ["UPDATE event_ledger SET action = 'x'", "DELETE FROM event_ledger"])
def test_the_ledger_can_only_grow(url: str, change: str) -> None:
    with acting(url, EVE) as eve, pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
        eve.execute(change)


@pytest.fixture
def guest(url: str) -> Iterator[Connection]:
    """A role that somebody made for a program, which may become `ltst_user` and nothing else."""
    name = f"guest_{uuid.uuid4().hex}"
    with superuser(url) as administrator:
        administrator.execute(f"CREATE ROLE {name} LOGIN NOSUPERUSER")
        administrator.execute(f"GRANT ltst_user TO {name}")
        with superuser(url) as connection:
            connection.execute(f"SET SESSION AUTHORIZATION {name}")
            connection.execute("SET ROLE ltst_user")
            connection.execute("SELECT set_config('ltst.user_id', %s, false)", (EVE,))
            yield connection
        administrator.execute(f"DROP OWNED BY {name}")
        administrator.execute(f"DROP ROLE {name}")


GRANTED = {
    "SELECT, INSERT, UPDATE, DELETE": {
        "claims",
        "conversation_context",
        "conversation_messages",
        "conversation_sessions",
        "derived_work",
        "document_chunks",
        "documents",
        "items",
        "memory_entries",
        "memory_performance_metrics",
        "memory_retrieval_cache",
        "retention_policies",
        "search_due",
        "search_speakers",
        "search_terms",
        "search_units",
        "search_users",
        "search_vectors",
        "session_relationships",
        "statements",
        "unsettled_claims",
        "user_agent_prompt_customizations",
        "user_facts",
        "user_learning",
        "user_preferences",
    },
    "SELECT, INSERT, DELETE": {"chat_message_history"},
    "SELECT, INSERT": {"user_keys"},
    "SELECT": {
        "adopted_messages",
        "embedding_models",
        "event_ledger",
        "ledger_epochs",
        "ltst_migrations",
        "message_versions",
        "row_vectors",
        "search_sources",
        "session_summary",
        "user_preference_summary",
    },
}


@pytest.mark.one_server("the rights stand on the shards, behind the views of a place")
def test_the_working_role_has_these_rights_and_no_more(url: str) -> None:
    rights: dict[str, set[str]] = {}
    with superuser(url) as connection:
        for relation in [*tables(connection), *views(connection)]:
            kinds = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
            held = [
                kind
                for kind in kinds
                if value(connection, "SELECT has_table_privilege('ltst_user', %s, %s)", relation, kind)
            ]
            rights.setdefault(", ".join(held), set()).add(relation)
        columns_granted = connection.execute(
            "SELECT attrelid::regclass::text, attname::text FROM pg_attribute, aclexplode(attacl) AS granted "
            "WHERE granted.grantee = 'ltst_user'::regrole"
        ).fetchall()
        assert not value(connection, "SELECT has_schema_privilege('ltst_user', 'public', 'CREATE')")
    rights.pop("", None)
    assert rights == GRANTED
    assert {*columns_granted} == {
        ("user_keys", "user_id"),
        *(("event_ledger", name) for name in ("user_id", "actor", "action", "noun", "row_id", "details")),
    }


@pytest.mark.usefixtures("ana")
@pytest.mark.parametrize(
    "attempt",
    [
        "SELECT count(*) FROM api_keys",
        "INSERT INTO api_keys VALUES ('eve', gen_random_uuid(), '', 'hash')",
        "INSERT INTO api_keys VALUES ('system', gen_random_uuid(), '', 'hash')",
        "UPDATE api_keys SET revoked_at = NULL",
        "DELETE FROM api_keys",
        "SELECT count(*) FROM key_requirement",
        "DELETE FROM key_requirement",
        "UPDATE user_keys SET wrapped_key = ''",
        "DELETE FROM user_keys",
        "UPDATE event_ledger SET action = 'x'",
        "DELETE FROM event_ledger",
        "INSERT INTO event_ledger (user_id, actor, action, noun, row_id, position) "
        "VALUES ('eve', 'a', 'b', 'c', 'd', 1)",
        "INSERT INTO event_ledger (user_id, actor, action, noun, row_id, occurred_at) "
        "VALUES ('eve', 'a', 'b', 'c', 'd', now())",
        "UPDATE adopted_messages SET shown = '{}'",
        "SELECT count(*) FROM adopted_tables",
        "INSERT INTO embedding_models SELECT * FROM embedding_models",
        "UPDATE ltst_migrations SET name = 'x'",
        "SET ROLE ltst_keeper",
        "ALTER TABLE user_facts NO FORCE ROW LEVEL SECURITY",
        "CREATE TABLE mine (a INTEGER)",
        "TRUNCATE conversation_messages",
    ],
)
def test_a_role_that_may_become_the_working_role_cannot(guest: Connection, attempt: str) -> None:
    absent = (psycopg.errors.UndefinedTable, psycopg.errors.WrongObjectType) if citus.PREFIX else ()
    with pytest.raises((psycopg.errors.InsufficientPrivilege, *absent)):
        guest.execute(attempt)


@pytest.mark.usefixtures("ana")
def test_a_role_that_may_become_the_working_role_can_act_for_any_user(guest: Connection) -> None:
    """As docs/isolation.md says: the setting is no password."""
    guest.execute("SELECT set_config('ltst.user_id', %s, false)", (ANA,))
    assert rows_of(guest, "conversation_messages", ANA) > 0
    guest.execute(
        "INSERT INTO event_ledger (user_id, actor, action, noun, row_id) VALUES (%s, 'guest', 'add', 'fact', 'x')",
        (ANA,),
    )
    assert guest.execute("UPDATE user_facts SET confidence = confidence").rowcount > 0


@pytest.mark.usefixtures("ana")
def test_not_even_the_keeper_rewrites_the_ledger(url: str) -> None:
    with acting(url, None, "ltst_keeper") as keeper, pytest.raises(psycopg.errors.InsufficientPrivilege):
        keeper.execute("UPDATE event_ledger SET action = 'x'")


@pytest.mark.usefixtures("ana")
def test_the_defaults_of_the_system_can_be_read_but_not_changed(url: str) -> None:
    with acting(url, EVE) as eve:
        assert rows_of(eve, "user_preferences", "system") == 8
        assert eve.execute("UPDATE user_preferences SET preference_value = 'x' WHERE user_id = 'system'").rowcount == 0
        assert eve.execute("DELETE FROM user_preferences WHERE user_id = 'system'").rowcount == 0


@pytest.mark.usefixtures("ana")
def test_erasing_as_the_working_role_does_not_reach_another_user(url: str) -> None:
    with superuser(url) as all_seeing, acting(url, EVE) as eve:
        before = {table: rows_of(all_seeing, table, ANA) for table in owned(all_seeing)}
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            eve.execute("SELECT * FROM ltst_erase_user(%s, %s)", (ANA, [*migrate.names_of("TABLE")]))
        assert {table: rows_of(all_seeing, table, ANA) for table in owned(all_seeing)} == before


def test_the_roles_have_no_power_over_policies_and_cannot_log_in(url: str) -> None:
    query = (
        "SELECT rolname::text, rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole OR rolcreatedb "
        "FROM pg_roles WHERE rolname LIKE 'ltst\\_%' ORDER BY 1"
    )
    with superuser(url) as connection:
        found = connection.execute(query).fetchall()
    assert found == [("ltst_keeper", False), ("ltst_user", False)]


@pytest.mark.one_server("the policies stand on the shards, behind the views of a place")
def test_row_level_security_is_forced_on_every_table(url: str) -> None:
    with superuser(url) as connection:
        open_tables = connection.execute(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
            "AND NOT (relrowsecurity AND relforcerowsecurity)"
        ).fetchall()
        assert len(tables(connection)) == 35
    assert open_tables == []


def test_every_view_reads_with_the_rights_of_its_caller(url: str) -> None:
    with superuser(url) as connection:
        assert views(connection)
        for view in views(connection):
            options = value(connection, "SELECT reloptions FROM pg_class WHERE oid = %s::regclass", view)
            assert options == ["security_invoker=true"], view


@pytest.mark.one_server("the keys stand on the shards, behind the views of a place")
def test_every_table_of_users_has_a_key_that_begins_with_the_user(url: str) -> None:
    with superuser(url) as connection:
        for table in owned(connection):
            keys = connection.execute(
                "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND indisunique",
                (table,),
            ).fetchall()
            assert any("(user_id" in definition for (definition,) in keys), table
            for (definition,) in keys:
                # The ids of a table that was adopted were unique over all of its users before, and stay so.
                assert "(user_id" in definition or "adoption_id" in definition, definition


@pytest.fixture
async def one_connection(url: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A memory all of whose calls go over one connection."""
    settings = Settings(worker=False, database_url=url, home=tmp_path_factory.mktemp("home"), pool_size=1)
    async with AsyncMemory(settings=settings) as opened:
        yield opened


async def test_a_connection_forgets_the_user_with_each_transaction(one_connection: AsyncMemory) -> None:
    user = one_connection.user("frank")
    chat = user.chat("monday")
    backends = set()

    async def failing() -> None:
        with pytest.raises(ltst.NotFound):
            await chat.add("user", "x", parent=MISSING)

    async def failing_later() -> None:
        with pytest.raises(ltst.NotFound):
            await user.facts.set("home", "x", source_message_id=MISSING)

    for call in [
        lambda: chat.add("user", "hello"),
        chat.window,
        chat.history,
        lambda: chat.add_interaction("a", "b"),
        lambda: user.facts.set("home", "Porto"),
        lambda: user.facts.get("home"),
        lambda: user.preferences.set("diet", "x", sensitive=True),
        lambda: user.preferences.list(defaults=True),
        user.export,
        failing,
        failing_later,
        one_connection.maintain,
        one_connection.health,
    ]:
        await call()
        async with one_connection._core.database.owner() as connection:
            cursor = await connection.execute(
                "SELECT pg_backend_pid(), coalesce(current_setting('ltst.user_id', true), ''), "
                "current_user = session_user, current_setting('role')"
            )
            (row,) = await cursor.fetchall()
        backends.add(row[0])
        assert row[1:] == ("", True, "none")
    assert len(backends) == 1, "only a connection that was used before can remember"
