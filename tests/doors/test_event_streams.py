"""Event streams: idle ones cost next to nothing, and a listener who leaves is not an error."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.served import Server
from bench.wire import Wire, written
from helpers.serving import Listening
from ltst import AsyncMemory, Settings
from ltst.db.pool import SingleCall

IDLE = 200
PATIENCE = 60.0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each query of the ledger was asked."""
    counted: Counter[str] = Counter()
    ask = SingleCall._ask

    async def counting(self: SingleCall, name: str, *arguments: Any) -> Any:
        if name.startswith("events."):
            counted[name] += 1
        return await ask(self, name, *arguments)

    monkeypatch.setattr(SingleCall, "_ask", counting)
    return counted


def port_of(door: Listening) -> int:
    return int(door.url.rpartition(":")[2])


async def test_idle_streams_ask_for_nothing(door: Listening, settings: Settings, asked: Counter[str]) -> None:
    port = port_of(door)
    async with asyncio.timeout(PATIENCE), AsyncMemory(settings=settings) as memory, _crowd(port, IDLE):
        listeners = door.app.state.changes._listeners if hasattr(door.app.state, "changes") else range(IDLE)
        while len(listeners) < IDLE:  # noqa: ASYNC110 - it becomes true in another thread
            await asyncio.sleep(0.01)
        before = asked.total()
        async with httpx.AsyncClient(base_url=door.url, timeout=PATIENCE) as client:
            headers = {"Accept": "text/event-stream", "X-User-Id": "busy"}
            async with client.stream("GET", "/v1/events", headers=headers) as stream:
                lines = stream.aiter_lines()
                for number in range(5):
                    await memory.user("busy").facts.set(f"key {number}", "value")
                    while not (await anext(lines)).startswith("data:"):
                        pass
    # Each idle stream may read once more when the watch begins; the rest is for the one that is busy.
    assert asked.total() - before < IDLE + 100


@asynccontextmanager
async def _crowd(port: int, size: int) -> AsyncIterator[None]:
    wires = [Wire(port) for _ in range(size)]
    try:
        for number, wire in enumerate(wires):
            request = written("GET", "/v1/events", None, {"Accept": "text/event-stream", "X-User-Id": f"idle {number}"})
            await wire.send(request)
        yield
    finally:
        for wire in wires:
            wire.cut()


async def test_streams_tell_of_their_own_user_alone_and_of_everyone_to_admins(
    door: Listening, settings: Settings
) -> None:
    async def heard(path: str, user: str, enough: int) -> list[str]:
        headers = {"Accept": "text/event-stream", "X-User-Id": user}
        rows: list[str] = []
        async with (
            httpx.AsyncClient(base_url=door.url, timeout=PATIENCE) as client,
            client.stream("GET", path, headers=headers) as stream,
        ):
            async for line in stream.aiter_lines():
                rows += [line] if line.startswith("data:") else []
                if len(rows) == enough:
                    return rows
        return rows

    async with asyncio.timeout(PATIENCE), AsyncMemory(settings=settings) as memory:
        told = [
            asyncio.create_task(heard(path, user, enough))
            for path, user, enough in (("/v1/events", "ana", 3), ("/v1/events", "bob", 3), ("/v1/admin/events", "x", 6))
        ]
        for number in range(3):
            for user in ("ana", "bob"):
                await memory.user(user).facts.set(f"key {number}", "value")
        ana, bob, everyone = [await each for each in told]
    assert all('"ana"' in each for each in ana) and all('"bob"' in each for each in bob)
    assert sorted(everyone) == sorted(ana + bob)


def test_a_stream_begins_only_from_a_place_of_this_ledger(door: Listening) -> None:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "5-5-5"}
    answer = httpx.get(f"{door.url}/v1/events", headers=headers)
    assert (answer.status_code, answer.json()["go_on"].endswith("-0-0")) == (409, True)
    answer = httpx.get(f"{door.url}/v1/events?settled=false", headers={"Accept": "text/event-stream"})
    assert answer.status_code == 422


async def test_listeners_who_leave_are_no_errors(settings: Settings, tmp_path: Path) -> None:
    known = {"DATABASE_URL": str(settings.database_url), "LTST_WORKER": "off", "LTST_LOG": "warning"}
    with await asyncio.to_thread(Server, tmp_path / "served", environment=known) as server:
        async with AsyncMemory(settings=settings) as memory:
            for number in range(4):
                async with _crowd(server.port, 40):
                    await memory.user(f"idle {number}").facts.set("key", "value")
            async with _crowd(server.port, 40):
                assert await asyncio.to_thread(server.stop) == 0
        assert server.said.partition("Ctrl-C.")[2].strip() == ""
