"""The portal: an event loop in its own thread, through which other code calls what is bound to one loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, Protocol, Self, TypeVar

from ltst.errors import DatabaseUnavailable
from ltst.support.place import FORKED

R = TypeVar("R")
T = TypeVar("T")
CLOSED = "this memory was closed while the call was going on"


class Portal:
    """Runs coroutines on a loop in a background thread; safe to use from many threads, and can be opened again."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0
        self._guard = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the loop runs in this process."""
        return self._loop is not None and self._process == os.getpid()

    def open(self) -> None:
        """Starts the loop."""
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._guard = threading.Lock()  # a lock inherited from a parent may be held by a thread of the parent
        self._thread = threading.Thread(target=self._loop.run_forever, name="ltst", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Waits for the result of a coroutine. An interrupt here cancels the work there."""
        future = self._begun(work)
        try:
            return future.result()
        except CancelledError:
            raise DatabaseUnavailable(CLOSED) from None
        except BaseException:
            future.cancel()
            raise

    async def awaited(self, work: Coroutine[Any, Any, R]) -> R:
        """Does the same for a caller on an event loop of its own, which keeps running meanwhile."""
        future = self._begun(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            raise DatabaseUnavailable(CLOSED) from None

    def close(self) -> None:
        """Cancels running work, so that nobody waits forever, and stops the loop."""
        if not self.is_open:
            return
        with self._guard:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _begun(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        future = self._scheduled(work) if self.is_open else None
        if future is None:
            work.close()
            raise DatabaseUnavailable(self._reason())
        return future

    def _scheduled(self, work: Coroutine[Any, Any, R]) -> Future[R] | None:
        with self._guard:
            return None if self._loop is None else asyncio.run_coroutine_threadsafe(work, self._loop)

    def _reason(self) -> str:
        if self._loop is None:
            return "this memory is not open: use it inside `with`, or call open() first"
        return FORKED


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Synchronous(Generic[T]):
    """The verbs of a handle for code that does not await; each call goes through the portal."""

    def __init__(self, portal: Portal, inner: T) -> None:
        """Called by the object that it belongs to."""
        self._portal = portal
        self._inner = inner


class Openable(Protocol):
    """Something that is opened before use and closed afterwards."""

    async def open(self) -> None:
        """Opens it."""

    async def close(self) -> None:
        """Closes it."""


S = TypeVar("S", bound=Openable)


class SynchronousOpenable(Synchronous[S]):
    """The same with a portal of its own, which is open as long as the object is."""

    def __init__(self, inner: S) -> None:
        """Starts closed."""
        super().__init__(Portal(), inner)

    def __enter__(self) -> Self:
        """Opens it."""
        self.open()
        return self

    def __exit__(self, *raised: object) -> None:
        """Closes it."""
        self.close()

    def open(self) -> None:
        """Starts or joins the embedded Postgres, or connects to the given one, and brings the schema up to date."""
        if not self._portal.is_open:
            self._portal.open()
            try:
                self._portal.run(self._inner.open())
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Writes what is pending and disconnects; the last to leave stops the embedded Postgres."""
        if self._portal.is_open:
            try:
                self._portal.run(self._inner.close())
            finally:
                self._portal.close()
