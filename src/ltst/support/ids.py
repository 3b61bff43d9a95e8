"""Identifiers: random, sortable by time, and made here, so that a write can be repeated safely."""

import os
import time
import uuid


def new_id() -> str:
    """A UUID of version 7: milliseconds first, so that new rows stand together in their index."""
    stamp = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    high, low = random >> 68, random & ((1 << 62) - 1)
    return str(uuid.UUID(int=stamp << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low))


def is_id(value: object) -> bool:
    """Whether this is the identifier of a row; anything else names no row at all."""
    if not isinstance(value, str):
        return False
    try:
        return str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
