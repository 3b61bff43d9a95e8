"""The size of a memory that is searched: how many users, and how much each of them wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SESSION = 100


@dataclass(frozen=True, slots=True)
class Shelf:
    """So many users with so many messages each, and how many of them each writes at a time, in turn."""

    name: str
    users: int
    messages: int
    turn: int = SESSION

    @property
    def user_ids(self) -> Sequence[str]:
        """Who they are."""
        return [f"{self.name}-{number}" for number in range(self.users)]

    @property
    def total(self) -> int:
        """All their messages."""
        return self.users * self.messages

    @property
    def steps(self) -> int:
        """How many steps it takes to fill it."""
        return self.messages // self.turn

    def numbers(self, user: int) -> range:
        """Of the messages of one of them."""
        return range(user * self.messages, (user + 1) * self.messages)

    def __str__(self) -> str:
        """As the report names it."""
        return f"{self.messages:,}" if self.users == 1 else f"{self.messages:,} each of {self.users} users"
