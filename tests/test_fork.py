"""A forked child shares no connection with its parent: it is told so, and opens its own."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import ltst
from helpers import redis_server
from helpers.language_server import language_server
from ltst import AsyncMemory, Memory, Settings
from ltst.providers.endpoint import Endpoint
from ltst.providers.language import OpenAILanguageModel
from ltst.providers.windows import RedisWindowCache

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
]

READS = 200
USERS = ("ana", "bob")


def in_child(work: Callable[[], Any]) -> Callable[[], Any]:
    """Start work in a forked child; the function returned waits for its result."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = json.dumps(work()).encode()
        except BaseException:
            told = json.dumps({"failed": traceback.format_exc()}).encode()
        os.write(writing, told)
        os._exit(0)  # nothing of pytest's own may end here
    os.close(writing)

    def wait() -> Any:
        with os.fdopen(reading, "rb") as pipe:
            told = json.loads(pipe.read())
        os.waitpid(child, 0)
        assert not isinstance(told, dict), told["failed"]
        return told

    return wait


@contextmanager
def loop_of_its_own() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    try:
        yield loop
    finally:
        loop.close()


async def filled(memory: AsyncMemory) -> AsyncMemory:
    await memory.open()
    for user in USERS:
        for number in range(5):
            await memory.user(user).chat("one").add("user", f"{user} {number}")
    return memory


async def read(memory: AsyncMemory, user: str) -> list[str]:
    """What a user reads under load: their own words, an error's sentence, or somebody else's words."""

    async def once() -> str:
        try:
            window = await memory.user(user).chat("one").window()
        except ltst.LtstError as problem:
            return str(problem)
        return "own" if [each.content for each in window] == [f"{user} {number}" for number in range(5)] else "other"

    return [outcome for _ in range(READS // 10) for outcome in await asyncio.gather(*(once() for _ in range(10)))]


@pytest.mark.parametrize("window_cache", ["off", "memory"])
def test_a_forked_child_of_an_async_memory_reads_nobody_elses_words(settings: Settings, window_cache: str) -> None:
    with loop_of_its_own() as loop:
        settings = Settings(
            worker=False, database_url=settings.database_url, home=settings.home, window_cache=window_cache
        )
        memory = loop.run_until_complete(filled(AsyncMemory(settings=settings)))
        loop.run_until_complete(read(memory, "ana"))  # connections are open and idle

        def child() -> list[str]:
            with loop_of_its_own() as own:
                return own.run_until_complete(read(memory, "bob"))

        waiting = in_child(child)
        assert set(loop.run_until_complete(read(memory, "ana"))) == {"own"}
        assert set(waiting()) == {"this memory was opened in another process: open one of its own after a fork"}
        assert set(loop.run_until_complete(read(memory, "ana"))) == {"own"}
        loop.run_until_complete(memory.close())


@pytest.mark.parametrize("close_first", [True, False])
def test_a_forked_child_closes_and_opens_an_async_memory_of_its_own(settings: Settings, close_first: bool) -> None:
    with loop_of_its_own() as loop:
        memory = loop.run_until_complete(filled(AsyncMemory(settings=settings)))

        async def anew() -> list[str]:
            if close_first:
                await memory.close()
            async with memory:
                return await read(memory, "bob")

        def child() -> list[str]:
            with loop_of_its_own() as own:
                return own.run_until_complete(anew())

        waiting = in_child(child)
        assert set(loop.run_until_complete(read(memory, "ana"))) == {"own"}
        assert set(waiting()) == {"own"}
        # The child said no goodbye in the parent's name.
        assert set(loop.run_until_complete(read(memory, "ana"))) == {"own"}
        loop.run_until_complete(memory.close())


def test_a_forked_child_closes_and_opens_a_memory_of_its_own(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        chat = memory.user("ana").chat("one")
        chat.add("user", "hello")

        def child() -> list[str]:
            told = []
            try:
                chat.window()
            except ltst.DatabaseUnavailable as problem:
                told.append(str(problem))
            memory.close()
            with memory:
                told.append(memory.user("ana").chat("one").window()[0].content)
            return told

        assert in_child(child)() == [
            "this memory was opened in another process: open one of its own after a fork",
            "hello",
        ]
        assert [each.content for each in chat.window()] == ["hello"]


def test_a_forked_child_does_not_write_its_parents_measurements(settings: Settings) -> None:
    with loop_of_its_own() as loop:
        memory = loop.run_until_complete(filled(AsyncMemory(settings=settings)))

        async def anew() -> int:
            await memory.close()
            async with memory:
                return sum(each.count for each in (await memory.stats()).operations if each.name == "messages.add")

        def child() -> int:
            with loop_of_its_own() as own:
                return own.run_until_complete(anew())

        assert in_child(child)() == 0
        loop.run_until_complete(memory.close())


async def test_a_forked_child_asks_redis_over_connections_of_its_own() -> None:
    with redis_server.running() as redis:
        cache = RedisWindowCache(redis.url, timeout=30.0)
        await cache.put("ana", "one", b"words")
        held = cache._clients.get()
        assert cache._clients.get() is held
        assert len(held) == 1
        assert in_child(lambda: len(cache._clients.get()))() == 0
        assert await cache.get("ana", "one") == b"words"
        await cache.close()


def test_a_forked_child_asks_a_language_model_over_connections_of_its_own() -> None:
    with language_server() as server:
        model = OpenAILanguageModel("any", base_url=server.url, timeout=60.0)
        mine = model._client.get()
        assert model._client.get() is mine
        assert in_child(lambda: model._client.get() is mine)() is False
        endpoint = Endpoint(server.url)
        with loop_of_its_own() as loop:
            held = endpoint._client.get()
            assert in_child(lambda: endpoint._client.get() is held)() is False
            loop.run_until_complete(endpoint.close())


async def asked_elsewhere(memory: AsyncMemory, work: Callable[[AsyncMemory], Coroutine[Any, Any, Any]]) -> str:
    """What a use of the memory on another loop, in another thread, says."""

    def elsewhere() -> str:
        with pytest.raises(ltst.DatabaseUnavailable) as caught:
            asyncio.run(work(memory))
        return str(caught.value)

    return await asyncio.to_thread(elsewhere)


@pytest.mark.parametrize(
    "work",
    [
        lambda memory: memory.user("ana").chat("one").window(),
        lambda memory: memory.user("ana").chat("one").add("user", "hello"),
        lambda memory: memory.settle(),
        lambda memory: memory.open(),
        lambda memory: memory.close(),
    ],
)
async def test_an_async_memory_on_another_loop_says_so(memory: AsyncMemory, work: Callable[..., Any]) -> None:
    assert "opened on another event loop" in await asked_elsewhere(memory, work)
    await memory.user("ana").chat("one").add("user", "still works")


def test_an_async_memory_whose_loop_is_closed_can_be_closed_on_another(settings: Settings) -> None:
    memory = AsyncMemory(settings=settings)
    asyncio.run(filled(memory))
    with pytest.raises(ltst.DatabaseUnavailable, match="another event loop"):
        asyncio.run(read_once(memory))
    asyncio.run(memory.close())

    async def again() -> int:
        async with memory:
            return len(await memory.user("ana").chat("one").window())

    assert asyncio.run(again()) == 5


async def read_once(memory: AsyncMemory) -> None:
    await memory.user("ana").chat("one").window()
