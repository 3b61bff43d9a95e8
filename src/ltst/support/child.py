"""The child: a process that runs functions for its parent, and that can be killed at any moment.

`ltst.support.children` starts it. The two exchange pickled values, each prefixed with its length.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl
    import resource

LENGTH = struct.Struct(">Q")
# A child that grew by this much is not reused: it may never give the memory back to the system.
MOST_GROWTH = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use: seconds of processor time, and bytes of memory if that is limited."""

    seconds: float
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A function, named by its module and its own name, and the arguments of each call.

    A module that must load much before its functions can run does so in a function `prepare`, which has no limit.
    """

    module: str
    function: str
    batch: tuple[tuple[Any, ...], ...]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Begun:
    """The function is loaded; from here on failures are the work's own."""


@dataclass(frozen=True, slots=True)
class ItemReturned:
    """The next item of what a call returns, if that is an iterator."""

    value: Any


@dataclass(frozen=True, slots=True)
class Returned:
    """A call has ended; `value` is what it returned, unless that was sent in parts."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Raised:
    """A call has ended with an error."""

    problem: Exception


@dataclass(frozen=True, slots=True)
class Finished:
    """All calls of the request have ended; `again` is whether the child can take another request."""

    again: bool


def main(link: int) -> None:
    """Answers requests on a socket until its other end is closed."""
    _heed_signals()
    _end_with_parent()
    with socket.socket(fileno=link) as connection, suppress(ConnectionError):
        while (request := _received(connection)) is not None:
            again = _answer(connection, request)
            _send(connection, Finished(again))
            if not again:
                return


def packed(value: object) -> bytes:
    """Returns a value as the bytes that are sent."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def _heed_signals() -> None:
    """Ignores the signals that also reach the parent, which ends this process, and arms the one for the time limit."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # A signal without a handler kills the process at once, even inside a regular expression.
    for number in (signal.SIGPROF, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF, signal.SIGIO})
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_with_parent() -> None:
    """Lets the kernel signal this process when the pipe at standard input closes, because the parent is gone.

    Outside Linux the signal is ignored, and the child ends after its current work.
    """
    with suppress(OSError):
        fcntl.fcntl(sys.stdin.fileno(), fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(sys.stdin.fileno(), fcntl.F_GETFL)
        fcntl.fcntl(sys.stdin.fileno(), fcntl.F_SETFL, flags | os.O_ASYNC)


def _received(connection: socket.socket) -> Work | None:
    with connection.makefile("rb") as stream:
        length = stream.read(LENGTH.size)
        if len(length) < LENGTH.size:
            return None
        request: Work = pickle.loads(stream.read(LENGTH.unpack(length)[0]))  # noqa: S301 - the parent's own
        return request


def _send(connection: socket.socket, value: object) -> None:
    connection.sendall(packed(value))


def _answer(connection: socket.socket, request: Work) -> bool:
    """Makes the calls of a request; returns whether this process may take another one."""
    module = import_module(request.module)
    if prepare := getattr(module, "prepare", None):
        prepare()
    function = getattr(module, request.function)
    _limit_memory(request.limits.memory)
    before = _largest()
    _send(connection, Begun())
    for arguments in request.batch:
        _send(connection, _called(connection, function, arguments, request.limits.seconds))
    return _largest() - before < MOST_GROWTH


def _called(
    connection: socket.socket, function: Callable[..., Any], arguments: Iterable[Any], seconds: float
) -> Returned | Raised:
    """Makes one call under its time limit, and sends what it returns."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        result = function(*arguments)
        if not isinstance(result, Iterator):
            return Returned(result)
        for part in result:
            _send(connection, ItemReturned(part))
        return Returned()
    except ConnectionError:
        raise
    except MemoryError:
        return Raised(MemoryError())  # a new one: it holds no frames, and sending it needs hardly any memory
    except Exception as problem:  # noqa: BLE001 - it is for the caller to judge
        return Raised(_sendable(problem))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _sendable(problem: Exception) -> Exception:
    """Returns the error, or a RuntimeError with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301 - it was made here
    except Exception:  # noqa: BLE001 - an error may hold anything
        return RuntimeError(repr(problem))
    return problem


def _limit_memory(most: int | None) -> None:
    """Limits the memory of this process; systems without such a limit go without."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = resource.RLIM_INFINITY if most is None else most
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_least(wanted, hard), hard))


def _least(wanted: int, hard: int) -> int:
    limits = [limit for limit in (wanted, hard) if limit != resource.RLIM_INFINITY]
    return min(limits, default=resource.RLIM_INFINITY)


def _largest() -> int:
    """Returns the most memory that this process ever held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, where the usage below starts with that of the parent
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split(maxsplit=1)[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
