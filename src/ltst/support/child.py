"""The child: a process that runs functions for the one that started it, and that can be ended at any moment.

It is started by `ltst.support.children`. The two exchange pickled values, each behind its length.
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
# A child that once grew by so much is not kept: what it holds may never be given back to the machine.
MOST_GROWTH = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Limits:
    """What one piece of work may take: seconds of processor time, and bytes of memory where that is said."""

    seconds: float
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A function by the name of its module and its own, and the arguments of each call.

    A module that must load much before its functions can work does so in a function `prepare`, which no limit is on.
    """

    module: str
    function: str
    batch: tuple[tuple[Any, ...], ...]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Begun:
    """The function is at hand; what happens from here on is the work's own doing."""


@dataclass(frozen=True, slots=True)
class Part:
    """The next part of what a call returns, where that is an iterator."""

    value: Any


@dataclass(frozen=True, slots=True)
class Returned:
    """A call has ended; what it returned, unless that was sent in parts."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Raised:
    """A call has ended with an error."""

    problem: Exception


@dataclass(frozen=True, slots=True)
class Finished:
    """All calls of the request have ended; `again` tells whether the child can take another request."""

    again: bool


def main(link: int) -> None:
    """Answer requests on a socket until its other end is closed."""
    _heed_signals()
    _end_with_parent()
    with socket.socket(fileno=link) as connection, suppress(ConnectionError):
        while (request := _received(connection)) is not None:
            again = _answer(connection, request)
            _send(connection, Finished(again))
            if not again:
                return


def packed(value: object) -> bytes:
    """Returns a value as it is sent."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def _heed_signals() -> None:
    """Leave the end to the parent, which may be told to stop together with this process, and to the time limit."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # A signal without a handler ends the process at once, even inside a regular expression.
    for number in (signal.SIGPROF, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF, signal.SIGIO})
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_with_parent() -> None:
    """Let the kernel signal this process when the pipe at standard input is closed: the parent is gone.

    Elsewhere than on Linux the signal is ignored, and the child ends with the work that it is at.
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
    """Make the calls of a request; returns whether this process may take another one."""
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
    """Make one call under its limit of time, and send what it returns."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        result = function(*arguments)
        if not isinstance(result, Iterator):
            return Returned(result)
        for part in result:
            _send(connection, Part(part))
        return Returned()
    except ConnectionError:
        raise
    except MemoryError:
        return Raised(MemoryError())  # another one: it holds no frames, and sending it needs next to no memory
    except Exception as problem:  # noqa: BLE001 - it is for the caller to judge
        return Raised(_sendable(problem))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _sendable(problem: Exception) -> Exception:
    """Returns the error itself, or one that says the same if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301 - it was made here
    except Exception:  # noqa: BLE001 - an error may hold anything
        return RuntimeError(repr(problem))
    return problem


def _limit_memory(most: int | None) -> None:
    """Let this process have so much memory; a system that knows no such limit goes without."""
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
    if status.exists():  # on Linux, where the usage below begins with that of the parent
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split(maxsplit=1)[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
