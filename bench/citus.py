"""A coordinator and workers of Citus on this machine, made with the programs of a Postgres that has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from bench.nodes import NAME, Node, fail_over
from ltst import Settings
from ltst.db import distribute, migrate
from ltst.db.opening import Connected

SETTINGS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": "300",
    "max_prepared_transactions": "300",
    "max_worker_processes": "64",
    "max_replication_slots": "32",
    "citus.enable_statistics_collection": "off",
}


class Cluster:
    """Several servers, of which the first is the coordinator."""

    def __init__(self, folder: Path, prefix: Path, workers: int = 2) -> None:
        """Choose places and ports; nothing runs yet."""
        names = ["coordinator", *(f"worker{number}" for number in range(1, workers + 1))]
        self.nodes = [Node(folder / name, prefix=prefix, **SETTINGS) for name in names]
        self._make_standby = partial(Node, folder / "standby", prefix=prefix, **SETTINGS)
        self._standby: Node | None = None

    @property
    def coordinator(self) -> Node:
        """The node that programs are told of."""
        return self.nodes[0]

    @property
    def workers(self) -> list[Node]:
        """The nodes that hold rows."""
        return self.nodes[1:]

    def begin(self) -> None:
        """Make empty servers and start them."""
        for node in self.nodes:
            node.begin()

    def join(self, database: str = NAME) -> None:
        """Let a database that is there on every node know of all nodes."""
        for node in self.nodes:
            _run(node, database, "CREATE EXTENSION citus", "CREATE EXTENSION IF NOT EXISTS vector")
        host = "127.0.0.1"
        adding = [f"SELECT citus_add_node('{host}', {node.port})" for node in self.workers]
        _run(
            self.coordinator, database, f"SELECT citus_set_coordinator_host('{host}', {self.coordinator.port})", *adding
        )

    def follow(self) -> None:
        """Give the last worker a standby, and acknowledge from now on what both have."""
        self._standby = self._make_standby()
        self._standby.follow(self.nodes[-1])
        self.nodes[-1].wait_for(self._standby)

    def fail_over(self) -> None:
        """Kill the last worker, let its standby take its place, and make it the standby of that."""
        lost, standby = self.nodes[-1], self._standby
        assert standby is not None, "nobody follows: call follow first"
        moved = f"SELECT citus_update_node(nodeid, '127.0.0.1', {standby.port}) FROM pg_dist_node"
        tell = partial(_run, self.coordinator, NAME, f"{moved} WHERE nodeport = {lost.port}")
        fail_over(lost, standby, promoted=tell)
        self.nodes[-1], self._standby = standby, lost

    def kill(self) -> None:
        """End everything."""
        for node in (*self.nodes, self._standby):
            if node is not None:
                node.kill()


async def distribute_new(url: str, shards: int) -> None:
    """Make the schema in an empty database, and distribute it."""
    async with Connected(Settings(database_url=url)) as database:
        await migrate.migrate(database)
        await distribute.distribute(database, shards)


@contextmanager
def running(prefix: Path, folder: Path | None = None) -> Iterator[Cluster]:
    """A cluster for the time of a block, whose database is empty and knows of all nodes."""
    with TemporaryDirectory(prefix="ltst-citus-", dir=folder) as place:
        cluster = Cluster(Path(place), prefix)
        try:
            cluster.begin()
            cluster.join()
            yield cluster
        finally:
            cluster.kill()


def _run(node: Node, database: str, *statements: str) -> None:
    with psycopg.connect(node.dsn(database), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
