"""What a message says about the user who wrote it, read with rules: no model, no network.

Only what rules get right nearly always is read: who somebody is (`identity`) and who lives with them (`family`), each
under a key of its own, and lasting wishes to the assistant (`wishes`). A message is stripped to the writer's own words
(`reading`) and cut into clauses, of which only those that state something are opened (`clauses`); each is tried against
the tables of rules. What only corrects the message before it is read with that one (`corrections`). To teach them
another way of saying something, add a line to `ways.txt`; a new key is a new heading there, and a word in `learn.keys`,
which tells whether a user has only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ltst.records import Claim, Earlier


def claims(text: str, said_at: datetime) -> list[Claim]:
    """Returns what the message says about its writer, in the order of saying; nothing where nothing is said plainly."""
    # Late: to compile all the rules takes longer than to import ltst may.
    from ltst.learn.extract.message import read

    return read(text, said_at)


def claims_after(text: str, said_at: datetime, before: str, earlier: Sequence[Earlier]) -> list[Claim]:
    """Returns the same of a message that may correct what the user said `earlier`; `before` is the turn it answers."""
    from ltst.learn.extract.corrections import read

    return read(text, said_at, before, earlier)
