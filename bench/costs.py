"""`python -m bench.costs`: what 1,000 messages cost: processor time, disk and tokens, with the local models.

It measures two kinds of conversations, each in a fresh database: short turns on both sides, from the training lives,
and short questions with long answers. It adds the messages one by one and then derives everything. It prints the
tokens of a context for a question beside those of the whole history.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psycopg

from bench import talk
from bench.cpu import Meter, Spent, postmaster
from evaluation import training
from ltst import Memory, Settings
from ltst.support import tokens

MESSAGES, QUESTIONS = 1_000, 40
BUDGETS = (1_000, 2_000, 4_000)
USER = "costs"


class Said(NamedTuple):
    """One message of a conversation."""

    session: str
    role: str
    text: str


class Corpus(NamedTuple):
    """Messages, and questions about them."""

    name: str
    messages: Sequence[Said]
    questions: Sequence[str]


def main() -> None:
    """Measure both kinds of conversations and print what they cost."""
    parser = argparse.ArgumentParser(prog="python -m bench.costs", description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    count = parser.parse_args().messages
    for corpus in (_short(count), _long(count)):
        with tempfile.TemporaryDirectory(prefix="ltst-costs-", ignore_cleanup_errors=True) as folder:
            _measure(corpus, Path(folder))


def _short(count: int) -> Corpus:
    lives = [each.history for each in training.read()]
    said = (
        Said(f"{number}-{session.id}", turn.role, turn.text)
        for number, life in enumerate(lives)
        for session in life.sessions
        for turn in session.turns
    )
    asked = [question.text for question in lives[0].questions]
    return Corpus("short turns", [*islice(said, count)], asked[:QUESTIONS])


def _long(count: int) -> Corpus:
    said = (Said(f"talk-{number // talk.TURNS}", *talk.message(number)) for number in range(count))
    return Corpus("long answers", [*said], [talk.question(6 * number) for number in range(QUESTIONS)])


def _measure(corpus: Corpus, home: Path) -> None:
    with Memory(settings=Settings(home=home, worker=False, warm=False)) as memory:
        _report(corpus, memory, memory.database_url)


def _report(corpus: Corpus, memory: Memory, dsn: str) -> None:
    meter, adding, deriving = Meter(postmaster(dsn)), Spent(), Spent()
    memory.embed(["The model is loaded before anything is measured."])
    empty, user = _size(dsn), memory.user(USER)
    with meter.adding_to(adding):
        for each in corpus.messages:
            user.chat(each.session).add(each.role, each.text)
    with meter.adding_to(deriving):
        memory.settle(USER)
    per_thousand = 1_000 / len(corpus.messages)
    characters = sum(len(each.text) for each in corpus.messages)
    print(f"{corpus.name}: {len(corpus.messages)} messages of {characters / len(corpus.messages):.0f} characters")
    print(f"  adding   {adding.both * per_thousand:6.1f} s of CPU per 1,000 messages")
    print(f"  deriving {deriving.both * per_thousand:6.1f} s of CPU per 1,000 messages (index, vectors, learning)")
    print(f"  disk     {(_size(dsn) - empty) * per_thousand / 1e6:6.1f} MB per 1,000 messages")
    print(f"  history  {sum(tokens.count(each.text) for each in corpus.messages):6.0f} tokens, if all of it were sent")
    for budget in BUDGETS:
        contexts = [user.chat("new").context(each, max_tokens=budget) for each in corpus.questions]
        print(f"  context  {statistics.mean(each.tokens for each in contexts):6.0f} tokens with a budget of {budget}")


def _size(dsn: str) -> int:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    main()
