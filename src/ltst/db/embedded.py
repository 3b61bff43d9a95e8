"""The embedded Postgres, which starts by itself in a data folder so that nobody has to install a database.

Everyone who uses the folder shares one server, and it stops with the last of them.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from ltst.db import watcher
from ltst.db.cluster import NAME, SOCKET_PORT, Cluster, answers, write_private
from ltst.db.programs import binaries, check, choose_account, detach, refuse_windows, run
from ltst.db.watcher import Folder
from ltst.errors import DatabaseUnavailable, Invalid
from ltst.support import durable
from ltst.support.children import interpreter

if sys.platform != "win32":
    import fcntl

__all__ = ["EmbeddedServer", "binaries"]


class EmbeddedServer:
    """A share in the server of a folder, which runs as long as somebody holds one.

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
        """Starts the server of this folder or joins the running one; creates the data folder the first time."""
        refuse_windows()
        if port is not None and not 1 <= port <= 65535:
            raise Invalid(f"port {port} is not a TCP port: a number from 1 to 65535 is accepted")
        server = cls(home.expanduser().resolve(), port)
        with _explain_errors(server._folder):
            _make_folders(server._home, server._folder)
            server._join()
        return server

    @property
    def dsn(self) -> str:
        """The connection string for the socket."""
        host, port = self._address
        return _conninfo(host=str(host), port=str(port), dbname=NAME, user=NAME)

    @property
    def tcp_dsn(self) -> str | None:
        """The connection string for TCP, if a port was requested."""
        if self._port is None or self._password is None:
            return None
        return _conninfo(host="127.0.0.1", port=str(self._port), dbname=NAME, user=NAME, password=self._password)

    @property
    def data_dir(self) -> Path:
        """Postgres's own data folder."""
        return self._folder.data

    def ensure_running(self) -> None:
        """Starts the server again if it died; call it when a connection failed."""
        if answers(*self._address):
            return
        with self._guard, _explain_errors(self._folder), _exclusive(self._folder.main):
            if self._share is None:
                raise DatabaseUnavailable(f"the server of {self._home} was released here: acquire it again")
            self._serve(self._share)

    def release(self) -> None:
        """Gives up this share; the last one stops the server. In a forked child this does nothing."""
        if os.getpid() != self._owner:
            return
        with self._guard:
            if self._share is None:
                return
            if not watcher.is_file_of(self._share, self._folder.users):
                # The folder was removed; Postgres notices that and stops by itself.
                watcher.drop(self._share)
                self._share = None
                return
            with _explain_errors(self._folder), _exclusive(self._folder.main):
                self._leave()

    def _join(self) -> None:
        with _exclusive(self._folder.main):
            self._share = watcher.open_lock(self._folder.users)
            try:
                self._serve(self._share)
            except BaseException:
                self._leave()
                raise

    def _serve(self, share: int) -> None:
        alone = _count_in(share)
        # The watcher starts first, so that it watches the server from the beginning.
        _ensure_watcher(self._folder)
        cluster = Cluster(self._folder, choose_account(self._home, self._folder.data))
        self._address = cluster.ensure(self._port, alone=alone)
        if self._port is not None:
            self._password = _password(self._folder, self.dsn)

    def _leave(self) -> None:
        share, self._share = self._share, None
        if share is None:
            return
        # Converts the lock in place: after a drop, the watcher could take it first and look like a user.
        try:
            if watcher.take(share, fcntl.LOCK_EX):
                watcher.stop(self._folder)
        finally:
            watcher.drop(share)


@contextmanager
def _explain_errors(folder: Folder) -> Iterator[None]:
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise DatabaseUnavailable(f"the embedded Postgres in {folder.path} cannot be used: {error}") from error


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    lock = watcher.open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        watcher.drop(lock)


def _count_in(share: int) -> bool:
    """Register as a user of the folder; return whether there is no other."""
    # A shared lock first, to wait for a watcher, which is not a user but may hold the lock for a moment.
    fcntl.flock(share, fcntl.LOCK_SH)
    alone = watcher.take(share, fcntl.LOCK_EX)
    fcntl.flock(share, fcntl.LOCK_SH)
    return alone


def _make_folders(home: Path, folder: Folder) -> None:
    durable.make_folder(home)
    owner = home.stat()
    for path in (folder.path, folder.locks):
        if not path.exists():
            durable.make_folder(path)
            _hand_over(path, owner)
    for path in (folder.main, folder.users, folder.watcher, folder.server, folder.log):
        if not path.exists():
            os.close(watcher.open_lock(path))
            _hand_over(path, owner)


def _hand_over(path: Path, owner: os.stat_result) -> None:
    """Gives what root made in a user's folder to that user, who could not use it otherwise."""
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _ensure_watcher(folder: Folder) -> None:
    python = interpreter()
    if python is None or watcher.is_held(folder.watcher):
        return
    # Isolated and without site-packages; psutil's folder is passed because the watcher imports it when it ends.
    command = [python, "-I", "-S", watcher.__file__, str(folder.path), str(Path(psutil.__file__).parent.parent)]
    detach(command, Path("/"), folder.log)


def _password(folder: Folder, dsn: str) -> str:
    """Returns the password for TCP; it is set in the server before it is saved, so the saved one is always right."""
    if folder.password.exists():
        return folder.password.read_text()
    password = secrets.token_urlsafe(32)
    _type_into_psql(dsn, f"ALTER ROLE {NAME} PASSWORD '{password}';\n")
    owner = folder.path.stat()
    write_private(folder.password, password, owner.st_uid, owner.st_gid)
    return password


def _type_into_psql(dsn: str, typed: str) -> None:
    # On standard input, because the arguments of a process are visible to everybody on the machine.
    command = [f"{binaries()}/psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", dsn]
    check(run(command, Path("/"), None, typed))


def _conninfo(**parts: str) -> str:
    return " ".join(f"{key}={_quote(value)}" for key, value in parts.items())


def _quote(value: str) -> str:
    if re.fullmatch(r"[\w./:@-]+", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
