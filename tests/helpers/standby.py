"""The suites with a standby that answers the reads: a primary and its follower in the place of the embedded server."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from bench.nodes import Node
from helpers.waiting import PATIENCE

WANTED = bool(os.environ.get("LTST_STANDBY"))
BEHIND = "SELECT pg_last_wal_replay_lsn() < %s::pg_lsn"


class FollowedServer:
    """What tests know of the embedded server, of a primary with its standby."""

    def __init__(self, folder: Path) -> None:
        """Start both."""
        self._primary, self._follower = (Node(folder / name, fsync="off") for name in ("primary", "follower"))
        self._primary.begin()
        self._follower.follow(self._primary)
        self._primary.wait_for(self._follower)
        self.dsn = self._primary.dsn()
        self.data_dir = self._primary.data

    def read_url(self, url: str) -> str:
        """How to reach a database on the standby, once it is there."""
        with psycopg.connect(url) as primary, psycopg.connect(self._follower.dsn("postgres"), autocommit=True) as other:
            (reached,) = primary.execute("SELECT pg_current_wal_insert_lsn()").fetchone() or ("",)
            deadline = time.monotonic() + PATIENCE
            while other.execute(BEHIND, (reached,)).fetchone() == (True,):
                assert time.monotonic() < deadline, "the standby does not follow"
                time.sleep(0.02)
        return make_conninfo(url, port=self._follower.port)

    def kill(self) -> None:
        """End both."""
        self._follower.kill()
        self._primary.kill()
