"""Rules that take too long or fail for some messages; they run in a child process, as the rules of ltst do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from helpers.child_work import burn
from ltst.learn import rules
from ltst.records import EarlierMessage, MessageReading

SLOW, POISON = "[slow]", "[poison]"
prepare = rules.prepare


def read_message(text: str, said_at: datetime, before: str, earlier: Sequence[EarlierMessage]) -> MessageReading:
    """What the rules read, for ever where the message asks for it."""
    if SLOW in text:
        burn()
    if POISON in text:
        raise ValueError("not today")
    return rules.read_message(text, said_at, before, earlier)


def composed(*_: object) -> None:
    """An episode that is never told."""
    burn()
