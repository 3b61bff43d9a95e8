"""A stream that one task writes and any number of listeners read from its beginning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Feed(Generic[T, R]):
    """A sequence of parts that ends with a result or an error, whether or not anybody listens."""

    def __init__(self) -> None:
        self._parts: list[T] = []
        self._changed = asyncio.Event()
        self._ended: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        # Retrieves the exception so that asyncio does not warn when nobody listens.
        self._ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def put(self, part: T) -> None:
        """Adds a part for all listeners."""
        self._parts.append(part)
        self._wake()

    def end(self, result: R) -> None:
        """Ends the stream with a result."""
        self._ended.set_result(result)
        self._wake()

    def fail(self, problem: BaseException) -> None:
        """Ends the stream with an error, which every listener gets."""
        self._ended.set_exception(problem)
        self._wake()

    async def parts(self) -> AsyncIterator[T]:
        """Yields all parts from the first on as they arrive, then raises the error if there was one."""
        read = 0
        while read < len(self._parts) or not self._ended.done():
            if read == len(self._parts):
                await self._changed.wait()
            for part in self._parts[read:]:
                read += 1
                yield part
        self._ended.result()

    async def result(self) -> R:
        """Waits for the end; returns the result or raises the error."""
        return await asyncio.shield(self._ended)

    async def over(self) -> None:
        """Waits until the stream has ended, however it ended."""
        await asyncio.wait([self._ended])

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
