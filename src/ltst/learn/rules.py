"""Rules: what the local rules and the gate read in one message; runs in a child process, under a limit of time."""

from __future__ import annotations

from datetime import datetime

from ltst.learn.extract import claims
from ltst.learn.gate import weights
from ltst.learn.hints import LONGEST, hints
from ltst.learn.statements import read
from ltst.records import Claim, Learnt


def prepare() -> None:
    """Compile the rules and load the gate, which takes longer than to read many messages."""
    import ltst.learn.extract.message  # noqa: F401

    weights()


def read_message(text: str, said_at: datetime, before: str, inference: bool) -> Learnt:
    """What a message says about its writer and, with `inference`, what it hints at; `before` is the turn it answers."""
    found = claims(text, said_at)
    return Learnt([*found, *(_hints(text, found) if inference else [])], read(text, said_at, before))


def read_hints(text: str, said_at: datetime) -> list[Claim]:
    """What a message hints at alone."""
    return _hints(text, claims(text, said_at)) if len(text) <= LONGEST else []


def _hints(text: str, found: list[Claim]) -> list[Claim]:
    """What a message hints at, where it does not say it."""
    known = {claim.key for claim in found if claim.noun == "preference"}
    return [claim for claim in hints(text) if claim.key not in known]
