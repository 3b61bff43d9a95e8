"""What an import costs: an export of ChatGPT, read, checked and written, beside `add_many` of the same messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import exports
from bench.report import Comparison, throughput
from bench.stage import Block, Stage, timed
from ltst import Memory, User
from ltst.importers import read

BOUND = 0.5


def rows(stage: Stage) -> Iterator[Comparison]:
    """Beside `add_many` conversation by conversation, and beside one that has all messages at once."""
    with TemporaryDirectory() as folder, Memory(settings=replace(stage.settings, worker=False)) as memory:
        stage.say("import")
        file = Path(folder) / "conversations.json"
        amount, numbers = exports.write(file, stage.plan.conversations), count()
        given = [[*exports.said(number)] for number in range(stage.plan.conversations)]
        every = [{**each, "key": f"{place}"} for place, each in enumerate(each for one in given for each in one)]

        def fresh() -> User:
            return memory.user(f"import-{next(numbers)}")

        sides = {
            "add_many of each": lambda: timed([partial(_add_each, fresh(), given)]),
            "add_many of all": lambda: timed([partial(fresh().chat("all").add_many, every)]),
        }
        for name, other in sides.items():

            def bring() -> Block:
                return timed([partial(_import, fresh(), file)])

            ours, theirs = stage.alternate(stage.plan.bulk_blocks, bring, other)
            figures = throughput(ours.rates(amount)), throughput(theirs.rates(amount))
            yield Comparison(f"import of {stage.plan.conversations:,}, messages", figures[0], name, figures[1], BOUND)


def _import(user: User, file: Path) -> None:
    with read([file]) as export:
        export.write(user)


def _add_each(user: User, given: Sequence[Sequence[dict[str, object]]]) -> None:
    for number, messages in enumerate(given):
        user.chat(f"conversation-{number}").add_many(messages)
