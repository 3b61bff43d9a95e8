"""`python -m bench.attack`: attacks a running server in every known way, while others use it and one measures it.

Before that, every regular expression of the package is pumped up to 100 KB and every reader up to a mebibyte: none may
take more than linear time.

Half-open connections and idle event streams are held all the time. Meanwhile messages come that pump every regular
expression of the package, messages with poisoned pastes, and documents that are bombs. Another user adds, searches and
asks for contexts, and none of that may fail. A process of its own asks for /healthz, and no answer may take a second of
the server's own time; bench/attack_probe.py says what that is. In the middle of it the server is told to stop, and must
end within ten seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import chain, cycle, islice, repeat
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import commands
from bench.pastes import FORMS, HELD_BACK, pastes
from bench.pdf import sharing
from bench.pump import READERS, attacks, patterns, pumped, read
from bench.served import ROOT, Server
from bench.wire import Broken, Wire, written
from ltst.support.connections import places

MEBIBYTE = 1024**2
PUMPED_CHARACTERS = 4_000
PUMPED_PARTS = 40  # so many of a pattern's own parts are repeated; `make full` tries ten times as many
SLOWEST_SECONDS, LONGEST_STOP = 1.0, 10.0
AT_ONCE = 8
HALF = b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Le"
LISTEN = {"Accept": "text/event-stream"}
ATTACKER, BYSTANDER = {"X-User-Id": "attacker"}, {"X-User-Id": "bystander"}
# What is refused or taken; anything else is a failure.
EXPECTED = frozenset({200, 201, 400, 413, 422})

Tell = Callable[[str], None]
Storm = dict[str, list[bytes]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything there is."""

    half_open: int = 500
    streams: int = 1000
    texts: int | None = None
    """How many patterns are pumped; None for every one."""
    pastes: int = 200
    pages: int = 2000


@dataclass(slots=True)
class Siege:
    """What came of it."""

    sent: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    clock: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    stop_seconds: float = 0.0


def run(home: Path, plan: Plan, tell: Tell) -> Siege:
    """Attack a server in that home; what was measured, and what is wrong."""
    siege = Siege()
    places(2 * (plan.half_open + plan.streams))  # the attackers need as many open files
    storm = _storm(plan)  # beforehand: who attacks must not be busy with anything else
    with Server(home) as server:
        asyncio.run(_besiege(server, plan, storm, siege, tell))
        if said := server.said.partition("Ctrl-C.")[2].strip():
            siege.wrong[f"the server complained: {said[:1000]}"] += 1
    return siege


async def _besiege(server: Server, plan: Plan, storm: Storm, siege: Siege, tell: Tell) -> None:
    async with (
        _held(server.port, plan.half_open, lambda _: HALF, "half-open connections", siege, tell),
        _held(server.port, plan.streams, _listening, "event streams", siege, tell),
    ):
        with _measured(server, siege):
            async with _bystander(server.port, siege):
                for name, requests in storm.items():
                    tell(f"{name} …")
                    await _thrown(server.port, name, requests, siege)
                    tell(f"{name}: {siege.sent[name]:,} sent; the bystander had {siege.sent['bystander']:,} answers")
        again = chain.from_iterable(repeat([each for requests in reversed(storm.values()) for each in requests]))
        attack = asyncio.create_task(_thrown(server.port, "while it stops", again, Siege()))
        tell("SIGTERM in the middle of it …")
        await _stopped(server, siege)
        attack.cancel()
        await asyncio.gather(attack, return_exceptions=True)


def _listening(number: int) -> bytes:
    return written("GET", "/v1/events", None, {**LISTEN, "X-User-Id": f"listener {number}"})


def _storm(plan: Plan) -> Storm:
    return {
        "pumped messages": [*map(_message, _pumped(plan.texts))],
        "poisoned pastes": [_message(each.text) for each in islice(pastes({**FORMS, **HELD_BACK}), plan.pastes)],
        "bombs": [*_bombs(plan.pages)],
    }


def _pumped(most: int | None) -> Iterator[str]:
    """For each pattern of the package a text that repeats a part of it."""
    for pattern in islice(patterns(), most):
        for attack in islice(attacks(pattern.compiled, 1), 1):
            yield attack.text(PUMPED_CHARACTERS)


def _message(text: str) -> bytes:
    return written("POST", "/v1/sessions/storm/messages", {"role": "user", "content": text}, ATTACKER)


def _bombs(pages: int) -> Iterator[bytes]:
    """Files that ask for more than there is."""
    stream = (b"BT /F1 10 Tf\n" + b"(a) Tj T*\n" * 500_000).ljust(20 * MEBIBYTE)
    yield _file(sharing(zlib.compress(stream, 9), pages=pages), "application/pdf")
    yield _file(sharing(zlib.compress(bytes(256 * MEBIBYTE), 1), pages=1), "application/pdf")
    for piece in ("| a ", "> ", "[a](", "* " * 50 + "\n", "`", "#" * 6 + " a\n", "|---"):
        yield _file((piece * (MEBIBYTE // len(piece))).encode(), "text/markdown")
    yield _file(("<div>" * 200_000).encode(), "text/html")


def _file(content: bytes, kind: str) -> bytes:
    return written("POST", "/v1/documents/file", content, {**ATTACKER, "Content-Type": kind})


@asynccontextmanager
async def _held(
    port: int, number: int, request: Callable[[int], bytes], name: str, siege: Siege, tell: Tell
) -> AsyncIterator[None]:
    """So many connections that send this and then nothing; who is let go comes again."""
    tasks = [asyncio.create_task(_hold(port, request(each), name, siege)) for each in range(number)]
    while siege.sent[name] < number:  # noqa: ASYNC110 - the connections count themselves
        await asyncio.sleep(0.05)
    tell(f"{name}: {number:,} held from now on")
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hold(port: int, request: bytes, name: str, siege: Siege) -> None:
    while True:
        wire = Wire(port)
        try:
            reader = await wire.send(request)
            siege.sent[name] += 1
            while await reader.read(65536):
                pass
        except OSError:
            await asyncio.sleep(0.1)
        finally:
            wire.cut()


async def _thrown(port: int, name: str, requests: Iterable[bytes], siege: Siege) -> None:
    """Send requests, some at once."""
    waiting = iter(requests)

    async def thrower() -> None:
        wire = Wire(port)
        for request in waiting:
            try:
                answer = await wire.ask(request)
            except Broken:  # the server may end a connection, and is asked again
                siege.sent[f"{name}, broken off"] += 1
                continue
            siege.sent[name] += 1
            if answer.status not in EXPECTED:
                siege.wrong[f"{name}: {answer.status} {answer.body[:200]!r}"] += 1
        await wire.close()

    await asyncio.gather(*(thrower() for _ in range(AT_ONCE)))


@asynccontextmanager
async def _bystander(port: int, siege: Siege) -> AsyncIterator[None]:
    """Another user, who works all the time."""
    over = asyncio.Event()
    working = asyncio.create_task(_work(port, siege, over))
    try:
        yield
    finally:
        over.set()
        await working


async def _work(port: int, siege: Siege, over: asyncio.Event) -> None:
    wire = Wire(port)
    calls = cycle(
        [
            ("POST", "/v1/sessions/own/messages", {"role": "user", "content": "The ferry leaves at nine."}),
            ("POST", "/v1/search", {"query": "When does the ferry leave?"}),
            ("POST", "/v1/sessions/own/context", {"query": "When does the ferry leave?", "max_tokens": 500}),
        ]
    )
    for method, path, body in calls:
        if over.is_set():
            break
        try:
            answer = await wire.ask(written(method, path, body, BYSTANDER))
        except Broken as problem:
            siege.wrong[f"bystander: {path} broke off: {problem}"] += 1
            continue
        siege.sent["bystander"] += 1
        if answer.status not in (200, 201):
            siege.wrong[f"bystander: {path} {answer.status} {answer.body[:200]!r}"] += 1
    await wire.close()


@contextmanager
def _measured(server: Server, siege: Siege) -> Iterator[None]:
    """Measure in a process of its own, so that the attackers' work is not taken for the server's."""
    with tempfile.TemporaryFile("w+") as told:
        command = [sys.executable, "-m", "bench.attack_probe", str(server.port), str(server.process.pid)]
        probe = subprocess.Popen(command, stdout=told, cwd=ROOT)
        try:
            yield
        finally:
            probe.terminate()
            probe.wait()
        told.seek(0)
        for line in told.read().splitlines():
            _note(line, siege)


def _note(line: str, siege: Siege) -> None:
    if line.startswith("failed"):
        siege.wrong[f"/healthz {line}"] += 1
        return
    clock, own = map(float, line.split())
    siege.clock.append(clock)
    siege.own.append(own)


async def _stopped(server: Server, siege: Siege) -> None:
    began = time.monotonic()
    code = await asyncio.to_thread(server.stop)
    siege.stop_seconds = time.monotonic() - began
    if code:
        siege.wrong[f"the server ended with {code}"] += 1


def main() -> int:
    """Attack, print a table; 1 if anything is not as it should be."""
    options = _options()
    console = Console(highlight=False, soft_wrap=True)
    plan = Plan(options.half_open, options.streams, options.texts)
    console.print("pumping every pattern and reader …")
    slow = [*_slow(options.texts)]
    with tempfile.TemporaryDirectory(prefix="ltst-attack-", ignore_cleanup_errors=True) as folder:
        siege = run(Path(folder).resolve() / "home", plan, console.print)
    siege.wrong.update(slow)
    missed = _sum_up(console, siege)
    return 1 if missed else 0


def _slow(most: int | None) -> Iterator[str]:
    """What takes more than linear time."""
    yield from pumped([*islice(patterns(), most)], PUMPED_PARTS)
    yield from read(READERS, MEBIBYTE)


def _options() -> argparse.Namespace:
    parser = commands.parser("attack", __doc__)
    plan = Plan()
    commands.numbers(
        parser, half_open=(plan.half_open, "half-open connections"), streams=(plan.streams, "event streams")
    )
    parser.add_argument("--texts", type=int, metavar="N", help="pump so many patterns (default: every one)")
    return parser.parse_args()


def _sum_up(console: Console, siege: Siege) -> bool:
    """Print what was measured; whether anything was missed."""
    slowest, stop = max(siege.own, default=0.0), siege.stop_seconds
    rows = [
        *((f"{name}", f"{number:,} sent", "") for name, number in siege.sent.items()),
        ("/healthz", f"{len(siege.own):,} answers, the slowest {max(siege.clock, default=0.0):.3f} s on the clock", ""),
        (
            "/healthz, the server's own time",
            f"slowest {slowest:.3f} s",
            _judged(slowest < SLOWEST_SECONDS and siege.own),
        ),
        ("SIGTERM in the middle", f"ended after {stop:.1f} s", _judged(stop < LONGEST_STOP)),
        ("everything else", f"{siege.wrong.total()} failures", _judged(not siege.wrong)),
    ]
    table = Table("attack", "measured", "")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for problem, times in siege.wrong.most_common(20):
        console.print(f"  {times} times {problem}", style="red", markup=False)
    return any(row[2] == "missed" for row in rows)


def _judged(fine: object) -> str:
    return "as it should be" if fine else "missed"


if __name__ == "__main__":
    commands.run(main)
