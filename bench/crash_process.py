"""The processes of the crash test: the client that writes, and the ways to kill it and the server."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import psutil

from bench.crash_check import Acknowledgement
from ltst.db import watcher

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0  # seconds, for the next acknowledgement and for the client's end


class Client:
    """A process that writes, and what it has reported so far."""

    def __init__(self, home: Path, user: str, seed: int) -> None:
        self.acknowledged: list[Acknowledgement] = []
        self.refused = 0
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.crash_client", str(home), user, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def await_more(self) -> list[str]:
        """Wait until it has acknowledged more than now; what is wrong if it does not."""
        before = len(self.acknowledged)
        watcher.wait_until(lambda: len(self.acknowledged) > before or self._process.poll() is not None, PATIENCE)
        if len(self.acknowledged) > before:
            return []
        return [f"the client stopped writing; {self._end()}"]

    def finish(self) -> list[str]:
        """Tell it to end; what is wrong if it does not end well."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            if self._process.wait(PATIENCE) == 0:
                return []
        except subprocess.TimeoutExpired:
            pass
        return [f"the client did not end well; {self._end()}"]

    def kill(self) -> None:
        """Kill it, if it still lives, and read what it had reported until then."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if "failed" in said:
                self.refused += 1
            else:
                self.acknowledged.append(Acknowledgement(**said))

    def _end(self) -> str:
        self._errors.seek(0)
        return f"exit code {self._process.poll()}: {self._errors.read()[-2000:]}"


def kill_server(home: Path) -> list[str]:
    """Kill every process of the server, so that none is left to tidy up; what is wrong if there is none."""
    pid = _postmaster(home)
    if pid is None:
        return ["there was no server to kill"]
    first = psutil.Process(pid)
    for process in (first, *first.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return []


def await_server(home: Path) -> list[str]:
    """Wait until somebody has started the server again; what is wrong if nobody does."""
    if watcher.wait_until(lambda: _postmaster(home) is not None, PATIENCE):
        return []
    return ["nobody started the server again"]


def _postmaster(home: Path) -> int | None:
    return watcher.postmaster(watcher.Folder(home / "postgres").data)
