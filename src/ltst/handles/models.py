"""The models of a memory: the embedder that it was given, or the one whose vectors the database holds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ltst.db.pool import Database
from ltst.errors import ModelUnavailable
from ltst.protocols import Embedder, Reranker
from ltst.rooms import search

if TYPE_CHECKING:
    from ltst.providers.embedding import Embedding

DEFAULT = "local"


class Models:
    """Keeps the embedder at work, and changes it when the database's model has changed."""

    def __init__(self, embedder: Embedder | None, reranker: Reranker | None, api_key: str | None = None) -> None:
        """Nothing is loaded before it is needed; the key is for an embedder that is asked over the network."""
        self.reranker = reranker
        self._api_key = api_key
        self._given = embedder
        self._embedding: Embedding | None = None

    async def embedding(self, database: Database, name: str | None, source: str | None) -> Embedding:
        """The embedder of the model whose vectors the database holds; ModelUnavailable if it is not at hand.

        The first model that comes becomes the database's own.
        """
        if name is None:
            name, source = await self._first(database)
        if self._embedding is None or self._embedding.name != name:
            await self.replace(self._made(name, source))
        assert self._embedding is not None
        return self._embedding

    async def replace(self, embedder: Embedder | None) -> None:
        """Work with another embedder from now on, or with none."""
        from ltst.providers.embedding import Embedding

        before, self._embedding = self._embedding, None if embedder is None else Embedding(embedder)
        if before is not None:
            await before.close()

    async def close(self) -> None:
        """Let go of the embedder."""
        if self._embedding is not None:
            await self.replace(None)

    async def _first(self, database: Database) -> tuple[str, str | None]:
        """Name the model of a database that has none yet; another process may have been faster."""
        from ltst.providers.named import embedder_named

        chosen = self._given or embedder_named(DEFAULT)
        source = None if self._given else DEFAULT
        dimensions = await asyncio.to_thread(lambda: chosen.dimensions)
        await search.add_model(database.keeper(), search.Model(chosen.name, dimensions, source))
        active = await search.model(database.keeper())
        assert active is not None, "one of those who named a model was the first"
        return active.name, active.source

    def _made(self, name: str, source: str | None) -> Embedder:
        from ltst.providers.named import embedder_named

        if self._given is not None and self._given.name == name:
            return self._given
        if self._given is None and source is not None:
            made = embedder_named(source, self._api_key)
            if made.name == name:
                return made
        raise ModelUnavailable(
            f"the vectors of this database are of the model {name!r}, which this program does not bring: "
            "give it as `embedder`, or change the database's model with `ltst embedder switch`"
        )
