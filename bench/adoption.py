"""`python -m bench.adoption`: the rehearsal of a migration, from two programs' own tables into ltst, and back.

The rehearsal counts and hashes by itself, with what the programs see: before, after the adoption, and after the way
back. Any difference ends it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from bench import commands, legacy
from ltst import Memory, Settings
from ltst.protocols import Embedder

ROWS = 100_000
USER = "rehearsal"
SAMPLED = 200  # sessions that are compared message by message through ltst
WITHOUT_VECTOR = """
SELECT count(*) FROM conversation_messages AS message
WHERE NOT EXISTS (SELECT FROM search_units AS unit JOIN search_vectors USING (user_id, unit_no)
                  WHERE unit.user_id = message.user_id AND unit.row_id = message.message_id)
"""


@dataclass(slots=True)
class Step:
    """One step of the rehearsal, how long it took, and over how many rows."""

    name: str
    seconds: float
    rows: int | None = None


@dataclass(slots=True)
class Rehearsal:
    """What was done, and what was not as it should be."""

    tell: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, name: str, rows: int | None = None) -> Iterator[None]:
        """Take the time of a step."""
        began = time.perf_counter()
        yield
        self.steps.append(Step(name, time.perf_counter() - began, rows))
        self.tell(self.steps[-1])

    def expect(self, right: bool, what: str) -> None:
        """Note what is not as it should be."""
        if not right:
            self.problems.append(what)


def run(
    url: str,
    home: Path,
    rows: int,
    *,
    embedder: Embedder | None = None,
    tell: Callable[[Step], None] = lambda step: None,
) -> Rehearsal:
    """Play it all in a database that holds nothing else."""
    play = Rehearsal(tell)
    settings = Settings(database_url=url, home=home, worker=False, learn="off", user=USER)
    with play.step("build both tables", 2 * rows):
        legacy.build(url, rows)
    with play.step("the old programs run"):
        legacy.use_plain(url, "before")
        legacy.use_langchain(url, "before")
    before = {table: legacy.everything(url, table) for table in (legacy.PLAIN, legacy.LANGCHAIN)}
    with Memory(settings=settings, embedder=embedder) as memory:
        _dry_run(play, memory, url, before)
        for table, seen in before.items():
            with play.step(f"adopt {table}", len(seen)):
                told = memory.adopt(table)
            play.expect((told.rows, told.messages) == (len(seen), len(seen)), f"{table}: {told}")
        with play.step("compare counts and hashes, from outside", sum(map(len, before.values()))):
            _compare(play, memory, url, before)
        with play.step("embeddings", sum(map(len, before.values()))):
            memory.settle()
        play.expect(_without_vector(url) == 0, f"{_without_vector(url)} messages have no embedding")
        with play.step("the old programs run again"):
            _, told_text = legacy.use_plain(url, "after")
            legacy.use_langchain(url, "after")
        _found(play, memory, told_text)
        memory.user(USER).chat("s1").add("assistant", "Added by ltst itself.")
        after = {table: legacy.everything(url, table) for table in before}
        play.expect(
            after[legacy.PLAIN][-1][3] == "Added by ltst itself.", "the old program does not see what ltst added"
        )
        for table, seen in after.items():
            with play.step(f"give {table} back", len(seen)):
                memory.give_back(table)
        _returned(play, memory, url, before, after)
    with play.step("the old programs run on their tables"):
        legacy.use_plain(url, "back")
        legacy.use_langchain(url, "back")
    return play


Seen = dict[str, legacy.Rows]


def _dry_run(play: Rehearsal, memory: Memory, url: str, before: Seen) -> None:
    fingerprint = _fingerprint(url)
    for table, seen in before.items():
        with play.step(f"dry run of {table}", len(seen)):
            told = memory.adopt(table, dry_run=True)
        play.expect((told.rows, told.messages, told.faults) == (len(seen), len(seen), ()), f"dry run: {told}")
    play.expect(_fingerprint(url) == fingerprint, "the dry run wrote something")


def _fingerprint(url: str) -> list[tuple[Any, ...]]:
    """Which relations there are, in which files, and a hash of the rows of each."""
    with psycopg.connect(url, autocommit=True) as connection:
        listed = connection.execute(
            "SELECT relname, relfilenode FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
        ).fetchall()
        rows = sql.SQL("SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM {} AS t")
        return [(*each, *connection.execute(rows.format(sql.Identifier(each[0]))).fetchall()[0]) for each in listed]


def _compare(play: Rehearsal, memory: Memory, url: str, before: Seen) -> None:
    for table, seen in before.items():
        shown = legacy.everything(url, table)
        play.expect(len(shown) == len(seen), f"{table}: {len(seen)} rows became {len(shown)}")
        play.expect(legacy.digest(shown) == legacy.digest(seen), f"{table}: the view does not show what the table held")
    sessions: dict[str, legacy.Rows] = {}
    for row in sorted(before[legacy.PLAIN], key=lambda row: (row[6], row[0])):
        sessions.setdefault(row[1], []).append(row)
    user = memory.user(USER)
    for name in [*sessions][:SAMPLED]:
        expected = [(number, row[3], row[6]) for number, row in enumerate(sessions[name], start=1)]
        found = [(each.message_index, each.content, each.timestamp) for each in user.chat(name).window(10_000)]
        play.expect(found == expected, f"session {name}: order, text or dates differ")


def _without_vector(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(WITHOUT_VECTOR).fetchone()
        assert row is not None, "a count is one row"
        return int(row[0])


def _found(play: Rehearsal, memory: Memory, told: str) -> None:
    hits = memory.user(USER).search("after the ferry leaves at ten")
    play.expect(any(hit.content == told for hit in hits), "what the old program wrote is not found")


def _returned(play: Rehearsal, memory: Memory, url: str, before: Seen, after: Seen) -> None:
    for table, seen in after.items():
        rows = legacy.everything(url, table)
        play.expect(legacy.digest(rows) == legacy.digest(seen), f"{table}: the table is not what the program saw")
        old = rows[: len(before[table])]
        play.expect(legacy.digest(old) == legacy.digest(before[table]), f"{table}: rows of the beginning differ")
    play.expect(memory.user(USER).sessions.list() == [], "ltst still has the sessions")


def main() -> int:
    """Rehearse, tell; 1 if anything is not as it should be."""
    parser = commands.parser("adoption", __doc__)
    commands.numbers(parser, rows=(ROWS, "rows of each table"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ltst-adoption-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve() / "home"
        with Memory(settings=Settings(home=home, worker=False)) as memory:
            play = run(memory.database_url, home, options.rows, tell=_tell)
    for problem in play.problems:
        print(problem)
    print(f"{len(play.problems)} problems")
    return 1 if play.problems else 0


def _tell(step: Step) -> None:
    rate = f"{step.rows:>9,} rows {step.rows / step.seconds:>9,.0f}/s" if step.rows else ""
    print(f"{step.name:<42} {step.seconds:>8,.2f} s {rate}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
