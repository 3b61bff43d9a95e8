"""What becomes of tables of other programs: the records that adopting them and giving them back return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class AdoptionFault:
    """A row of another program's table that cannot become a message: which one, and why."""

    row: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What becomes of another program's chat table; in a dry run, what would. `kept` is the name it has afterwards.

    `reasons` counts all faults, `faults` names the first. Rows without a date are `undated`, `blank` without words.
    `words` is what the program calls the roles. Columns that are `left_behind` stay in the table alone. `digest` is the
    hash of owner, session, order, role, content and moment of all messages, the same before and after.
    """

    table: str
    shape: str
    user_id: str
    rows: int
    messages: int
    sessions: int
    users: int
    first: datetime | None
    last: datetime | None
    undated: int
    blank: int
    faults: tuple[AdoptionFault, ...]
    reasons: Mapping[str, int]
    words: Mapping[str, str]
    left_behind: tuple[str, ...]
    kept: str | None = None
    digest: str | None = None
    adopted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Restitution:
    """A table that was given back: its rows, how many of them came or changed since, and the sessions it was.

    `kept` says whether ltst has them still. `digest` is the hash of all that the program saw, before and after.
    """

    table: str
    rows: int
    added: int
    sessions: int
    kept: bool
    digest: str


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The tables of the system before ltst, in their schema: how many rows each has, of how many users.

    `reasons` counts the rows that cannot be taken over, `faults` names the first. `digests` are the hashes of what both
    sides say, the same in both. `switched` says whether names mean ltst's tables in this database.
    """

    schema: str
    rows: Mapping[str, int]
    users: int
    faults: tuple[AdoptionFault, ...]
    reasons: Mapping[str, int]
    digests: Mapping[str, str] = field(default_factory=dict)
    switched: bool = False
