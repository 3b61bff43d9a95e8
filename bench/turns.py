"""`python -m bench.turns --before CHECKOUT`: the processor time of a chat turn, beside that of another checkout.

Each checkout serves from a folder of its own, with its worker on. Both users get the same history over HTTP; then both
servers are sent the same turns in blocks that alternate, to the agent that needs no model. Counted is what the server
and all processes of its Postgres use, from the beginning of a block until what is derived from it is done too.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench import commands, talk
from bench.cpu import Meter, Spent
from bench.report import Comparison, Figure, Reading, Report, Row, readable
from bench.served import ROOT, Server
from bench.wire import Answer, Wire, written

BOUND = 0.45
USER = {"X-User-Id": "zoe"}
FIRST_ERROR = 400
FIRST_TURN = 100_000  # what is said in turns is nowhere in the history
# From when on nothing is being derived any more: so many looks in a row with hardly any processor time.
LOOK_SECONDS, LOOKS, HARDLY = 1.0, 3, 0.03
PATIENCE = 1800.0
WHICH = "import ltst; print(ltst.__file__)"


@dataclass(slots=True)
class Side:
    """One checkout, served."""

    name: str
    server: Server
    meter: Meter
    spent: Spent = field(default_factory=Spent)
    seconds: list[float] = field(default_factory=list)
    began: float = 0.0

    async def ask(self, wire: Wire, method: str, path: str, body: object) -> Answer:
        """Send a request, which must succeed."""
        answer = await wire.ask(written(method, path, body, USER))
        if answer.status >= FIRST_ERROR:
            raise RuntimeError(f"{self.name}: {answer.status}: {answer.body[:500]!r}")
        return answer

    def rest(self) -> None:
        """Wait until nothing is being derived any more."""
        deadline, calm, before = time.monotonic() + PATIENCE, 0, self.meter.total()
        while calm < LOOKS:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not come to rest")
            time.sleep(LOOK_SECONDS)
            now = self.meter.total()
            calm, before = (calm + 1 if now - before < HARDLY else 0), now


def start(stack: ExitStack, name: str, checkout: Path, home: Path) -> Side:
    """Serve a checkout from a folder, until the stack ends."""
    environment = {"PYTHONPATH": str(checkout / "src")}
    found = subprocess.run(
        [sys.executable, "-c", WHICH], env=environment, cwd=home.parent, check=True, capture_output=True, text=True
    ).stdout
    if not Path(found.strip()).resolve().is_relative_to(checkout.resolve()):
        raise RuntimeError(f"what would be served is not the code in {checkout} but {found}")
    server = stack.enter_context(Server(home, environment=environment))
    (file,) = home.rglob("postmaster.pid")
    return Side(name, server, Meter(int(file.read_text().split()[0]), server.process.pid))


async def fill(side: Side, messages: int) -> None:
    """A history in sessions."""
    wire = Wire(side.server.port)
    for first in range(0, messages, talk.TURNS):
        numbers = range(first, min(first + talk.TURNS, messages))
        said = [dict(zip(("role", "content"), talk.message(number), strict=True)) for number in numbers]
        session = f"/v1/sessions/history-{first // talk.TURNS}/messages/batch"
        await side.ask(wire, "POST", session, {"messages": said})
    await wire.close()


async def block(side: Side, number: int, turns: int) -> list[float]:
    """Turns of a conversation, one after the other: in turn something told and something asked; the time of each."""
    wire, seconds = Wire(side.server.port), []
    first = FIRST_TURN + number * turns
    for each in range(first, first + turns):
        text = talk.statement(each) if each % 2 else talk.question(each)
        said = {"message": text, "chat_id": f"chat-{number}", "agent_name": "recall"}
        began = time.perf_counter()
        await side.ask(wire, "POST", "/api/chat", said)
        seconds.append(time.perf_counter() - began)
    await wire.close()
    return seconds


def measure(sides: Sequence[Side], blocks: int, turns: int, tell: Callable[[str], None]) -> None:
    """Blocks of both in turn; the first of each opens connections and fills caches, and does not count."""
    for side in sides:
        asyncio.run(block(side, 0, turns))
        side.rest()
        side.began = side.meter.total()
    for number in range(1, blocks + 1):
        for side in sides if number % 2 else reversed(sides):
            with side.meter.adding_to(side.spent):
                side.seconds += asyncio.run(block(side, number, turns))
                side.rest()
        told = ", ".join(f"{side.name} {1000 * side.spent.both / (number * turns):.0f} ms" for side in sides)
        tell(f"block {number} of {blocks}: {told}")


def rows(sides: Sequence[Side], turns: int) -> Iterator[Row]:
    """What came of it, for one turn."""
    ours, before = (Figure(1000 * side.spent.both / turns, "ms") for side in sides)
    yield Comparison("CPU of a chat turn", ours, "before", before, BOUND)
    for side in sides:
        outside = side.meter.total() - side.began - side.spent.both
        yield Reading(f"CPU of a chat turn, {side.name}: server", 1000 * side.spent.client / turns, "ms")
        yield Reading(f"CPU of a chat turn, {side.name}: Postgres", 1000 * side.spent.postgres / turns, "ms")
        yield Reading(f"used outside of the blocks, by turn, {side.name}", 1000 * outside / turns, "ms")
        yield Reading(f"time of a chat turn, p50, {side.name}", 1000 * statistics.median(side.seconds), "ms")


def main() -> int:
    """Serve both, fill, measure, print; 1 if the bound does not hold and that was asked for."""
    options = _options()
    console = readable()
    with tempfile.TemporaryDirectory(prefix="ltst-turns-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        checkouts = {"now": ROOT, "before": options.before}
        sides = [start(stack, name, path, Path(folder).resolve() / name) for name, path in checkouts.items()]
        for side in sides:
            console.print(f"{side.name}: {options.history:,} messages of history")
            asyncio.run(fill(side, options.history))
            side.rest()
        measure(sides, options.blocks, options.turns, console.print)
        report = Report([*rows(sides, options.blocks * options.turns)], f"this checkout beside {options.before}")
        for side in sides:
            side.server.stop()
    report.show(console)
    if options.json:
        report.save(options.json)
    return 1 if options.strict and not report.ok else 0


def _options() -> argparse.Namespace:
    parser = commands.parser("turns", __doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT", help="the folder to compare with")
    sizes = {"blocks": (10, "blocks of each side"), "turns": (20, "turns of a block")}
    commands.numbers(parser, history=(1_000, "messages before it begins"), **sizes)
    return commands.measuring(parser)


if __name__ == "__main__":
    commands.run(main)
