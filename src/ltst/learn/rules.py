"""Rules: what the local rules read in one message; runs in a child process, under a limit of time."""

from __future__ import annotations

from datetime import datetime

from ltst.learn.extract import claims
from ltst.records import Claim


def prepare() -> None:
    """Compile the rules, which takes longer than to read many messages."""
    import ltst.learn.extract.message  # noqa: F401


def read_message(text: str, said_at: datetime) -> list[Claim]:
    """What a message says about its writer."""
    return claims(text, said_at)
