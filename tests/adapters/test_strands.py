"""The store of memories for Strands, where it is installed; `make adapters` runs the tests of its sessions too."""

from __future__ import annotations

from typing import Any

import pytest

from ltst import AsyncMemory, Memory

pytest.importorskip("strands.memory", reason="strands-agents is installed by make adapters alone")

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model
from strands.vended_memory_stores import TestMemoryStore as TheirStore

from ltst.strands import LtstMemoryStore

SAID = "I moved to Lisbon in March."


@pytest.fixture(params=["theirs", "ltst", "ltst without await"])
def make(request: pytest.FixtureRequest) -> Any:
    if request.param == "theirs":
        return lambda **given: TheirStore(**{"name": "notes", "persist": False, **given})
    opened = request.getfixturevalue("memory" if request.param == "ltst" else "sync_memory")
    return lambda **given: LtstMemoryStore(opened.user("ana"), **{"name": "notes", **given})


async def test_what_is_added_is_found_once(make: Any) -> None:
    store = make(description="my notes", max_search_results=7)
    assert (store.name, store.description, store.max_search_results, store.writable) == ("notes", "my notes", 7, True)
    for _ in range(2):
        await store.add(SAID, {"source": "user"})
    (found,) = await store.search("moved to Lisbon")
    assert found.content == SAID and found.metadata
    assert await store.search(" ") == []


async def test_no_more_is_found_than_is_asked_for(make: Any) -> None:
    store = make()
    for number in range(3):
        await store.add(f"Ferry number {number} is late.")
    assert len(await store.search("ferry", {"max_search_results": 2})) == 2
    with pytest.raises(ValueError, match="max_search_results must be at least 1"):
        await store.search("ferry", {"max_search_results": 0})


async def test_what_cannot_be_kept_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="not writable"):
        await make(writable=False).add(SAID)
    with pytest.raises(ValueError, match="content must not be empty"):
        await make().add("  ")
    with pytest.raises(ValueError, match="name must not be empty"):
        make(name="  ")
    with pytest.raises(ValueError, match="max_search_results must be at least 1"):
        make(max_search_results=0)


async def test_a_manager_searches_and_adds(make: Any) -> None:
    manager = MemoryManager(stores=[make()])
    await manager.add(SAID)
    (found,) = await manager.search("moved to Lisbon")
    assert (found.content, found.store_name) == (SAID, "notes")


async def test_what_was_said_is_found_by_its_user_alone(memory: AsyncMemory) -> None:
    await memory.user("ana").chat("monday").add("user", SAID)
    (found,) = await LtstMemoryStore(memory.user("ana")).search("Where do I live?")
    assert (found.content, found.metadata["kind"], found.metadata["session_id"]) == (SAID, "message", "monday")
    assert await LtstMemoryStore(memory.user("ben")).search("Where do I live?") == []


class Scripted(Model):
    """A scripted model that keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *arguments: Any, **more: Any) -> Any:
        yield {}

    async def stream(self, messages: Any, *arguments: Any, **more: Any) -> Any:
        self.shown.append(str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "I see."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def test_an_agent_is_shown_what_is_remembered(sync_memory: Memory) -> None:
    sync_memory.user("ana").chat("monday").add("user", SAID)
    model = Scripted()
    manager = MemoryManager(stores=[LtstMemoryStore(sync_memory.user("ana"))], injection=True)
    Agent(model=model, plugins=[manager], callback_handler=None)("Where do I live?")
    assert SAID in model.shown[0]
