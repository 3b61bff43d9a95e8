"""Keys for messages that come without one, so that the same message always gets the same key."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from ltst.support.text import sha256


class MessageKeys:
    """The keys of the messages of one conversation, in order.

    A message with a time gets a key from it, so that a part of a conversation has the same keys as the whole; equal
    messages at the same time are numbered. A message without a time gets a key from its position.
    """

    __slots__ = ("_at", "_place", "_same")

    def __init__(self) -> None:
        self._place = 0
        self._at: datetime | None = None
        self._same: Counter[str] = Counter()

    def next(self, role: str, content: str, at: datetime | None) -> str:
        """Returns the key of the next message."""
        self._place += 1
        if at is None:
            return sha256(f"{self._place}\n{role}\n{content}")
        if at != self._at:
            self._at, self._same = at, Counter()
        identity = f"{at.isoformat()}\n{role}\n{content}"
        self._same[identity] += 1
        return sha256(f"{identity}\n{self._same[identity]}")
