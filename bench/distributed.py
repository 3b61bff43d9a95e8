"""`python -m bench.distributed --citus PREFIX`: what must hold on several nodes of Citus, tried on this machine.

A coordinator and two workers are made with the programs of a Postgres that has Citus. Many writers share a
conversation; nodes are killed (SIGKILL) under writers and come back; a user is moved from node to node while writing;
strangers ask for what is another's; the same calls are measured on one plain server beside it; and a node is killed and
its standby takes its place.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg

from bench import citus, commands
from bench.citus import Cluster
from bench.failover import Outcome, compare, write
from bench.nodes import Node
from ltst import AsyncMemory, AsyncUser, LtstError, Settings

SHARDS = 8
TRIALS = ("crowd", "kills", "moves", "probes", "cost", "failovers")
WRITERS, EACH = 64, 100
ROUNDS, AT_ONCE = 20, 8
EARLIEST, LATEST = 0.3, 1.5  # seconds from the beginning of a round to the kill
MOVES = 6
FAILOVERS = 6
PROBES = 10_000
CALLS = 300

SHARD_OF = "SELECT get_shard_id_for_distribution_column('conversation_sessions', %s::text)"
NODE_OF = """
SELECT nodename, nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = %s
"""
MOVE = "SELECT citus_move_shard_placement(%s, %s, %s, '127.0.0.1', %s, %s)"
MODES = ("block_writes", "force_logical")
MISCOUNTED = """
SELECT count(*) FROM (
    SELECT session.user_id, session.session_id FROM conversation_sessions AS session
    JOIN conversation_messages AS message USING (user_id, session_id)
    GROUP BY session.user_id, session.session_id, session_length, last_index
    HAVING session_length <> count(*) OR last_index <> max(message_index) OR count(*) <> max(message_index)) AS wrong
"""
Tell = Callable[[str], None]


@asynccontextmanager
async def opened(dsn: str, home: Path) -> AsyncIterator[AsyncMemory]:
    """A memory without a worker, as every trial uses it."""
    settings = Settings(worker=False, metrics=False, warm=False, learn=(), home=home, database_url=dsn)
    async with AsyncMemory(settings=settings) as memory:
        yield memory


async def crowd(cluster: Cluster, home: Path, tell: Tell) -> list[str]:
    """Let many write into one conversation at the same time; what is wrong with its numbers."""
    async with opened(cluster.coordinator.dsn(), home) as memory:
        chat = memory.user("crowd of one").chat("shared")

        async def say(writer: int) -> list[int | None]:
            return [(await chat.add("user", f"{writer} says {number}")).message_index for number in range(EACH)]

        given = await asyncio.gather(*map(say, range(WRITERS)))
        found = sorted(index for mine in given for index in mine if index is not None)
        stored = [each.message_index for each in await chat.history(limit=1000, offset=WRITERS * EACH - 1000)]
    total = WRITERS * EACH
    tell(f"{WRITERS} writers × {EACH} into one conversation: {found[0]} to {found[-1]}, {len({*found}):,} numbers")
    whole = found == [*range(1, total + 1)] and stored == [*range(total - 999, total + 1)]
    return [] if whole else ["the numbers of the conversation have gaps"]


async def kills(cluster: Cluster, home: Path, tell: Tell, *, rounds: int, seed: int) -> list[str]:
    """Kill a node at a time under writers, and start it again; what was lost or told wrongly."""
    chance = random.Random(seed)

    def kill(number: int) -> None:
        _killed(cluster.nodes[number % len(cluster.nodes)], chance.uniform(0.1, 1.0))

    outcome = await _disturbed(cluster, home, rounds, 0, chance, kill)
    tell(f"{rounds} kills of a node {_told(outcome)}")
    return outcome.problems


async def failovers(cluster: Cluster, home: Path, tell: Tell, *, seed: int) -> list[str]:
    """Kill a worker under writers and let its standby take its place; what was lost or told wrongly."""
    await asyncio.to_thread(cluster.follow)
    outcome = await _disturbed(cluster, home, FAILOVERS, 200, random.Random(seed), lambda _: cluster.fail_over())
    tell(f"{FAILOVERS} failovers of a worker {_told(outcome)}")
    return outcome.problems


async def _disturbed(
    cluster: Cluster, home: Path, rounds: int, first: int, chance: random.Random, disturb: Callable[[int], None]
) -> Outcome:
    """Let users write, from a number on, disturb the nodes, and compare what was told with what is there."""
    outcome, over = Outcome(), asyncio.Event()
    async with opened(cluster.coordinator.dsn(), home) as memory:
        numbers = range(first, first + AT_ONCE)
        writers = [asyncio.create_task(write(memory, f"user {n}", n, outcome, over)) for n in numbers]
        for number in range(1, rounds + 1):
            await asyncio.sleep(chance.uniform(EARLIEST, LATEST))
            outcome.longest = 0.0
            await asyncio.to_thread(disturb, number)
            await asyncio.sleep(0.5)
            outcome.waits.append(outcome.longest)
        over.set()
        await asyncio.gather(*writers)
    compare(cluster.coordinator.dsn(), outcome)
    outcome.problems += _miscounted(cluster)
    return outcome


def _told(outcome: Outcome) -> str:
    return (
        f"under {AT_ONCE} writers: {len(outcome.acknowledged):,} acknowledged, {len(outcome.refused):,} refused, "
        f"{outcome.unknown:,} unknown and asked again; longest wait {max(outcome.waits, default=0):.1f} s"
    )


def _killed(node: Node, pause: float) -> None:
    node.kill()
    time.sleep(pause)
    node.start()


async def moves(cluster: Cluster, home: Path, tell: Tell) -> list[str]:
    """Move a user from node to node while writing, then rebalance; what was lost, doubled or told out of order."""
    outcome, over, whose = Outcome(), asyncio.Event(), "wanderer"
    async with opened(cluster.coordinator.dsn(), home) as memory:
        writers = [asyncio.create_task(write(memory, whose, 100 + n, outcome, over)) for n in range(AT_ONCE)]
        for number in range(MOVES):
            await asyncio.sleep(0.5)
            await asyncio.to_thread(_move, cluster, whose, MODES[number % len(MODES)])
        await asyncio.to_thread(_rebalance, cluster)
        await asyncio.sleep(0.5)
        over.set()
        await asyncio.gather(*writers)
        wrong = await _out_of_order(memory, whose, len(outcome.acknowledged)) + _miscounted(cluster)
    compare(cluster.coordinator.dsn(), outcome)
    tell(
        f"a user moved {MOVES} times under {AT_ONCE} writers: {len(outcome.acknowledged):,} acknowledged, "
        f"{len(outcome.refused):,} refused, longest wait {outcome.longest:.1f} s"
    )
    return outcome.problems + wrong


def _move(cluster: Cluster, whose: str, mode: str) -> None:
    """Move the place of a user to the other worker."""
    with psycopg.connect(cluster.coordinator.dsn(), autocommit=True) as connection:
        (shard,) = connection.execute(SHARD_OF, (whose,)).fetchone() or (0,)
        host, port = connection.execute(NODE_OF, (shard,)).fetchone() or ("", 0)
        other = next(node.port for node in cluster.workers if node.port != port)
        connection.execute(MOVE, (shard, host, port, other, mode))


def _rebalance(cluster: Cluster) -> None:
    with psycopg.connect(cluster.coordinator.dsn(), autocommit=True) as connection:
        connection.execute("SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')")


def _miscounted(cluster: Cluster) -> list[str]:
    """Look for conversations whose counters are not those of their messages, or whose numbers have gaps."""
    with psycopg.connect(cluster.coordinator.dsn()) as connection:
        (wrong,) = connection.execute(MISCOUNTED).fetchone() or (0,)
    return [f"{wrong} conversations are counted wrong"] if wrong else []


async def _out_of_order(memory: AsyncMemory, whose: str, least: int) -> list[str]:
    """Follow the user's ledger from its beginning; what is wrong with its order or length."""
    events, after = [], "0-0-0"
    while page := await memory.user(whose).events.feed(after=after, limit=1000):
        events += page
        after = page[-1].cursor
    numbers = [each.event_id for each in events]
    # Calls that run at the same time may end in another order than they began: by a few.
    back = max((before - later for before, later in itertools.pairwise(numbers)), default=0)
    problems = [] if len(events) >= least else [f"the feed has {len(events)} events for {least} acknowledged writes"]
    return problems if back < 1000 else [*problems, f"the feed goes back by {back}"]


async def probes(cluster: Cluster, home: Path, tell: Tell) -> list[str]:
    """Ask for another's things by their ids, from users of every place; what was answered."""
    async with opened(cluster.coordinator.dsn(), home) as memory:
        ana = memory.user("ana")
        message = await ana.chat("monday").add("user", "the secret is 4711")
        fact, entry = await ana.facts.set("home", "Lisbon 4711"), await ana.entries.add("green tea 4711")
        ids = [message.message_id, fact.fact_id, entry.entry_id]
        leaks = 0
        for number in range(PROBES):
            eve = memory.user(f"eve {number % 100}")
            leaks += bool(await _probed(eve, number, ids))
        kept = await ana.chat("monday").window()
    tell(f"{PROBES:,} probes with foreign ids: {leaks} answered")
    return [f"{leaks} probes were answered"] * bool(leaks) + ["ana lost a message"] * (len(kept) != 1)


async def _probed(eve: AsyncUser, number: int, ids: list[str]) -> object:
    asked: list[Callable[[], Awaitable[object]]] = [
        lambda: eve.message(ids[0]),
        lambda: eve.chat("monday").window(),
        lambda: eve.chat("monday").remove(ids[0]),
        lambda: eve.entries.get(ids[2]),
        lambda: eve.entries.forget(ids[2]),
        lambda: eve.sessions.get("monday"),
        lambda: eve.sessions.delete("monday"),
        lambda: eve.facts.get("home"),
    ]
    try:
        return await asked[number % len(asked)]()
    except LtstError:
        return None


async def cost(cluster: Cluster, home: Path, tell: Tell, *, prefix: Path) -> list[str]:
    """Measure the same calls on Citus and on a plain server beside it; which take more than twice as long."""
    plain = Node(home / "plain", prefix=prefix)
    try:
        await asyncio.to_thread(plain.begin)
        async with opened(plain.dsn(), home) as one, opened(cluster.coordinator.dsn(), home) as many:
            measured = await _measured(await _furnished(one), await _furnished(many))
    finally:
        plain.kill()
    problems = []
    for name, (alone, spread) in measured.items():
        tell(f"{name}: {alone:.2f} ms on a plain server, {spread:.2f} ms on Citus, {spread / alone:.2f} times")
        problems += [f"{name} takes {spread / alone:.2f} times as long"] * (spread > 2 * alone)
    return problems


async def _furnished(memory: AsyncMemory) -> list[AsyncUser]:
    """Users of all places who have said something that is indexed."""
    users = [memory.user(f"measured {number}") for number in range(10)]
    for user in users:
        said = [{"role": "assistant", "content": f"Train {number} leaves at noon."} for number in range(100)]
        await user.chat("one").add_many(said)
        await memory.settle(user.user_id)
    return users


async def _measured(*crowds: list[AsyncUser]) -> dict[str, list[float]]:
    """Median milliseconds of each call, for each crowd in turn, so that what else happens here slows down both."""
    calls: dict[str, Callable[[AsyncUser, int], Awaitable[object]]] = {
        "window": lambda user, number: user.chat("one").window(50),
        "search": lambda user, number: user.search(f"train {number}"),
        "add": lambda user, number: user.chat("two").add("user", f"word {number} of many"),
    }
    times = {}
    for name, call in calls.items():
        taken: list[list[float]] = [[] for _ in crowds]
        for number in range(CALLS):
            for users, mine in zip(crowds, taken, strict=True):
                began = time.perf_counter()
                await call(users[number % len(users)], number)
                mine.append(1000 * (time.perf_counter() - began))
        times[name] = [statistics.median(mine) for mine in taken]
    return times


async def run(options: argparse.Namespace, seed: int, tell: Tell) -> list[str]:
    """Make the nodes, try what was asked for, and tell what is wrong."""
    problems: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="ltst-home-", dir="/tmp") as place,
        citus.running(options.citus, Path("/tmp")) as cluster,
    ):
        home = Path(place)
        await citus.distribute_new(cluster.coordinator.dsn(), SHARDS)
        trials: dict[str, Callable[[], Awaitable[list[str]]]] = {
            "crowd": lambda: crowd(cluster, home, tell),
            "kills": lambda: kills(cluster, home, tell, rounds=options.rounds, seed=seed),
            "moves": lambda: moves(cluster, home, tell),
            "probes": lambda: probes(cluster, home, tell),
            "cost": lambda: cost(cluster, home, tell, prefix=options.citus),
            "failovers": lambda: failovers(cluster, home, tell, seed=seed),
        }
        for name in options.only or TRIALS:
            problems += await trials[name]()
    return problems


def main() -> int:
    """Try, tell, and exit with 1 if something does not hold."""
    options = _options()
    console, seed = commands.begun(options.seed, "a coordinator and two workers on this machine")
    problems = asyncio.run(run(options, seed, console.print))
    console.print(f"{len(problems)} problems")
    commands.complain(console, problems)
    return 1 if problems else 0


def _options() -> argparse.Namespace:
    parser = commands.parser("distributed", __doc__)
    parser.add_argument("--citus", type=Path, required=True, metavar="PREFIX", help="of a Postgres that has Citus")
    parser.add_argument("--only", choices=TRIALS, action="append", help="one trial; may be given again")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"of kills (default {ROUNDS})")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of an earlier run")
    return parser.parse_args()


if __name__ == "__main__":
    commands.run(main)
