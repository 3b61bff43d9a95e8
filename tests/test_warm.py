"""The embedding model is loaded before it is needed: in the background of a memory, before a server is ready."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers import leaving
from ltst import (
    AsyncMemory,
    CallableEmbedder,
    Invalid,
    LocalEmbedder,
    Memory,
    ModelUnavailable,
    OpenAIEmbedder,
    Settings,
)
from ltst.doors.cli import chat
from ltst.doors.cli.main import app
from ltst.doors.cli.options import Options
from ltst.doors.http.app import Serving as HttpServing
from ltst.doors.http.app import create
from ltst.doors.mcp.app import Serving as McpServing
from ltst.doors.mcp.app import application
from ltst.indexing.switch import adopt
from ltst.providers import runtime, warming
from ltst.rooms.models import Model


class Loading:
    """Stands in for the loading of the local model: notes with how many threads it is asked for, and can be held up."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.began, self.free, self.begun = threading.Event(), threading.Event(), threading.Semaphore(0)
        self.free.set()
        self.failure: Exception | None = None

    def __call__(self, embedder: LocalEmbedder, go_on: Callable[[], bool]) -> None:
        self.threads.append(embedder._threads)
        self.began.set()
        self.begun.release()
        assert self.free.wait(120)
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loading]:
    made = Loading()
    monkeypatch.setattr(LocalEmbedder, "warm", lambda embedder, go_on: made(embedder, go_on))
    yield made
    made.free.set()


@pytest.fixture
def warm(settings: Settings) -> Settings:
    return replace(settings, warm=True)


async def opened_and_warmed(settings: Settings, **models: Any) -> AsyncMemory:
    memory = AsyncMemory(settings=settings, **models)
    await memory.open()
    if memory._warming is not None:
        await memory._warming
    return memory


async def test_a_memory_that_is_opened_loads_the_model(warm: Settings, loading: Loading) -> None:
    memory = await opened_and_warmed(replace(warm, embedder_threads=3))
    await memory.close()
    assert loading.threads == [3]


async def test_a_memory_that_is_told_not_to_loads_nothing(settings: Settings, loading: Loading) -> None:
    memory = await opened_and_warmed(replace(settings, warm=False))
    await memory.close()
    assert loading.threads == []


async def test_neither_open_nor_close_waits_for_the_model(warm: Settings, loading: Loading) -> None:
    loading.free.clear()
    async with AsyncMemory(settings=warm) as memory:
        await asyncio.to_thread(loading.began.wait, 120)
        assert memory._warming is not None
        assert not memory._warming.done()
        await memory.user("ana").chat("one").add("user", "I live in Porto.")
    assert not loading.free.is_set()


def test_a_memory_for_code_that_does_not_await_loads_the_model_too(warm: Settings, loading: Loading) -> None:
    with Memory(settings=warm) as memory:
        memory.warm()
    assert len(loading.threads) == 2  # by itself, and because it was asked


async def test_loading_names_no_model_for_the_database(warm: Settings, loading: Loading) -> None:
    memory = await opened_and_warmed(warm)
    assert await memory.embedder_model() is None
    await memory.close()


async def test_a_model_that_cannot_be_loaded_is_a_warning(
    warm: Settings, loading: Loading, caplog: pytest.LogCaptureFixture
) -> None:
    loading.failure = ModelUnavailable("the weights are not installed")
    caplog.set_level(logging.WARNING, "ltst")
    memory = await opened_and_warmed(warm)
    await memory.user("ana").chat("one").add("user", "I live in Porto.")
    assert [hit.content for hit in await memory.user("ana").search("Porto")] == ["I live in Porto."]
    await memory.close()
    assert "the embedding model is not loaded" in caplog.messages


async def test_a_model_that_this_program_lacks_fails_no_opening(warm: Settings, loading: Loading) -> None:
    async with AsyncMemory(settings=replace(warm, warm=False)) as memory:
        await adopt(memory._core.database, Model("somebody's own", 384, None))
    memory = await opened_and_warmed(warm)
    await memory.close()
    assert loading.threads == []


async def test_a_remote_model_is_not_asked(
    warm: Settings, loading: Loading, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(OpenAIEmbedder, "_ask", lambda self, question: asked.append(question))
    async with AsyncMemory(settings=replace(warm, warm=False)) as memory:
        source = "openai:model@http://localhost:9/v1"
        await adopt(memory._core.database, Model("model@localhost:9", 384, source))
    memory = await opened_and_warmed(warm)
    await memory.close()
    given = await opened_and_warmed(warm, embedder=OpenAIEmbedder("http://localhost:9/v1", "model"))
    await given.close()
    assert (asked, loading.threads, caplog.messages) == ([], [], [])


async def test_an_embedder_of_ones_own_is_let_be(warm: Settings, loading: Loading) -> None:
    asked: list[object] = []
    memory = await opened_and_warmed(warm, embedder=CallableEmbedder(lambda texts: asked.append(texts) or [], "own", 2))
    await memory.close()
    assert (asked, loading.threads) == ([], [])


@pytest.mark.parametrize("door", ["http", "mcp"])
async def test_a_server_loads_the_model_before_it_is_ready(warm: Settings, loading: Loading, door: str) -> None:
    loading.free.clear()
    served: Any = create(HttpServing(warm)) if door == "http" else application(McpServing(warm))
    ready, stop = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        async with served.router.lifespan_context(served):
            ready.set()
            await stop.wait()

    serving = asyncio.create_task(serve())
    await asyncio.to_thread(loading.begun.acquire, timeout=120)  # in the background
    await asyncio.to_thread(loading.begun.acquire, timeout=120)  # and because the server waits for it
    assert not ready.is_set()
    loading.free.set()
    await asyncio.wait_for(ready.wait(), 120)
    stop.set()
    await serving


async def test_a_server_that_is_told_not_to_loads_nothing(settings: Settings, loading: Loading) -> None:
    served = create(HttpServing(replace(settings, warm=False)))
    async with served.router.lifespan_context(served):
        pass
    assert loading.threads == []


def test_a_command_loads_nothing_that_it_may_not_need(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, loading: Loading
) -> None:
    monkeypatch.setenv("LTST_WARM", "on")
    monkeypatch.setenv("DATABASE_URL", str(settings.database_url))
    for words in (["facts", "list"], ["stats"], ["sessions", "list"], ["worker", "--once"]):
        assert CliRunner().invoke(app, words).exit_code == 0
    assert loading.threads == []


def test_a_chat_loads_the_model(settings: Settings, monkeypatch: pytest.MonkeyPatch, loading: Loading) -> None:
    monkeypatch.setenv("LTST_WARM", "on")
    monkeypatch.setattr(chat, "converse", lambda talk, **_: loading.began.wait(120))
    chat.chat(Options(database_url=settings.database_url, home=settings.home))
    assert len(loading.threads) == 1


@pytest.mark.parametrize("way", ["leave", "async_leave", "close_at_exit"])
def test_a_program_that_ends_while_the_model_is_loaded_ends_without_a_word(
    way: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LTST_WARM", "on")
    told = subprocess.run(
        [sys.executable, leaving.__file__, way, database_url], capture_output=True, text=True, timeout=300, check=False
    )
    assert (told.stderr, told.returncode) == ("", 0)


ENDS = """
import asyncio, threading
from ltst.providers import local, warming

steps = []
began = threading.Event()
class Slow(local.LocalEmbedder):
    def warm(self, go_on):
        while go_on():
            began.set()
            steps.append("a step")
        print("stopped")

async def main():
    asyncio.get_running_loop().create_task(warming.warmed(Slow()))
    await asyncio.to_thread(began.wait)

asyncio.run(main())
"""


def test_the_end_of_the_process_waits_for_the_step_at_hand() -> None:
    told = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=60, check=False)
    assert (told.stdout, told.stderr, told.returncode) == ("stopped\n", "", 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_waits_for_what_is_being_loaded() -> None:
    order: list[str] = []
    holding = threading.Event()

    def load() -> None:
        with runtime.LOADING:
            holding.set()
            threading.Event().wait(0.2)
            order.append("loaded")

    loader = threading.Thread(target=load)
    loader.start()
    assert holding.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if runtime.LOADING.acquire(blocking=False) else 1)
    order.append("forked")
    loader.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert order == ["loaded", "forked"]


async def test_nothing_is_loaded_at_the_end_of_the_process(loading: Loading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "ENDING", threading.Event())
    warming.ENDING.set()
    await warming.warmed(LocalEmbedder())
    assert loading.threads == []


@pytest.mark.parametrize("wrong", [{"warm": "on"}, {"embedder_threads": 0}, {"embedder_threads": 1.5}])
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=next(iter(wrong))):
        Settings(**wrong)


def test_the_environment_says_whether_and_with_how_many_threads() -> None:
    told = Settings.from_environment({"LTST_WARM": "off", "LTST_EMBEDDER_THREADS": "3"})
    assert (told.warm, told.embedder_threads) == (False, 3)
    assert Settings.from_environment({}).embedder_threads is None
