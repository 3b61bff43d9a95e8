"""Servers that follow each other: a primary and its standby, made with the programs of the embedded Postgres."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from ltst.db import watcher
from ltst.db.programs import check, choose_account, run, runnable

NAME = "ltst"
PATIENCE = 60.0
DETECTION = 0.5  # seconds until whoever watches the servers promotes the standby
SETTINGS = {"wal_level": "replica", "max_wal_senders": "5", "hot_standby_feedback": "on", "shared_buffers": "64MB"}


class Node:
    """One server in a folder of its own, on a port of this machine that everybody may use without a password."""

    def __init__(self, folder: Path, *, prefix: Path | None = None, **settings: str) -> None:
        """Choose a place and a port; nothing runs yet. The programs are the embedded ones, or those of a prefix."""
        self.port = _free_port()
        self._settings = {**SETTINGS, **settings, "port": str(self.port), "unix_socket_directories": ""}
        self._folder = folder
        self.data = folder / "data"
        folder.mkdir(parents=True)
        folder.parent.chmod(0o755)  # the server's user must get there
        self._account = choose_account(folder, self.data)
        self._programs = prefix / "bin" if prefix else runnable(self._account)
        # A Postgres that was built for a trial finds its libraries by nothing else.
        self._first = ["env", f"LD_LIBRARY_PATH={prefix / 'lib'}"] if prefix else []
        if self._account.borrowed:
            shutil.chown(folder, self._account.uid, self._account.gid)

    def begin(self) -> None:
        """Make an empty server and start it."""
        self._run("initdb", f"--pgdata={self.data}", f"--username={NAME}", "--auth=trust", "--encoding=UTF8", "-N")
        self.start()
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {NAME}".encode())

    def follow(self, primary: Node) -> None:
        """Become a standby: take over what the primary holds, and start."""
        shutil.rmtree(self.data, ignore_errors=True)
        source = make_conninfo(primary.dsn("postgres"), application_name=self._folder.name)
        self._run("pg_basebackup", f"--pgdata={self.data}", f"--dbname={source}", "-R", "-X", "stream", "-c", "fast")
        self.start()

    def start(self) -> None:
        """Start, and return when it can be reached."""
        options = " ".join(f"-c {name}='{value}'" for name, value in self._settings.items())
        command = ["pg_ctl", "start", "-w", f"--pgdata={self.data}", f"--log={self._folder / 'log'}", "-o", options]
        self._run(*command)

    def promote(self) -> None:
        """Become the primary; commits wait for nobody until `wait_for` is called."""
        self._run("pg_ctl", "promote", "-w", f"--pgdata={self.data}")
        self.set("synchronous_standby_names", "")

    def wait_for(self, standby: Node) -> None:
        """Acknowledge from now on what the standby has too; return when that is so."""
        self.set("synchronous_standby_names", "*")
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            query = (
                "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = %s AND sync_state = 'sync')"
            )
            while connection.execute(query, (standby._folder.name,)).fetchone() != (True,):
                assert time.monotonic() < deadline, "the standby does not follow"
                time.sleep(0.05)
        time.sleep(0.5)  # until every session has read the setting

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    def kill(self) -> None:
        """End every process at once, without a word."""
        pid = watcher.postmaster(self.data)
        if pid is None or not psutil.pid_exists(pid):
            return
        postmaster = psutil.Process(pid)
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=PATIENCE)

    def dsn(self, database: str = NAME) -> str:
        """How to connect."""
        return make_conninfo("", host="127.0.0.1", port=self.port, user=NAME, dbname=database)

    def _run(self, program: str, *arguments: str) -> None:
        check(run([*self._first, f"{self._programs}/{program}", *arguments], self._folder, self._account))


def fail_over(primary: Node, standby: Node, promoted: Callable[[], None] | None = None) -> None:
    """Kill the primary; the standby takes its place, which others may be told, and gets it back as its standby."""
    primary.kill()
    time.sleep(DETECTION)
    standby.promote()
    if promoted is not None:
        promoted()
    primary.follow(standby)
    standby.wait_for(primary)


def either(*nodes: Node) -> str:
    """Return the address of whichever of them is the primary."""
    hosts, ports = ",".join("127.0.0.1" for _ in nodes), ",".join(str(node.port) for node in nodes)
    return make_conninfo("", host=hosts, port=ports, user=NAME, dbname=NAME, target_session_attrs="read-write")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
