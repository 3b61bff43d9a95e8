"""The retriever and the middleware for LangChain: its standard tests, and what an agent remembers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_tests.integration_tests import (
    AsyncCacheTestSuite,
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
    RetrieversIntegrationTests,
    SyncCacheTestSuite,
    VectorStoreIntegrationTests,
)
from langgraph.checkpoint.memory import InMemorySaver

import ltst
from ltst import AsyncMemory, Invalid, Memory
from ltst.langchain import LtstByteStore, LtstCache, LtstMemoryMiddleware, LtstRetriever, LtstVectorStore

SAID = ["I moved to Lisbon in March.", "Lisbon has a river.", "My flat in Lisbon is small.", "I like Lisbon."]


class Listener(BaseChatModel):
    """A scripted model that keeps what it was shown."""

    shown: list[list[BaseMessage]] = []  # noqa: RUF012
    replies: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "listener"

    def bind_tools(self, tools: Any, **options: Any) -> Listener:
        return self

    def _generate(self, messages: list[BaseMessage], *rest: Any, **options: Any) -> ChatResult:
        self.shown.append(messages)
        reply = self.replies[(len(self.shown) - 1) % len(self.replies)].model_copy(deep=True)
        return ChatResult(generations=[ChatGeneration(message=reply)])


@pytest.fixture
def user(shared: Memory) -> ltst.User:
    return shared.user(str(uuid4()))


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's own tests of a retriever."""

    @pytest.fixture(autouse=True)
    def told(self, user: ltst.User) -> None:
        for text in SAID:
            user.chat("monday").add("user", text)
        type(self).user = user

    @property
    def retriever_constructor(self) -> type[LtstRetriever]:
        return LtstRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"user": self.user}

    @property
    def retriever_query_example(self) -> str:
        return "What do I say about Lisbon?"


VALUES = (b"\0one", b"two", b"\xffthree")


class TestByteStore(BaseStoreSyncTests[bytes]):
    """LangChain's own tests of a store."""

    @pytest.fixture
    def kv_store(self, user: ltst.User) -> LtstByteStore:
        return LtstByteStore(user)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return VALUES


class TestAsyncByteStore(BaseStoreAsyncTests[bytes]):
    """The same for code that awaits."""

    @pytest.fixture
    async def kv_store(self, user: ltst.User) -> LtstByteStore:
        return LtstByteStore(user)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return VALUES


class TestCache(SyncCacheTestSuite):
    """LangChain's own tests of a cache."""

    @pytest.fixture
    def cache(self, user: ltst.User) -> LtstCache:
        return LtstCache(user)


class TestAsyncCache(AsyncCacheTestSuite):
    """The same for code that awaits."""

    @pytest.fixture
    async def cache(self, user: ltst.User) -> LtstCache:
        return LtstCache(user)


class TestVectorStore(VectorStoreIntegrationTests):
    """LangChain's own tests of a store of documents, with its own vectors."""

    @pytest.fixture
    def vectorstore(self, user: ltst.User) -> LtstVectorStore:
        return LtstVectorStore(user, self.get_embeddings())


def test_documents_are_found_without_a_model_of_langchain(user: ltst.User) -> None:
    metadatas = [{"year": 2024 + at} for at in range(len(SAID))]
    store = LtstVectorStore.from_texts(SAID, None, metadatas, user=user)
    assert store.similarity_search("Where did I move?", k=1)[0].page_content == SAID[0]
    assert [each.page_content for each in store.similarity_search("Lisbon", filter={"year": 2025})] == [SAID[1]]
    with pytest.raises(Invalid, match="as many metadatas and ids as texts, 2"):
        store.add_texts(["a", "b"], ids=["1"])


def test_a_document_tells_where_it_comes_from(user: ltst.User) -> None:
    added = user.chat("monday").add("user", SAID[0])
    (found,) = LtstRetriever(user=user, filters={"kinds": ["message"]}).invoke("Where did I move?")
    assert (found.id, found.page_content) == (added.message_id, SAID[0])
    assert found.metadata["session_id"] == "monday" and found.metadata["role"] == "human"
    assert found.metadata["sources"] == [added.message_id]


async def test_a_retriever_of_an_async_memory_is_awaited(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await user.chat("monday").add("user", SAID[0])
    retriever = LtstRetriever(user=user)
    assert (await retriever.ainvoke("Where did I move?"))[0].page_content == SAID[0]
    with pytest.raises(Invalid, match="is awaited"):
        retriever.invoke("Where did I move?")


def system(messages: list[BaseMessage]) -> str:
    return "\n".join(str(message.text) for message in messages if isinstance(message, SystemMessage))


def test_an_agent_remembers_from_one_conversation_to_the_next(user: ltst.User) -> None:
    model = Listener(replies=[AIMessage("Noted."), AIMessage("In Lisbon.")])
    agent = create_agent(model, system_prompt="Be brief.", middleware=[LtstMemoryMiddleware(user)])
    for thread, said in (("monday", SAID[0]), ("tuesday", "Where do I live?")):
        agent.invoke({"messages": [HumanMessage(said)]}, config={"configurable": {"thread_id": thread}})
    first, second = model.shown
    assert SAID[0] not in system(first)
    assert system(second).startswith("Be brief.") and SAID[0] in system(second)
    assert [(each.role, each.content) for each in user.chat("tuesday").window()] == [
        ("human", "Where do I live?"),
        ("ai", "In Lisbon."),
    ]


async def test_an_agent_that_is_awaited_remembers_too(memory: AsyncMemory) -> None:
    model = Listener(replies=[AIMessage("Noted.")])
    middleware = LtstMemoryMiddleware(lambda runtime: memory.user(runtime.context["user"]))
    agent = create_agent(model, middleware=[middleware])
    for user, said in (("ana", SAID[0]), ("ben", "Where do I live?"), ("ana", "Where do I live?")):
        config: Any = {"configurable": {"thread_id": str(uuid4())}}
        await agent.ainvoke({"messages": [HumanMessage(said)]}, config=config, context={"user": user})
    assert [SAID[0] in system(shown) for shown in model.shown] == [False, False, True]


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"It rains in {city}."


@pytest.mark.parametrize("keep", [InMemorySaver, lambda: None])
def test_every_message_is_stored_once(user: ltst.User, keep: Callable[[], Any]) -> None:
    call = {"name": "weather", "args": {"city": "Porto"}, "id": "c1", "type": "tool_call"}
    model = Listener(replies=[AIMessage("", tool_calls=[call]), AIMessage("Rain.")])
    agent = create_agent(model, [weather], middleware=[LtstMemoryMiddleware(user)], checkpointer=keep())
    for said in ("Does it rain in Porto?", "And today?"):
        agent.invoke({"messages": [HumanMessage(said)]}, config={"configurable": {"thread_id": "monday"}})
    turn = ['weather({"city": "Porto"})', "It rains in Porto.", "Rain."]
    stored = user.chat("monday").window()
    assert [each.content for each in stored] == ["Does it rain in Porto?", *turn, "And today?", *turn]
    assert [each.role for each in stored] == ["human", "ai", "tool", "ai"] * 2


def test_a_call_without_a_conversation_is_refused(user: ltst.User) -> None:
    agent = create_agent(GenericFakeChatModel(messages=iter([])), middleware=[LtstMemoryMiddleware(user)])
    with pytest.raises(Invalid, match="which conversation"):
        agent.invoke({"messages": [HumanMessage("Hello")]})
    with pytest.raises(Invalid, match=r"user must be memory.user"):
        LtstMemoryMiddleware("ana")  # type: ignore[arg-type]
