"""What servers do alike at the network: tell this machine from others, read text in headers, and end well."""

from __future__ import annotations

import ipaddress
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ltst.errors import Invalid

# Under this name an application leaves its connections an event that is set when the server is told to stop.
STOPPING = "stopping"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in LOOPBACK


def header_text(value: str | None, name: str) -> str | None:
    """What a header says: any text, although servers read headers as Latin-1."""
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Invalid(f"the header {name} must be UTF-8") from None


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
