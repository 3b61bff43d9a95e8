"""`python -m bench.failover`: kills the primary under writers, promotes the standby, and looks for what was lost.

Two servers follow each other; the primary acknowledges what its standby has. It is killed (SIGKILL) again and again
while writers go on through an address that names both. What was acknowledged must be there once; what was refused must
not be; of what is unknown, the same key asks again. The longest wait of a call is told.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench import commands
from bench.nodes import Node, either, fail_over
from ltst import AsyncMemory, DatabaseUnavailable, OutcomeUnknown, Settings

FAILOVERS, WRITERS = 20, 8
EARLIEST, LATEST = 0.3, 1.5  # seconds from the beginning of a round to the kill
EVERY_FACT = 4  # every so many calls is a transaction of several statements

MESSAGES = "SELECT message_key, count(*), min(content) FROM conversation_messages GROUP BY 1"
FACTS = "SELECT fact_key, count(*), min(fact_value) FROM user_facts GROUP BY 1"


@dataclass(slots=True)
class Outcome:
    """What the writers were told, and what was found in the end."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    reasons: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    longest: float = 0.0
    waits: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


async def run(failovers: int, writers: int, seed: int, *, tell: Callable[[str], None] = print) -> Outcome:
    """Play the rounds, then compare what was told with what is there."""
    chance, outcome = random.Random(seed), Outcome()
    with tempfile.TemporaryDirectory(prefix="ltst-failover-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        nodes = [Node(place / name) for name in ("one", "other")]
        try:
            await asyncio.to_thread(_begin, *nodes)
            settings = Settings(worker=False, metrics=False, home=place, database_url=either(*nodes))
            async with AsyncMemory(settings=settings) as memory:
                await _under_writers(memory, nodes, failovers, writers, chance, outcome, tell)
            compare(nodes[0].dsn(), outcome)
        finally:
            for node in nodes:
                node.kill()
    return outcome


def _begin(primary: Node, standby: Node) -> None:
    primary.begin()
    standby.follow(primary)
    primary.wait_for(standby)


async def _under_writers(
    memory: AsyncMemory,
    nodes: list[Node],
    failovers: int,
    writers: int,
    chance: random.Random,
    outcome: Outcome,
    tell: Callable[[str], None],
) -> None:
    over = asyncio.Event()
    crowd = [asyncio.create_task(write(memory, "crowd", number, outcome, over)) for number in range(writers)]
    try:
        for number in range(1, failovers + 1):
            await asyncio.sleep(chance.uniform(EARLIEST, LATEST))
            outcome.longest = 0.0
            await asyncio.to_thread(fail_over, nodes[0], nodes[1])
            nodes.reverse()
            outcome.waits.append(outcome.longest)
            tell(
                f"failover {number}/{failovers}  acknowledged {len(outcome.acknowledged):>6}  refused "
                f"{len(outcome.refused)}  unknown {outcome.unknown}  longest wait {outcome.longest:.1f} s"
            )
    finally:
        over.set()
        await asyncio.gather(*crowd)


async def write(memory: AsyncMemory, whose: str, writer: int, outcome: Outcome, over: asyncio.Event) -> None:
    """Write for a user until it is over, and note what became of each call."""
    user, number = memory.user(whose), 0
    while not over.is_set():
        number += 1
        key, said = f"{writer}-{number}", f"writer {writer} says {number}"
        kind = "fact" if number % EVERY_FACT == 0 else "message"
        began = time.monotonic()
        while not over.is_set():
            try:
                if kind == "fact":
                    await user.facts.set(key, said)
                else:
                    await user.chat(f"session {writer}").add("user", said, key=key)
            except OutcomeUnknown:
                outcome.unknown += 1
                continue
            except DatabaseUnavailable as problem:
                outcome.refused.add(f"{kind} {key}")
                outcome.reasons[str(problem)] += 1
            else:
                outcome.acknowledged[f"{kind} {key}"] = said
            break
        outcome.longest = max(outcome.longest, time.monotonic() - began)


def compare(dsn: str, outcome: Outcome) -> None:
    """Find what was acknowledged and is not there once, or was refused and is there."""
    with psycopg.connect(dsn) as connection:
        found = {
            f"{kind} {key}": (count, said)
            for kind, query in (("message", MESSAGES), ("fact", FACTS))
            for key, count, said in connection.execute(query).fetchall()
        }
    seen = Counter[str]()
    for key, said in outcome.acknowledged.items():
        count, kept = found.get(key, (0, None))
        if not count:
            seen["acknowledged and missing"] += 1
        elif count > 1 or kept != said:
            seen["there twice, or with other words"] += 1
    seen["refused, and there all the same"] = len(outcome.refused & found.keys())
    outcome.problems += [f"{count:,} {what}" for what, count in seen.items() if count]


def main() -> int:
    """Play, tell, and exit with 1 if something was lost, doubled or told wrongly."""
    options = _options()
    console, seed = commands.begun(options.seed, "the primary is killed each time, and its standby takes its place")
    outcome = asyncio.run(run(options.failovers, options.writers, seed, tell=console.print))
    console.print(
        f"{options.failovers} failovers under {options.writers} writers: {len(outcome.acknowledged):,} acknowledged, "
        f"{len(outcome.refused):,} refused, {outcome.unknown:,} unknown and asked again; longest wait "
        f"{max(outcome.waits, default=0):.1f} s; {len(outcome.problems)} problems"
    )
    commands.complain(console, outcome.problems)
    return 1 if outcome.problems or not outcome.acknowledged else 0


def _options() -> argparse.Namespace:
    parser = commands.parser("failover", __doc__)
    parser.add_argument("--failovers", type=int, default=FAILOVERS, metavar="N", help=f"how many (default {FAILOVERS})")
    parser.add_argument("--writers", type=int, default=WRITERS, metavar="N", help=f"how many (default {WRITERS})")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of an earlier run")
    return parser.parse_args()


if __name__ == "__main__":
    commands.run(main)
