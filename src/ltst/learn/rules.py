"""Rules: what the local rules read in one message; runs in a child process, under a limit of time."""

from __future__ import annotations

from datetime import datetime

from ltst.learn.extract import claims
from ltst.learn.hints import LONGEST, hints
from ltst.records import Claim


def prepare() -> None:
    """Compile the rules, which takes longer than to read many messages."""
    import ltst.learn.extract.message  # noqa: F401


def read_message(text: str, said_at: datetime, inference: bool) -> list[Claim]:
    """What a message says about its writer and, with `inference`, what it hints at."""
    found = claims(text, said_at)
    return [*found, *(_hints(text, found) if inference else [])]


def read_hints(text: str, said_at: datetime) -> list[Claim]:
    """What a message hints at alone."""
    return _hints(text, claims(text, said_at)) if len(text) <= LONGEST else []


def _hints(text: str, found: list[Claim]) -> list[Claim]:
    """What a message hints at, where it does not say it."""
    known = {claim.key for claim in found if claim.noun == "preference"}
    return [claim for claim in hints(text) if claim.key not in known]
