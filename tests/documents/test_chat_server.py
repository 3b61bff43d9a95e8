"""The chat server's document: a window of 50 messages (STM) and lasting customizations per user and agent (LTM)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_postgres import PostgresChatMessageHistory

from helpers.language_server import LanguageServer
from helpers.serving import listening
from ltst import Settings
from ltst.langchain import AsyncConversationBufferWindowMemory

Call = Callable[..., Any]


@pytest.fixture
def served(settings: Settings, upstream: LanguageServer) -> Settings:
    return replace(settings, llm_model="small", llm_base_url=upstream.url)


@pytest.fixture
def call(served: Settings) -> Iterator[Call]:
    """Requests to a running server, each in the name of a person."""
    with listening(served) as door, httpx.Client(base_url=door.url, timeout=60) as client:

        def answered(method: str, path: str, body: Any = None, *, by: str = "ana") -> Any:
            answer = client.request(method, path, json=body, headers={"X-User-Id": by})
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None

        yield answered


@pytest.fixture
async def connection(database_url: str) -> Any:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as opened:
        await opened.execute("SELECT set_config('ltst.user_id', 'ana', false)")
        yield opened


def history_of(connection: Any, chat_id: str) -> PostgresChatMessageHistory:
    return PostgresChatMessageHistory("chat_message_history", chat_id, async_connection=connection)


async def test_every_message_is_a_row_of_chat_message_history_under_its_chat_id(call: Call, connection: Any) -> None:
    chat_id = str(uuid.uuid4())
    call("POST", "/api/chat", {"chat_id": chat_id, "agent_name": "assistant", "message": "I moved to Porto."})
    rows = await connection.execute(
        "SELECT session_id::text, message->'data'->>'content', created_at IS NOT NULL"
        " FROM chat_message_history ORDER BY created_at, id"
    )
    assert await rows.fetchall() == [(chat_id, "I moved to Porto.", True), (chat_id, "Hello.", True)]
    stored = await history_of(connection, chat_id).aget_messages()
    assert [(each.type, each.content) for each in stored] == [("human", "I moved to Porto."), ("ai", "Hello.")]


async def test_the_short_term_memory_is_the_last_50_messages(
    call: Call, connection: Any, upstream: LanguageServer
) -> None:
    chat_id = str(uuid.uuid4())
    said: list[BaseMessage] = [
        HumanMessage(f"{number}") if number % 2 == 0 else AIMessage(f"{number}") for number in range(60)
    ]
    history = history_of(connection, chat_id)
    await history.aadd_messages(said)
    window = AsyncConversationBufferWindowMemory(chat_memory=history, return_messages=True)
    assert (await window.aload_memory_variables({}))["history"] == said[-50:]

    call("POST", "/api/chat", {"chat_id": chat_id, "agent_name": "assistant", "message": "And now?"})
    shown = [each["content"] for each in upstream.asked[0].body["messages"] if each["role"] != "system"]
    assert shown == [*(f"{number}" for number in range(11, 60)), "And now?"]


def test_customizations_last_for_one_user_and_one_agent_over_all_chats(call: Call, upstream: LanguageServer) -> None:
    set_by_ana = call("PUT", "/api/agents/assistant/customizations", {"content": "Always answer in rhymes."})
    assert {
        "agent_name": "assistant",
        "content": "Always answer in rhymes.",
        "version": 1,
    }.items() <= set_by_ana.items()
    for chat_id, by in (("monday", "ana"), ("tuesday", "ana"), ("monday", "ben")):
        call("POST", "/api/chat", {"chat_id": chat_id, "agent_name": "assistant", "message": "Hello!"}, by=by)
    assert ["rhymes" in asked.system for asked in upstream.asked] == [True, True, False]


async def test_customizations_are_rows_of_their_table(call: Call, connection: Any) -> None:
    for content in ("Be brief.", "Be brief and kind."):
        call("PUT", "/api/agents/assistant/customizations", {"content": content})
    rows = await connection.execute(
        "SELECT user_id, agent_name, content, version, active FROM user_agent_prompt_customizations ORDER BY version"
    )
    assert await rows.fetchall() == [
        ("ana", "assistant", "Be brief.", 1, False),
        ("ana", "assistant", "Be brief and kind.", 2, True),
    ]


def test_both_memories_are_loaded_for_each_turn(call: Call, upstream: LanguageServer) -> None:
    """A change of a customization reaches the very next turn of an agent that is ready to answer already."""
    for number, content in enumerate(("Speak like a pirate.", "Speak like a poet."), start=1):
        call("PUT", "/api/agents/assistant/customizations", {"content": content})
        call("POST", "/api/chat", {"chat_id": "c", "agent_name": "assistant", "message": f"Turn {number}."})
    first, second = upstream.asked
    assert "pirate" in first.system and "pirate" not in second.system and "poet" in second.system
    assert [each["content"] for each in second.body["messages"][1:]] == ["Turn 1.", "Hello.", "Turn 2."]


def test_long_term_memory_goes_beyond_customizations(call: Call, upstream: LanguageServer) -> None:
    """Knowledge, summaries and embeddings, which the document foresees, reach the agent too."""
    call("PUT", "/v1/facts/home", {"value": "Porto"})
    call("POST", "/v1/entries", {"content": "The lighthouse stands on the cape.", "type": "episodic"})
    call("POST", "/api/chat", {"agent_name": "assistant", "message": "Where is the lighthouse?"})
    assert "Porto" in upstream.asked[0].system and "stands on the cape" in upstream.asked[0].system
