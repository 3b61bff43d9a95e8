"""The portal: an event loop in a thread of its own, through which code that does not await calls code that does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from ltst.errors import DatabaseUnavailable

R = TypeVar("R")


class Portal:
    """Runs coroutines on a loop in a background thread; safe to use from many threads."""

    def __init__(self) -> None:
        """Start the loop."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ltst", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Wait for the result. An interrupt here cancels the work there."""
        if self._loop.is_closed():
            work.close()
            raise DatabaseUnavailable("this memory is closed: open it, or use it inside `with`")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
