"""MemoryManager: one conversation and all that is remembered for it, behind four verbs."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
import ltst.manager
from helpers.interfaces import parameters
from helpers.probes import pass_time, superuser, value
from helpers.waiting import soon
from ltst import AsyncMemory, ConversationMessage, MemoryConfig, MemoryEntry, MemoryManager, MemoryTypes, Settings
from ltst.handles.learning import rules
from ltst.recall.context import TITLES
from ltst.rooms import work

FOUR = "short_term, working, long_term, episodic"


def contents(found: list[MemoryEntry]) -> list[str]:
    return [each.content for each in found]


def spoken(context: dict[str, Any]) -> list[tuple[str, str]]:
    """The turns of a context, without what is remembered beside them."""
    return [(each["role"], each["content"]) for each in context["messages"] if each["role"] != "system"]


@pytest.fixture
async def manager(settings: Settings) -> AsyncIterator[MemoryManager]:
    async with MemoryManager({"settings": settings, "session_id": "monday", "user_id": "ana"}) as opened:
        yield opened


def test_the_interface_is_the_one_that_people_know() -> None:
    promised = {
        "add_interaction": ["user_msg", "ai_msg"],
        "get_context": [],
        "add_memory": ["content", "memory_type", "metadata"],
        "search_memory": ["query", "memory_type", "limit", "filters"],
        "close": [],
    }
    assert parameters(MemoryManager, inspect.iscoroutinefunction) == promised
    assert [*inspect.signature(MemoryManager).parameters] == ["config_or_session_id", "user_id", "agent"]
    assert inspect.signature(MemoryManager.search_memory).parameters["limit"].default == 5
    names = ["content", "embedding", "metadata", "timestamp", "source", "importance_score"]
    assert [*inspect.signature(MemoryEntry).parameters][:6] == names
    assert [each.name for each in MemoryTypes] == ["SHORT_TERM", "WORKING", "LONG_TERM", "EPISODIC"]


async def test_a_session_id_is_enough(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    manager = MemoryManager("monday")
    await manager.add_interaction("My name is Ana.", "Hello, Ana!")
    assert spoken(await manager.get_context()) == [("user", "My name is Ana."), ("assistant", "Hello, Ana!")]
    assert (manager.session_id, manager.user_id, manager.agent) == ("monday", "local", None)
    await manager.close()


async def test_the_user_is_the_one_of_the_settings_unless_named(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("LTST_USER", "eve")
    assert MemoryManager("monday").user_id == "eve"
    assert MemoryManager({"user_id": "ana"}).user_id == "ana"
    assert MemoryManager({"user_id": "ana", "agent": "cook"}, user_id="bob", agent="coach").user_id == "bob"
    assert MemoryManager({"user_id": "ana", "agent": "cook"}, user_id="bob", agent="coach").agent == "coach"
    assert MemoryManager(Settings(user="kim")).user_id == "kim"


def test_without_an_id_the_session_is_a_new_one(settings: Settings) -> None:
    first, second = MemoryManager(settings), MemoryManager(settings)
    assert first.session_id != second.session_id
    assert first.session_id == first.session_id


@pytest.mark.parametrize("wrapped", [dict, lambda each: Settings(**each)], ids=["mapping", "Settings"])
async def test_a_config_may_hold_the_settings(
    settings: Settings, wrapped: Callable[[dict[str, Any]], dict[str, Any] | Settings]
) -> None:
    given = wrapped({"database_url": settings.database_url, "home": settings.home, "worker": False, "user": "kim"})
    async with MemoryManager({"settings": given, "session_id": "s"}) as manager:
        await manager.add_interaction("one", "two")
        assert manager.user_id == "kim"


async def test_settings_alone_are_a_config(settings: Settings) -> None:
    async with MemoryManager(settings, user_id="ana") as manager:
        assert (await manager.get_context())["messages"] == []


async def test_a_config_tells_the_window(settings: Settings) -> None:
    config = {
        "database_url": settings.database_url,
        "session_id": "long",
        "user_id": "ana",
        "window_strategy": "sliding_window_summary",
        "max_tokens": 1000,
    }
    async with MemoryManager(config) as manager:
        for number in range(80):
            await manager.add_interaction(f"I planted tree {number} in Porto today.", f"Tree {number} it is.")
        context = await manager.get_context()
    assert (context["window_strategy"], context["max_tokens"]) == ("sliding_window_summary", 1000)
    assert 0 < context["tokens"] <= 1000
    assert context["messages"][0]["role"] == "system" and TITLES["summary"] in context["messages"][0]["content"]
    assert spoken(context)[-1] == ("assistant", "Tree 79 it is.")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (5, "a session id, Settings or a config"),
        (["monday"], "a session id, Settings or a config"),
        ("", "session_id must be 1 to 255"),
        ("x" * 256, "session_id must be 1 to 255"),
        ({"session_id": ""}, "session_id must be 1 to 255"),
        ({"user_id": " "}, "user_id must be 1 to 255"),
        ({"user_id": "system"}, "reserved"),
        ({"agent": 5}, "agent must be text"),
        (
            {"session": "monday"},
            "knows no session; it may have session_id, user_id, agent, window, max_tokens, strategy",
        ),
        ({5: "monday"}, "knows no 5"),
        ({"settings": 5}, "settings in the config must be Settings"),
        ({"settings": {"colour": "red"}}, "no setting colour"),
        ({"database_url": 5}, "database URL as text"),
        ({"window": 0}, "window must be a whole number from 1 to"),
        ({"window_strategy": "all"}, "strategy must be one of sliding_window, sliding_window_summary"),
        ({"max_tokens": 3}, "max_tokens must be a whole number of at least 17"),
        ({"max_tokens": "many"}, "max_tokens must be a whole number of at least 17"),
    ],
)
def test_a_config_that_cannot_work_is_refused(given: Any, told: str) -> None:
    with pytest.raises(ltst.Invalid, match=told):
        MemoryManager(given)


async def test_the_context_is_ready_for_json_and_for_a_model(manager: MemoryManager, memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await user.chat("last week").add("user", "My knee hurts when I run downhill.")
    await user.facts.set("home", "Lisbon")
    await manager.add_interaction("Good morning!", "Good morning, Ana.")
    asked = await manager.add_memory("Should I run today, with my knee?", MemoryTypes.SHORT_TERM)
    context = await manager.get_context()
    assert set(context) == {"session_id", "messages", "window_strategy", "max_tokens", "text", "tokens", "sources"}
    assert json.loads(json.dumps(context)) == context
    assert (context["session_id"], context["window_strategy"], context["max_tokens"]) == (
        "monday",
        "sliding_window",
        4000,
    )
    system, *turns = context["messages"]
    assert system["role"] == "system"
    assert "Lisbon" in system["content"] and "knee hurts" in system["content"]
    assert [each["role"] for each in turns] == ["user", "assistant", "user"]
    assert turns[-1]["content"] == "Should I run today, with my knee?"
    assert asked.entry_id in context["sources"]
    assert "knee hurts" in context["text"]


async def test_an_answered_question_is_recalled_for_but_not_asked_again(
    manager: MemoryManager, memory: AsyncMemory
) -> None:
    await memory.user("ana").chat("before").add("user", "The spare key is under the blue pot.")
    await manager.add_interaction("Where is the spare key?", "Let me think.")
    context = await manager.get_context()
    assert spoken(context) == [("user", "Where is the spare key?"), ("assistant", "Let me think.")]
    assert "blue pot" in context["messages"][0]["content"]


async def test_the_instructions_of_its_agent_are_in_the_context(settings: Settings, memory: AsyncMemory) -> None:
    await memory.user("ana").instructions.set("coach", "Answer in two sentences.")
    async with MemoryManager({"settings": settings}, user_id="ana", agent="coach") as manager:
        await manager.add_interaction("Hello!", "Hi.")
        assert (await manager.get_context())["messages"][0]["content"].startswith("Answer in two sentences.")


async def test_an_interaction_is_added_whole_or_not_at_all(manager: MemoryManager) -> None:
    with pytest.raises(ltst.Invalid):
        await manager.add_interaction("why?", "  ")
    assert (await manager.get_context())["messages"] == []


@pytest.mark.parametrize("given", [*MemoryTypes, "short_term", "WORKING", "Long_Term", "EPISODIC"])
async def test_a_memory_type_is_the_enum_or_its_text(manager: MemoryManager, given: str) -> None:
    added = await manager.add_memory("The lighthouse stands on the cape.", given, {"topic": "sea"})
    assert (added.content, added.memory_type) == ("The lighthouse stands on the cape.", given.lower())
    (found,) = await manager.search_memory("lighthouse", given)
    assert (found.content, found.memory_type, found.metadata["topic"]) == (added.content, given.lower(), "sea")
    assert found.timestamp is not None and datetime.now(UTC) - found.timestamp < timedelta(minutes=1)
    assert found.source
    assert 0 < found.importance_score <= 1
    assert (found.entry_id, found.user_id, found.timestamp) == (added.entry_id, "ana", added.timestamp)


@pytest.mark.parametrize("type", [None, 5, "", "semantic", "shortterm", "message", ["working"], "long_term\x00"])
async def test_another_memory_type_is_refused_naming_the_four(manager: MemoryManager, type: Any) -> None:
    with pytest.raises(ltst.Invalid, match=FOUR):
        await manager.add_memory("hello", type)
    with pytest.raises(ltst.Invalid, match=FOUR):
        await manager.search_memory("hello", type)


@pytest.mark.parametrize("type", MemoryTypes)
async def test_bad_input_is_refused_and_nothing_is_kept(manager: MemoryManager, type: MemoryTypes) -> None:
    for content in ("", " \n", None, 5, b"bytes", "a\x00b", "\ud800", "x" * (1024 * 1024 + 1)):
        with pytest.raises(ltst.Invalid, match="content"):
            await manager.add_memory(content, type)  # type: ignore[arg-type]
        with pytest.raises(ltst.Invalid, match="query"):
            await manager.search_memory(content, type)  # type: ignore[arg-type]
    for metadata in (5, "topic", [("a", 1)], {"a": object()}, {1: "a"}, {"a": float("nan")}):
        with pytest.raises(ltst.Invalid, match="metadata"):
            await manager.add_memory("hello", type, metadata)  # type: ignore[arg-type]
    for limit in (0, -1, 201, True, "5", 2.0):
        with pytest.raises(ltst.Invalid, match="limit must be a whole number from 1 to 200"):
            await manager.search_memory("hello", type, limit)  # type: ignore[arg-type]
    assert await manager.search_memory("hello", type) == []


@pytest.mark.parametrize(("role", "told"), [("assistant", "assistant"), ("ai", "assistant"), ("human", "user")])
async def test_a_message_may_be_anyones(manager: MemoryManager, role: str, told: str) -> None:
    await manager.add_memory("It rains in Porto.", "short_term", {"role": role, "topic": "weather"})
    assert spoken(await manager.get_context()) == [(told, "It rains in Porto.")]
    (found,) = await manager.search_memory("rain", "short_term")
    assert (found.metadata, found.source) == ({"topic": "weather", "role": told}, "conversation")


async def test_a_role_that_nobody_has_is_refused(manager: MemoryManager) -> None:
    with pytest.raises(ltst.Invalid, match="role must be one of"):
        await manager.add_memory("hello", "short_term", {"role": "critic"})


async def test_working_memory_has_keys_and_an_end(manager: MemoryManager, memory: AsyncMemory) -> None:
    working = memory.user("ana").chat("monday").working
    kept = await manager.add_memory("fly to Lisbon", "working", {"key": "plan", "ttl": 3600, "why": "holiday"})
    assert await working.all() == {"plan": "fly to Lisbon"}
    assert kept.metadata == {"why": "holiday", "key": "plan"}
    assert kept.expires_at is not None and kept.expires_at > datetime.now(UTC) + timedelta(minutes=59)
    await manager.add_memory("take the train to Lisbon", "working", {"key": "plan", "ttl": timedelta(hours=1)})
    assert contents(await manager.search_memory("plan", "working")) == ["take the train to Lisbon"]
    with superuser(str(memory.settings.database_url)) as database:
        pass_time(database, "conversation_context", "ana", timedelta(hours=1))
    assert await manager.search_memory("plan", "working") == []


async def test_the_same_working_value_without_a_key_is_kept_once(manager: MemoryManager) -> None:
    first = await manager.add_memory("The oven runs hot.", "working")
    assert await manager.add_memory("The oven runs hot.", "working") == first
    await manager.add_memory("The oven runs cold.", "working")
    assert len(await manager.search_memory("oven", "working")) == 2


@pytest.mark.parametrize("metadata", [{"key": ""}, {"key": 5}, {"key": "x" * 256}, {"ttl": 0}, {"ttl": "soon"}])
async def test_a_bad_key_or_span_is_refused(manager: MemoryManager, metadata: dict[str, Any]) -> None:
    with pytest.raises(ltst.Invalid, match=r"(key|ttl) must be"):
        await manager.add_memory("hello", "working", metadata)


async def test_working_values_are_found_by_their_words_the_best_first(
    manager: MemoryManager, memory: AsyncMemory
) -> None:
    working = memory.user("ana").chat("monday").working
    await working.set("trip", {"city": "Lisbon", "days": [3, 4]})
    await working.set("budget", 500)
    await manager.add_memory("Book the flights to Lisbon.", "working")
    await manager.add_memory("Water the plants.", "working")
    found = await manager.search_memory("booking flights for the trip to Lisbon", "working")
    assert contents(found) == ["Book the flights to Lisbon.", '{"city": "Lisbon", "days": [3, 4]}']
    assert contents(await manager.search_memory("which budget?", "working")) == ["500"]
    assert len(await manager.search_memory("Lisbon", "working", 1)) == 1
    assert await manager.search_memory("what is it?", "working") == []


async def test_knowledge_and_episodes_are_kept_apart_however_many_there_are(manager: MemoryManager) -> None:
    for number in range(210):
        await manager.add_memory(f"We talked about the lighthouse, part {number}.", "episodic")
    await manager.add_memory("There is a lighthouse in Porto.", "long_term", {"importance": 0.25})
    (known,) = await manager.search_memory("lighthouse talked part", "long_term", 200)
    assert (known.content, known.importance_score, known.memory_type) == (
        "There is a lighthouse in Porto.",
        0.25,
        "long_term",
    )
    assert len(await manager.search_memory("lighthouse", "episodic")) == 5
    assert {each.memory_type for each in await manager.search_memory("lighthouse", "episodic", 200)} == {"episodic"}


async def test_what_is_called_important_in_other_words_stays_as_it_is(manager: MemoryManager) -> None:
    added = await manager.add_memory("There is a lighthouse.", "long_term", {"importance": "high"})
    assert (added.metadata, added.importance_score) == ({"importance": "high"}, 0.55)


@pytest.mark.parametrize("type", MemoryTypes)
async def test_what_matters_more_weighs_more(manager: MemoryManager, type: MemoryTypes) -> None:
    critical = await manager.add_memory("The password policy is critical!", type)
    assert critical.importance_score > (await manager.add_memory("ok", type)).importance_score


@pytest.mark.parametrize("type", MemoryTypes)
async def test_a_source_that_is_named_is_the_source(manager: MemoryManager, type: MemoryTypes) -> None:
    added = await manager.add_memory("The lighthouse stands on the cape.", type, {"source": "handbook, page 3"})
    (found,) = await manager.search_memory("lighthouse", type)
    assert (added.source, found.source) == ("handbook, page 3", "handbook, page 3")
    assert found.metadata["source"] == "handbook, page 3"
    with pytest.raises(ltst.Invalid, match="source must be 1 to 255"):
        await manager.add_memory("hello", type, {"source": "x" * 256})
    other = await manager.add_memory("The harbour is deep.", type, {"source": ["a", "b"]})
    assert other.source in ("library", "conversation", "explicit") and other.metadata["source"] == ["a", "b"]


@pytest.mark.parametrize("type", MemoryTypes)
async def test_what_is_found_carries_its_vector(manager: MemoryManager, memory: AsyncMemory, type: MemoryTypes) -> None:
    await manager.add_memory("The lighthouse stands on the cape.", type)
    if type is MemoryTypes.LONG_TERM:
        await memory.user("ana").facts.set("lighthouse", "red")
    found = await manager.search_memory("lighthouse", type)
    assert len(found) == 1 + (type is MemoryTypes.LONG_TERM)
    for each in found:
        (alike,) = await memory.embed([each.content])
        assert each.embedding is not None and len(each.embedding) == 384
        assert sum(a * b for a, b in zip(each.embedding, alike, strict=True)) > 0.7


@pytest.mark.parametrize("type", MemoryTypes)
async def test_a_search_can_be_filtered_by_metadata(manager: MemoryManager, type: MemoryTypes) -> None:
    for number, topic in enumerate(["sea", "land", "sea"]):
        await manager.add_memory(f"Lighthouse {number}", type, {"topic": topic, "price": number, "tags": ["a", topic]})

    async def found(filters: dict[str, Any]) -> set[str]:
        return {*contents(await manager.search_memory("lighthouse", type, 10, filters=filters))}

    assert await found({}) == {"Lighthouse 0", "Lighthouse 1", "Lighthouse 2"}
    assert await found({"topic": "sea"}) == {"Lighthouse 0", "Lighthouse 2"}
    assert await found({"topic": "sea", "price": {"gt": 0, "lte": 2}}) == {"Lighthouse 2"}
    assert await found({"tags": ["land"]}) == {"Lighthouse 1"}
    assert await found({"price": "1"}) == await found({"absent": 1}) == await found({"topic": {"gt": 1}}) == set()
    for bad in ("topic", 5, ["topic"]):
        with pytest.raises(ltst.Invalid, match="filters must be a mapping"):
            await manager.search_memory("lighthouse", type, filters=bad)  # type: ignore[arg-type]


async def test_messages_can_be_filtered_by_their_role(manager: MemoryManager) -> None:
    for number in range(6):
        await manager.add_memory(f"Lighthouse {number}", "short_term", {"role": "assistant" if number == 3 else "user"})
    (found,) = await manager.search_memory("lighthouse", "short_term", 1, {"role": "assistant"})
    assert found.content == "Lighthouse 3"


@pytest.mark.parametrize("type", [MemoryTypes.SHORT_TERM, MemoryTypes.LONG_TERM, MemoryTypes.EPISODIC])
async def test_a_moment_without_a_zone_is_local(manager: MemoryManager, type: MemoryTypes) -> None:
    then = datetime(2024, 7, 1, 12, 30)
    added = await manager.add_memory("The lighthouse was lit.", type, {"timestamp": then, "topic": "sea"})
    assert (added.timestamp, added.metadata.get("timestamp")) == (then.astimezone(), None)


@pytest.mark.parametrize("type", [MemoryTypes.WORKING, MemoryTypes.LONG_TERM, MemoryTypes.EPISODIC])
async def test_an_end_without_a_zone_is_local(manager: MemoryManager, type: MemoryTypes) -> None:
    later = datetime.now() + timedelta(hours=1)
    added = await manager.add_memory("The lighthouse is lit.", type, {"expires_at": later})
    assert (added.expires_at, added.metadata.get("expires_at")) == (later.astimezone(), None)
    await manager.add_memory("The lighthouse is dark.", type, {"expires_at": later - timedelta(hours=2)})
    assert contents(await manager.search_memory("lighthouse", type)) == ["The lighthouse is lit."]


async def test_facts_of_the_message_just_added_are_in_the_next_context(settings: Settings) -> None:
    """While a worker of the same process is at it too."""
    config = MemoryConfig(settings=replace(settings, worker=True), user_id="ana")
    for number, (said, known) in enumerate([("My name is Ana.", "Ana"), ("I live in Lisbon.", "Lisbon")]):
        async with MemoryManager(config) as manager:
            await manager.add_interaction(said, "Noted.")
            system = (await manager.get_context())["messages"][0]
            assert system["role"] == "system" and known in system["content"], number
            facts = (await manager.profile.get_all())["facts"]
            assert known in {each["value"] for each in facts}


async def test_a_worker_that_reads_the_conversation_is_waited_for(manager: MemoryManager, memory: AsyncMemory) -> None:
    await manager.add_interaction("My name is Ana.", "Noted.")
    calls = memory._core.database.user("ana")
    (lease,) = await work.claim_sessions(calls, rules(memory._core), "ana", "learn", 1, "monday")
    waiting = asyncio.create_task(manager.get_context())
    await asyncio.wait([waiting], timeout=0.5)
    assert not waiting.done()
    await work.give_back(calls, [lease])
    assert "Ana" in (await waiting)["messages"][0]["content"]


async def test_a_context_is_no_longer_than_the_preference_says(manager: MemoryManager, memory: AsyncMemory) -> None:
    for number in range(30):
        await manager.add_interaction(f"Tell me about tree {number}. " + "It grows. " * 40, f"Tree {number}. " * 40)
    context = await manager.get_context()
    assert 5_000 < len(context["text"]) <= 10_000
    assert sum(len(each["content"]) for each in context["messages"]) <= 10_000
    assert (context["max_tokens"], spoken(context)[-1][1][:8]) == (4000, "Tree 29.")
    await memory.user("ana").preferences.set("max_context_length", "2000")
    assert 500 < len((await manager.get_context())["text"]) <= 2_000
    await memory.user("ana").preferences.set("max_context_length", "long")
    with pytest.raises(ltst.Invalid, match="max_context_length must be a number of characters, not 'long'"):
        await manager.get_context()


async def test_a_config_may_be_a_dataclass(settings: Settings) -> None:
    config = MemoryConfig(
        settings=settings, window=3, max_tokens=500, strategy="sliding_window", user_id="ana", agent="coach"
    )
    config.session_id = "monday"
    async with MemoryManager(config) as manager:
        config.session_id = "tuesday"
        for number in range(4):
            await manager.add_interaction(f"{number}?", f"{number}!")
        context = await manager.get_context()
        assert [content for _, content in spoken(context)] == ["2!", "3?", "3!"]
        assert (context["max_tokens"], context["window_strategy"]) == (500, "sliding_window")
        assert (manager.session_id, manager.user_id, manager.agent) == ("monday", "ana", "coach")
        assert [each.content for each in manager.short_term_buffer] == ["2!", "3?", "3!"]


async def test_the_history_is_the_conversation(manager: MemoryManager) -> None:
    assert await manager.history.get_recent() == []
    for number in range(6):
        await manager.history.add_pair(f"{number}?", f"{number}!")
    await manager.history.add_message({"role": "user", "content": "And then?"})
    recent = await manager.history.get_recent()
    assert len(recent) == 10 and recent[-1] == {"role": "user", "content": "And then?"}
    assert await manager.history.get_recent(k=2) == [
        {"role": "assistant", "content": "5!"},
        {"role": "user", "content": "And then?"},
    ]
    assert spoken(await manager.get_context())[-1] == ("user", "And then?")
    for bad in ({"role": "user"}, {"content": "x"}, object()):
        with pytest.raises(ltst.Invalid, match="role and a content"):
            await manager.history.add_message(bad)  # type: ignore[arg-type]


async def test_the_profile_is_what_is_known(manager: MemoryManager, memory: AsyncMemory) -> None:
    (said, _) = await manager.add_interaction("hello", "hi")
    facts = [
        {"key": "programming_language", "value": "python", "confidence": 0.9, "source_message_id": said.message_id},
        {"key": "cloud_provider", "value": "azure"},
    ]
    assert [each.key for each in await manager.profile.upsert_facts(facts)] == [each["key"] for each in facts]
    await manager.profile.upsert_facts({"cloud_provider": "aws"})
    await memory.user("ana").preferences.set("tone", "concise")
    known = await manager.profile.get_all()
    assert {name: known[name] for name in ("user_id", "facts", "preferences")} == {
        "user_id": "ana",
        "facts": [
            {"key": "cloud_provider", "value": "aws", "confidence": 1.0, "source_message_id": None},
            facts[0],
        ],
        "preferences": {"tone": "concise"},
    }


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (5, "facts must be a mapping"),
        ("home", "facts must be a mapping"),
        ([{"key": "a"}], "fact 1 must be a mapping with key, value"),
        ([{"key": "a", "value": "b", "colour": "red"}], "fact 1 must be a mapping with key, value"),
        ([{"key": "a", "value": "b"}, {"key": "", "value": "b"}], "the key of fact 2"),
        ([{"key": "a", "value": "b"}, {"key": "c", "value": ""}], "the value of fact 2"),
        ([{"key": "a", "value": "b"}, {"key": "c", "value": "d", "confidence": 2}], "the confidence of fact 2"),
    ],
)
async def test_of_facts_that_cannot_be_kept_none_is(manager: MemoryManager, facts: Any, told: str) -> None:
    with pytest.raises(ltst.Invalid, match=told):
        await manager.profile.upsert_facts(facts)
    assert (await manager.profile.get_all())["facts"] == []


async def test_of_facts_from_a_message_that_is_not_there_none_is_kept(manager: MemoryManager) -> None:
    facts = [{"key": "a", "value": "b"}, {"key": "c", "value": "d", "source_message_id": "msg_88"}]
    with pytest.raises(ltst.NotFound, match="msg_88"):
        await manager.profile.upsert_facts(facts)
    assert (await manager.profile.get_all())["facts"] == []


async def test_working_memory_is_a_mapping_that_others_see(manager: MemoryManager, memory: AsyncMemory) -> None:
    working, stored = manager.working_memory, memory.user("ana").chat("monday").working
    assert (dict(working), len(working), "plan" in working) == ({}, 0, False)
    working["plan"] = ["book", {"days": 3}]
    working.update(step=1, done=None)
    assert await stored.all() == dict(working) == {"plan": ["book", {"days": 3}], "step": 1, "done": None}
    assert (working["plan"], working["done"], working.get("absent", 5)) == (["book", {"days": 3}], None, 5)
    await stored.set("theirs", True)
    assert working["theirs"] is True and sorted(working) == ["done", "plan", "step", "theirs"]
    del working["theirs"]
    assert working.pop("step") == 1
    assert await stored.get("step") is None
    for missing in (lambda: working["step"], lambda: working.__delitem__("step")):
        with pytest.raises(KeyError, match="step"):
            missing()
    assert "book" in (await manager.get_context())["text"]
    working.set("soon", "over", ttl=0.01)
    while "soon" in working:  # which takes its time by itself
        pass
    with pytest.raises(ltst.Invalid, match="JSON"):
        working["bad"] = object()
    assert repr(working) == "{'done': None, 'plan': ['book', {'days': 3}]}"
    working.clear()
    assert working == {} and await stored.all() == {}


async def test_working_memory_can_be_written_while_messages_are(manager: MemoryManager) -> None:
    """Both lock the session; the caller's loop stands still while the mapping waits."""
    writes = [asyncio.create_task(manager.add_interaction(f"{number}?", "Yes.")) for number in range(20)]
    for number in range(20):
        manager.working_memory[f"{number}"] = number
        await asyncio.sleep(0)
    await asyncio.gather(*writes)
    assert len(manager.working_memory) == 20 and len(manager.short_term_buffer) == 40


async def test_the_buffer_shows_what_was_said(manager: MemoryManager) -> None:
    buffer = manager.short_term_buffer
    assert len(buffer) == 0 and [*buffer] == []
    await manager.add_interaction("one", "two")
    assert [each.content for each in buffer] == ["one", "two"]
    assert (buffer[-1].content, buffer[-1].metadata["role"], len(buffer[:1])) == ("two", "assistant", 1)
    assert not hasattr(buffer, "append")


async def test_the_vector_store_holds_knowledge(manager: MemoryManager) -> None:
    store, now = manager.vector_store, datetime.now()
    entry = MemoryEntry("Bees sleep in winter.", None, {"topic": "bees"}, now, "handbook", 0.75)
    kept = await store.add(entry)
    assert (kept.source, kept.importance_score, kept.timestamp) == ("handbook", 0.75, now.astimezone())
    await store.add(MemoryEntry("The barn is red."))
    (found,) = await store.search("What do bees do in winter?", limit=1, filters={"topic": "bees"})
    assert found.entry_id == kept.entry_id and found.embedding is not None
    vector = await store.embed("Bees sleep in winter.")
    assert sum(a * b for a, b in zip(vector, found.embedding, strict=True)) > 0.7
    with pytest.raises(ltst.Invalid, match="must be a MemoryEntry"):
        await store.add("Bees")  # type: ignore[arg-type]


async def test_a_view_opens_the_database_too(settings: Settings) -> None:
    config = {"settings": settings, "session_id": "monday"}
    manager = MemoryManager(config)
    manager.working_memory["step"] = 1
    other = MemoryManager(config)
    assert other.working_memory["step"] == 1
    await manager.close()
    await other.close()


@dataclass
class Said:
    role: str
    content: str
    timestamp: datetime | None = None


async def test_a_conversation_keeps_each_message_once(settings: Settings) -> None:
    config = MemoryConfig(settings=settings, user_id="ana", session_id="another")
    async with ltst.manager.ConversationContext("monday", config) as conversation:
        assert (conversation.id, conversation.memory.session_id, config.session_id) == ("monday", "monday", "another")
        then = datetime(2024, 7, 1, 12, 30)
        added = await conversation.add_message(Said("user", "Where is the lighthouse?", then))
        await conversation.add_message({"role": "assistant", "content": "On the cape.", "metadata": {"a": 1}})
        await conversation.add_message(ConversationMessage("monday", "human", "Thank you."))
        assert (added.source, added.timestamp, added.metadata["role"]) == ("monday", then.astimezone(), "user")
        assert [each["content"] for each in await conversation.history.get_recent()] == [
            "Where is the lighthouse?",
            "On the cape.",
            "Thank you.",
        ]
        (found, *_) = await conversation.memory.search_memory("lighthouse", MemoryTypes.SHORT_TERM)
        assert (found.content, found.source) == ("Where is the lighthouse?", "monday")
        with pytest.raises(ltst.Invalid, match="role and a content"):
            await conversation.add_message(Said("user", None))  # type: ignore[arg-type]
    assert ltst.manager.ConversationContext is not ltst.ConversationContext


async def test_facts_are_knowledge(manager: MemoryManager, memory: AsyncMemory) -> None:
    user = memory.user("ana")
    said = await user.chat("before").add("user", "I moved to Lisbon.")
    await user.facts.set("home", "Lisbon", confidence=0.9, source_message_id=said.message_id)
    await user.facts.set("favourite tea", "lapsang")
    (found,) = await manager.search_memory("home Lisbon", MemoryTypes.LONG_TERM, 1)
    assert (found.content, found.memory_type, found.importance_score, found.source) == (
        "home: Lisbon",
        "long_term",
        0.9,
        "conversation",
    )
    assert found.metadata["source_message_id"] == said.message_id
    assert found.metadata["key"] == "home"
    assert await manager.search_memory("home Lisbon", MemoryTypes.EPISODIC) == []


async def test_a_second_manager_of_the_session_remembers(settings: Settings) -> None:
    config = {"settings": settings, "session_id": "monday", "user_id": "ana"}
    async with MemoryManager(config) as first:
        await first.add_interaction("I keep bees.", "How many hives?")
        await first.add_memory("Seven hives", "working", {"key": "hives"})
        await first.add_memory("Bees sleep in winter.", "long_term")
    async with MemoryManager(config) as second:
        assert spoken(await second.get_context()) == [("user", "I keep bees."), ("assistant", "How many hives?")]
        assert contents(await second.search_memory("hives", "working")) == ["Seven hives"]
        assert contents(await second.search_memory("bees", "long_term")) == ["Bees sleep in winter."]


async def test_a_manager_can_be_closed_twice_and_used_again(settings: Settings) -> None:
    manager = MemoryManager({"settings": settings, "session_id": "monday"})
    await manager.close()
    await manager.add_interaction("one", "two")
    await manager.close()
    await manager.close()
    assert len(spoken(await manager.get_context())) == 2
    await manager.close()


@pytest.mark.parametrize("worker", [False, True])
def test_a_manager_lives_from_one_run_to_the_next(settings: Settings, worker: bool) -> None:
    manager = MemoryManager({"settings": replace(settings, worker=worker), "session_id": "monday"})
    for _ in range(3):
        asyncio.run(manager.add_interaction("one", "two"))
    assert len(spoken(asyncio.run(manager.get_context()))) == 6
    asyncio.run(manager.close())


async def test_two_users_share_nothing_but_the_names_of_their_sessions(settings: Settings) -> None:
    ana, bob = (MemoryManager({"settings": settings, "session_id": "monday"}, user_id=who) for who in ("ana", "bob"))
    for type in MemoryTypes:
        await ana.add_memory(f"The vault opens with 4711, says my {type}.", type)
        assert await bob.search_memory("vault 4711", type) == []
    assert (await bob.get_context())["messages"] == []
    await bob.add_interaction("What opens the vault?", "I do not know.")
    assert "4711" not in json.dumps(await bob.get_context())
    await ana.close()
    await bob.close()


async def test_sessions_share_knowledge_but_not_what_was_said(settings: Settings) -> None:
    async with MemoryManager({"settings": settings}) as one, MemoryManager({"settings": settings}) as two:
        for type in MemoryTypes:
            await one.add_memory("The vault is blue.", type)
        found = {type: len(await two.search_memory("vault", type)) for type in MemoryTypes}
    assert found == {"short_term": 0, "working": 0, "long_term": 1, "episodic": 1}


async def test_first_calls_made_at_once_open_once(
    settings: Settings, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a database without a schema, so that those who do not wait for the first one see that it is missing."""
    opened = []
    migrate = ltst.memory.migrate.migrate  # type: ignore[attr-defined]

    async def counted(*arguments: Any) -> None:
        opened.append(arguments)
        await migrate(*arguments)

    monkeypatch.setattr("ltst.memory.migrate.migrate", counted)
    manager = MemoryManager({"settings": settings, "database_url": empty_database_url, "session_id": "monday"})
    await asyncio.gather(*(manager.add_interaction(f"{number}?", f"{number}!") for number in range(10)))
    turns = spoken(await manager.get_context())
    await manager.close()
    assert len(opened) == 1
    assert sorted(turns[::2]) == [("user", f"{number}?") for number in range(10)]
    assert [answer for _, answer in turns[1::2]] == [question.replace("?", "!") for _, question in turns[::2]]


async def test_many_managers_of_one_session_write_at_once(settings: Settings) -> None:
    config = {"settings": settings, "session_id": "monday", "max_tokens": 10_000}
    managers = [MemoryManager(config) for _ in range(4)]
    writes = [
        manager.add_interaction(f"{at}-{turn}?", "Yes.") for at, manager in enumerate(managers) for turn in (1, 2)
    ]
    stored = [message for pair in await asyncio.gather(*writes) for message in pair]
    await asyncio.gather(*(manager.close() for manager in managers))
    assert sorted(message.message_index or 0 for message in stored) == [*range(1, 17)]


async def test_closing_leaves_no_connection_behind(settings: Settings) -> None:
    async with MemoryManager({"settings": settings}) as manager:
        await manager.add_interaction("one", "two")
    assert settings.database_url is not None
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with superuser(settings.database_url) as connection:
        await soon(lambda: value(connection, query) == 0)
