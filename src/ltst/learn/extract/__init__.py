"""What a message says about the user who wrote it, read with rules: no model, no network.

A message is stripped to the writer's own words (`reading`) and cut into clauses, of which only those that state
something are opened (`clauses`); each is tried against the tables of rules (`person`, `work`, `family`, `tastes`,
`plans`). Wishes and standing orders are read from whole sentences (`preferences`). To teach it another way of saying
something, add a `rule(...)`; a new key is a new rule, and a word in
`learn.keys`, which tells whether a user has only one.
"""

from __future__ import annotations

from datetime import datetime

from ltst.records import Claim


def claims(text: str, said_at: datetime) -> list[Claim]:
    """What the message says about its writer, in the order of saying; nothing where nothing is said plainly."""
    # Late: to compile all the rules takes longer than to import ltst may.
    from ltst.learn.extract.message import read

    return read(text, said_at)
