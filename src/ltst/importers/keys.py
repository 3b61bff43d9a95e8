"""Keys for messages that bring none: the same message has the same key whenever it comes."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from ltst.support.text import sha256


class MessageKeys:
    """The keys of one conversation, one message after the other.

    What has a time is told by it, so a part of a conversation has the keys that the whole has; the same words at the
    same time are counted. What has none is told by its place.
    """

    __slots__ = ("_at", "_place", "_same")

    def __init__(self) -> None:
        self._place = 0
        self._at: datetime | None = None
        self._same: Counter[str] = Counter()

    def next(self, role: str, content: str, at: datetime | None) -> str:
        """Return the key of the next message."""
        self._place += 1
        if at is None:
            return sha256(f"{self._place}\n{role}\n{content}")
        if at != self._at:
            self._at, self._same = at, Counter()
        identity = f"{at.isoformat()}\n{role}\n{content}"
        self._same[identity] += 1
        return sha256(f"{identity}\n{self._same[identity]}")
