"""The suites on Citus: a server of several nodes in the place of the embedded one, where LTST_CITUS names a prefix."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from bench.citus import Cluster, distribute_new
from ltst.db import places

Connection = psycopg.Connection[tuple[Any, ...]]

PREFIX = os.environ.get("LTST_CITUS")
# What is made by hand is made in this place alone.
BY_HAND = "-csearch_path=ltst_place_{},ltst_node,public -ccitus.enable_ddl_propagation=off"
# The suites that look at tables by hand have everything in one place; the others have their users in several.
SHARDS = int(os.environ.get("LTST_CITUS_SHARDS", "4"))


class CitusServer:
    """What tests know of the embedded server, of a coordinator with its workers."""

    def __init__(self, cluster: Cluster) -> None:
        """Speak for a cluster that runs."""
        self._cluster = cluster
        self.dsn = cluster.coordinator.dsn()
        self.data_dir = cluster.coordinator.data
        self.nodes = tuple(node.dsn("postgres") for node in cluster.nodes)

    def join(self, name: str) -> None:
        """Let a database that is there on every node know of all nodes."""
        self._cluster.join(name)

    def make_template(self, name: str) -> None:
        """Distribute a database, and leave it alone so that it can be cloned on each node."""
        self._cluster.join(name)
        asyncio.run(distribute_new(self._cluster.coordinator.dsn(name), SHARDS))
        for node in self.nodes:
            with psycopg.connect(node, autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def by_hand(url: str) -> str:
    """Where statements by hand go: to the only place of a distributed database, or as everywhere else."""
    found = _places(url)
    return found[0] if len(found) == 1 else url


def in_places(connection: Connection) -> Iterator[Connection]:
    """The connection as it is; of a distributed database, one to each place."""
    found = _places(connection.info.dsn)
    if not found:
        yield connection
    for url in found:
        with psycopg.connect(url, autocommit=True) as placed:
            yield placed


def _places(url: str) -> list[str]:
    """How to reach the places of a distributed database; none of another one."""
    if not PREFIX:
        return []
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute(places.HAS_CITUS).fetchone() != (True,):
            return []
        found = connection.execute(places.STATEMENTS["places"].encode()).fetchall()
    return [
        make_conninfo(url, host=host, port=port, options=BY_HAND.format(shard)) for shard, _, _, host, port in found
    ]


def begun(folder: Path) -> tuple[Cluster, CitusServer]:
    """Start a cluster in a folder."""
    cluster = Cluster(folder, Path(str(PREFIX)))
    cluster.begin()
    return cluster, CitusServer(cluster)
