"""Runs functions in child processes, so that no text or file can hold up the process that asks.

A call that takes too long or too much memory ends with its child, and the next call gets another one. The children of a
process are shared by everything in it, on any event loop; they start when needed and end with the process.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ltst.errors import LtstError, Unavailable
from ltst.support.child import LENGTH, Begun, Finished, ItemReturned, Limits, Raised, Returned, Work, packed

T = TypeVar("T")

BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from ltst.support.child import main
main(int(sys.argv[1]))
"""
# What a child gets of the environment: where Python and its libraries are, but no keys.
KNOWN = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV")
KNOWN_BEGINNINGS = ("PYTHON", "LC_", "LD_", "DYLD_")
# The limit is on processor time, which stands still while the machine is busy. A child that does nothing at all is
# given up after PATIENCE seconds, plus PATIENCE_PER_SECOND for each second of its limit.
PATIENCE = 60.0
PATIENCE_PER_SECOND = 30.0
AT_ONCE = 1024**2


class OutOfTime(LtstError):
    """A call took more processor time than its limit."""


class Crashed(LtstError):
    """A call killed the process that ran it."""


class _Ended(Exception):
    """The child is gone; the message says how it ended."""


class _Child:
    """One child process and the socket to it."""

    def __init__(self) -> None:
        python = _python()
        self._link, theirs = socket.socketpair()
        self._link.setblocking(False)
        try:
            # Its standard input is never written to: when it closes, the child knows that the parent is gone.
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [python, *_flags(), "-c", BOOT, str(theirs.fileno()), json.dumps(_path())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        except OSError as problem:
            self._link.close()
            raise Unavailable(f"a child process cannot be started: {problem}") from None
        finally:
            theirs.close()
        self._heard = bytearray()
        self.stopped = False
        """Whether it was ended on purpose."""
        self.clean = True
        """Whether it waits for a request."""

    async def begin(self, request: Work) -> None:
        """Sends a request; raises _Ended if the child was gone before it began."""
        self.clean = False
        try:
            await asyncio.get_running_loop().sock_sendall(self._link, packed(request))
        except ConnectionError:
            raise _Ended(self._how()) from None
        answer = await self.receive(PATIENCE)
        if not isinstance(answer, Begun):
            raise _Ended(repr(answer))

    async def answers(self, limits: Limits) -> AsyncGenerator[ItemReturned | Raised | Returned, None]:
        """Yields the answers until all is done; raises OutOfTime past the limit, _Ended if the child dies."""
        patience = PATIENCE + PATIENCE_PER_SECOND * limits.seconds
        while not isinstance(answer := await self.receive(patience), Finished):
            yield answer
        self.clean = answer.again

    async def receive(self, patience: float) -> Any:
        """Returns the next value; raises _Ended or OutOfTime if none comes."""
        try:
            async with asyncio.timeout(patience):
                length = LENGTH.unpack(await self._exactly(LENGTH.size))[0]
                return pickle.loads(await self._exactly(length))  # noqa: S301 - our own child's
        except TimeoutError:
            raise OutOfTime(f"no answer within {patience:g} seconds") from None
        except (EOFError, ConnectionError):
            how = self._how()
        if self._process.returncode == -signal.SIGPROF:
            raise OutOfTime("its time is up")
        raise _Ended(how)

    async def _exactly(self, length: int) -> bytearray:
        loop = asyncio.get_running_loop()
        while len(self._heard) < length:
            more = await loop.sock_recv(self._link, AT_ONCE)
            if not more:
                raise EOFError
            self._heard += more
        taken = self._heard[:length]
        del self._heard[:length]
        return taken

    def _how(self) -> str:
        """Returns how it ended; its end of the socket is closed, so this does not wait."""
        status = self._process.wait()
        return f"signal {-status}" if status < 0 else f"status {status}"

    def stop(self) -> None:
        """Kills it; whoever waits for its answer gets an error."""
        self.stopped = True
        self._process.kill()

    def end(self) -> None:
        """Kills it, and waits until it has ended."""
        self._process.kill()
        self._process.wait()
        self.let_go()

    def end_beside(self) -> None:
        """Kills it without waiting, since freeing a gigabyte takes a while."""
        with suppress(ProcessLookupError):
            self._process.kill()
        try:
            threading.Thread(target=self.end, name="ltst-reaper", daemon=True).start()
        except RuntimeError:  # the interpreter is about to end
            self.end()

    def let_go(self) -> None:
        """Closes the socket and the pipe."""
        self._link.close()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def disown(self) -> None:
        """Forgets it after a fork: it is the parent's child."""
        self.let_go()
        self._process.returncode = 0  # or it would be waited for


class Children:
    """A limited number of child processes, which any thread and any event loop may call.

    If there is more than one, no `owner` of work gets all of them at the same time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._reset()
        atexit.register(self.end)
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._forked)

    async def each(
        self, function: Callable[..., T], batch: Sequence[tuple[Any, ...]], limits: Limits, *, owner: str
    ) -> list[T | OutOfTime]:
        """Calls a module's function with each of these arguments; returns the results.

        The first call that takes too long is the last; OutOfTime stands in for its result.
        """
        found: list[T | OutOfTime] = []
        if not batch:
            return found
        try:
            async with aclosing(self._answers(_request(function, batch, limits), owner)) as answers:
                async for answer in answers:
                    found.append(answer.value)  # noqa: PERF401 - those before the last one are kept
        except OutOfTime as problem:
            found.append(problem)
        return found

    async def one(self, function: Callable[..., T], *arguments: Any, limits: Limits, owner: str) -> T:
        """Calls a module's function once and returns its result; raises OutOfTime if it takes too long."""
        (found,) = await self.each(function, [arguments], limits, owner=owner)
        if isinstance(found, OutOfTime):
            raise found
        return found

    async def parts(
        self, function: Callable[..., Iterator[T]], *arguments: Any, limits: Limits, owner: str
    ) -> AsyncGenerator[T, None]:
        """Calls a module's function and yields what its iterator yields; raises OutOfTime if that takes too long."""
        async with aclosing(self._answers(_request(function, [arguments], limits), owner)) as answers:
            async for answer in answers:
                if isinstance(answer, ItemReturned):
                    yield answer.value

    def stop(self) -> None:
        """Ends all calls, running or waiting; their callers get Unavailable."""
        with self._guard:
            for _, turn in self._waiting:
                if turn.set_running_or_notify_cancel():
                    turn.set_exception(_stopping())
            self._waiting.clear()
            for child in self._working:
                child.stop()

    def end(self) -> None:
        """Ends all child processes."""
        with self._guard:
            children = [*self._idle, *self._working]
            self._idle.clear()
        for child in children:
            child.end()

    async def _answers(self, request: Work, owner: str) -> AsyncGenerator[ItemReturned | Returned, None]:
        """Yields the answers of a child; raises the errors that it reports."""
        async with self._begun(request, owner) as child:
            try:
                async with aclosing(child.answers(request.limits)) as answers:
                    async for answer in answers:
                        if isinstance(answer, Raised):
                            raise answer.problem
                        yield answer
            except _Ended as problem:
                raise _why(child, problem) from None

    @asynccontextmanager
    async def _begun(self, request: Work, owner: str) -> AsyncIterator[_Child]:
        """Gives a child a request for the duration of a block; ends the child if the work did not finish."""
        await self._enter(owner)
        child: _Child | None = None
        try:
            child = await self._begin(request)
            yield child
        finally:
            self._put_back(child)
            self._leave(owner)

    async def _begin(self, request: Work) -> _Child:
        """Sends a request to an idle or new child and returns that child; replaces one that died meanwhile."""
        for again in (True, False):
            child = self._take()
            try:
                await child.begin(request)
            except _Ended as problem:
                self._put_back(child)
                if child.stopped:
                    raise _why(child, problem) from None
                if not again:
                    raise Unavailable(f"a child process does not start: it ends with {problem}") from None
            except BaseException:
                self._put_back(child)
                raise
            else:
                return child
        raise AssertionError("it has begun or failed")

    def _take(self) -> _Child:
        with self._guard:
            child = self._idle.pop() if self._idle else _Child()
            self._working.add(child)
            return child

    def _put_back(self, child: _Child | None) -> None:
        if child is None:
            return
        with self._guard:
            self._working.discard(child)
            if child.clean and not child.stopped:
                self._idle.append(child)
                return
        child.end_beside()

    async def _enter(self, owner: str) -> None:
        """Waits until it is this owner's turn."""
        with self._guard:
            if self._may(owner):
                self._held[owner] += 1
                return
            turn: Future[None] = Future()
            self._waiting.append((owner, turn))
        try:
            await asyncio.wrap_future(turn)
        except BaseException:
            if not turn.cancel() and turn.exception() is None:  # its turn came all the same
                self._leave(owner)
            raise

    def _may(self, owner: str) -> bool:
        return self._held.total() < self._most and self._held[owner] < max(1, self._most - 1)

    def _leave(self, owner: str) -> None:
        """Gives up a place, and wakes those in line who may have one now."""
        with self._guard:
            self._held[owner] -= 1
            self._held += Counter()  # drops owners that hold none
            for each in [*self._waiting]:
                waits, turn = each
                if self._may(waits):
                    self._waiting.remove(each)
                    if turn.set_running_or_notify_cancel():
                        self._held[waits] += 1
                        turn.set_result(None)

    def _reset(self) -> None:
        self._guard = threading.RLock()
        self._idle: list[_Child] = []
        self._working: set[_Child] = set()
        self._held: Counter[str] = Counter()
        self._waiting: list[tuple[str, Future[None]]] = []

    def _forked(self) -> None:
        """Starts afresh in a forked process, which must not use its parent's children."""
        children = [*self._idle, *self._working]
        self._reset()
        for child in children:
            child.disown()


def _request(function: Callable[..., Any], batch: Sequence[tuple[Any, ...]], limits: Limits) -> Work:
    return Work(function.__module__, function.__qualname__, tuple(batch), limits)


def _stopping() -> Unavailable:
    return Unavailable("this process is about to end")


def _why(child: _Child, problem: _Ended) -> LtstError:
    if child.stopped:
        return _stopping()
    return Crashed(f"the process that did the work ended with {problem}")


def interpreter() -> str | None:
    """Returns Python's path, or None: programs that embed or freeze Python name themselves, and must not be run."""
    for candidate in (sys.executable, f"{sys.exec_prefix}/bin/python3", f"{sys.base_exec_prefix}/bin/python3"):
        if candidate and Path(candidate).name.startswith(("python", "pypy")) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _python() -> str:
    found = interpreter()
    if found is None:
        raise Unavailable(f"a child process needs a Python interpreter, and {sys.executable or 'this program'} is none")
    return found


def _flags() -> list[str]:
    """Returns the flags that tell this interpreter where to find its modules."""
    return [*(["-I"] if sys.flags.isolated else []), *(["-S"] if sys.flags.no_site else [])]


def _path() -> list[str]:
    """Returns the absolute folders in which modules are looked for, so that the child can be anywhere."""
    return [str(Path(folder).absolute()) for folder in sys.path]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in KNOWN or name.startswith(KNOWN_BEGINNINGS)}


LEARNING = Children(2)
"""For learning from messages."""
READING = Children(2)
"""For reading files, so that a long one does not delay learning."""
