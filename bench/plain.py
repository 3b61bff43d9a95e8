"""What one would write by hand to search: a plain table of texts and vectors, and pgvector asked for the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bench import bare

LIMIT = 10
SCHEMA = "bench"


class Plain:
    """A table with the texts of one user, the vectors that ltst stored for them, and an index on the user.

    With `hnsw` the vectors have one too, and the nearest are found by it; without they are found exactly.
    """

    def __init__(self, connection: bare.AsyncConnection, name: str, *, hnsw: bool) -> None:
        """Nothing is written yet."""
        self._connection, self._hnsw = connection, hnsw
        self.table = f"{SCHEMA}.{name}"
        self._query = (
            f"SELECT id, content FROM {self.table} WHERE user_id = %s ORDER BY embedding <=> %s::vector LIMIT {LIMIT}"
        ).encode()

    @property
    def name(self) -> str:
        """As the report names it."""
        return "pgvector, HNSW" if self._hnsw else "pgvector, exact"

    async def fill(self, user_id: str) -> None:
        """Write what ltst has of the user, and see that it is asked as it should be."""
        source, run = await bare.stored(self._connection), self._connection.execute
        await run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
        columns = "user_id text, id uuid, content text, embedding vector(384)"
        await run(f"CREATE TABLE {self.table} ({columns})".encode())
        copied = (
            f"INSERT INTO {self.table} SELECT user_id, id, content, stored.embedding::vector "
            f"FROM ({source}) AS stored JOIN conversation_messages ON message_id = id WHERE user_id = %(user)s"
        )
        await run(copied.encode(), {"user": user_id})
        await run(f"CREATE INDEX ON {self.table} (user_id)".encode())
        if self._hnsw:
            await self._index()
        await run(f"VACUUM (ANALYZE) {self.table}".encode())

    async def _index(self) -> None:
        """In memory, or it would take an hour."""
        await self._connection.execute(b"SET maintenance_work_mem = '1GB'")
        how = "USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 200)"
        await self._connection.execute(f"CREATE INDEX ON {self.table} {how}".encode())
        await self._connection.execute(b"RESET maintenance_work_mem")

    async def check(self, user_id: str, vector: str) -> None:
        """Refuse to go on where the server does not find the nearest in the way that is to be measured."""
        plan = await self._connection.execute(b"EXPLAIN " + self._query, (user_id, vector))
        told = "\n".join(line for (line,) in await plan.fetchall())
        by_index, compared = "embedding_idx" in told, "Sort" in told
        if (by_index, compared) != (self._hnsw, not self._hnsw):
            raise RuntimeError(f"{self.table} is not asked by {self.name}:\n{told}")

    async def nearest(self, user_id: str, vector: str) -> Sequence[bare.Row]:
        """The ten nearest texts, with their keys."""
        return await (await self._connection.execute(self._query, (user_id, vector))).fetchall()

    async def ids(self, user_id: str, vector: str) -> list[UUID]:
        """Their keys alone."""
        return [row[0] for row in await self.nearest(user_id, vector)]


def written(vector: NDArray[np.float32]) -> str:
    """A vector in the way that Postgres reads it."""
    return "[" + ",".join([f"{number:.8g}" for number in vector.tolist()]) + "]"
