"""Records that are returned when tables of other programs are adopted or given back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class AdoptionFault:
    """A row of another program's table that cannot become a message, and why."""

    row: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What becomes of another program's chat table, or would in a dry run. `kept` is the table's name afterwards.

    `reasons` counts all faults, `faults` lists the first. `undated` rows have no date, `blank` ones no text. `words`
    maps roles to the program's names for them. Columns that are `left_behind` stay only in the table. `digest` hashes
    owner, session, order, role, content and time of all messages, and is the same before and after.
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
    """A table that was given back: its rows, how many were added or changed since, and how many sessions it was.

    `kept` tells whether ltst still has them. `digest` hashes everything the program sees, the same before and after.
    """

    table: str
    rows: int
    added: int
    sessions: int
    kept: bool
    digest: str


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The tables of the predecessor in their schema: how many rows each has, and of how many users.

    `reasons` counts the rows that cannot be adopted, `faults` lists the first. `digests` hash the contents, equal on
    both sides. `switched` tells whether table names in this database refer to ltst's tables.
    """

    schema: str
    rows: Mapping[str, int]
    users: int
    faults: tuple[AdoptionFault, ...]
    reasons: Mapping[str, int]
    digests: Mapping[str, str] = field(default_factory=dict)
    switched: bool = False
