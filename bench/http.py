"""What a call costs over HTTP: a server and a client, each a process of its own, beside the same calls in process."""

from __future__ import annotations

import asyncio
import base64
import json
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from bench import bare
from bench.report import Comparison, Reading, Row, throughput_99
from bench.served import ROOT, Server, served
from bench.stage import Block, Stage, timed_crowd
from bench.wire import written
from ltst import AsyncMemory
from ltst.agents.turns import Turns

TURN_BOUND, ADD_BOUND, WINDOW_BOUND = 0.5, 0.35, 0.25
WINDOW = 50
# The agent learns from each turn before it answers; nothing else is to be at work meanwhile.
QUIET = {"LTST_WORKER": "off"}

InProcess = Callable[[str, int, int], Awaitable[object]]
OverHttp = Callable[[str, int, int], bytes]


@dataclass(frozen=True, slots=True)
class Call:
    """One call, both ways: by the name of its round, the number of the client and its own number."""

    name: str
    ours: OverHttp
    other: InProcess
    bound: float


class Client:
    """The process that asks."""

    def __init__(self, port: int) -> None:
        """Start it; it connects when it is asked to."""
        command = [sys.executable, "-m", "bench.http_client", str(port)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True, bufsize=1
        )
        self.shares: list[float] = []

    def block(self, requests: Sequence[Sequence[bytes]]) -> Block:
        """Send the requests of each connection one after the other, all connections at once."""
        assert self._process.stdin is not None and self._process.stdout is not None
        sent = [[base64.b64encode(each).decode() for each in each_client] for each_client in requests]
        self._process.stdin.write(json.dumps(sent) + "\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the client gave up; what it said stands above")
        told = json.loads(answer)
        self.shares.append(told["share"])
        return Block(told["seconds"], told["elapsed"])

    def end(self) -> None:
        """Let it go."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass(slots=True)
class Bench:
    """Both sides, ready."""

    stage: Stage
    runner: asyncio.Runner
    memory: AsyncMemory
    turns: Turns
    client: Client
    rounds: Iterator[int] = field(default_factory=count)


def rows(stage: Stage) -> Iterator[Row]:
    """All of them."""
    with served(stage.settings.home, environment=QUIET) as server, _bench(stage, server) as bench:
        for clients in stage.plan.http_clients:
            yield from _compare(bench, _turn(bench), clients)
        for clients in stage.plan.http_clients:
            yield from _compare(bench, _add(bench), clients)
        yield from _compare(bench, _window(bench), 1)


@contextmanager
def _bench(stage: Stage, server: Server) -> Iterator[Bench]:
    client = Client(server.port)
    settings = replace(stage.settings, worker=False)
    try:
        with asyncio.Runner() as runner, stage.memory(runner, settings) as memory:
            turns = runner.run(_turns(memory))
            yield Bench(stage, runner, memory, turns, client)
            runner.run(turns.close())
    finally:
        client.end()


async def _turns(memory: AsyncMemory) -> Turns:
    return Turns(memory)


def _compare(bench: Bench, call: Call, clients: int) -> Iterator[Row]:
    """So many clients over HTTP beside as many tasks; every block has users of its own."""
    stage, each_does = bench.stage, range(bench.stage.plan.http_operations)
    named = f"{call.name}, {clients} client{'s' if clients > 1 else ''}"
    stage.say(named)
    bench.client.shares.clear()

    def ours() -> Block:
        name = f"http-{next(bench.rounds)}"
        return bench.client.block([[call.ours(name, who, each) for each in each_does] for who in range(clients)])

    def other() -> Block:
        name = f"direct-{next(bench.rounds)}"
        work = [[partial(call.other, name, who, each) for each in each_does] for who in range(clients)]
        return bench.runner.run(timed_crowd(work))

    seen = stage.alternate(stage.plan.http_blocks, ours, other)
    figures = [throughput_99(each.rates(), each.seconds) for each in seen]
    yield Comparison(f"HTTP: {named}", figures[0], "in process", figures[1], call.bound)
    yield Reading(f"the client's share of a core, {named}", statistics.median(bench.client.shares), "of 1")


def _turn(bench: Bench) -> Call:
    """A statement, stored, learnt from and answered by the agent that needs no model."""

    def ours(name: str, who: int, number: int) -> bytes:
        said = {"message": bare.text(number), "chat_id": name, "agent_name": "recall"}
        return written("POST", "/api/chat", said, {"X-User-Id": f"{name}-{who}"})

    async def other(name: str, who: int, number: int) -> object:
        user = bench.memory.user(f"{name}-{who}")
        return await (await bench.turns.begin(user, bare.text(number), chat_id=name, agent_name="recall")).done()

    return Call("chat turn", ours, other, TURN_BOUND)


def _add(bench: Bench) -> Call:
    """A message, stored."""

    def ours(name: str, who: int, number: int) -> bytes:
        said = {"role": "user", "content": bare.text(number)}
        return written("POST", f"/v1/sessions/{name}/messages", said, {"X-User-Id": f"{name}-{who}"})

    async def other(name: str, who: int, number: int) -> object:
        return await bench.memory.user(f"{name}-{who}").chat(name).add("user", bare.text(number))

    return Call("add", ours, other, ADD_BOUND)


def _window(bench: Bench) -> Call:
    """The newest messages, read."""
    chat = bench.memory.user("window").chat("window")
    bench.runner.run(chat.add_many([{"role": "user", "content": bare.text(each)} for each in range(2 * WINDOW)]))
    request = written("GET", f"/v1/sessions/window/window?limit={WINDOW}", None, {"X-User-Id": "window"})

    async def other(*_: object) -> object:
        return await chat.window(WINDOW)

    return Call(f"window({WINDOW})", lambda *_: request, other, WINDOW_BOUND)
