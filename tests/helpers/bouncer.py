"""pgbouncer in transaction mode, with few connections, in front of a server of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from helpers.probes import cloned, free_port
from helpers.waiting import PATIENCE
from ltst.db.embedded import EmbeddedServer

BOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
MISSING = "pgbouncer is not installed (apt-get install pgbouncer)"

POOL = 2
CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
"""


@dataclass(frozen=True)
class Behind:
    """A database, straight and through the bouncer."""

    straight: str
    url: str


@contextmanager
def bounced(home: Path) -> Iterator[Behind]:
    """A server of its own with an empty database, and a bouncer in front of it."""
    if BOUNCER is None:
        pytest.skip(MISSING)
    held = EmbeddedServer.acquire(home, port=free_port())
    try:
        with cloned(held, None) as straight, _bouncer(str(held.tcp_dsn)) as port:
            yield Behind(straight, make_conninfo(straight, host="127.0.0.1", port=port))
    finally:
        held.release()


@contextmanager
def _bouncer(server: str) -> Iterator[int]:
    folder, port = Path(tempfile.mkdtemp(prefix="ltst-bouncer-", dir="/tmp")), free_port()
    reached = {name: given for name, given in conninfo_to_dict(server).items() if name != "dbname"}
    configuration = CONFIGURATION.format(server=make_conninfo(**reached), port=port, pool=POOL, folder=folder)
    (folder / "ini").write_text(configuration)
    command = [str(BOUNCER), "-q", str(folder / "ini")]
    if os.geteuid() == 0:  # as which it does not run
        shutil.chown(folder, "nobody")
        shutil.chown(folder / "ini", "nobody")
        command[1:1] = ["-u", "nobody"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await_port(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(folder)


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    pytest.fail("pgbouncer does not answer")
