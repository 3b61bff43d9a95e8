"""Sameness: whether two entries say the same; runs in a child process, under a limit of time."""

from __future__ import annotations

import re
from typing import Any

from ltst.records import MemoryEntry
from ltst.support.terms import terms

# Two entries say the same only if they share nearly all words, and agree in every number and every "not".
SHARED_WORDS = 0.8
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
NOT = re.compile(r"\b(?:not?|never|none|without|\w+n['’]t)\b", re.IGNORECASE)


def says_the_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether nothing is lost when one stands for both. Two conversations stay two, and so do two levels of trust."""
    if (one.session_id, one.learned, _trust(one)) != (other.session_id, other.learned, _trust(other)):
        return False
    words, others = set(terms(one.content)), set(terms(other.content))
    shared = len(words & others) / max(1, len(words | others))
    return (
        shared >= SHARED_WORDS
        and sorted(NUMBER.findall(one.content)) == sorted(NUMBER.findall(other.content))
        and len(NOT.findall(one.content)) == len(NOT.findall(other.content))
    )


def _trust(entry: MemoryEntry) -> Any:
    return entry.metadata.get("trust", "high")
