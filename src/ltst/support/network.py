"""What servers do alike at the network: tell this machine from others, read text in headers, and end well."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ltst.errors import Invalid

# Under this name an application leaves its connections an event that is set when the server is told to stop.
STOPPING = "stopping"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Returns whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in LOOPBACK


def header_text(value: str | None, name: str) -> str | None:
    """Returns what a header says: any text, although servers read headers as Latin-1."""
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Invalid(f"the header {name} must be UTF-8") from None


def bound(host: str, port: int) -> socket.socket:
    """Returns a socket on an address, taken before anything is started."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, since only then asyncio sends small packets at once instead of waiting 40 ms for a reply.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as problem:
        taken.close()
        raise Invalid(f"cannot listen on {host}:{port}: {problem}") from None
    taken.set_inheritable(True)
    return taken


@contextmanager
def ending_well() -> Iterator[None]:
    """Once it has stopped, uvicorn sends itself the signal again; what is open here is to be closed all the same."""
    before = {number: signal.signal(number, _passed_over) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, told in before.items():
            signal.signal(number, told)


def _passed_over(*_: object) -> None:
    """Nothing is left to stop."""
