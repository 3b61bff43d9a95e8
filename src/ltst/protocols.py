"""The protocols: the shapes of what ltst consumes from outside, so that a caller can bring their own."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; tests bring their own."""

    def __call__(self) -> datetime:
        """The present moment, with its time zone."""
        ...


class Cipher(Protocol):
    """Seals and opens the values of one user; `row` names the row that the value belongs to."""

    def seal(self, plaintext: str, row: str) -> str:
        """The ciphertext of a value, bound to its row."""
        ...

    def open(self, sealed: str, row: str) -> str:
        """The value; anything tampered with or moved from another row is refused."""
        ...
