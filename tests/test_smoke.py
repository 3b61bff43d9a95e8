"""Every way in once, as a program uses it: what is said through it is found through it.

`make minimums` runs these with the lowest versions of all packages that pyproject.toml allows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import jwt
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from bench.pdf import pdf
from helpers import mcp_clients, redis_server
from helpers.language_server import language_server
from helpers.shell import SCRIPT
from helpers.waiting import PATIENCE
from ltst import (
    AsyncMemory,
    ConversationMessage,
    ConversationSession,
    ConversationStorage,
    Memory,
    MemoryManager,
    OpenAILanguageModel,
    RedisWindowCache,
    Settings,
)
from ltst.langchain import LtstChatMessageHistory, LtstConversationWindowMemory

SAID = "I moved to Lisbon in March."
ASKED = "Where did I move to in March?"
SECRET = "a secret that is long enough to sign tokens with"


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a program that uses this test's own database and home."""
    return {**os.environ, "DATABASE_URL": database_url, "LTST_HOME": str(tmp_path / "home")}


async def test_the_library_awaited(memory: AsyncMemory) -> None:
    await memory.user("ana").chat("monday").add("user", SAID)
    assert (await memory.user("ana").search(ASKED))[0].content == SAID


def test_the_library(sync_memory: Memory) -> None:
    sync_memory.user("ana").chat("monday").add("user", SAID)
    assert sync_memory.user("ana").search(ASKED)[0].content == SAID


def test_a_document(sync_memory: Memory) -> None:
    documents = sync_memory.user("ana").documents
    found = documents.get(documents.add(pdf([[SAID]]), title="diary").document_id)
    assert found is not None and SAID in found.text


def test_conversation_storage(database_url: str) -> None:
    with ConversationStorage(database_url) as storage:
        assert storage.create_session(ConversationSession("monday", "ana"))
        assert storage.store_message(ConversationMessage("monday", "human", SAID))
        assert [each.content for each in storage.get_messages("monday")] == [SAID]


async def test_memory_manager(settings: Settings) -> None:
    async with MemoryManager({"settings": settings, "session_id": "monday", "user_id": "ana"}) as manager:
        await manager.add_interaction(SAID, "How do you like it?")
        assert SAID in (await manager.get_context())["text"]
        await manager.add_memory(SAID, "long_term")
        assert (await manager.search_memory(ASKED, "long_term"))[0].content == SAID


def test_the_command_line(environment: dict[str, str]) -> None:
    environment = {**environment, "COLUMNS": "200"}  # so that no table breaks what is said into lines
    _run(environment, "add", "user", SAID, "--chat", "monday", "--user", "ana")
    assert SAID in _run(environment, "search", ASKED, "--user", "ana")
    assert json.loads(_run(environment, "search", ASKED, "--user", "ana", "--json"))[0]["content"] == SAID
    assert subprocess.run([*SCRIPT, "window"], env=environment, capture_output=True).returncode == 2


def _run(environment: dict[str, str], *arguments: str) -> str:
    return subprocess.run([*SCRIPT, *arguments], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_http(environment: dict[str, str]) -> None:
    token = jwt.encode({"sub": "ana", "exp": 4_000_000_000}, SECRET, "HS256")
    with _served({**environment, "LTST_JWT_SECRET": SECRET}, "serve") as url, _client(url) as client:
        assert client.post("/v1/search", json={"query": ASKED}).status_code == 401
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.post("/api/chat", json={"message": SAID}).json()["reply"]
        assert client.post("/v1/search", json={"query": ASKED}).json()["items"][0]["content"] == SAID
        assert client.get("/openapi.json").json()["openapi"].startswith("3.")


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE)


@pytest.mark.parametrize("way", ["stdio", "HTTP", "SSE"])
async def test_mcp(way: str, environment: dict[str, str]) -> None:
    with _served(environment, "mcp", "--http", "--tools", "all") as url:
        async with mcp_clients.connected(way, url, environment, "ana") as client:
            await mcp_clients.called(client, "remember", content=SAID, session_id="monday")
            assert SAID in await mcp_clients.said(client, "search_memory", query=ASKED)


@contextmanager
def _served(environment: dict[str, str], *arguments: str) -> Iterator[str]:
    """A server that the command starts on a free port; where it is."""
    command = [*SCRIPT, *arguments, "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\w.]+:\d+", process.stdout.readline())
            assert found is not None, "the server did not start"
            yield found.group()
        finally:
            process.terminate()


def test_langchain(sync_memory: Memory) -> None:
    history = LtstChatMessageHistory(sync_memory.user("ana"), "monday")
    window = LtstConversationWindowMemory(chat_memory=history, return_messages=True)
    window.save_context({"input": SAID}, {"output": "How do you like it?"})
    assert history.messages == [HumanMessage(SAID), AIMessage("How do you like it?")]
    assert window.load_memory_variables({})["history"] == history.messages


async def test_the_window_cache_in_redis(settings: Settings) -> None:
    with redis_server.running() as redis:
        cache = RedisWindowCache(redis.url, timeout=60.0)
        async with AsyncMemory(settings=settings, window_cache=cache) as memory:
            chat = memory.user("ana").chat("monday")
            await chat.add("user", SAID)
            for _ in range(2):
                assert [each.content for each in await chat.window()] == [SAID]
        await cache.close()
        assert redis.keys()


def test_a_language_model() -> None:
    with language_server() as server:
        model = OpenAILanguageModel("small", base_url=server.url, api_key="key")
        assert model.complete([{"role": "user", "content": SAID}]).text == "Hello."
