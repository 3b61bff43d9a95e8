"""The store for LangGraph, where it is installed; `make adapters` runs LangGraph's own tests too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("langgraph.store.base", reason="langgraph is installed by make adapters alone")

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from ltst.langgraph import AsyncLtstStore, LtstStore

MEMORIES = ("ana", "memories")
PAGE = Path(__file__).parents[2] / "docs" / "langgraph.md"


@pytest.fixture
def store(sync_memory: Memory) -> Iterator[LtstStore]:
    yield LtstStore(sync_memory.user("ana"))


def test_what_is_put_is_an_item_of_the_user(store: LtstStore, sync_memory: Memory) -> None:
    store.put(MEMORIES, "1", {"text": "Ana likes sailing.", "raw": b"\x00"})
    assert store.get(MEMORIES, "1").value == {"text": "Ana likes sailing.", "raw": b"\x00"}
    (item,) = sync_memory.user("ana").items.list()
    assert (item.namespace, item.key, item.revision) == (MEMORIES, "1", 1)
    assert LtstStore(sync_memory.user("ben")).search(()) == []


def test_without_a_model_of_its_own_ltst_answers_queries(store: LtstStore) -> None:
    store.put(MEMORIES, "1", {"text": "Ana likes sailing on the lake."})
    store.put(MEMORIES, "2", {"text": "Her brother repairs violins."})
    store.put(MEMORIES, "3", {"text": "Violins, but not to be found."}, index=False)
    found = store.search(MEMORIES, query="Who works with musical instruments?")
    assert found[0].key == "2" and found[0].score > 0 and "3" not in [each.key for each in found]
    assert [each.key for each in store.search(MEMORIES, query="lake", filter={"text": {"$gt": "B"}})] == ["2"]


def test_a_batch_reads_before_it_writes_and_writes_all_or_nothing(store: LtstStore) -> None:
    store.put(MEMORIES, "1", {"n": 1})
    before, spaces, _ = store.batch(
        [
            GetOp(MEMORIES, "1"),
            ListNamespacesOp((MatchCondition("prefix", ("ana",)), MatchCondition("prefix", ("*", "memories")))),
            PutOp(MEMORIES, "1", {"n": 2}),
        ]
    )
    assert before.value == {"n": 1} and spaces == [MEMORIES]
    both = (MatchCondition("suffix", ("memories",)), MatchCondition("suffix", ("*", "notes")))
    assert store.batch([ListNamespacesOp(both)]) == [[]]
    with pytest.raises(Invalid):
        store.batch([PutOp(MEMORIES, "1", {"n": 3}), PutOp(MEMORIES, "2", {"n": float("nan")})])
    assert store.get(MEMORIES, "1").value == {"n": 2}


async def test_an_async_memory_is_awaited(memory: AsyncMemory) -> None:
    store = LtstStore(memory.user("ana"))
    await store.aput(MEMORIES, "1", {"text": "Ana likes sailing."}, ttl=5)
    assert (await store.aget(MEMORIES, "1")).value == {"text": "Ana likes sailing."}
    assert (await memory.user("ana").items.get(MEMORIES, "1")).ttl.total_seconds() == 300
    with pytest.raises(Invalid, match="awaited"):
        store.get(MEMORIES, "1")


async def test_what_is_asked_at_once_is_one_transaction(memory: AsyncMemory) -> None:
    store = AsyncLtstStore(memory.user("ana"))
    results: list[Any] = await store.abatch([PutOp(MEMORIES, "1", {"n": 1}), SearchOp(MEMORIES)])
    assert results == [None, []]
    assert [each.key for each in await store.asearch(MEMORIES)] == ["1"]


def test_the_agent_of_the_docs_remembers_in_another_process(database_url: str, tmp_path: Path) -> None:
    pytest.importorskip("langgraph.graph", reason="langgraph itself is not installed")
    (tmp_path / "agent.py").write_text(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)[0])
    environment = {**os.environ, "DATABASE_URL": database_url, "LTST_HOME": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "agent.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["I don't know that yet.\n", "You told me: I live in Lisbon.\n"]


def test_langgraphs_own_checkpointer_runs_on_the_same_postgres(sync_memory: Memory) -> None:
    saver = pytest.importorskip(
        "langgraph.checkpoint.postgres", reason="installed by make adapters alone"
    ).PostgresSaver
    graph = pytest.importorskip("langgraph.graph", reason="langgraph itself is not installed")
    with saver.from_conn_string(sync_memory.database_url) as checkpointer:
        checkpointer.setup()
        checkpointer.setup()
        builder = graph.StateGraph(graph.MessagesState).add_node("echo", lambda state: {"messages": [("ai", "Hello.")]})
        compiled = builder.add_edge(graph.START, "echo").compile(
            checkpointer=checkpointer, store=LtstStore(sync_memory.user("ana"))
        )
        thread = {"configurable": {"thread_id": "1"}}
        compiled.invoke({"messages": [("user", "Hi.")]}, thread)
        assert len(compiled.invoke({"messages": [("user", "Again.")]}, thread)["messages"]) == 4
    sync_memory.user("ana").chat("monday").add("user", "I moved to Lisbon.")
    assert sync_memory.health().ok
