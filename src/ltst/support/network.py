"""What servers share at the network: recognise this machine, read text in headers, bind a port, and end well."""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ltst.errors import Invalid

if TYPE_CHECKING:
    from ltst.settings import Settings

# The name under which an application gives its connections an event that is set when the server is told to stop.
STOPPING = "stopping"
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # these end a server
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Returns whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in LOOPBACK


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is run, and by which command."""

    command: ClassVar[str] = "ltst serve"

    settings: Settings
    host: str = "127.0.0.1"
    port: int = 8000

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def header_text(value: str | None, name: str) -> str | None:
    """Returns the text of a header, which may be UTF-8 although servers read headers as Latin-1."""
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Invalid(f"the header {name} must be UTF-8") from None


def bound(host: str, port: int, command: str = ServerOptions.command) -> socket.socket:
    """Returns a socket bound to an address before anything is started; `command` is named if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is given because only then asyncio sends small packets at once instead of waiting 40 ms for a reply.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as problem:
        taken.close()
        if isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE:
            another = f"`{command} --port 8010` takes another, and `--port 0` any that is free"
            raise Invalid(f"cannot listen on {host}:{port}, which is in use: {another}") from None
        raise Invalid(f"cannot listen on {host}:{port}: {problem}") from None
    taken.set_inheritable(True)
    return taken


@contextmanager
def ending_well() -> Iterator[None]:
    """Ignores signals to end, such as uvicorn sends itself once it has stopped, so that all that is open is closed."""
    before = {number: signal.signal(number, _passed_over) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_to_end() -> Iterator[Callable[[], object]]:
    """Yields a function that waits for a signal to end the program, also for one that came before the call.

    The interpreter writes each signal to a socket when it comes. A thread that waits for a lock would miss a signal
    that came just before it began to wait.
    """
    heard, told = socket.socketpair()
    told.setblocking(False)
    with heard, told, ending_well():
        before = signal.set_wakeup_fd(told.fileno())
        try:
            yield lambda: heard.recv(1)
        finally:
            signal.set_wakeup_fd(before)


def _passed_over(*_: object) -> None:
    """Ignores a signal: nothing is left to stop."""
