"""LangChain's memory classes over the store: the chat message history, and the conversation window memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
import warnings
from typing import Any

import psycopg
import pytest
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_postgres import PostgresChatMessageHistory

import ltst
from helpers.langchain_messages import WITH_IMAGE, asked_of_a_tool
from ltst import AsyncMemory, Memory, Settings
from ltst.langchain import (
    AsyncConversationBufferWindowMemory,
    LtstChatMessageHistory,
    LtstConversationWindowMemory,
)
from ltst.support.extras import how_to_install

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")

MESSAGES: list[BaseMessage] = [
    *asked_of_a_tool(written=0, status="error"),
    AIMessage("Let me see.", tool_calls=[{"name": "look", "args": {}, "id": None, "type": "tool_call"}]),
    AIMessage("It is 21 degrees."),
    WITH_IMAGE,
    HumanMessage([{"type": "image_url", "image_url": {"url": "data:x"}}]),
    AIMessage(["plain", {"type": "text", "text": " and block"}]),
    AIMessage("  "),
    AIMessage(""),
    FunctionMessage("21 degrees", name="weather"),
    ChatMessage("Do not trust it.", role="critic"),
    ChatMessage("I like it.", role="user"),
    HumanMessage("With more.", colour="red", name=""),
]
TEXTS = [
    "You are a coach.",
    "Hello! ☕ 'quoted' \\ %s",
    'weather({"city": "Porto", "days": 3})',
    "21 degrees",
    "Let me see.",
    "It is 21 degrees.",
    "And this?",
    "(image_url)",
    "plain and block",
    "(no text)",
    "(no text)",
    "21 degrees",
    "Do not trust it.",
    "I like it.",
    "With more.",
]
ROLES = ["system", "human", "ai", "tool", "ai", "ai", "human", "human", *["ai"] * 3, "tool", "ai", "human", "human"]


@pytest.fixture
def user(shared: Memory) -> ltst.User:
    """A user whom nobody else has touched."""
    return shared.user(f"user-{uuid.uuid4().hex}")


def model(*answers: str) -> FakeListChatModel:
    return FakeListChatModel(responses=list(answers))


def test_they_are_what_langchain_asks_for(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    assert isinstance(history, BaseChatMessageHistory)
    assert isinstance(LtstConversationWindowMemory(chat_memory=history), BaseMemory)


def test_making_them_warns_of_nothing(user: ltst.User) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory = LtstConversationWindowMemory(chat_memory=LtstChatMessageHistory(user, "s"))
        memory.save_context({"input": "one"}, {"output": "two"})
        memory.load_memory_variables({})
        memory.clear()


def test_messages_come_back_identical_and_in_order(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    assert history.messages == []
    history.add_messages(MESSAGES[:5])
    history.add_messages(MESSAGES[5:])
    assert history.messages == MESSAGES
    assert [type(each) for each in history.messages] == [type(each) for each in MESSAGES]
    assert LtstChatMessageHistory(user, "s").messages == MESSAGES


async def test_messages_come_back_identical_through_an_async_memory(memory: AsyncMemory) -> None:
    history = LtstChatMessageHistory(memory.user("ana"), "s")
    await history.aadd_messages(MESSAGES)
    assert await history.aget_messages() == MESSAGES
    assert await LtstChatMessageHistory(memory.user("ana"), "s", limit=2).aget_messages() == MESSAGES[-2:]
    await history.aclear()
    assert await history.aget_messages() == []


def test_their_text_is_what_the_store_reads(user: ltst.User) -> None:
    LtstChatMessageHistory(user, "s").add_messages(MESSAGES)
    stored = user.chat("s").window()
    assert [each.content for each in stored] == TEXTS
    assert [each.role for each in stored] == ROLES
    assert dict(stored[5].metadata) == {}, "what is plain needs no metadata"
    assert [hit.content for hit in user.search("which city did the weather tool look up?", limit=1)] == [TEXTS[2]]


def test_a_streamed_message_is_kept_as_a_message(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    history.add_messages([AIMessageChunk("Hel", id="1") + AIMessageChunk("lo", id="1")])
    assert history.messages == [AIMessage("Hello", id="1")]


def test_what_is_not_json_is_kept_as_text(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    history.add_messages([ToolMessage("done", tool_call_id="1", artifact=object())])
    (found,) = history.messages
    assert isinstance(found, ToolMessage) and "object" in found.artifact


def test_a_message_of_no_known_type_is_refused_and_nothing_is_added(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    with pytest.raises(ltst.Invalid, match="human, ai, system, tool, function and chat, not 'remove'"):
        history.add_messages([HumanMessage("good"), RemoveMessage(id="1")])
    assert history.messages == []


@pytest.mark.parametrize("content", ["a\x00b", "\ud800", "x" * (1024 * 1024 + 1)])
def test_bad_content_is_refused_and_nothing_is_added(user: ltst.User, content: str) -> None:
    history = LtstChatMessageHistory(user, "s")
    with pytest.raises(ltst.Invalid, match="message 2"):
        history.add_messages([HumanMessage("good"), HumanMessage(content)])
    assert history.messages == []


@pytest.mark.parametrize(
    ("arguments", "options", "told"),
    [
        (("ana", "s"), {}, "memory.user"),
        ((None, "s"), {}, "memory.user"),
        (("user", ""), {}, "session_id"),
        (("user", "s"), {"limit": 0}, "limit"),
        (("user", "s"), {"agent": 5}, "agent"),
    ],
)
def test_a_history_of_nothing_is_refused(user: ltst.User, arguments: Any, options: Any, told: str) -> None:
    given = [user if each == "user" else each for each in arguments]
    with pytest.raises(ltst.Invalid, match=told):
        LtstChatMessageHistory(*given, **options)


def test_what_ltst_added_is_readable_whatever_its_metadata(user: ltst.User) -> None:
    chat = user.chat("s")
    chat.add("user", "What is the weather?", metadata={"chat_message_history": "mine"})
    chat.add("tool", "21 degrees")
    chat.add("assistant", "It is warm.", metadata={"topic": "weather"})
    question, result, answer = LtstChatMessageHistory(user, "s").messages
    assert (question, answer) == (HumanMessage("What is the weather?"), AIMessage("It is warm."))
    assert isinstance(result, ToolMessage) and result.content == "21 degrees"


def test_langchain_postgres_and_this_history_read_each_other(url: str, user: ltst.User) -> None:
    session = str(uuid.uuid4())
    ours = LtstChatMessageHistory(user, session)
    plain = [each for each in MESSAGES if each.type != "chat"]
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user.user_id,))
        theirs = PostgresChatMessageHistory("chat_message_history", session, sync_connection=connection)
        ours.add_messages(plain)
        assert theirs.get_messages() == plain
        theirs.add_messages(plain)
        assert ours.messages == plain * 2


def test_users_and_sessions_share_nothing(shared: Memory, user: ltst.User) -> None:
    histories = [
        LtstChatMessageHistory(user, "one"),
        LtstChatMessageHistory(user, "two"),
        LtstChatMessageHistory(shared.user(f"other-{user.user_id}"), "one"),
    ]
    for number, history in enumerate(histories):
        history.add_messages([HumanMessage(f"{number}")])
    histories[0].clear()
    assert [[each.content for each in history.messages] for history in histories] == [[], ["1"], ["2"]]


def test_a_cleared_conversation_begins_anew(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    history.clear()
    history.add_messages([HumanMessage("old")])
    history.clear()
    history.add_user_message("new")
    history.add_ai_message("and newer")
    assert history.messages == [HumanMessage("new"), AIMessage("and newer")]
    assert [message.message_index for message in user.chat("s").window()] == [1, 2]


async def test_a_history_of_a_sync_memory_can_be_awaited(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s")
    await asyncio.gather(*(history.aadd_messages([HumanMessage("one"), AIMessage("two")]) for _ in range(5)))
    assert [each.content for each in await history.aget_messages()] == ["one", "two"] * 5
    await history.aclear()
    assert await history.aget_messages() == []


async def test_a_history_of_an_async_memory_cannot_but_be_awaited(memory: AsyncMemory) -> None:
    history = LtstChatMessageHistory(memory.user("ana"), "s")
    window = LtstConversationWindowMemory(chat_memory=history)
    for verb in (lambda: history.messages, history.clear, lambda: window.load_memory_variables({})):
        with pytest.raises(ltst.Invalid, match="ainvoke"):
            verb()


def remembered(history: LtstChatMessageHistory) -> RunnableWithMessageHistory:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    return RunnableWithMessageHistory(
        prompt | model("first", "second", "third"),
        lambda: history,
        input_messages_key="input",
        history_messages_key="history",
    )


def test_a_runnable_remembers(user: ltst.User) -> None:
    history = LtstChatMessageHistory(user, "s", agent="coach")
    runnable = remembered(history)
    for word in ("one", "two"):
        runnable.invoke({"input": word})
    assert [each.content for each in history.messages] == ["one", "first", "two", "second"]
    assert user.sessions.get("s").agent_name == "coach"  # type: ignore[union-attr]


async def test_a_runnable_remembers_awaited_and_streamed(memory: AsyncMemory) -> None:
    history = LtstChatMessageHistory(memory.user("ana"), "s")
    runnable = remembered(history)
    await runnable.ainvoke({"input": "one"})
    streamed = [part.content async for part in runnable.astream({"input": "two"})]
    assert "".join(streamed) == "second"
    assert [(each.type, each.content) for each in await history.aget_messages()] == [
        ("human", "one"),
        ("ai", "first"),
        ("human", "two"),
        ("ai", "second"),
    ]


def test_a_model_by_itself_with_sessions_by_name_remembers(user: ltst.User) -> None:
    runnable = RunnableWithMessageHistory(
        model("first", "second"), lambda session_id: LtstChatMessageHistory(user, session_id)
    )
    for word in ("one", "two"):
        runnable.invoke([HumanMessage(word)], config={"configurable": {"session_id": "named"}})
    assert [each.content for each in user.chat("named").window()] == ["one", "first", "two", "second"]


def window_of(user: ltst.User | ltst.AsyncUser, **options: Any) -> LtstConversationWindowMemory:
    return LtstConversationWindowMemory(chat_memory=LtstChatMessageHistory(user, "s"), **options)


def test_the_window_is_the_last_exchanges(user: ltst.User) -> None:
    memory = window_of(user, k=2)
    assert memory.load_memory_variables({}) == {"history": ""}
    for number in range(4):
        memory.save_context({"input": f"{number}?"}, {"output": f"{number}!"})
    assert memory.load_memory_variables({}) == {"history": "Human: 2?\nAI: 2!\nHuman: 3?\nAI: 3!"}
    assert memory.buffer == "Human: 2?\nAI: 2!\nHuman: 3?\nAI: 3!"
    assert window_of(user, k=0).load_memory_variables({}) == {"history": ""}
    assert len(str(window_of(user, k=9).buffer).splitlines()) == 8
    assert window_of(user, k=100_000).buffer == window_of(user, k=4).buffer
    memory.clear()
    assert memory.buffer == ""


def test_an_exchange_has_all_until_the_user_speaks_again(user: ltst.User) -> None:
    memory = window_of(user, k=1, return_messages=True)
    memory.chat_memory.add_messages(MESSAGES[:6])
    assert memory.buffer == MESSAGES[1:6]
    assert window_of(user, k=2, return_messages=True).buffer == MESSAGES[:6]
    memory.chat_memory.add_messages([HumanMessage("Thanks."), *MESSAGES[2:6]])
    assert memory.buffer == [HumanMessage("Thanks."), *MESSAGES[2:6]]


async def test_the_window_has_the_names_that_it_is_given(memory: AsyncMemory) -> None:
    window = window_of(
        memory.user("ana"), memory_key="talk", human_prefix="Ana", ai_prefix="Bot", input_key="said", output_key="text"
    )
    assert window.memory_variables == ["talk"]
    await window.asave_context({"said": "one", "other": 1}, {"text": "two", "more": "3"})
    assert await window.aload_memory_variables({}) == {"talk": "Ana: one\nBot: two"}
    await window.aclear()
    assert await window.aload_memory_variables({}) == {"talk": ""}


async def test_an_answer_without_words_is_an_answer(memory: AsyncMemory) -> None:
    window = window_of(memory.user("ana"), return_messages=True)
    await window.asave_context({"input": "Say nothing."}, {"output": ""})
    assert await window.aload_memory_variables({}) == {"history": [HumanMessage("Say nothing."), AIMessage("")]}


def test_a_window_of_less_than_nothing_is_refused(user: ltst.User) -> None:
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        window_of(user, k=-1)


def test_a_conversation_chain_remembers(user: ltst.User) -> None:
    chain = ConversationChain(llm=model("Hello, Ana!", "Ana."), memory=window_of(user))
    assert chain.invoke({"input": "I am Ana."})["response"] == "Hello, Ana!"
    again = chain.invoke({"input": "Who am I?"})
    assert again["history"] == "Human: I am Ana.\nAI: Hello, Ana!"
    assert [each.content for each in user.chat("s").window()] == ["I am Ana.", "Hello, Ana!", "Who am I?", "Ana."]


async def test_a_conversation_chain_remembers_after_a_restart(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as first:
        chain = ConversationChain(llm=model("Hello, Ana!"), memory=window_of(first.user("ana")))
        await chain.ainvoke({"input": "I am Ana."})
    async with AsyncMemory(settings=settings) as second:
        chain = ConversationChain(llm=model("Ana."), memory=window_of(second.user("ana")))
        assert (await chain.ainvoke({"input": "Who am I?"}))["history"] == "Human: I am Ana.\nAI: Hello, Ana!"


@pytest.mark.parametrize("as_messages", [True, False])
async def test_a_chain_with_a_prompt_of_its_own_remembers(memory: AsyncMemory, as_messages: bool) -> None:
    window = window_of(memory.user("ana"), return_messages=as_messages, memory_key="talk", input_key="said", k=1)
    prompt: Any = PromptTemplate.from_template("{talk}\n{place}: {said}")
    if as_messages:
        prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("talk"), ("human", "{place}: {said}")])
    chain = LLMChain(llm=model("first", "second", "third"), prompt=prompt, memory=window)
    for word in ("one", "two", "three"):
        answered = await chain.ainvoke({"said": word, "place": "Porto"})
    expected: Any = [HumanMessage("two"), AIMessage("second")] if as_messages else "Human: two\nAI: second"
    assert answered["talk"] == expected


@pytest.mark.parametrize("missing", ["langchain_classic", "langchain_core"])
def test_a_missing_extra_is_named(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import ltst.langchain"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.returncode != 0
    assert how_to_install("langchain") in told.stderr


SAID = [HumanMessage(f"{number}") if number % 2 == 0 else AIMessage(f"{number}") for number in range(60)]


class TestAsyncConversationBufferWindowMemory:
    """The newest messages of any history."""

    async def test_it_holds_fifty_messages_unless_told_otherwise(self, user: ltst.User) -> None:
        history = LtstChatMessageHistory(user, "s")
        history.add_messages(SAID)
        window = AsyncConversationBufferWindowMemory(chat_memory=history, return_messages=True)
        assert window.k == 50
        assert window.load_memory_variables({}) == {"history": SAID[-50:]}
        assert await window.aload_memory_variables({}) == {"history": SAID[-50:]}
        assert window.model_copy(update={"k": 3}).buffer == SAID[-3:]
        assert window.model_copy(update={"k": 0}).buffer == []

    async def test_it_takes_the_history_of_langchain_postgres(self, url: str, user: ltst.User) -> None:
        session = str(uuid.uuid4())
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user.user_id,))
            history = PostgresChatMessageHistory("chat_message_history", session, async_connection=connection)
            await history.aadd_messages(SAID)
            window = AsyncConversationBufferWindowMemory(chat_memory=history, return_messages=True)
            assert await window.aload_memory_variables({}) == {"history": SAID[-50:]}
            await window.asave_context({"input": "one more"}, {"output": "noted"})
        assert [each.content for each in user.chat(session).window(2)] == ["one more", "noted"]

    async def test_a_chain_remembers_with_it(self, memory: AsyncMemory) -> None:
        history = LtstChatMessageHistory(memory.user("ana"), "s")
        chain = ConversationChain(
            llm=FakeListChatModel(responses=["Hello, Ana."]),
            memory=AsyncConversationBufferWindowMemory(chat_memory=history),
        )
        answered = await chain.ainvoke({"input": "I am Ana."})
        assert answered["response"] == "Hello, Ana."
        again = await chain.ainvoke({"input": "Who am I?"})
        assert again["history"] == "Human: I am Ana.\nAI: Hello, Ana."
