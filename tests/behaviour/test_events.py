"""The ledger: every change in order, by whom, of what, and never a content in clear."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
import ltst.sync
from behaviour import test_contexts, test_facts, test_knowledge, test_messages, test_sessions, test_statements
from behaviour.plain import PLAIN
from ltst import ConversationMessage, ConversationSession, ImportedConversation, ImportedMessage, MemoryEntry

pytestmark = pytest.mark.asyncio(loop_scope="session")

CANARY = "CANARY-in-clear"
MISSING = "01900000-0000-7000-8000-000000000000"
Change = Callable[[Any], Awaitable[Any]]


async def two_sessions(user: Any) -> None:
    for name in ("one", "two"):
        await user.chat(name).add("user", CANARY)


async def put(user: Any) -> None:
    await user.sessions.put(ConversationSession("put", user.user_id, session_name=CANARY, metadata={"m": CANARY}))


async def store(user: Any) -> None:
    await user.chat("stored").store(ConversationMessage("stored", "user", CANARY, metadata={"m": CANARY}))


async def replace(user: Any) -> None:
    chat = user.chat("one")
    await chat.replace((await chat.add("user", CANARY)).message_id, f"{CANARY} again", metadata={"m": CANARY})


async def remove(user: Any) -> None:
    chat = user.chat("one")
    await chat.remove((await chat.add("user", CANARY)).message_id)


async def link(user: Any) -> None:
    await two_sessions(user)
    await user.sessions.link("one", "two", metadata={"m": CANARY})


async def after(*steps: Awaitable[Any]) -> None:
    for step in steps:
        await step


async def restore(user: Any) -> None:
    await user.restore({"format": "ltst", "version": 1})


async def forget_entry(user: Any) -> None:
    await user.entries.forget((await user.entries.add(CANARY)).entry_id)


async def forget_document(user: Any) -> None:
    await user.documents.forget((await user.documents.add(CANARY)).document_id)


def elsewhere(session_id: str, parents: dict[str, str | None]) -> ImportedConversation:
    """A conversation as it comes from elsewhere."""
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    said = [ImportedMessage(key, "user", CANARY, moment, parent, {"m": CANARY}) for key, parent in parents.items()]
    return ImportedConversation(session_id, said, CANARY, metadata={"m": CANARY})


MESSAGES = [{"role": "user", "content": CANARY, "metadata": {"m": CANARY}}, {"role": "assistant", "content": CANARY}]
SESSION_AND_MESSAGE = ["add session", "add message"]

# Every verb that changes something, what it does, and the events that it and its preparation leave behind.
WRITES: dict[str, tuple[Change, list[str]]] = {
    "Chat.add": (lambda user: user.chat("one").add("user", CANARY, metadata={"m": CANARY}), SESSION_AND_MESSAGE),
    "Chat.add_many": (lambda user: user.chat("one").add_many(MESSAGES), SESSION_AND_MESSAGE),
    "Chat.add_interaction": (lambda user: user.chat("one").add_interaction(CANARY, CANARY), SESSION_AND_MESSAGE),
    "Chat.store": (store, SESSION_AND_MESSAGE),
    "Chat.replace": (replace, [*SESSION_AND_MESSAGE, "change message"]),
    "Chat.remove": (remove, [*SESSION_AND_MESSAGE, "delete message"]),
    "Chat.fork": (
        lambda user: after(user.chat("one").add("user", CANARY), user.chat("one").fork()),
        [*SESSION_AND_MESSAGE, "fork session"],
    ),
    "Contexts.set": (
        lambda user: user.chat("one").contexts.set("project", "key", CANARY, metadata={"m": CANARY}),
        ["add session", "set context"],
    ),
    "Contexts.forget": (
        lambda user: after(
            user.chat("one").contexts.set("project", "key", CANARY), user.chat("one").contexts.forget("project")
        ),
        ["add session", "set context", "forget context"],
    ),
    "Working.set": (lambda user: user.chat("one").working.set("key", {"m": CANARY}), ["add session", "set context"]),
    "Working.forget": (
        lambda user: after(user.chat("one").working.set("key", CANARY), user.chat("one").working.forget("key")),
        ["add session", "set context", "forget context"],
    ),
    "Working.clear": (
        lambda user: after(user.chat("one").working.set("key", CANARY), user.chat("one").working.clear()),
        ["add session", "set context", "forget context"],
    ),
    "Sessions.put": (put, ["put session"]),
    "Sessions.add_many": (
        lambda user: user.sessions.add_many([elsewhere("one", {"a": None, "b": "a", "c": "a"})]),
        ["add session", "add message", "fork session"],
    ),
    "Sessions.archive": (
        lambda user: after(user.chat("one").add("user", CANARY), user.sessions.archive("one")),
        [*SESSION_AND_MESSAGE, "archive session"],
    ),
    "Sessions.delete": (
        lambda user: after(user.chat("one").add("user", CANARY), user.sessions.delete("one")),
        [*SESSION_AND_MESSAGE, "delete session"],
    ),
    "Sessions.link": (link, [*SESSION_AND_MESSAGE, *SESSION_AND_MESSAGE, "link relationship"]),
    "Facts.set": (
        lambda user: after(user.facts.set("key", CANARY), user.facts.set("key", CANARY)),
        ["set fact", "confirm fact"],
    ),
    "Facts.reject": (
        lambda user: after(user.facts.set("key", CANARY), user.facts.reject("key", CANARY)),
        ["set fact", "reject fact"],
    ),
    "Facts.end": (
        lambda user: after(user.facts.set("key", CANARY), user.facts.end("key")),
        ["set fact", "end fact"],
    ),
    "Learning.set": (lambda user: user.learning.set(episodes=False), ["set learning"]),
    "Learning.catch_up": (
        lambda user: after(user.chat("one").add("user", CANARY), user.learning.catch_up()),
        SESSION_AND_MESSAGE,  # what it learns is told by the one who learns
    ),
    "Learning.restart": (lambda user: user.learning.restart(), ["restart learning"]),
    "Facts.forget": (
        lambda user: after(user.facts.set("key", CANARY), user.facts.forget("key")),
        ["set fact", "forget fact"],
    ),
    "Preferences.set": (
        lambda user: after(user.preferences.set("key", CANARY), user.preferences.set("other", CANARY, sensitive=True)),
        ["set preference", "set preference"],
    ),
    "Preferences.forget": (
        lambda user: after(user.preferences.set("key", CANARY), user.preferences.forget("key")),
        ["set preference", "forget preference"],
    ),
    "Instructions.set": (lambda user: user.instructions.set("cook", CANARY), ["set instruction"]),
    "Instructions.forget": (
        lambda user: after(user.instructions.set("cook", CANARY), user.instructions.forget("cook")),
        ["set instruction", "forget instruction"],
    ),
    "Entries.add": (
        lambda user: after(user.entries.add(CANARY, metadata={"m": CANARY}), user.entries.add(CANARY)),
        ["add entry", "confirm entry"],
    ),
    "Entries.add_many": (
        lambda user: user.entries.add_many([MemoryEntry(CANARY, metadata={"m": CANARY}), MemoryEntry(CANARY)]),
        ["add entry"],
    ),
    "Entries.forget": (forget_entry, ["add entry", "forget entry"]),
    "Documents.add": (
        lambda user: user.documents.add(CANARY, title=CANARY, uri=CANARY, metadata={"m": CANARY}),
        ["add document"],
    ),
    "Documents.forget": (forget_document, ["add document", "forget document"]),
    "Items.put": (lambda user: user.items.put(("notes",), "key", {"m": CANARY}), ["put item"]),
    "Items.delete": (
        lambda user: after(user.items.put(("notes",), "key", CANARY), user.items.delete(("notes",), "key")),
        ["put item", "delete item"],
    ),
    "Items.batch": (
        lambda user: user.items.batch([{"do": "put", "namespace": ("notes",), "key": "key", "value": CANARY}]),
        ["put item"],
    ),
    "Retention.set": (lambda user: user.retention.set(delete_after=timedelta(days=1)), ["set retention"]),
    "Retention.forget": (
        lambda user: after(user.retention.set(delete_after=timedelta(days=1)), user.retention.forget()),
        ["set retention", "forget retention"],
    ),
    "User.restore": (restore, ["restore user"]),
}
# Touch moves a time that every message moves too; erase leaves its event under nobody's name.
QUIET = {"Sessions.touch", "User.erase"}
# A statement is learnt, by another actor, before it can be rejected: test_statements.py looks at that event.
LEARNT = {"Statements.reject"}
# Tools that only read are tried for that: test_mcp.py. These are none.
READS = {
    "Chat.history", "Chat.summary", "Chat.keyed", "Events.list", "Events.feed", "Working.get", "User.chat",
    "User.similar", "User.keyed",
}  # fmt: skip
READS |= {name.removeprefix("Async") for name, verb in PLAIN.items() if verb.effect.reads and "." in name}
# What the page of a noun says of its own verbs.
for page in (test_contexts, test_facts, test_knowledge, test_messages, test_sessions, test_statements):
    WRITES |= getattr(page, "WRITES", {})


def verbs() -> set[str]:
    """Every public method of every handle of a user."""
    handles = [each for name, each in inspect.getmembers(ltst.sync, inspect.isclass) if each.__module__ == "ltst.sync"]
    return {
        f"{handle.__name__}.{name}"
        for handle in handles
        if handle not in (ltst.sync.Memory, ltst.sync.Keys, ltst.sync.Users)
        for name, _ in inspect.getmembers(handle, inspect.isfunction)
        if not name.startswith("_")
    }


async def test_every_verb_is_known_to_change_something_or_not() -> None:
    assert verbs() == WRITES.keys() | QUIET | LEARNT | READS


@pytest.mark.parametrize("verb", sorted(WRITES))
async def test_every_change_is_in_the_ledger_without_its_content(user: Any, verb: str) -> None:
    change, expected = WRITES[verb]
    await change(user)
    events = await user.events.list()
    assert [f"{event.action} {event.noun}" for event in events] == expected
    assert CANARY not in json.dumps([[event.row_id, event.actor, dict(event.details)] for event in events])
    assert {event.user_id for event in events} == {user.user_id}
    assert {event.actor for event in events} == {getattr(user, "actor", "library")}
    assert all(event.row_id for event in events)


async def test_the_ledger_names_the_row_that_changed(user: Any) -> None:
    message = await user.chat("one").add("user", "hello")
    fact = await user.facts.set("home", "Porto")
    opened, added, set_ = await user.events.list()
    assert (opened.row_id, added.row_id, set_.row_id) == ("one", message.message_id, fact.fact_id)
    assert added.details == {"session_id": "one", "message_index": 1}
    assert datetime.now(UTC) - added.occurred_at < timedelta(minutes=1)


async def test_the_ledger_is_read_on_from_an_event(user: Any) -> None:
    await two_sessions(user)
    events = await user.events.list()
    assert [event.event_id for event in events] == sorted(event.event_id for event in events)
    assert await user.events.list(limit=2) == events[:2]
    assert await user.events.list(after=events[1].event_id) == events[2:]
    assert await user.events.list(after=events[-1].event_id) == []


@pytest.mark.parametrize(
    "repeat",
    [
        lambda user: user.chat("one").add("user", "hello", key="k"),
        lambda user: user.chat("one").add_many([{"role": "user", "content": "hello", "key": "k"}]),
        lambda user: user.instructions.set("cook", "No nuts."),
        lambda user: user.sessions.add_many([elsewhere("one", {"a": None, "b": "a", "c": "a"})]),
        lambda user: user.entries.add_many([MemoryEntry("the same")]),
        lambda user: user.documents.add("the same"),
        lambda user: user.facts.reject("home", "Atlantis"),
    ],
    ids=["add", "add_many", "instruction", "conversations", "entries", "document", "rejection"],
)
async def test_what_changes_nothing_is_not_in_the_ledger(user: Any, repeat: Change) -> None:
    await repeat(user)
    events = await user.events.list()
    await repeat(user)
    assert await user.events.list() == events


async def test_the_ledger_counts_only_the_messages_that_were_added(user: Any) -> None:
    chat = user.chat("one")
    await chat.add("user", "hello", key="k")
    await chat.add_many([{"role": "user", "content": "hello", "key": "k"}, {"role": "user", "content": "new"}])
    assert (await user.events.list())[-1].details["count"] == 1


@pytest.mark.parametrize(
    "attempt",
    [
        lambda user: user.sessions.delete("nowhere"),
        lambda user: user.facts.forget("nothing"),
        lambda user: user.preferences.forget("nothing"),
        lambda user: user.instructions.forget("nobody"),
        lambda user: user.entries.forget(MISSING),
        lambda user: user.documents.forget(MISSING),
        lambda user: user.retention.forget(),
        lambda user: user.chat("nowhere").working.clear(),
        lambda user: user.chat("nowhere").working.forget("nothing"),
    ],
)
async def test_forgetting_what_is_not_there_is_not_in_the_ledger(user: Any, attempt: Change) -> None:
    assert not await attempt(user)
    assert await user.events.list() == []


async def test_a_change_that_failed_is_not_in_the_ledger(user: Any) -> None:
    with pytest.raises(ltst.NotFound):
        await user.chat("one").add("user", "hello", parent=MISSING)
    assert await user.events.list() == []
