"""What a message says about the user who wrote it, read with rules: no model, no network.

Only what rules get right nearly always is read: who somebody is (`identity`) and who lives with them (`family`), each
under a key of its own, and lasting wishes to the assistant (`wishes`). A message is stripped to the writer's own words
(`reading`) and cut into clauses, of which only those that state something are opened (`clauses`); each is tried against
the tables of rules. To teach them another way of saying something, add a line to `ways.txt`; a new key is a new heading
there, and a word in `learn.keys`, which tells whether a user has only one.
"""

from __future__ import annotations

from datetime import datetime

from ltst.records import Claim


def claims(text: str, said_at: datetime) -> list[Claim]:
    """Returns what the message says about its writer, in the order of saying; nothing where nothing is said plainly."""
    # Late: to compile all the rules takes longer than to import ltst may.
    from ltst.learn.extract.message import read

    return read(text, said_at)
