"""The retriever and the tools for DSPy, where it is installed, in modules with a scripted model."""

from __future__ import annotations

from typing import Any

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("dspy", reason="dspy is installed by make adapters alone")

import dspy
from dspy.utils import DummyLM

from ltst.dspy import LtstRetriever, memory_tools

SAID = "I moved to Lisbon in March."


def test_a_retriever_finds_what_is_remembered_of_its_user(sync_memory: Memory) -> None:
    user = sync_memory.user("ana")
    added = user.chat("monday").add("user", SAID)
    user.entries.add("Ana plays the cello.")
    search = LtstRetriever(user, k=1)
    found = search("Where do I live?")
    assert (found.passages, found.ids) == ([SAID], [added.message_id]) and 0 < found.scores[0] <= 1
    assert search("Who plays an instrument?", k=3, kinds=["entry"]).passages == ["Ana plays the cello."]
    assert LtstRetriever(sync_memory.user("ben"))("Where do I live?").passages == []


def test_a_module_answers_from_what_is_remembered(sync_memory: Memory) -> None:
    user = sync_memory.user("ana")
    user.chat("monday").add("user", SAID)

    class Recalling(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.search = LtstRetriever(user, k=2)
            self.answer = dspy.Predict("context: list[str], question -> answer")

        def forward(self, question: str) -> Any:
            return self.answer(context=self.search(question).passages, question=question)

    model = DummyLM([{"answer": "In Lisbon."}])
    with dspy.context(lm=model):
        assert Recalling()(question="Where do I live?").answer == "In Lisbon."
    assert SAID in str(model.history[-1]["messages"])


def test_an_agent_remembers_and_recalls_with_its_tools(sync_memory: Memory) -> None:
    user = sync_memory.user("ana")
    script = [
        {"next_thought": "Keep it.", "next_tool_name": "remember", "next_tool_args": {"memory": SAID}},
        {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": {}},
        {"reasoning": "It was said.", "answer": "I see."},
        {"next_thought": "Look.", "next_tool_name": "recall", "next_tool_args": {"question": "Where do I live?"}},
        {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": {}},
        {"reasoning": "It was recalled.", "answer": "In Lisbon."},
    ]
    with dspy.context(lm=DummyLM(script)):
        agent = dspy.ReAct("question -> answer", tools=memory_tools(user))
        agent(question=SAID)
        found = agent(question="Where do I live?")
    assert SAID in found.trajectory["observation_0"]
    assert [each.content for each in user.entries.list()] == [SAID]
    assert sync_memory.user("ben").entries.list() == []


def test_tools_say_what_they_do_and_that_nothing_is_remembered(sync_memory: Memory) -> None:
    remember, recall = memory_tools(sync_memory.user("ana"))
    assert (remember.name, recall.name) == ("remember", "recall")
    assert remember.desc.startswith("Keep something about the user") and [*recall.args] == ["question"]
    assert recall(question="Where do I live?") == "Nothing is remembered about that."


def test_a_retriever_keeps_its_settings(sync_memory: Memory) -> None:
    search = LtstRetriever(sync_memory.user("ana"), k=7)
    assert search.dump_state() == {"k": 7}
    search.load_state({"k": 2})
    assert search.k == 2


async def test_they_are_made_from_a_user_that_is_not_awaited(memory: AsyncMemory) -> None:
    with pytest.raises(Invalid, match="make it from Memory"):
        LtstRetriever(memory.user("ana"))("Where do I live?")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match=r"user must be memory.user\(...\), not str"):
        memory_tools("ana")  # type: ignore[arg-type]
