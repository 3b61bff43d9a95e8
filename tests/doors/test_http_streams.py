"""Whoever listens, leaves or shuts down: what was said and what was answered are stored, once each and in order."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from bench.served import Server
from bench.wire import Wire, written
from helpers.embedders import opened
from helpers.language_server import LanguageServer, Status, Streamed, language_server
from ltst import AsyncMemory, Settings
from ltst.doors.http.app import create
from ltst.doors.http.serving import Serving
from ltst.records import ConversationMessage
from ltst.support.network import bound

LEAVERS, EARLY_LEAVERS = 200, 40
AT_ONCE = 16
PIECES = tuple(f"piece {number} " for number in range(8))
SLOW = Streamed(PIECES, pause=0.005)
PATIENCE = 120.0
AGENTS = ("recall", "assistant")


@dataclass
class Running:
    """A server on a real socket, in a thread of this process, so that one can look inside."""

    port: int
    memory: AsyncMemory
    app: Any
    server: uvicorn.Server
    loop: asyncio.AbstractEventLoop
    idle_tasks: int = 0

    def left(self) -> dict[str, int]:
        """What is still there of requests and turns."""
        turns = self.app.state.turns
        return {
            "connections": len(self.server.server_state.connections),
            "requests": len(self.server.server_state.tasks),
            "turns": turns.stats().under_way + len(turns._tasks) + len(turns._live) + len(turns._latest),
            "tasks": max(0, len(asyncio.all_tasks(self.loop)) - self.idle_tasks),
        }


@dataclass
class Thread:
    """Runs the server until it is told to stop."""

    settings: Settings
    running: Running | None = None
    started: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        serving = Serving(self.settings, port=0)
        async with opened(self.settings) as memory:
            with bound(serving.host, serving.port) as taken:
                app = create(serving, memory)
                server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
                self.running = Running(taken.getsockname()[1], memory, app, server, asyncio.get_running_loop())
                told = asyncio.create_task(self._tell(server))
                await server.serve(sockets=[taken])
                await told

    async def _tell(self, server: uvicorn.Server) -> None:
        while not server.started:  # noqa: ASYNC110 - uvicorn tells it no other way
            await asyncio.sleep(0.01)
        assert self.running is not None
        self.running.idle_tasks = len(asyncio.all_tasks()) - 1
        self.started.set()


@pytest.fixture
def model() -> Iterator[LanguageServer]:
    with language_server() as played:
        played.otherwise = SLOW
        yield played


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Running]:
    held = Thread(settings)
    thread = threading.Thread(target=held.run, daemon=True)
    thread.start()
    assert await asyncio.to_thread(held.started.wait, PATIENCE)
    assert held.running is not None
    try:
        yield held.running
    finally:
        held.running.server.should_exit = True
        await asyncio.to_thread(thread.join, PATIENCE)


@pytest.fixture
async def running(settings: Settings, model: LanguageServer) -> AsyncIterator[Running]:
    async with serving(replace(settings, llm_model="scripted", llm_base_url=model.url)) as server:
        yield server


def said(number: int, agent: str, *, stream: bool = True) -> bytes:
    body = {"message": f"The bus was late, day {number}.", "chat_id": f"chat-{number}", "agent_name": agent}
    return written("POST", "/api/chat", {**body, "stream": stream}, {"X-User-Id": f"user-{number % 5}"})


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - it becomes true in another thread
            await asyncio.sleep(0.01)


async def stored(settings: Settings, number: int) -> list[ConversationMessage]:
    async with AsyncMemory(settings=settings) as memory:
        return await memory.user(f"user-{number % 5}").chat(f"chat-{number}").history()


async def leave(wire: Wire, chance: random.Random) -> None:
    """Half of them say goodbye, the others are cut off."""
    if chance.random() < 0.5:
        await wire.close()
    else:
        wire.cut()


async def listen(port: int, number: int, agent: str, chance: random.Random) -> None:
    """Listen to some of the events, the first at least, and go."""
    wire = Wire(port)
    heard, enough = 0, chance.randint(1, 2 if agent == "recall" else 1 + len(PIECES))
    async for _ in wire.events(said(number, agent)):
        heard += 1
        if heard == enough:
            break
    await asyncio.sleep(chance.choice((0, 0, 0.003)))
    await leave(wire, chance)


async def go_early(port: int, number: int, agent: str, chance: random.Random) -> None:
    """Ask, and do not even wait for the first event."""
    wire = Wire(port)
    await wire.send(said(number, agent))
    await asyncio.sleep(chance.uniform(0, 0.02))
    await leave(wire, chance)


async def crowd(visit: Callable[..., Any], port: int, numbers: Sequence[int], chance: random.Random) -> None:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with room:
            await visit(port, number, AGENTS[number % 2], chance)

    await asyncio.gather(*map(one, numbers))


async def all_let_in(port: int) -> None:
    """Once one more is answered, nobody who came before it still waits where the server cannot see them."""
    wire = Wire(port)
    assert (await wire.ask(written("GET", "/healthz"))).status == 200
    await wire.close()


async def test_both_turns_are_stored_once_each_when_listeners_leave_at_random_points(
    running: Running, settings: Settings
) -> None:
    chance = random.Random(6)
    listeners, hasty = range(LEAVERS), range(LEAVERS, LEAVERS + EARLY_LEAVERS)

    await crowd(listen, running.port, listeners, chance)
    await crowd(go_early, running.port, hasty, chance)
    await all_let_in(running.port)
    await until(lambda: not any(running.left().values()))

    async with AsyncMemory(settings=settings) as memory:
        for number in (*listeners, *hasty):
            kept = await memory.user(f"user-{number % 5}").chat(f"chat-{number}").history()
            if number in hasty and not kept:
                continue  # it was gone before its request was read: nothing was said
            assert [each.role for each in kept] == ["human", "ai"], number
            assert kept[0].content == f"The bus was late, day {number}."
            assert kept[1].parent_message_id == kept[0].message_id
            if AGENTS[number % 2] == "assistant":
                assert kept[1].content == "".join(PIECES)
    stats = running.app.state.turns.stats()
    assert stats.failed == 0
    assert stats.answered >= LEAVERS


async def test_a_request_that_breaks_off_says_nothing(running: Running, settings: Settings) -> None:
    wire = Wire(running.port)
    await wire.send(said(1, "recall")[:-10])
    await asyncio.sleep(0.05)
    wire.cut()
    await until(lambda: not any(running.left().values()))

    assert await stored(settings, 1) == []


@pytest.mark.parametrize("trouble", [Status(500), Streamed(PIECES[:3], breaks_off=True), Streamed(())], ids=str)
async def test_a_model_that_fails_leaves_the_message_and_says_so(
    running: Running, settings: Settings, model: LanguageServer, trouble: Any
) -> None:
    model.otherwise = trouble
    wire = Wire(running.port)

    whole = await wire.ask(said(1, "assistant", stream=False))
    events = [each async for each in wire.events(said(2, "assistant"))]
    await wire.close()

    assert whole.status == 502
    assert whole.headers["content-type"] == "application/problem+json"
    for number, told in ((1, whole.json()), (2, events[-1].data)):
        (kept,) = await stored(settings, number)
        assert (told["status"], told["chat_id"], told["message_id"]) == (502, f"chat-{number}", kept.message_id)
    assert (events[0].name, events[-1].name) == ("start", "error")
    assert {each.name for each in events[1:-1]} <= {"delta"}


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_server_that_is_told_to_stop_completes_what_is_under_way(
    settings: Settings, model: LanguageServer, tmp_path: Path, processes: int
) -> None:
    model.otherwise = Streamed(PIECES, pause=0.15)
    known = {"DATABASE_URL": str(settings.database_url), "LTST_LLM_MODEL": "scripted", "LTST_LLM_BASE_URL": model.url}
    with await asyncio.to_thread(
        Server, tmp_path / "served", processes=processes, environment={**known, "LTST_WORKER": "off"}
    ) as server:
        listener, leaver, patient = (Wire(server.port) for _ in range(3))
        heard, missed = (wire.events(said(at, "assistant")) for at, wire in ((1, listener), (2, leaver)))
        whole = asyncio.create_task(patient.ask(said(3, "assistant", stream=False)))
        assert [(await anext(each)).name for each in (heard, missed)] == ["start", "start"]
        leaver.cut()
        await until(lambda: len(model.asked) == 3)

        code = asyncio.create_task(asyncio.to_thread(server.stop))
        names = [each.name async for each in heard]

        assert names == ["delta"] * len(PIECES) + ["done"]
        assert (await whole).json()["reply"] == "".join(PIECES)
        assert await code == 0, server.said
    for number in (1, 2, 3):
        assert [each.role for each in await stored(settings, number)] == ["human", "ai"]
