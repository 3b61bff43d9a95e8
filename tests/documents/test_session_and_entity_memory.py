"""The document of short-term, long-term and working memory: its manager, run as written, and its two JSON shapes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ltst import MemoryManager, MemoryTypes, Settings


@pytest.fixture
async def manager(settings: Settings) -> AsyncIterator[MemoryManager]:
    config = {"settings": settings, "session_id": "sess_123", "user_id": "user_456"}
    async with MemoryManager({**config, "window_strategy": "sliding_window_summary", "max_tokens": 4000}) as opened:
        yield opened


def spoken(context: dict[str, Any]) -> list[dict[str, str]]:
    return [each for each in context["messages"] if each["role"] != "system"]


async def test_the_manager_takes_a_session_id(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    manager = MemoryManager("sess_123")
    await manager.add_interaction("My name is Piyush.", "Hello Piyush!")
    assert manager.session_id == "sess_123"
    await manager.close()


async def test_the_short_term_shape(manager: MemoryManager) -> None:
    await manager.add_interaction("My name is Piyush.", "Hello Piyush!")
    context = await manager.get_context()
    assert (context["session_id"], context["window_strategy"]) == ("sess_123", "sliding_window_summary")
    assert context["max_tokens"] == 4000
    assert spoken(context) == [
        {"role": "user", "content": "My name is Piyush."},
        {"role": "assistant", "content": "Hello Piyush!"},
    ]


async def test_facts_are_extracted_and_merged_with_the_history(manager: MemoryManager) -> None:
    await manager.add_interaction("My name is Piyush.", "Hello Piyush!")
    context = await manager.get_context()
    assert context["messages"][0]["role"] == "system" and "Piyush" in context["messages"][0]["content"]
    assert "Piyush" in {each["value"] for each in (await manager.profile.get_all())["facts"]}


async def test_the_long_term_shape(manager: MemoryManager) -> None:
    said, _ = await manager.add_interaction("I write Python.", "Noted.")
    given = {"key": "programming_language", "value": "python", "confidence": 0.9, "source_message_id": said.message_id}
    await manager.profile.upsert_facts([given, {"key": "cloud_provider", "value": "azure", "confidence": 1.0}])
    profile = await manager.profile.get_all()
    assert profile["user_id"] == "user_456"
    assert given in profile["facts"] and isinstance(profile["preferences"], dict)


async def test_the_history_has_pairs_and_the_ten_newest(manager: MemoryManager) -> None:
    for number in range(8):
        await manager.history.add_pair(f"Question {number}?", f"Answer {number}.")
    history = await manager.history.get_recent(k=10)
    assert len(history) == 10 and history == await manager.history.get_recent()
    assert history[-1] == {"role": "assistant", "content": "Answer 7."}


async def test_a_long_history_is_summarised_in_its_first_half_and_raw_in_its_last(settings: Settings) -> None:
    config = {"settings": settings, "window_strategy": "sliding_window_summary", "max_tokens": 1000}
    async with MemoryManager(config) as manager:
        for number in range(60):
            await manager.add_interaction(f"I planted tree {number} in Porto today.", f"Tree {number} it is.")
        context = await manager.get_context()
    assert context["tokens"] <= 1000
    assert "## This conversation so far" in context["messages"][0]["content"]
    assert spoken(context)[-1] == {"role": "assistant", "content": "Tree 59 it is."}


async def test_working_memory_lives_for_a_task(manager: MemoryManager) -> None:
    manager.working_memory["plan"] = ["read", "write"]
    await manager.add_memory("step one", MemoryTypes.WORKING, {"key": "step"})
    assert dict(manager.working_memory) == {"plan": ["read", "write"], "step": "step one"}
    manager.working_memory.clear()
    assert len(manager.working_memory) == 0
