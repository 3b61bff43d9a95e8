"""A real server: `ltst serve` in processes of its own, started, watched, told to stop and killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent
PATIENCE = 90.0  # seconds for a start or an end, on a machine that is busy
SERVE = "from ltst.doors.cli.main import run; run()"
SERVED_AT = re.compile(r"served at http://\S+?:(\d+)")


class Server:
    """`ltst serve`, from its start to its end."""

    def __init__(
        self, home: Path, *, processes: int = 1, port: int = 0, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it; it is ready when this returns."""
        self._log = tempfile.NamedTemporaryFile("ab")  # noqa: SIM115 - it lives as long as the server
        known = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "LTST_LLM_MODEL")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, "serve", "--port", str(port), "--processes", str(processes)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**known, "LTST_HOME": str(home), **(environment or {})},
        )
        try:
            self.port = self._port()
            self._await_ready()
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Server:
        """It runs already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave none of its processes behind."""
        self.kill()
        self._log.close()

    @property
    def said(self) -> str:
        """What it wrote to its terminal."""
        return Path(self._log.name).read_text(errors="replace")

    def workers(self) -> list[psutil.Process]:
        """The processes that answer: the server itself, or, where there are several, its children."""
        return _children(self.process.pid) or [psutil.Process(self.process.pid)]

    def stop(self, patience: float = PATIENCE) -> int:
        """Tell it to stop, as an operator would; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience)

    def kill(self) -> None:
        """Kill all of it at once, if it still lives."""
        for each in [*_children(self.process.pid), self.process]:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                each.kill()
        self.process.wait()

    def _port(self) -> int:
        found = self._await(lambda: SERVED_AT.search(self.said), "tell its address")
        return int(found[1])

    def _await_ready(self) -> None:
        self._await(self._ready, "be ready")

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _await(self, look: Callable[[], object], what: str) -> object:
        deadline = time.monotonic() + PATIENCE
        while not (found := look()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not {what} (exit code {self.process.poll()}): {self.said[-2000:]}")
            time.sleep(0.02)
        return found


def _children(pid: int) -> list[psutil.Process]:
    """The processes that share the work; what else was started from there, such as Postgres, is not the server."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for each in psutil.Process(pid).children():
            with suppress(psutil.Error):
                if "spawn_main" in " ".join(each.cmdline()):
                    found.append(each)
    return found


@contextmanager
def served(home: Path, **options: object) -> Iterator[Server]:
    """A server for the time of a block; it must end well."""
    with Server(home, **options) as server:  # type: ignore[arg-type]
        yield server
        code = server.stop()
        if code != 0:
            raise RuntimeError(f"the server ended with {code}: {server.said[-2000:]}")
