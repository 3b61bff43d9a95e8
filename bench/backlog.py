"""`python -m bench.backlog`: what an import leaves to do, and whom that holds up, with the real local model.

After an import nothing is indexed. The first search of its user may take little more of the processors than the same
search when all is done, and it must find what was said a moment ago. Then many messages of one user are due while the
worker is on, and others state their names: those must be learnt nearly as soon as without that.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench import commands, talk
from bench.cpu import Meter, Spent, postmaster
from bench.report import Comparison, Figure, Reading, Report, Row, readable
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.db.embedded import EmbeddedServer

PARTS = ("first", "fair")
MOST_MORE_MS, FAIR_BOUND = 250.0, 2.0
AT_ONCE = 100  # conversations of a transaction, as the importer makes them
SAID = "The courier left the zyrquonium with the neighbours on the third floor."
QUESTION = "What did I say about the zyrquonium?"
NEXT_QUESTION = "Who was it that left something with the neighbours?"
AGAIN = 5
NAME = "My name is Zelda."
POLL_SECONDS, LONGEST_WAIT, PAUSE_SECONDS = 0.02, 180.0, 1.0
TELL_SECONDS = 15.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where it happens."""

    home: Path
    dsn: str
    tell: Tell

    @asynccontextmanager
    async def memory(self, *, worker: bool) -> AsyncIterator[AsyncMemory]:
        """An open memory whose model is loaded and whose plans are made, as they are in a process that works."""
        async with AsyncMemory(settings=Settings(home=self.home, worker=worker)) as memory:
            await memory.user("warm").chat("warm").add("user", "I keep bees on the roof.")
            await memory.settle("warm")
            for question in ("Where are the bees?", "What is on the roof?"):
                await memory.user("warm").search(question)
            yield memory


async def bring(bench: Bench, user: AsyncUser, messages: int) -> None:
    """Import so many, as `ltst import` does."""
    given = [*talk.conversations(messages)]
    for first in range(0, len(given), AT_ONCE):
        await user.sessions.add_many(given[first : first + AT_ONCE])
    bench.tell(f"{messages:,} messages imported")


async def settle(bench: Bench, memory: AsyncMemory, user_id: str) -> None:
    """Do all that is due, and tell now and then how far it is."""
    began = told = time.monotonic()

    def tell(done: int, known: int) -> None:
        nonlocal told
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            bench.tell(f"settling: {done:,} of {known:,} after {told - began:.0f} s")

    await memory.settle(user_id, progress=tell)


async def first(bench: Bench, messages: int) -> list[Row]:
    """The first search after an import, without a worker, beside the same search when everything is settled."""
    meter = Meter(postmaster(bench.dsn))
    async with bench.memory(worker=False) as memory:
        user = memory.user("importer")
        await bring(bench, user, messages)
        said = await user.chat("today").add("user", SAID)
        before, found = await _searched(meter, user, QUESTION)
        following, _ = await _searched(meter, user, NEXT_QUESTION)
        bench.tell(f"the first search took {1000 * before.both:,.0f} ms of the processors")
        await settle(bench, memory, user.user_id)
        after = [await _searched_anew(meter, memory, user, number) for number in range(AGAIN)]
    usual = statistics.median(each.both for each in after)
    named = f"CPU of a search after {messages:,} were imported"
    return [
        Reading(f"{named}: the first", 1000 * before.both, "ms"),
        Reading(f"{named}: the next", 1000 * following.both, "ms"),
        Reading(f"{named}: the first, when settled", 1000 * usual, "ms"),
        Reading(f"{named}: the first, more than when settled", 1000 * (before.both - usual), "ms", most=MOST_MORE_MS),
        Reading("found by a rare word a moment after it was said", float(said.message_id in found), "of 1", least=1),
    ]


async def _searched(meter: Meter, user: AsyncUser, question: str) -> tuple[Spent, Sequence[str]]:
    """What a search takes of the processors, and the keys of what it finds."""
    spent = Spent()
    with meter.adding_to(spent):
        hits = await user.search(question)
    return spent, [hit.id for hit in hits]


async def _searched_anew(meter: Meter, memory: AsyncMemory, user: AsyncUser, number: int) -> Spent:
    """The same search once more, after a word was added, or its answer would be one that was kept."""
    await user.chat("today").add("user", f"That was all for now, part {number}.")
    await memory.settle(user.user_id)
    return (await _searched(meter, user, QUESTION))[0]


async def fair(bench: Bench, messages: int, tries: int) -> list[Row]:
    """The time until a name is learnt while many messages of somebody else are due, beside the same without them."""
    async with bench.memory(worker=True) as memory:
        await _learnt(memory, "nobody")
        calm = [await _learnt(memory, f"calm-{number}") for number in range(tries)]
        bench.tell(f"learnt without a backlog after {_listed(calm)}")
        await bring(bench, memory.user("busy"), messages)
        await asyncio.sleep(PAUSE_SECONDS)
        held_up = [await _learnt(memory, f"held-up-{number}") for number in range(tries)]
        left = await _left(memory, "busy")
        bench.tell(f"learnt with a backlog after {_listed(held_up)}; {left:,} pieces of it are left")
    if not left:
        raise RuntimeError("the backlog was done before the names were learnt: take a larger one, or fewer tries")
    figures = [Figure(1000 * statistics.median(each), "ms") for each in (held_up, calm)]
    return [
        Comparison(f"a fact is learnt, {messages:,} of another due", figures[0], "none due", figures[1], FAIR_BOUND)
    ]


async def _learnt(memory: AsyncMemory, user_id: str) -> float:
    """Seconds from a statement to the fact, or as long as one waits for it."""
    user = memory.user(user_id)
    await user.chat("hello").add("user", NAME)
    began = time.perf_counter()
    while time.perf_counter() - began < LONGEST_WAIT:
        if await user.facts.get("name") is not None:
            break
        await asyncio.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - began
    await asyncio.sleep(PAUSE_SECONDS)  # the next one comes at another moment of the worker's
    return seconds


async def _left(memory: AsyncMemory, user_id: str) -> int:
    """How much is due for a user: what `settle` says when it begins, which is then told to stop."""
    told = asyncio.get_running_loop().create_future()

    def tell(done: int, known: int) -> None:
        if not told.done():
            told.set_result(known - done)

    work = asyncio.create_task(memory.settle(user_id, progress=tell))
    await asyncio.wait([work, told], return_when=asyncio.FIRST_COMPLETED)
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    return int(told.result()) if told.done() else 0


def _listed(seconds: Sequence[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in seconds) + " s"


def main() -> int:
    """Import, search, learn, print; 1 if a bound does not hold and that was asked for."""
    options = _options()
    console = readable()
    rows: list[Row] = []
    for part in options.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="ltst-backlog-", ignore_cleanup_errors=True) as folder:
            rows += _part(part, options, Path(folder).resolve() / "home", console.print)
    report = Report(rows, "with a backlog beside without one")
    report.show(console)
    if options.json:
        report.save(options.json)
    return 1 if options.strict and not report.ok else 0


def _part(part: str, options: argparse.Namespace, home: Path, tell: Tell) -> list[Row]:
    server = EmbeddedServer.acquire(home)
    try:
        bench = Bench(home, server.dsn, tell)
        if part == "first":
            return asyncio.run(first(bench, options.messages))
        return asyncio.run(fair(bench, options.backlog, options.tries))
    finally:
        server.release()


def _options() -> argparse.Namespace:
    parser = commands.parser("backlog", __doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part; may be given several times")
    commands.numbers(
        parser,
        messages=(16_000, "imported before a search"),
        backlog=(20_000, "due while others speak"),
        tries=(7, "names that are to be learnt"),
    )
    return commands.measuring(parser)


if __name__ == "__main__":
    commands.run(main)
