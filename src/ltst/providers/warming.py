"""Warming: loads a model in its own thread, so that the first question need not wait for it."""

from __future__ import annotations

import asyncio
import atexit
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from ltst.protocols import Embedder

LONGEST_GOODBYE = 5.0
AT_WORK: WeakSet[threading.Thread] = WeakSet()
ENDING = threading.Event()


async def warmed(embedder: Embedder) -> None:
    """Waits until the model is loaded; raises if it cannot be, and returns at once if there is nothing to load.

    A caller that stops waiting does not stop the thread: it loads the model for the whole process.
    """
    warm = getattr(embedder, "warm", None)
    if warm is None or ENDING.is_set():
        return
    loop, over, failures = asyncio.get_running_loop(), asyncio.Event(), list[Exception]()

    def load() -> None:
        try:
            warm(lambda: not ENDING.is_set())
        except Exception as problem:  # noqa: BLE001 - it is the caller's to handle
            failures.append(problem)
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(over.set)

    # A thread of the loop's executor would delay the end of the process until everything is loaded.
    thread = threading.Thread(target=load, name="ltst-warming", daemon=True)
    AT_WORK.add(thread)
    thread.start()
    await over.wait()
    if failures:
        raise failures[0]


@atexit.register
def _end_all() -> None:
    """Waits for the current step, since ending a thread inside a library aborts the process."""
    ENDING.set()
    for thread in [*AT_WORK]:
        thread.join(LONGEST_GOODBYE)
