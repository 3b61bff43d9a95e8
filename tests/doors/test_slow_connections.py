"""Slow connections: who does not say what they want is let go, keeps nobody out, and leaves no trace in the log."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from ltst import Settings

PATIENCE = 90.0
HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
START = [sys.executable, "-c", "from ltst.doors.cli.main import run; run()"]
QUICK = {"LTST_HEADER_TIMEOUT": "0.3", "LTST_BODY_TIMEOUT": "0.3"}


@dataclass
class Door:
    """A server in a process of its own."""

    port: int
    path: bytes
    process: subprocess.Popen[bytes]
    log: Path

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, request: bytes) -> bytes:
        """All that comes back until the server ends the connection."""
        with closing(self.connect()) as client:
            client.sendall(request)
            return read(client)

    def answers(self) -> bool:
        path = b"/healthz" if self.path == b"/api/chat" else b"/nothing"
        return self.ask(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path).startswith(
            b"HTTP/1.1"
        )

    def complaints(self) -> str:
        """What it wrote after its greeting."""
        return self.log.read_text().partition("Ctrl-C.")[2].strip()


def read(client: socket.socket) -> bytes:
    told = b""
    while piece := client.recv(65536):
        told += piece
    return told


SERVERS = {"http": (["serve"], b"/api/chat"), "mcp": (["mcp", "--http"], b"/mcp")}
Start = Callable[..., Door]


@contextmanager
def started(name: str, settings: Settings, environment: Mapping[str, str]) -> Iterator[Door]:
    command, path = SERVERS[name]
    known = {"DATABASE_URL": str(settings.database_url), "LTST_HOME": str(settings.home), "LTST_WORKER": "off"}
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [*START, *command, "--port", "0"],
            env={**os.environ, **known, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            port = until(lambda: re.search(r"http://localhost:(\d+)", Path(log.name).read_text()))[1]
            door = Door(int(port), path, process, Path(log.name))
            until(lambda: reachable(door))
            yield door
        finally:
            process.kill()
            process.wait()


def reachable(door: Door) -> bool:
    try:
        return door.answers()
    except ConnectionError:
        return False


def until(look: Callable[[], object]) -> re.Match[str]:
    """What a look finds, as soon as it finds something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)
    return found  # type: ignore[return-value]


@pytest.fixture(params=SERVERS)
def start(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Start]:
    with ExitStack() as held:
        yield lambda **environment: held.enter_context(started(request.param, settings, environment))


def test_who_does_not_finish_a_request_is_let_go(start: Start) -> None:
    door = start(**QUICK)
    assert door.ask(b"") == b""
    assert door.ask(HEAD % door.path).startswith(b"HTTP/1.1 408")
    told = door.ask(HEAD % door.path + b'\r\n{"message": "')
    assert told.startswith(b"HTTP/1.1 408") and b"did not come within 0.3 seconds" in told
    with closing(door.connect()) as again:  # the same once a request was answered
        again.sendall(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD % door.path)
        assert b"HTTP/1.1 408" in read(again)
    assert door.answers()
    assert door.complaints() == ""


def test_a_request_that_comes_byte_by_byte_is_let_go(start: Start) -> None:
    door = start(**QUICK)
    for begun, rest in ((b"", HEAD % door.path), (HEAD % door.path + b"\r\n", b'{"message": "' + b"x" * 500)):
        with closing(door.connect()) as client:
            client.sendall(begun)
            assert drip(client, rest).startswith(b"HTTP/1.1 408")
    assert door.complaints() == ""


def drip(client: socket.socket, rest: bytes) -> bytes:
    """What the server says while one byte after the other is sent; the last one never is."""
    for byte in rest[:-1]:
        if select.select([client], [], [], 0.05)[0]:
            break
        client.sendall(bytes([byte]))
    return client.recv(65536)


def test_half_open_connections_keep_nobody_out(start: Start) -> None:
    door = start(LTST_MAX_CONNECTIONS="40", LTST_HEADER_TIMEOUT="600")
    with ExitStack() as held:
        crowd = [held.enter_context(closing(door.connect())) for _ in range(200)]
        for number, client in enumerate(crowd):
            if number % 2:
                client.sendall(HEAD % door.path) if not is_over(client) else None
            if number % 20 == 0:
                assert door.answers()
        assert door.answers()
        until(lambda: sum(map(is_over, crowd)) >= 160)
        assert not is_over(crowd[-1])  # the oldest went
    assert door.complaints() == ""


def is_over(client: socket.socket) -> bool:
    return bool(select.select([client], [], [], 0)[0])


def test_a_thousand_half_open_connections_leave_it_answering(start: Start) -> None:
    door = start()
    with ExitStack() as held:
        for number in range(1100):
            client = held.enter_context(closing(door.connect()))
            client.sendall((HEAD % door.path)[: 1 + number % 100])
        for _ in range(10):
            assert door.answers()
    assert door.answers()
    assert door.complaints() == ""


def test_only_when_all_are_being_answered_a_new_one_is_turned_away(settings: Settings) -> None:
    listen = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
    with started("http", settings, {"LTST_MAX_CONNECTIONS": "16"}) as door, ExitStack() as held:
        for _ in range(16):
            client = held.enter_context(closing(door.connect()))
            client.sendall(listen)
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        assert b"all connections are taken" in door.ask(b"")


def test_clients_that_leave_in_the_middle_leave_no_trace(start: Start) -> None:
    door = start()
    paths = (
        [door.path]
        if door.path == b"/mcp"
        else [b"/api/chat", b"/v1/chat/completions", b"/v1/documents", b"/v1/search"]
    )
    for path in paths:
        for beginning in (HEAD % path, HEAD % path + b'\r\n{"message": "', HEAD % path + b"\r\n"):
            for _ in range(5):
                with closing(door.connect()) as client:
                    client.sendall(beginning)
    assert door.answers()
    door.process.send_signal(signal.SIGTERM)
    assert door.process.wait(PATIENCE) == 0
    assert door.complaints() == ""


def peers(door: Door) -> set[int]:
    """The ports of those whom the server holds a connection with."""
    return {each.raddr.port for each in psutil.Process(door.process.pid).net_connections("tcp") if each.raddr}


def test_an_answer_that_nobody_takes_is_given_up(settings: Settings) -> None:
    many = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300
    with started("http", settings, {"LTST_BODY_TIMEOUT": "0.3"}) as door, closing(door.connect()) as client:
        client.sendall(many)
        port = client.getsockname()[1]
        until(lambda: port not in peers(door))
        assert door.answers()
        assert door.complaints() == ""


def test_a_server_that_stops_gives_up_what_has_not_come_whole(start: Start) -> None:
    door = start()
    with closing(door.connect()) as silent, closing(door.connect()) as half:
        silent.sendall(HEAD % door.path)
        half.sendall(HEAD % door.path + b'\r\n{"message": "')
        assert door.answers()
        door.process.send_signal(signal.SIGTERM)
        assert read(silent) == b""
        assert b"the server is stopping" in read(half)
    assert door.process.wait(PATIENCE) == 0
    assert door.complaints() == ""


@pytest.mark.parametrize(
    ("files", "wanted", "places"), [(1024, 4000, 512), (512, 100, 16), (600, 60, 60), (5000, 4000, 4000)]
)
def test_there_are_no_more_places_than_open_files(files: int, wanted: int, places: int) -> None:
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, {files}));"
        f"from ltst.support.connections import places; print(places({wanted}))"
    )
    told = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True)
    assert int(told.stdout) == places
