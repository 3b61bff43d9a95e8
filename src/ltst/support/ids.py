"""Identifiers: random, sortable by time, and created here, so that a write can be repeated safely."""

import os
import random
import time
import uuid

# Ids must be unique, not secret: a generator of our own saves a system call for each.
_generator = random.Random(os.urandom(32))  # noqa: S311


def _begin_anew() -> None:
    """Reseeds the generator in a forked child, which would otherwise repeat its parent's ids."""
    _generator.seed(os.urandom(32))


os.register_at_fork(after_in_child=_begin_anew)


def new_id() -> str:
    """Returns a UUID of version 7: it starts with milliseconds, so that new rows are neighbours in their index."""
    digits = f"{time.time_ns() // 1_000_000:012x}{_generator.getrandbits(80):020x}"
    variant = "89ab"[int(digits[15], 16) & 0b11]
    return f"{digits[:8]}-{digits[8:12]}-7{digits[12:15]}-{variant}{digits[16:19]}-{digits[19:31]}"


def is_id(value: object) -> bool:
    """Returns whether the value is a UUID in its standard form; anything else identifies no row."""
    if not isinstance(value, str):
        return False
    try:
        return str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
