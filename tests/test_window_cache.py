"""Windows over a cache: whatever happens to it, and whoever writes, a window is what Postgres says it is."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.probes import cloned, superuser
from helpers.redis_server import RedisServer, running
from helpers.waiting import PATIENCE
from helpers.window_steps import SESSIONS, USERS, Steps
from ltst import (
    AsyncMemory,
    ConversationMessage,
    Invalid,
    Memory,
    ProcessWindowCache,
    RedisWindowCache,
    Settings,
    Unavailable,
)
from ltst.db.embedded import EmbeddedServer
from ltst.handles import windows
from ltst.memory import AsyncChat
from ltst.protocols import WindowCache
from ltst.recall import window as window_module
from ltst.rooms import windows as window_room
from ltst.support.extras import how_to_install

STEPS = 320
ACT = "SELECT set_config('ltst.user_id', %s, false)"
OTHER_PROCESS = """
import sys
from ltst import Memory, Settings
with Memory(settings=Settings(database_url=sys.argv[1], redis_url=sys.argv[2], worker=False)) as memory:
    chat = memory.user("ana").chat("monday")
    print("ready", flush=True)
    for number in range(60):
        chat.add("user", f"there {number}")
        assert chat.window(20)[-1].message_index >= number + 1
"""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running() as server:
        yield server


@pytest.fixture(params=["memory", "redis"])
def cache(request: pytest.FixtureRequest) -> WindowCache:
    if request.param == "memory":
        return ProcessWindowCache()
    server: RedisServer = request.getfixturevalue("redis")
    return RedisWindowCache(server.url, timeout=5.0)


@pytest.fixture
async def near(settings: Settings, cache: WindowCache) -> AsyncIterator[AsyncMemory]:
    """A memory over a cache; `memory` is one without, on the same database."""
    async with AsyncMemory(settings=settings, window_cache=cache) as opened:
        yield opened


@pytest.fixture
async def over_redis(settings: Settings, redis: RedisServer) -> AsyncIterator[AsyncMemory]:
    # More patient than by default, since a busy machine is no trouble that is meant here.
    cache = RedisWindowCache(redis.url, timeout=5.0)
    async with AsyncMemory(settings=settings, window_cache=cache) as opened:
        yield opened
    await cache.close()


async def read(memory: AsyncMemory, chat: AsyncChat, limit: int = 50, max_tokens: int | None = None) -> Any:
    """A window, once the one before is in the cache; with whether it was a hit."""
    await memory._core.finish()
    found = await windows.read(memory._core, chat.user_id, chat.session_id, limit, max_tokens)
    await memory._core.finish()
    return found


def texts(found: Sequence[ConversationMessage]) -> list[str]:
    return [each.content for each in found]


async def tell(chat: AsyncChat, *contents: str) -> None:
    await chat.add_many([{"role": "user", "content": each} for each in contents])


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each reading had to fetch from Postgres."""
    seen: list[int] = []
    ask = window_room.difference

    async def spy(*arguments: Any) -> window_room.WindowDifference:
        found = await ask(*arguments)
        seen.append(len(found.fresh))
        return found

    monkeypatch.setattr(window_room, "difference", spy)
    return seen


class TestWhatIsServed:
    async def test_only_what_is_new_is_fetched(self, near: AsyncMemory, fetched: list[int]) -> None:
        chat = near.user("ana").chat("monday")
        await tell(chat, *(f"turn {number}" for number in range(30)))
        assert (await read(near, chat)).hit is False
        assert (await read(near, chat)).hit is True
        await chat.add("assistant", "and one more")
        assert texts((await read(near, chat)).messages)[-2:] == ["turn 29", "and one more"]
        await read(near, chat)
        assert fetched == [30, 0, 1, 0]

    async def test_every_field_comes_back_as_it_was(self, near: AsyncMemory, memory: AsyncMemory) -> None:
        chat = near.user("ana").chat("monday")
        first = await chat.add(
            "user", "line\nbreak \u2028 ☕ 'quoted' \\ \" %s", metadata={"deep": [1, None, {"ß": 1.5}]}
        )
        await chat.add("tool", "x" * 1000, parent=first.message_id, key="once")
        stored = ConversationMessage(
            "monday", "ai", "stored", message_type="context", embedding=[0.1] * 384, relevance_score=0.25
        )
        await chat.store(replace(stored, is_context_message=True))
        await read(near, chat)
        found = await read(near, chat)
        assert found.hit is True
        assert found.messages == await memory.user("ana").chat("monday").window()
        assert all(each.embedding is None for each in found.messages)
        assert [each.timestamp.isoformat() for each in found.messages] == [
            each.timestamp.isoformat() for each in await memory.user("ana").chat("monday").window() if each.timestamp
        ]

    async def test_a_longer_window_serves_shorter_ones(self, near: AsyncMemory, memory: AsyncMemory) -> None:
        chat, plain = near.user("ana").chat("monday"), memory.user("ana").chat("monday")
        await tell(chat, *(f"{number} " * (number % 7 + 1) for number in range(40)))
        await read(near, chat, 40)
        for limit in (1, 7, 39, 40, 1000):
            for tokens in (None, 1, 5, 33, 10_000):
                found = await read(near, chat, limit, tokens)
                assert found.hit is True
                assert found.messages == await plain.window(limit, max_tokens=tokens)

    async def test_a_shorter_window_is_completed(self, near: AsyncMemory, fetched: list[int]) -> None:
        chat = near.user("ana").chat("monday")
        await tell(chat, *(f"turn {number}" for number in range(40)))
        for limit in (5, 20, 40, 30):
            found = await read(near, chat, limit)
            assert texts(found.messages) == [f"turn {number}" for number in range(40 - limit, 40)]
        assert fetched == [5, 15, 20, 0]

    async def test_what_is_changed_in_a_window_does_not_reach_the_next(self, near: AsyncMemory) -> None:
        chat = near.user("ana").chat("monday")
        await chat.add("user", "hello", metadata={"tags": ["a"]})
        for _ in range(3):
            (message,) = (await read(near, chat)).messages
            assert message.metadata == {"tags": ["a"]}
            message.metadata["tags"].append("b")

    async def test_context_and_snapshot_read_the_same(self, near: AsyncMemory, memory: AsyncMemory) -> None:
        chat, plain = near.user("ana").chat("monday"), memory.user("ana").chat("monday")
        await tell(chat, "hello", "how are you?")
        for strategy in ("sliding_window", "sliding_window_summary"):
            assert (await chat.context(strategy=strategy)).text == (await plain.context(strategy=strategy)).text
        await near._core.finish()
        assert (await read(near, chat)).hit is True
        assert await chat.snapshot() == await plain.snapshot()

    async def test_hits_are_measured(self, near: AsyncMemory) -> None:
        chat = near.user("ana").chat("monday")
        await chat.add("user", "hello")
        for _ in range(3):
            await chat.window()
            await near._core.finish()
        await near._core.flush()
        with superuser(near.database_url) as connection:
            seen = connection.execute(
                "SELECT cache_hit FROM memory_performance_metrics WHERE operation_name = 'messages.window' "
                "ORDER BY created_at"
            ).fetchall()
        assert [hit for (hit,) in seen] == [False, True, True]

    async def test_long_windows_and_long_messages_are_served_but_not_kept(
        self, near: AsyncMemory, memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(window_module, "MOST_MESSAGES", 5)
        chat, plain = near.user("ana").chat("monday"), memory.user("ana").chat("monday")
        await tell(chat, *(f"turn {number}" for number in range(12)))
        for limit in (12, 12, 5, 3):
            found = await read(near, chat, limit)
            assert found.messages == await plain.window(limit)
        assert found.hit is True
        await chat.add("user", "x" * (window_module.MOST_BYTES + 1))
        for _ in range(2):
            found = await read(near, chat)
            assert found.messages == await plain.window()
            assert found.hit is False


class TestWhoeverWrites:
    async def test_a_session_deleted_and_made_again_with_as_many_messages(
        self, near: AsyncMemory, memory: AsyncMemory
    ) -> None:
        chat = near.user("ana").chat("monday")
        await tell(chat, "old one", "old two")
        await read(near, chat)
        await memory.user("ana").sessions.delete("monday")
        await tell(memory.user("ana").chat("monday"), "new one", "new two")
        assert texts((await read(near, chat)).messages) == ["new one", "new two"]

    async def test_messages_deleted_through_the_view(self, near: AsyncMemory) -> None:
        chat = near.user("ana").chat("monday")
        await tell(chat, "one", "two", "three")
        await read(near, chat)
        with superuser(near.database_url) as connection:
            connection.execute(ACT, ("ana",))
            connection.execute("DELETE FROM chat_message_history WHERE session_id = 'monday' AND id = 2")
        found = await read(near, chat)
        assert (texts(found.messages), found.hit) == (["one", "three"], True)

    async def test_a_parent_in_another_session_that_goes(self, near: AsyncMemory) -> None:
        asked = await near.user("ana").chat("tuesday").add("user", "asked")
        chat = near.user("ana").chat("monday")
        await chat.add("assistant", "answered", parent=asked.message_id)
        assert (await read(near, chat)).messages[0].parent_message_id == asked.message_id
        await near.user("ana").sessions.delete("tuesday")
        assert (await read(near, chat)).messages[0].parent_message_id is None

    async def test_what_the_worker_finds_out_changes_nothing(self, near: AsyncMemory) -> None:
        chat = near.user("ana").chat("monday")
        await tell(chat, "My name is Ana and I live in Lisbon.", "ok")
        before = await read(near, chat)
        await near.settle()
        after = await read(near, chat)
        assert (after.hit, after.messages) == (True, before.messages)

    async def test_any_steps_in_any_order(self, near: AsyncMemory, memory: AsyncMemory) -> None:
        """After each of many random steps, by every way of writing, a cached window is the window of Postgres."""
        chance = random.Random(7)
        hits = 0
        with superuser(near.database_url) as hand:
            steps = Steps((near, memory), hand, chance)
            for number in range(STEPS):
                await steps.take(number)
                for user in USERS:
                    for session in SESSIONS:
                        limit, tokens = chance.choice((1, 3, 8, 50)), chance.choice((None, None, 2, 20, 200))
                        found = await read(near, near.user(user).chat(session), limit, tokens)
                        wanted = await memory.user(user).chat(session).window(limit, max_tokens=tokens)
                        assert found.messages == wanted, (number, user, session, limit, tokens, steps.done[-3:])
                        hits += bool(found.hit and found.messages)
        assert {*steps.done} == {way.__name__ for way in steps.ways}
        assert hits > STEPS


@asynccontextmanager
async def troubled(trouble: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Something goes on beside the block until it is over."""
    task = asyncio.create_task(trouble())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def write(chat: AsyncChat, amount: int, acknowledged: dict[str, int]) -> None:
    for number in range(1, amount + 1):
        await chat.add("user", f"{chat.user_id}/{chat.session_id}/{number}")
        acknowledged[chat.user_id] = number


async def watch(chat: AsyncChat, acknowledged: dict[str, int], amount: int) -> int:
    """Read until all is written; every window is whole, in order, this user's, and not older than the reading."""
    readings = 0
    while True:
        least = acknowledged.get(chat.user_id, 0)
        found = await chat.window(10)
        newest = found[-1].message_index or 0 if found else 0
        assert newest >= least
        assert [each.message_index for each in found] == [*range(max(0, newest - 10) + 1, newest + 1)]
        assert texts(found) == [f"{chat.user_id}/{chat.session_id}/{each.message_index}" for each in found]
        readings += 1
        if newest == amount:
            return readings
        await asyncio.sleep(0)


async def crowd(memories: Sequence[AsyncMemory], amount: int) -> int:
    """Writers and readers at once, over several memories; how often was read."""
    acknowledged: dict[str, int] = {}
    users = [f"user-{number}" for number in range(4)]
    writing = [write(memories[0].user(user).chat("monday"), amount, acknowledged) for user in users]
    reading = [watch(each.user(user).chat("monday"), acknowledged, amount) for each in memories for user in users]
    done = await asyncio.gather(*reading, *writing)
    return sum(each or 0 for each in done)


class TestTrouble:
    @pytest.fixture
    async def memories(self, settings: Settings, redis: RedisServer) -> AsyncIterator[list[AsyncMemory]]:
        """Two over Redis, which try it again soon, and one without."""
        async with AsyncExitStack() as stack:
            caches = [RedisWindowCache(redis.url, rest=0.05) for _ in range(2)]
            for cache in caches:
                stack.push_async_callback(cache.close)
            opened = [AsyncMemory(settings=settings, window_cache=each) for each in (*caches, None)]
            for each in opened:
                await stack.enter_async_context(each)
            yield opened

    async def test_nothing_happens(self, memories: list[AsyncMemory]) -> None:
        assert await crowd(memories, 60)

    async def test_redis_is_flushed_again_and_again(self, memories: list[AsyncMemory], redis: RedisServer) -> None:
        async def flush() -> None:
            while True:
                await asyncio.sleep(0.01)
                await asyncio.to_thread(redis.client.flushall)

        async with troubled(flush):
            await crowd(memories, 100)
        await self.same(memories)

    async def test_redis_is_killed_and_comes_back_empty(self, memories: list[AsyncMemory], redis: RedisServer) -> None:
        async def kill() -> None:
            while True:
                await asyncio.sleep(0.1)
                await asyncio.to_thread(redis.kill)
                await asyncio.sleep(0.1)
                await asyncio.to_thread(redis.start)

        async with troubled(kill):
            await crowd(memories, 150)
        redis.kill()
        await self.same(memories)
        redis.start()
        await self.same(memories)
        chat = memories[0].user("user-0").chat("monday")
        async with asyncio.timeout(PATIENCE):
            # It rests a while after a failure, and is used again.
            while not (await read(memories[0], chat)).hit:  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.02)

    async def test_redis_hangs(self, memories: list[AsyncMemory], redis: RedisServer) -> None:
        chat = memories[0].user("ana").chat("monday")
        await tell(chat, "hello")
        await read(memories[0], chat)
        redis.pause()
        try:
            began = time.monotonic()
            assert texts(await chat.window()) == ["hello"]
            assert time.monotonic() - began < 60
        finally:
            redis.go_on()

    async def same(self, memories: list[AsyncMemory]) -> None:
        for number in range(4):
            first, second, plain = [await each.user(f"user-{number}").chat("monday").window() for each in memories]
            assert first == second == plain

    async def test_redis_was_never_there(self, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
        async with AsyncMemory(settings=replace(settings, redis_url="redis://127.0.0.1:1/0")) as memory:
            chat = memory.user("ana").chat("monday")
            await tell(chat, "hello")
            with caplog.at_level(logging.WARNING, "ltst"):
                for _ in range(50):
                    assert texts(await chat.window()) == ["hello"]
        assert len(caplog.records) == 1, "it is tried once and then left alone"

    async def test_another_process_writes_and_reads(
        self, over_redis: AsyncMemory, memory: AsyncMemory, redis: RedisServer, settings: Settings
    ) -> None:
        chat = over_redis.user("ana").chat("monday")
        command = [sys.executable, "-c", OTHER_PROCESS, str(settings.database_url), redis.url]
        other = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        try:
            assert other.stdout is not None
            assert await other.stdout.readline() == b"ready\n"
            for number in range(30):
                mine = await chat.add("user", f"here {number}")
                found = await chat.window(20)
                places = [each.message_index or 0 for each in found]
                assert places == [*range(places[-1] + 1)][-len(places) :] and len(places) == min(20, places[-1])
                # The other process may have written 20 since.
                assert mine in found or (mine.message_index or 0) < places[0]
            assert await asyncio.wait_for(other.wait(), PATIENCE) == 0
        finally:
            if other.returncode is None:
                other.kill()
                await other.wait()
        found = await read(over_redis, chat, 200)
        assert found.messages == await memory.user("ana").chat("monday").window(200)
        assert len(found.messages) == 90
        assert len(redis.keys()) == 1


class TestOwners:
    async def test_two_users_with_the_same_session(self, over_redis: AsyncMemory, redis: RedisServer) -> None:
        for _ in range(2):
            for user in ("ana", "bob"):
                chat = over_redis.user(user).chat("monday")
                await chat.add("user", f"I am {user}")
                assert {*texts((await read(over_redis, chat)).messages)} == {f"I am {user}"}
        assert len(redis.keys()) == 2

    async def test_two_databases_with_the_same_ids(
        self, over_redis: AsyncMemory, redis: RedisServer, server: EmbeddedServer, template: str, settings: Settings
    ) -> None:
        with cloned(server, template) as url:
            elsewhere, cache = replace(settings, database_url=url), RedisWindowCache(redis.url, timeout=5.0)
            async with AsyncMemory(settings=elsewhere, window_cache=cache) as other:
                for memory, word in ((over_redis, "here"), (other, "there")) * 3:
                    chat = memory.user("ana").chat("monday")
                    await chat.add("user", word)
                    assert {*texts((await read(memory, chat)).messages)} == {word}
        assert len(redis.keys()) == 2

    async def test_two_databases_with_the_very_same_messages(
        self, over_redis: AsyncMemory, redis: RedisServer, server: EmbeddedServer, template: str, settings: Settings
    ) -> None:
        chat = over_redis.user("ana").chat("monday")
        await tell(chat, "hello", "world")
        await read(over_redis, chat)
        with cloned(server, template) as url:
            elsewhere, cache = replace(settings, database_url=url), RedisWindowCache(redis.url, timeout=5.0)
            async with AsyncMemory(settings=elsewhere, window_cache=cache) as other:
                await other.user("ana").restore(await over_redis.user("ana").export())
                with superuser(url) as hand:
                    hand.execute("UPDATE conversation_messages SET content = 'changed' WHERE message_index = 2")
                copy = other.user("ana").chat("monday")
                assert texts((await read(other, copy)).messages) == ["hello", "changed"]
        assert texts((await read(over_redis, chat)).messages) == ["hello", "world"]

    async def test_ids_are_not_in_clear(self, over_redis: AsyncMemory, redis: RedisServer) -> None:
        chat = over_redis.user("ana-of-lisbon").chat("about-the-knee")
        await chat.add("user", "hello")
        await read(over_redis, chat)
        kept = redis.everything()
        assert b"hello" in kept
        assert b"ana-of-lisbon" not in kept
        assert b"about-the-knee" not in kept

    async def test_poison(self, over_redis: AsyncMemory, redis: RedisServer) -> None:
        """Another's window, and whatever is none, under the name of this one."""
        chat, other = over_redis.user("ana").chat("monday"), over_redis.user("bob").chat("monday")
        await tell(chat, "mine", "also mine")
        await read(over_redis, chat)
        ((key,), ((field, own),)) = redis.keys(), redis.client.hgetall(redis.keys()[0]).items()
        await tell(other, "not yours", "neither")
        await read(over_redis, other)
        (another,) = {*redis.keys()} - {key}
        (foreign,) = redis.client.hvals(another)
        damaged = own.replace(b"mine", b"mean")
        assert own != damaged
        mine = over_redis._core.windows
        assert mine is not None
        assert len(window_module.unpack(own, mine._owner("ana", "monday"))) == 2
        assert window_module.unpack(own, mine._owner("ana", "tuesday")) == []
        assert window_module.unpack(foreign, mine._owner("ana", "monday")) == []
        junk = [b"", b"{}", b"\xff" * 40, own[:-1], own[16:], own + b"\n", damaged, foreign, json.dumps([1]).encode()]
        for poison in junk:
            redis.client.hset(key, field, poison)
            found = await read(over_redis, chat)
            assert (texts(found.messages), found.hit) == (["mine", "also mine"], False)
            assert redis.client.hget(key, field) == own, "and it is put right"
        redis.client.delete(key)
        redis.client.set(key, "no hash at all")
        assert texts((await read(over_redis, chat)).messages) == ["mine", "also mine"]

    async def test_a_cache_that_mixes_up_its_answers(self, settings: Settings) -> None:
        class Mixed(ProcessWindowCache):
            """As a client did that gave one's answer to the next who asked, after a call had been cancelled."""

            answer: bytes | None = None

            async def get(self, user: str, session: str) -> bytes | None:
                before, self.answer = self.answer, await super().get(user, session)
                return before

        async with AsyncMemory(settings=settings, window_cache=Mixed()) as memory:
            for number in range(20):
                chat = memory.user(USERS[number % 2]).chat("monday")
                await chat.add("user", f"I am {chat.user_id}")
                assert {*texts((await read(memory, chat)).messages)} == {f"I am {chat.user_id}"}


class TestForgetting:
    async def test_erase(self, over_redis: AsyncMemory, redis: RedisServer) -> None:
        for user in USERS:
            for session in SESSIONS:
                chat = over_redis.user(user).chat(session)
                await chat.add("user", f"{user} says hello")
                await read(over_redis, chat)
        await over_redis.user("ana").chat("monday").window()  # on its way into the cache, maybe
        await over_redis.user("ana").erase()
        assert len(redis.keys()) == 1
        assert b"ana says" not in redis.everything()
        assert await over_redis.user("ana").chat("monday").window() == []

    async def test_deleting_a_session(self, near: AsyncMemory, cache: WindowCache) -> None:
        chat = near.user("ana").chat("monday")
        await tell(chat, "hello")
        await read(near, chat)
        names = [window_name(near, "ana"), window_name(near, "ana", "monday")]
        assert await cache.get(*names) is not None
        assert await near.user("ana").sessions.delete("monday")
        assert await cache.get(*names) is None
        assert (await read(near, chat)).messages == []

    @pytest.mark.parametrize("verb", ["erase", "delete"])
    async def test_while_redis_is_away(
        self, over_redis: AsyncMemory, redis: RedisServer, caplog: pytest.LogCaptureFixture, verb: str
    ) -> None:
        user = over_redis.user("ana")
        chat = user.chat("monday")
        await tell(chat, "secret")
        await read(over_redis, chat)
        (key,) = redis.keys()
        kept = redis.client.hgetall(key)
        redis.kill()
        with caplog.at_level(logging.WARNING, "ltst"):
            await (user.erase() if verb == "erase" else user.sessions.delete("monday"))
        assert "expire within an hour" in caplog.text
        redis.start()
        for field, blob in kept.items():  # as if it had come back with what it held
            redis.client.hset(key, field, blob)
        over_redis._core.windows._cache._resting_until = 0.0  # type: ignore[union-attr]
        assert (await read(over_redis, chat)).messages == []
        await tell(chat, "public")
        assert texts((await read(over_redis, chat)).messages) == ["public"]
        assert b"secret" not in redis.everything()

    async def test_nothing_stays_longer_for_what_is_put_after_it(
        self, over_redis: AsyncMemory, redis: RedisServer
    ) -> None:
        await over_redis.user("ana").chat("monday").add("user", "hello")
        await read(over_redis, over_redis.user("ana").chat("monday"))
        (key,) = redis.keys()
        assert 3_000_000 < redis.client.pttl(key) <= 3_600_000
        redis.client.pexpire(key, 900_000)
        for session in ("monday", "tuesday"):
            await over_redis.user("ana").chat(session).add("user", "hello")
            await read(over_redis, over_redis.user("ana").chat(session))
        assert redis.client.hlen(key) == 2
        assert 0 < redis.client.pttl(key) <= 900_000


def window_name(memory: AsyncMemory, *ids: str) -> str:
    assert memory._core.windows is not None
    return memory._core.windows._name(*ids)


class TestProcessMemory:
    async def test_the_least_recently_used_go_first(self) -> None:
        cache = ProcessWindowCache(most_bytes=10_000)
        for number in range(4):
            await cache.put("ana", str(number), b"x" * 2000)
        assert await cache.get("ana", "0") is not None
        await cache.put("ana", "4", b"x" * 2000)
        kept = [number for number in range(5) if await cache.get("ana", str(number)) is not None]
        assert kept == [0, 2, 3, 4]
        await cache.put("ana", "5", b"x" * 20_000)
        assert len(cache) == 0

    async def test_nothing_stays_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        passed = [1000.0]
        monkeypatch.setattr("ltst.providers.windows.time", SimpleNamespace(monotonic=lambda: passed[0]))
        cache = ProcessWindowCache(lifetime=50)
        await cache.put("ana", "monday", b"one")
        passed[0] += 30
        await cache.put("ana", "monday", b"two")
        assert await cache.get("ana", "monday") == b"two"
        passed[0] += 30
        assert await cache.get("ana", "monday") is None
        await cache.put("bob", "monday", b"three")
        passed[0] += 200
        await cache.put("ana", "monday", b"four")
        assert len(cache) == 1

    async def test_forgetting_one_user(self) -> None:
        cache = ProcessWindowCache()
        for user in USERS:
            for session in SESSIONS:
                await cache.put(user, session, b"hello")
        await cache.forget("ana")
        assert len(cache) == 2
        assert cache._bytes == 2 * (400 + len(b"hello"))


class TestSettings:
    def test_by_the_environment(self, redis: RedisServer, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATABASE_URL", database_url)
        monkeypatch.setenv("LTST_REDIS_URL", redis.url)
        monkeypatch.setitem(RedisWindowCache.__init__.__kwdefaults__, "timeout", 5.0)
        memory = Memory()
        for _ in range(2):  # opened again, it connects again
            with memory:
                chat = memory.user("ana").chat("monday")
                chat.add("user", "hello")
                assert {each.content for each in chat.window()} == {"hello"}
        assert len(redis.keys()) == 1
        redis.client.flushall()
        for choice, kept in (("off", 0), ("memory", 0), ("redis", 1)):
            monkeypatch.setenv("LTST_WINDOW_CACHE", choice)
            with Memory() as memory:
                memory.user("ana").chat("monday").window()
            assert len(redis.keys()) == kept

    def test_one_cache_for_two_memories(self, redis: RedisServer, settings: Settings) -> None:
        cache = RedisWindowCache(redis.url)
        with Memory(settings=settings, window_cache=cache) as one, Memory(settings=settings, window_cache=cache) as two:
            for number in range(5):
                for memory in (one, two):
                    memory.user("ana").chat("monday").add("user", "hello")
                    assert len(memory.user("ana").chat("monday").window()) >= 2 * number
        assert len(redis.keys()) == 1

    def test_the_address_is_not_shown(self) -> None:
        url = "redis://:secret@localhost:6379/0"
        assert "secret" not in repr(Settings(redis_url=url)) + repr(RedisWindowCache(url))

    @pytest.mark.parametrize(
        "wrong",
        [{"redis_url": "localhost:6379"}, {"redis_url": ""}, {"window_cache": "disk"}, {"window_cache": "redis"}],
    )
    def test_what_cannot_work_is_refused(self, wrong: dict[str, str]) -> None:
        with pytest.raises(Invalid):
            Settings(**wrong)  # type: ignore[arg-type]

    @pytest.mark.parametrize("url", ["localhost:6379", "redis://localhost:port/0"])
    def test_an_address_that_is_none_is_refused(self, url: str) -> None:
        with pytest.raises(Invalid, match="redis://localhost"):
            RedisWindowCache(url)

    def test_without_the_package(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "redis.exceptions", None)
        with pytest.raises(Unavailable, match=re.escape(how_to_install("redis"))):
            Memory(settings=replace(settings, redis_url="redis://localhost")).open()
