"""A stream that one task writes and any number of listeners read, each from its beginning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Feed(Generic[T, R]):
    """Parts, then a result or an error. It does not depend on its listeners."""

    def __init__(self) -> None:
        self._parts: list[T] = []
        self._changed = asyncio.Event()
        self._ended: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        # Whether anybody listens or not, a problem is nobody's surprise.
        self._ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def put(self, part: T) -> None:
        """Give a part to all who listen."""
        self._parts.append(part)
        self._wake()

    def end(self, result: R) -> None:
        """End the stream with its result."""
        self._ended.set_result(result)
        self._wake()

    def fail(self, problem: BaseException) -> None:
        """End the stream with an error, which every listener gets."""
        self._ended.set_exception(problem)
        self._wake()

    async def parts(self) -> AsyncIterator[T]:
        """Yields all parts from the first on, as they come; then raises the error, if there was one."""
        read = 0
        while read < len(self._parts) or not self._ended.done():
            if read == len(self._parts):
                await self._changed.wait()
            for part in self._parts[read:]:
                read += 1
                yield part
        self._ended.result()

    async def result(self) -> R:
        """Returns what came of it in the end, or the problem."""
        return await asyncio.shield(self._ended)

    async def over(self) -> None:
        """Returns when there are no more parts, for whatever reason."""
        await asyncio.wait([self._ended])

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
