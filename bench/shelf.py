"""The size of a memory that is searched: how much its user wrote, and how much others did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SESSION = 100


class Shelf(NamedTuple):
    """A user with so many messages; a search of them may take so many times as long as the bare query beside it."""

    name: str
    messages: int
    bound: float
    first: int = 0

    @property
    def user_id(self) -> str:
        """Who it is."""
        return f"{self.name}-0"

    @property
    def steps(self) -> int:
        """How many steps it takes to fill it."""
        return self.messages // SESSION

    @property
    def numbers(self) -> Sequence[int]:
        """Of the messages."""
        return range(self.first, self.first + self.messages)

    def __str__(self) -> str:
        """As the report names it."""
        return f"{self.messages:,}"


class Crowd(NamedTuple):
    """One user among so many others, of whom each wrote as much; it may take so many times as long as it does alone."""

    users: int
    messages: int
    bound: float

    @property
    def alone(self) -> Shelf:
        """What the user wrote."""
        return Shelf("alone", self.messages, self.bound)

    @property
    def template(self) -> Shelf:
        """What the first of the others wrote, of which all others are copies."""
        return Shelf("other", self.messages, self.bound, first=self.messages)

    @property
    def each_turn(self) -> int:
        """How many others come between two sessions of the user, so that its rows lie scattered as they do in life."""
        return -(-self.users // self.alone.steps)

    @property
    def total(self) -> int:
        """All messages of the others."""
        return self.users * self.messages
