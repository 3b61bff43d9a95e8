"""Runs the local rules and the gate on one message; called in a child process, under a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ltst.learn.extract import claims_after
from ltst.learn.gate import weights
from ltst.learn.statements import read
from ltst.records import EarlierMessage, MessageReading


def prepare() -> None:
    """Compiles the rules and loads the gate in advance, which takes longer than reading many messages."""
    import ltst.learn.extract.corrections  # noqa: F401

    weights()


def read_message(text: str, said_at: datetime, before: str, earlier: Sequence[EarlierMessage]) -> MessageReading:
    """Returns what a message says about its writer; `before` is the turn that it answers, `earlier` what they said."""
    return MessageReading(claims_after(text, said_at, before, earlier), read(text, said_at, before))
