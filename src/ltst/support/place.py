"""Binds things to the process and event loop they were made in; a forked child is another process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from ltst.errors import DatabaseUnavailable

P = ParamSpec("P")
R = TypeVar("R")

FORKED = "this memory was opened in another process: open one of its own after a fork"


class Origin:
    """The process and the event loop in which something was opened."""

    __slots__ = ("_loop", "_process")

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()

    @property
    def is_foreign(self) -> bool:
        """Whether this is another process, such as a forked child, which shares every socket with its parent."""
        return self._process != os.getpid()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it was opened on."""
        return self._loop

    def check(self) -> None:
        """Raises DatabaseUnavailable in another process or on another event loop."""
        if self.is_foreign:
            raise DatabaseUnavailable(FORKED)
        if self._loop is not asyncio.get_running_loop():
            raise DatabaseUnavailable(
                "this memory was opened on another event loop: use it there, or open another AsyncMemory on this one"
            )

    def move(self) -> None:
        """Moves to the running loop if the previous one is closed."""
        if self._loop.is_closed():
            self._loop = asyncio.get_running_loop()


class PerProcess(Generic[R]):
    """Something that a forked child must not share with its parent, such as connections: one for each process."""

    def __init__(self, make: Callable[[], R]) -> None:
        """Takes the function that makes it when it is first needed."""
        self._make = make
        # The parent's object is kept too: closing it would end connections that the parent uses.
        self._held: dict[int, R] = {}
        self._locks: dict[int, threading.Lock] = {}

    def get(self) -> R:
        """Returns this process's own object, made now if need be."""
        process = os.getpid()
        with self._locks.setdefault(process, threading.Lock()):
            if process not in self._held:
                self._held[process] = self._make()
            return self._held[process]

    def pop(self) -> R | None:
        """Forgets this process's own object and returns it for closing, or None; the next `get` makes a new one."""
        return self._held.pop(os.getpid(), None)


async def in_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs a blocking function in a thread and returns its result; directly, if the process is ending."""
    call = partial(function, *args, **kwargs)
    try:
        going = asyncio.get_running_loop().run_in_executor(None, call)
    except RuntimeError:
        return call()
    return await going


def background(work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
    """Starts a task that may be dropped at any time: a loop that ends without it does not complain."""
    task = asyncio.create_task(work)
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # as asyncio.gather does with its own
    return task


async def end(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancels tasks and waits for their end; tasks of a closed loop have already ended."""
    going = [task for task in tasks if task is not None and not task.done() and not task.get_loop().is_closed()]
    for task in going:
        task.cancel()
    await asyncio.gather(*going, return_exceptions=True)
