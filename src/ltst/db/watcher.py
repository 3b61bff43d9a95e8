"""Stops an embedded server once nobody uses it; also has the lock and process helpers that its launcher shares.

Runs as a script of its own with only the standard library, so that it uses little memory while it sleeps for days.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

TYPE_CHECKING = False  # a name type checkers know; importing it from typing would cost memory
if TYPE_CHECKING:
    from collections.abc import Callable

    import psutil

if sys.platform != "win32":
    import fcntl

TICK = 0.01
FAST_SHUTDOWN = 60.0  # seconds; it writes a checkpoint, which takes long on a slow disk
IMMEDIATE_SHUTDOWN = 10.0
LOG_LIMIT, LOG_KEPT = 8 << 20, 1 << 20
LOG_CHECKED_EVERY = 3600.0


class Folder:
    """The names inside the folder of one embedded server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self.log = path / "log"
        self.password = path / "password"
        self.locks = path / "locks"
        self.main = self.locks / "main"  # exclusive, while the server is started or stopped
        self.users = self.locks / "users"  # shared, one per user of the server
        self.watcher = self.locks / "watcher"  # exclusive, by the one watcher
        self.server = self.locks / "server"  # exclusive, inherited by every process of the server


def open_lock(path: Path) -> int:
    """Opens a lock file; each call is a lock owner of its own, even within one process."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def take(lock: int, kind: int) -> bool:
    """Takes or converts a lock without waiting; returns whether that worked."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def drop(lock: int) -> None:
    """Unlocks and closes; unlocking explicitly works even if a forked child still has the descriptor."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def is_held(path: Path) -> bool:
    """Returns whether somebody holds this lock exclusively."""
    lock = open_lock(path)
    try:
        return not take(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def is_file_of(lock: int, path: Path) -> bool:
    """Returns whether the path still names the opened file, which it does not after the folder was recreated."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False


def pidfile(data: Path) -> list[str]:
    """Reads the lines of postmaster.pid, none if there is no such file."""
    try:
        return data.joinpath("postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


def postmaster(data: Path) -> int | None:
    """Finds the process that serves this data folder; the one that postmaster.pid names, if it really does."""
    lines = pidfile(data)
    pid = int(lines[0]) if lines and lines[0].isdigit() else 0
    return pid if pid > 1 and serves(pid, data) else None


def serves(pid: int, data: Path) -> bool:
    """Returns whether the process is a live Postgres in this data folder; nothing else may ever get a signal."""
    import psutil  # imported late because the watcher needs it only when it ends

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or process.name() != "postgres":
            return False
        return _lives_in(process, data)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def is_stopped(pid: int) -> bool:
    """Returns whether a signal has suspended the process."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def _lives_in(process: psutil.Process, data: Path) -> bool:
    import psutil

    try:
        return data.samefile(process.cwd())
    except FileNotFoundError:
        return False
    except (psutil.AccessDenied, PermissionError):
        # Root inside a container may signal other users' processes but not look into them; arguments are public.
        return f"ltst.folder={data}" in process.cmdline()


def stop(folder: Folder) -> bool:
    """Shuts the server down and waits for all of its processes to end; returns whether they did."""
    pid, lines = postmaster(folder.data), pidfile(folder.data)
    if pid is None:
        return True
    for how, patience in ((signal.SIGINT, FAST_SHUTDOWN), (signal.SIGQUIT, IMMEDIATE_SHUTDOWN)):
        if _shut(pid, how, patience, folder):
            _remove_socket_folder(lines)
            return True
    return False


def _shut(pid: int, how: signal.Signals, patience: float, folder: Folder) -> bool:
    if serves(pid, folder.data):
        os.kill(pid, how)
    return wait_until(lambda: not serves(pid, folder.data) and not is_held(folder.server), patience)


def _remove_socket_folder(lines: list[str]) -> None:
    """Removes the socket's folder if it is outside the data folder; inside, its path is a dot."""
    if len(lines) > 4 and lines[4].startswith("/"):
        try:
            Path(lines[4]).rmdir()
        except OSError:
            return  # not empty, so not ours alone


def wait_until(condition: Callable[[], bool], patience: float) -> bool:
    """Polls until the condition is true or the time is over; returns which."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(TICK)
    return True


def trim(log: Path) -> None:
    """Cuts an overgrown log down to its end; the server appends, so it carries on behind the cut."""
    try:
        file = os.open(log, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    size = os.fstat(file).st_size
    if size > LOG_LIMIT:
        tail = os.pread(file, LOG_KEPT, size - LOG_KEPT)
        os.ftruncate(file, 0)
        os.write(file, tail)
    os.close(file)


def watch(folder: Folder) -> None:
    """Sleep until the last user of the folder is gone, however it went, then stop the server."""
    watcher = open_lock(folder.watcher)
    if not take(watcher, fcntl.LOCK_EX):
        return
    # The signal interrupts the wait below, which then goes on by itself.
    signal.signal(signal.SIGALRM, lambda *_: trim(folder.log))
    signal.setitimer(signal.ITIMER_REAL, LOG_CHECKED_EVERY, LOG_CHECKED_EVERY)
    users, main = open_lock(folder.users), open_lock(folder.main)
    while not _finish(folder, watcher, users, main):
        time.sleep(5 * TICK)


def _finish(folder: Folder, watcher: int, users: int, main: int) -> bool:
    fcntl.flock(users, fcntl.LOCK_EX)
    if not take(main, fcntl.LOCK_EX):
        # Somebody is joining or leaving; keeping this lock would prevent a newcomer from registering.
        fcntl.flock(users, fcntl.LOCK_UN)
        return False
    if is_file_of(main, folder.main):
        stop(folder)
    # Before the main lock goes, so that the next to start a server sees that it needs a watcher.
    drop(watcher)
    drop(main)
    return True


if __name__ == "__main__":
    sys.path.append(sys.argv[2])
    watch(Folder(Path(sys.argv[1])))
