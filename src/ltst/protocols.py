"""The protocols: the shapes of what ltst consumes from outside, so that a caller can bring their own."""

from __future__ import annotations

from typing import Protocol


class Cipher(Protocol):
    """Seals and opens the values of one user; `row` names the row that the value belongs to."""

    def seal(self, plaintext: str, row: str) -> str:
        """The ciphertext of a value, bound to its row."""
        ...

    def open(self, sealed: str, row: str) -> str:
        """The value; anything tampered with or moved from another row is refused."""
        ...
