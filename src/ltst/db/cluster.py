"""Makes, configures and starts the server of one data folder, or takes over one that is running."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import psutil

from ltst.db import watcher
from ltst.db.programs import MAJOR, Account, check, detach, run, runnable
from ltst.db.watcher import TICK, Folder
from ltst.errors import DatabaseUnavailable, Invalid
from ltst.support import durable

if sys.platform != "win32":
    import fcntl
    import pwd

NAME = "ltst"  # of the database and of its superuser
SOCKET_PORT = 5432  # only the suffix of the socket's file name, unless TCP is asked for
SHORT_FOLDER = Path("/tmp")  # noqa: S108 - not taken from the environment, because all processes must agree on it
SOCKET_PATH_LIMIT = 103  # bytes; macOS has the shorter limit, Linux allows 107
SHARED_MEMORY_NEEDED = 256 << 20
# Bounds of shared_buffers, and its share of the machine's memory. If the vectors of a large memory fit in, a search
# reads no files. A page takes memory only once it is used.
LEAST_BUFFERS, MOST_BUFFERS, BUFFERS_SHARE = 128 << 20, 512 << 20, 1 / 16
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")

RESTART_PATIENCE = 20.0  # seconds to wait for the processes of a dead server to end
ORPHAN_GRACE = 3.0
KILLED_PATIENCE = 5.0  # a server that ends silently was killed, which may not happen again
RECOVERY_PATIENCE = 120.0
TRANSIENT = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')

# Candidates for LC_CTYPE, which decides what is a word in full-text search; only the last exists everywhere.
CTYPES = ("C.UTF-8", "en_US.UTF-8", "C")

ACCESS = """\
local all all              peer map=ltst
host  all all 127.0.0.1/32 scram-sha-256
"""

_STARTUP = b"user\0ltst\0database\0ltst\0\0"
_HELLO = (len(_STARTUP) + 8).to_bytes(4) + (3 << 16).to_bytes(4) + _STARTUP
_READY = b"Z\0\0\0\x05I"
_GOODBYE = b"X\0\0\0\x04"


class _Running(NamedTuple):
    """What postmaster.pid says about a server."""

    port: int
    listens: bool
    ready: bool

    def __str__(self) -> str:
        return f"listens on port {self.port}" if self.listens else "does not listen on TCP"

    def suits(self, port: int | None) -> bool:
        return port is None or (self.listens and self.port == port)


class Cluster:
    """One data folder and its server; every method runs under the folder's main lock."""

    def __init__(self, folder: Folder, account: Account) -> None:
        self._folder = folder
        self._account = account
        self._sockets = _socket_folder(folder.data, account)

    def ensure(self, port: int | None, *, alone: bool) -> tuple[Path, int]:
        """Makes sure that a server answers, starting one if needed; returns its socket folder and port."""
        if self._sockets != self._folder.data and self._sockets.exists():
            _check_private(self._sockets, self._account)
        running = self._adopt()
        if running is None or (alone and not running.suits(port)):
            self._stop()
            # If others use the server, a restart keeps the settings they know.
            if self._make_data() or alone:
                _configure(self._folder.data, self._account, self._sockets, port)
            running = self._start()
        if not running.suits(port):
            raise Invalid(
                f"the embedded Postgres {running} and is in use: port {port} needs its other users to close first"
            )
        return self._sockets, running.port

    def _adopt(self) -> _Running | None:
        deadline = time.monotonic() + RECOVERY_PATIENCE
        while True:
            running = _read_pidfile(self._folder.data)
            # The answer decides, not the process: a server in another container has none that is visible here.
            if running and answers(self._sockets, running.port):
                return running
            if (pid := watcher.postmaster(self._folder.data)) is None:
                return None
            if watcher.is_stopped(pid):
                raise self._failure(f"was stopped by a signal: let it go on with `kill -CONT {pid}`", 0)
            if running and running.ready and not _socket_file(self._sockets, running.port).exists():
                return None  # its socket file is gone, deleted for instance by a cleaner of temporary files
            if time.monotonic() > deadline:
                raise self._failure("does not answer", 0)
            time.sleep(TICK)

    def _stop(self) -> None:
        if not watcher.stop(self._folder):
            raise self._failure("does not stop", 0)

    def _make_data(self) -> bool:
        """Makes the data folder if it is missing; returns whether it was."""
        data = self._folder.data
        missing = not data.exists() or not any(data.iterdir())
        if missing:
            self._initialise(runnable(self._account))
        _check_version(data)
        if self._account.borrowed and data.stat().st_uid == 0:
            _give(data, self._account)
        return missing

    def _initialise(self, programs: Path) -> None:
        # Made beside its final place and renamed when complete: an interruption leaves nothing half-made behind.
        for leftover in self._folder.path.glob("init-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="init-", dir=self._folder.path))
        try:
            if self._account.borrowed:
                os.chown(fresh, self._account.uid, self._account.gid, follow_symlinks=False)
            self._initdb(programs, fresh)
            durable.replace(fresh, self._folder.data)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise

    def _initdb(self, programs: Path, fresh: Path) -> None:
        place = self._place(fresh)
        for ctype in CTYPES:
            made = run(_initdb_command(programs, place, ctype), fresh, self._account)
            if made.returncode == 0 or "locale" not in made.stderr:
                break
        check(made)
        # Synced once at the end instead of after each step, which halves the time.
        single = [f"{programs}/postgres", "--single", "-D", place, "-c", "fsync=off", "template1"]
        check(run(single, fresh, self._account, f"CREATE DATABASE {NAME} STRATEGY file_copy\n"))
        check(run([f"{programs}/initdb", "--sync-only", "-D", place], fresh, self._account))

    def _place(self, data: Path) -> str:
        # The server's user may lack access to the parent folders, but the process starts inside and does not need it.
        return "/proc/self/cwd" if self._account.borrowed and sys.platform == "linux" else str(data)

    def _start(self) -> _Running:
        watcher.trim(self._folder.log)
        programs = runnable(self._account)
        began = time.monotonic()
        while True:
            mark = self._folder.log.stat().st_size
            self._launch(programs)
            running = self._await_ready(mark)
            if running:
                return running
            failure = self._failure("did not start", mark)
            if time.monotonic() - began > _patience(str(failure)):
                raise failure
            time.sleep(0.2)

    def _launch(self, programs: Path) -> None:
        # The server and all its processes inherit this lock: while any of them lives, it is held.
        lock = self._claim()
        try:
            if self._sockets != self._folder.data:
                _make_private(self._sockets, self._account)
            self._clear_leftovers()
            data = self._folder.data
            command = [f"{programs}/postgres", "-D", self._place(data), "-c", f"ltst.folder={data}"]
            detach(command, data, self._folder.log, self._account, lock)
        finally:
            os.close(lock)

    def _claim(self) -> int:
        lock = watcher.open_lock(self._folder.server)
        if not watcher.wait_until(lambda: watcher.take(lock, fcntl.LOCK_EX), ORPHAN_GRACE):
            self._end_orphans()
            if not watcher.wait_until(lambda: watcher.take(lock, fcntl.LOCK_EX), RESTART_PATIENCE - ORPHAN_GRACE):
                os.close(lock)
                raise self._failure("cannot start while processes of an earlier server still run", 0)
        return lock

    def _end_orphans(self) -> None:
        """Ends processes of a killed server; during a long statement they do not notice that their server is gone."""
        for pid in psutil.pids():
            if watcher.serves(pid, self._folder.data):
                os.kill(pid, signal.SIGQUIT)

    def _clear_leftovers(self) -> None:
        """Removes a killed server's pid files; Postgres trusts them even if the pid now belongs to another process."""
        for leftover in (self._folder.data / "postmaster.pid", *self._sockets.glob(".s.PGSQL.*")):
            leftover.unlink(missing_ok=True)

    def _await_ready(self, mark: int) -> _Running | None:
        deadline = time.monotonic() + RECOVERY_PATIENCE
        while True:
            running = _read_pidfile(self._folder.data)
            if running and running.ready:
                return running
            if not watcher.is_held(self._folder.server):
                return None
            if time.monotonic() > deadline:
                raise self._failure("is still recovering", mark)
            time.sleep(TICK)

    def _failure(self, what: str, mark: int) -> DatabaseUnavailable:
        lines = _log_since(self._folder.log, mark)
        free = shutil.disk_usage(self._folder.path).free
        full = f"\nonly {free >> 20} MB are free on its disk" if free < 64 << 20 else ""
        place = f"the embedded Postgres in {self._folder.data} {what}; the log is {self._folder.log}"
        return DatabaseUnavailable(f"{place}{full}\n{lines}".rstrip())


def answers(folder: Path, port: int) -> bool:
    """Returns whether a server accepts connections there; one that is starting up, recovering or stopping does not."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(str(_socket_file(folder, port)))
            client.sendall(_HELLO)
            return _is_welcome(client)
    except OSError:
        return False


def _is_welcome(client: socket.socket) -> bool:
    reply = b""
    while chunk := client.recv(4096):
        reply += chunk
        if reply.endswith(_READY):
            client.sendall(_GOODBYE)
            return True
    # Other refusals, such as too many connections, still come from a healthy server.
    return reply.startswith(b"E") and b"C57P0" not in reply


def _read_pidfile(data: Path) -> _Running | None:
    lines = watcher.pidfile(data)
    if len(lines) < 8 or not lines[3].isdigit():
        return None
    return _Running(port=int(lines[3]), listens=bool(lines[5].strip()), ready=lines[7].strip() == "ready")


def _initdb_command(programs: Path, place: str, ctype: str) -> list[str]:
    return [
        f"{programs}/initdb",
        f"--pgdata={place}",
        f"--username={NAME}",
        "--auth=peer",
        "--encoding=UTF8",
        "--locale=C",
        f"--lc-ctype={ctype}",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-sync",
        "--no-instructions",
    ]


def _check_version(data: Path) -> None:
    file = data / "PG_VERSION"
    if not file.exists():
        raise DatabaseUnavailable(f"{data} is not empty and holds no Postgres data: move it away")
    version = file.read_text().strip()
    if version != MAJOR:
        raise DatabaseUnavailable(
            f"{data} was written by Postgres {version} and this is Postgres {MAJOR}: dump it with the old version and "
            "restore it into a new folder"
        )


def _give(tree: Path, account: Account) -> None:
    for path in (tree, *tree.rglob("*")):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _configure(data: Path, account: Account, socket_folder: Path, port: int | None) -> None:
    write_private(data / "postgresql.conf", _settings(data, socket_folder, port), account.uid, account.gid)
    write_private(data / "pg_hba.conf", ACCESS, account.uid, account.gid)
    write_private(data / "pg_ident.conf", _identities(account), account.uid, account.gid)


def _settings(data: Path, socket_folder: Path, port: int | None) -> str:
    chosen = {
        "listen_addresses": "" if port is None else "127.0.0.1",
        "port": str(port or SOCKET_PORT),
        # Relative to the data folder, because the server's user may not have access to its absolute path.
        "unix_socket_directories": "." if socket_folder == data else str(socket_folder),
        "shared_buffers": _buffers(),
        "dynamic_shared_memory_type": _shared_memory(),
    }
    if sys.platform == "linux":
        # After a crash, one sync of the whole disk instead of one per file saves seconds.
        chosen["recovery_init_sync_method"] = "syncfs"
    head = "# Written at every start; use ALTER SYSTEM for settings that stay.\n"
    fixed = resources.files(__package__).joinpath("cluster.conf").read_text("utf-8")
    return head + fixed + "".join(f"{name} = '{value}'\n" for name, value in chosen.items())


def _buffers() -> str:
    """Returns shared_buffers for the memory of this machine or container."""
    with suppress(OSError, ValueError):  # no container, or one without a limit
        return _share_of(min(psutil.virtual_memory().total, int(CONTAINER_LIMIT.read_text())))
    return _share_of(psutil.virtual_memory().total)


def _share_of(memory: int) -> str:
    return f"{round(min(max(memory * BUFFERS_SHARE, LEAST_BUFFERS), MOST_BUFFERS)) >> 20}MB"


def _shared_memory() -> str:
    """Returns the kind of shared memory for parallel queries; in containers /dev/shm is often too small."""
    return "mmap" if sys.platform == "linux" and not _is_roomy(Path("/dev/shm")) else "posix"  # noqa: S108


def _is_roomy(place: Path) -> bool:
    try:
        room = os.statvfs(place)
    except FileNotFoundError:
        return False
    return room.f_frsize * room.f_blocks >= SHARED_MEMORY_NEEDED


def _identities(account: Account) -> str:
    """Returns who may connect over the socket: the server's own user, and root, who can read everything anyway."""
    names = sorted({account.name, pwd.getpwuid(0).pw_name})
    return "".join('ltst "{}" {}\n'.format(name.replace('"', '""'), NAME) for name in names)


def write_private(path: Path, text: str, uid: int, gid: int) -> None:
    """Replaces a file atomically, readable by its owner alone."""
    file, fresh = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as target:
            target.write(text)
            target.flush()
            if os.geteuid() == 0:
                os.fchown(target.fileno(), uid, gid)  # not by name, which its folder's owner could redirect
            os.fsync(target.fileno())
        durable.replace(Path(fresh), path)
    except BaseException:
        Path(fresh).unlink()
        raise


def _socket_file(folder: Path, port: int) -> Path:
    return folder / f".s.PGSQL.{port}"


def _socket_folder(data: Path, account: Account) -> Path:
    """Returns the socket's folder: the data folder, or a private one if that path does not suit a socket."""
    usable = str(data).isprintable() and "," not in str(data)  # libpq reads a comma as a second host
    if usable and len(os.fsencode(_socket_file(data, 65535))) <= SOCKET_PATH_LIMIT:
        return data
    return SHORT_FOLDER / f"ltst-{account.uid}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:24]}"


def _make_private(folder: Path, account: Account) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if account.borrowed and folder.lstat().st_uid == 0:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    _check_private(folder, account)


def _check_private(folder: Path, account: Account) -> None:
    # Anybody can create folders in /tmp, so only one that nobody else can enter is accepted.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
        raise DatabaseUnavailable(f"{folder} should be a private folder of user {account.name} and is not: remove it")


def _patience(failure: str) -> float:
    """Returns for how many seconds to retry after a failed start."""
    if any(sign in failure for sign in TRANSIENT):
        return RESTART_PATIENCE
    return 0 if "FATAL" in failure else KILLED_PATIENCE


def _log_since(log: Path, mark: int) -> str:
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(mark)
        return "".join(file.readlines()[-12:])
