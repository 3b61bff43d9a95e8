"""Limits a server's connections: how many there are, and how long each may take to send a request and read the answer.

uvicorn waits forever for slow clients. Here a connection has a deadline for the head of a request, for its body and for
reading the answer; a large body gets more time for each kilobyte sent. When all places are taken, the connection that
has waited longest without a request makes room, so that a crowd of silent connections keeps nobody out.
"""

from __future__ import annotations

import asyncio
import json
import resource
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ltst.settings import Settings
from ltst.support.network import STOPPING

# A body that arrives more slowly than this is being held back on purpose.
SLOWEST_BYTES_A_SECOND = 1024
# How many connections are accepted at once, before the first of them is looked at.
BACKLOG = 256
# Open files besides connections: the database's, the log, child processes; and those accepted at once.
OTHER_FILES = 256 + BACKLOG
FEWEST = 16
STOPPING_SECONDS = 2.0


@dataclass(slots=True)
class ConnectionLimits:
    """What a server allows, and its idle connections (without a request in progress), oldest first."""

    header_seconds: float
    body_seconds: float
    connections: int
    idle: dict[ClientConnection, None] = field(default_factory=dict)


def limited(settings: Settings) -> dict[str, Any]:
    """Returns uvicorn options that hold connections to the settings, and keep its logs quiet."""
    limits = ConnectionLimits(settings.header_timeout, settings.body_timeout, places(settings.max_connections))
    return {
        "http": partial(ClientConnection, limits=limits),
        "backlog": BACKLOG,
        "log_level": "warning",
        "access_log": False,  # paths contain users' own words; meters count the requests
        "server_header": False,
    }


def places(wanted: int) -> int:
    """Returns how many connections this process can hold, after raising its limit on open files as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):  # some systems enforce a lower limit than they report
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return max(FEWEST, min(wanted, soft - OTHER_FILES))


class ClientConnection(H11Protocol):
    """One connection, from its first byte to its end."""

    def __init__(self, *arguments: Any, limits: ConnectionLimits, **named: Any) -> None:
        """Called by uvicorn for each connection that it accepts."""
        super().__init__(*arguments, **named)
        self._limits = limits
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._began = 0.0
        self._received = 0

    @property
    def _is_stopping(self) -> bool:
        """Whether the server was told to stop; uvicorn forgets connections that arrive just then."""
        stopping: asyncio.Event | None = self.app_state.get(STOPPING)
        return stopping is not None and stopping.is_set()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes a place, and waits for a request."""
        super().connection_made(transport)
        if self._is_stopping:
            self.hang_up()
            return
        self._limits.idle[self] = None
        self._wait(self._limits.header_seconds)
        if len(self.connections) > self._limits.connections:
            self._make_room()

    def _make_room(self) -> None:
        """Ends the longest idle connection; the newest is turned away only if all others are being answered."""
        longest = next(iter(self._limits.idle))
        if longest is self:
            self.dismiss(503, "all connections are taken: try again later")
        else:
            longest.hang_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gives up the place."""
        self._limits.idle.pop(self, None)
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on; a head begins with its first byte, a body after its head."""
        self._received += len(data)
        before = self.conn.their_state
        if before is h11.IDLE and self._deadline is None:
            self._wait(self._limits.header_seconds)
        super().data_received(data)
        self._look(before)

    def _look(self, before: object) -> None:
        """Adjusts the deadline to how far the request has come."""
        now = self.conn.their_state
        if now is h11.IDLE:
            return
        self._limits.idle.pop(self, None)
        if now is not h11.SEND_BODY:
            self._stop_waiting()
        elif before is not h11.SEND_BODY:
            self._wait(self._limits.body_seconds)

    def on_response_complete(self) -> None:
        """Waits for the next request once the answer is sent; part of it may already be here."""
        super().on_response_complete()
        if self._is_stopping:
            self.hang_up()
        elif not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self._limits.idle[self] = None
            begun, _ = self.conn.trailing_data
            if begun:
                self._wait(self._limits.header_seconds)
                self._received = len(begun)

    def pause_writing(self) -> None:
        """Starts a timer because the client does not read its answer for now."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._limits.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stops that timer because the client reads on."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def shutdown(self) -> None:
        """Ends with the server: an incomplete request is given up, and so is an answer that nobody reads."""
        super().shutdown()
        if self.conn.their_state is h11.SEND_BODY:
            self.dismiss(503, "the server is stopping")
        elif self._unread is not None:
            self.loop.call_later(STOPPING_SECONDS, self.transport.abort)

    def dismiss(self, status: int, detail: str) -> None:
        """Ends the connection, with an error response if the client waits for one."""
        if not self.transport.is_closing() and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(self._word(status, detail))
        self.hang_up()

    def hang_up(self) -> None:
        """Ends the connection; a handler that still works on an answer learns that nobody waits for it."""
        self._limits.idle.pop(self, None)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _word(self, status: int, detail: str) -> bytes:
        title = HTTPStatus(status).phrase
        named = "urn:ltst:" + title.lower().replace(" ", "-")
        body = json.dumps({"type": named, "title": title, "status": status, "detail": detail}).encode()
        head = h11.Response(
            status_code=status,
            reason=title.encode(),
            headers=[
                ("content-type", "application/problem+json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ],
        )
        return b"".join(self.conn.send(each) or b"" for each in (head, h11.Data(data=body), h11.EndOfMessage()))

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._began, self._received = self.loop.time(), 0
        self._deadline = self.loop.call_later(seconds, self._look_at_the_clock, seconds)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look_at_the_clock(self, seconds: float) -> None:
        """Ends the connection when its time is up, unless the client sends fast or the server has paused reading."""
        left = self._began + seconds + self._received / SLOWEST_BYTES_A_SECOND - self.loop.time()
        if self.flow.read_paused:
            self._wait(seconds)
        elif left > 0:
            self._deadline = self.loop.call_later(left, self._look_at_the_clock, seconds)
        elif self._received or self.conn.their_state is h11.SEND_BODY:
            self.dismiss(408, f"the request did not come within {seconds:g} seconds")
        else:
            self.hang_up()

    def _should_upgrade(self) -> bool:
        """Returns False: nothing here speaks another protocol."""
        return False
