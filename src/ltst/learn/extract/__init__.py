"""Reads, by rules, what a message says about the user who wrote it: no model, no network.

Only what rules get right nearly always is read: who somebody is (`identity`) and who lives with them (`family`), each
under its own key, and lasting wishes to the assistant (`wishes`). A message is stripped to the writer's own words
(`reading`) and cut into clauses, of which only those that state something are opened (`clauses`) and tried against the
tables of rules. A bare correction is read together with the message before it (`corrections`). To teach the rules
another way of saying something, add a line to `ways.txt`; a new key is a new heading there and a word in `learn.keys`,
which says whether a user can have several.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ltst.records import Claim, EarlierMessage


def claims(text: str, said_at: datetime) -> list[Claim]:
    """Returns what the message says about its writer, in the order said; empty if nothing is said plainly."""
    # Imported late: compiling all the rules takes longer than importing ltst may take.
    from ltst.learn.extract.message import read

    return read(text, said_at)


def claims_after(text: str, said_at: datetime, before: str, earlier: Sequence[EarlierMessage]) -> list[Claim]:
    """Returns the same for a message that may correct what was said `earlier`; `before` is the turn it answers."""
    from ltst.learn.extract.corrections import read

    return read(text, said_at, before, earlier)
