"""Conversations and memories from elsewhere, through every door: kept once, with their times, no branches mixed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
from ltst import Imported, ImportedConversation, ImportedMessage, MemoryEntry

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2024, 3, 15, 12, tzinfo=UTC)


def tree(parents: Mapping[str, str | None], session_id: str = "pond", **fields: Any) -> ImportedConversation:
    """A conversation whose messages say their keys, a minute apart."""
    said = [
        ImportedMessage(key, "user", f"{key} said", NOON + timedelta(minutes=place), parent)
        for place, (key, parent) in enumerate(parents.items())
    ]
    return ImportedConversation(session_id, said, **fields)


async def held(user: Any) -> dict[str, str]:
    """Every session with the keys that it holds, in order."""
    found = {}
    for session in await user.sessions.list():
        messages = await user.chat(session.session_id).history()
        assert [each.message_index for each in messages] == [*range(1, len(messages) + 1)]
        assert session.session_length == len(messages)
        found[session.session_id] = " ".join(str(each.message_key) for each in messages)
    return found


async def test_a_conversation_keeps_its_words_times_name_and_metadata(user: Any) -> None:
    said = [
        ImportedMessage("a", "user", "How deep? 🐟", NOON, None, {"n": 1}),
        ImportedMessage("b", "assistant", "Deep.", NOON - timedelta(hours=1), "a"),
    ]
    given = ImportedConversation("pond", said, "The pond", NOON - timedelta(days=1), metadata={"from": "elsewhere"})
    assert await user.sessions.add_many([given]) == Imported(conversations=1, messages=2)
    session = await user.sessions.get("pond")
    assert (session.session_name, session.metadata) == ("The pond", {"from": "elsewhere"})
    assert (session.created_at, session.last_activity) == (NOON - timedelta(days=1), NOON)
    first, second = await user.chat("pond").history()
    assert (first.role, first.content, first.timestamp, first.metadata) == ("human", "How deep? 🐟", NOON, {"n": 1})
    assert (second.role, second.timestamp) == ("ai", NOON - timedelta(hours=1))


async def test_branches_become_forks_that_hold_what_stands_before_them(user: Any) -> None:
    parents = {"a": None, "b": "a", "c": "a", "d": "c", "e": "c", "f": "b"}
    added = await user.sessions.add_many([tree(parents, current="d")])
    assert await held(user) == {"pond": "a c d", "pond~b": "a b f", "pond~e": "a c e"}
    assert added == Imported(conversations=1, forks=2, messages=9)
    links = await user.sessions.related("pond")
    assert {(each.source_session_id, each.target_session_id, each.relationship_type) for each in links} == {
        ("pond", "pond~b", "fork"),
        ("pond", "pond~e", "fork"),
    }


async def test_the_same_again_adds_nothing(user: Any) -> None:
    given = tree({"a": None, "b": "a", "c": "a"})
    await user.sessions.add_many([given])
    before = await user.export()
    assert await user.sessions.add_many([given, given]) == Imported(known=8)
    assert await user.export() == before


async def test_what_has_grown_gets_what_is_new(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None, "b": "a", "c": "a"}, current="b")])
    grown = {"a": None, "b": "a", "c": "a", "d": "b", "e": "c"}
    added = await user.sessions.add_many([tree(grown, current="d")])
    assert await held(user) == {"pond": "a b d", "pond~c": "a c e"}
    assert added == Imported(messages=2, known=4)


async def test_a_branch_that_is_no_longer_shown_stays_in_its_session(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None, "b": "a"})])
    await user.sessions.add_many([tree({"a": None, "b": "a", "c": "a", "d": "c"}, current="d")])
    assert await held(user) == {"pond": "a b", "pond~c": "a c d"}
    await user.sessions.add_many([tree({"a": None, "b": "a", "c": "a", "d": "c", "e": "b", "f": "e"}, current="d")])
    assert await held(user) == {"pond": "a b e f", "pond~c": "a c d"}


async def test_several_beginnings_are_forks_of_each_other(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None, "b": "a", "x": None, "y": "x"}, current="b")])
    assert await held(user) == {"pond": "a b", "pond~x": "x y"}


async def test_what_does_not_go_on_from_what_is_held_gets_a_place_of_its_own(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None, "b": "a", "c": "b"})])
    changed = tree({"a": None, "x": "a", "c": "x", "d": "c"})
    assert (await user.sessions.add_many([changed])).messages == 4
    assert await held(user) == {"pond": "a b c", "pond~x": "a x c d"}
    before = await held(user)
    assert (await user.sessions.add_many([changed])).messages == 0
    assert await held(user) == before


async def test_a_later_part_of_a_conversation_is_added_behind_the_earlier(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None, "b": "a"})])
    await user.sessions.add_many([tree({"b": None, "c": "b"})])
    await user.sessions.add_many([tree({"d": None})])
    assert await held(user) == {"pond": "a b c d"}


async def test_what_the_user_added_meanwhile_stays_where_it_is(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None})])
    await user.chat("pond").add("user", "by hand", key="hand")
    await user.sessions.add_many([tree({"a": None, "b": "a"})])
    assert await held(user) == {"pond": "a hand b"}


async def test_what_reads_otherwise_stays_as_it_was_and_is_told(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None})])
    other = ImportedConversation("pond", [ImportedMessage("a", "user", "something else", NOON)])
    assert await user.sessions.add_many([other]) == Imported(known=1, differing=1)
    assert [each.content for each in await user.chat("pond").history()] == ["a said"]


async def test_an_archived_conversation_that_has_grown_is_active_again(user: Any) -> None:
    await user.sessions.add_many([tree({"a": None})])
    await user.sessions.archive("pond")
    await user.sessions.add_many([tree({"a": None})])
    assert (await user.sessions.get("pond")).status == "archived"
    await user.sessions.add_many([tree({"a": None, "b": "a"})])
    assert (await user.sessions.get("pond")).status == "active"


async def test_one_fault_means_that_nothing_is_stored(user: Any) -> None:
    faults = [
        ImportedConversation("pond", []),
        ImportedConversation("", [ImportedMessage("a", "user", "x", NOON)]),
        ImportedConversation("pond", [ImportedMessage("a", "robot", "x", NOON)]),
        ImportedConversation("pond", [ImportedMessage("a", "user", " ", NOON)]),
        ImportedConversation("pond", [ImportedMessage("", "user", "x", NOON)]),
        ImportedConversation(
            "pond", [ImportedMessage("a", "user", "x", NOON), ImportedMessage("a", "user", "y", NOON)]
        ),
        ImportedConversation(
            "pond", [ImportedMessage("a", "user", "x", NOON, "b"), ImportedMessage("b", "user", "y", NOON)]
        ),
        tree({"a": None}, current="b"),
        tree({"a": None}, name="x" * 501),
    ]
    for fault in faults:
        with pytest.raises(ltst.Invalid):
            await user.sessions.add_many([tree({"a": None}, "before"), fault])
    assert await user.sessions.list() == [] and await user.events.list() == []


async def test_many_conversations_at_once_are_found_by_a_search(user: Any) -> None:
    given = [
        tree({f"{number}-{turn}": f"{number}-{turn - 1}" if turn else None for turn in range(5)}, f"c{number}")
        for number in range(30)
    ]
    assert await user.sessions.add_many(given) == Imported(conversations=30, messages=150)
    assert (await user.search("17-3 said"))[0].content == "17-3 said"


async def test_memories_from_elsewhere_are_kept_once(user: Any) -> None:
    given = [
        MemoryEntry("Grows beans", metadata={"n": 1}, timestamp=NOON, source="mem0", importance_score=0.75),
        MemoryEntry("Grows beans"),
        MemoryEntry("Is afraid of wasps", memory_type="episodic"),
    ]
    assert await user.entries.add_many(given) == Imported(entries=2, known=1)
    assert await user.entries.add_many(given) == Imported(known=3)
    (beans,) = await user.entries.list("long_term")
    assert (beans.content, beans.timestamp, beans.source) == ("Grows beans", NOON, "mem0")
    assert (beans.importance_score, beans.metadata) == (0.75, {"n": 1})
    for fault in (MemoryEntry(""), MemoryEntry("x", memory_type="other"), MemoryEntry("x", importance_score=2)):
        with pytest.raises(ltst.Invalid):
            await user.entries.add_many([MemoryEntry("new"), fault])
    assert len(await user.entries.list()) == 2
