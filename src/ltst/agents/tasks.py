"""Keeps tasks alive until they are done, whoever stops waiting for them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from ltst.errors import Unavailable

T = TypeVar("T")


class Tasks:
    """The tasks under way, with a way to wait for them before the end."""

    def __init__(self) -> None:
        self._held: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._held)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of some work, which goes on even if its caller is cancelled."""
        if self._closed:
            work.close()
            raise Unavailable("the server is shutting down: nothing was stored, try again")
        return await asyncio.shield(self.start(work))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Returns a task of its own, held until it is over."""
        task = asyncio.create_task(work)
        self._held.add(task)
        task.add_done_callback(self._over)
        return task

    async def close(self, grace: float) -> None:
        """Take no more work, wait for what is under way, at most `grace` seconds, then cancel it."""
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
            task.exception()  # whoever began it has it, unless they went away
