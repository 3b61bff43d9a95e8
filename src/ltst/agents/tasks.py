"""Keeps tasks running until they are done, even if their callers stop waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from ltst.errors import Unavailable

T = TypeVar("T")


class Tasks:
    """Running tasks, which can be awaited at shutdown."""

    def __init__(self) -> None:
        self._held: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __len__(self) -> int:
        """Returns how many tasks are running."""
        return len(self._held)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of a coroutine, which keeps running even if its caller is cancelled."""
        if self._closed:
            work.close()
            raise Unavailable("the server is shutting down: nothing was stored, try again")
        return await asyncio.shield(self.start(work))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts a coroutine as a task and keeps it until it is done."""
        task = asyncio.create_task(work)
        self._held.add(task)
        task.add_done_callback(self._over)
        return task

    async def close(self, grace: float) -> None:
        """Refuses new work, waits at most `grace` seconds for running tasks, then cancels them."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._held:
                    await asyncio.wait(self._held)
        while self._held:
            for task in self._held:
                task.cancel()
            await asyncio.wait(self._held)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._held.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved so that asyncio does not warn if the caller is gone
