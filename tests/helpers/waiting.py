"""Waits for something to come true: long enough for a machine that has much else to do, and no longer than it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE = 120.0
PAUSE = 0.02


def eventually(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Return when it is true; fail when it never becomes true."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(PAUSE)


async def soon(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """The same, for code that awaits."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(PAUSE)
