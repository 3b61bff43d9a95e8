"""The suites on Citus: a server of several nodes in the place of the embedded one, where LTST_CITUS names a prefix."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psycopg

from bench.citus import Cluster, distribute_new

PREFIX = os.environ.get("LTST_CITUS")
SHARDS = 4


class CitusServer:
    """What tests know of the embedded server, of a coordinator with its workers."""

    def __init__(self, cluster: Cluster) -> None:
        """Speak for a cluster that runs."""
        self._cluster = cluster
        self.dsn = cluster.coordinator.dsn()
        self.data_dir = cluster.coordinator.data
        self.nodes = tuple(node.dsn("postgres") for node in cluster.nodes)

    def make_template(self, name: str) -> None:
        """Distribute a database, and leave it alone so that it can be cloned on each node."""
        self._cluster.join(name)
        asyncio.run(distribute_new(self._cluster.coordinator.dsn(name), SHARDS))
        for node in self.nodes:
            with psycopg.connect(node, autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def begun(folder: Path) -> tuple[Cluster, CitusServer]:
    """Start a cluster in a folder."""
    cluster = Cluster(folder, Path(str(PREFIX)))
    cluster.begin()
    return cluster, CitusServer(cluster)
