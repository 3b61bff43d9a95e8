"""The models of a memory: the embedder it was given, or the one whose vectors are in the database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ltst.db.pool import Database
from ltst.errors import Invalid, ModelUnavailable
from ltst.protocols import Embedder, Reranker
from ltst.records import Usage
from ltst.rooms import models
from ltst.support import validate
from ltst.support.logs import LOGGER

if TYPE_CHECKING:
    from ltst.providers.embedding import Embedding
    from ltst.providers.language import CountedModel


class Models:
    """Holds the current embedder, and replaces it when the database's model has changed."""

    def __init__(
        self,
        embedder: Embedder | None,
        reranker: Reranker | None,
        api_key: str | None = None,
        language: CountedModel | None = None,
        *,
        default: str,
        parts: int,
        threads: int | None = None,
    ) -> None:
        """Loads nothing until it is needed; `api_key` is for an embedder that is called over the network.

        Without an embedder, a database that has no model yet gets the one that `default` names. `parts` limits how many
        parts of a long text get a vector when the model is switched; a local model uses `threads` threads.
        """
        for given, what, protocol in ((embedder, "embedder", Embedder), (reranker, "reranker", Reranker)):
            if given is not None:
                validate.implements(given, what, protocol)
        self.reranker = reranker
        self.language = language
        self._counted: Usage | None = None if language is None else language.usage
        self._api_key = api_key
        self._default = default
        self._parts = parts
        self._threads = threads
        self._given = embedder
        self._brought = {} if embedder is None else {_name(embedder): embedder}
        self._embedding: Embedding | None = None
        self._known: models.Model | None = None
        self._length = 0
        self._retired: list[Embedding] = []

    @property
    def known(self) -> models.Model | None:
        """The database's model when it was last read; None before that."""
        return self._known

    async def embedding(self, database: Database, active: models.Model | None) -> Embedding:
        """Returns the embedder for the database's model; raises ModelUnavailable if it is not available.

        A database without a model takes the first one that is used.
        """
        from ltst.providers.embedding import Embedding

        model = active or await self._first(database)
        if self._embedding is None or self._known != model:
            made = Embedding(self._made(model))
            length = await made.dimensions()
            # A running search may still use the previous one, so it is closed at the end. All three change together
            # because others read them in between.
            self._retired += [self._embedding] if self._embedding else []
            self._embedding, self._known, self._length = made, model, length
        if self._length != model.dimensions:
            raise ModelUnavailable(
                f"{model.name!r} gives vectors of another length than those of that name in this database, "
                f"which have {model.dimensions} dimensions: it is another model and needs another name"
            )
        return self._embedding

    async def warm(self, database: Database) -> None:
        """Loads the model that the first search will need, unless it is called over the network.

        Does not give a model to a database without one. A failure is logged, and raised again when the model is needed.
        """
        from ltst.providers.warming import warmed

        try:
            active = await models.get(database.keeper())
            await warmed(self._chosen() if active is None else self._made(active))
        except Exception as problem:  # noqa: BLE001 - nothing is lost: the first search tries again
            LOGGER.warning("the embedding model is not loaded", extra={"reason": str(problem)})

    async def switch(
        self, database: Database, embedder: Embedder | str, progress: Callable[[int, int], None] | None
    ) -> int:
        """Switches the database to another model, by name or as an embedder; returns how many rows got a vector."""
        from ltst.indexing.switch import switch
        from ltst.providers.embedding import Embedding
        from ltst.providers.named import embedder_named, lasting

        if not isinstance(embedder, str):
            validate.implements(embedder, "embedder (or its name)", Embedder)
        source = lasting(embedder) if isinstance(embedder, str) else None
        chosen = embedder_named(embedder, self._api_key, self._threads) if isinstance(embedder, str) else embedder
        # Registered first because a search may notice the switch before this call returns.
        self._brought[_name(chosen)] = chosen
        embedding = Embedding(chosen)
        try:
            return await switch(database, embedding, source, self._parts, progress or (lambda done, total: None))
        finally:
            await embedding.close()

    def asked(self) -> Usage | None:
        """Returns the language model's usage since the last call; None if there was none."""
        if self.language is None or self.language.usage == self._counted:
            return None
        now, before = self.language.usage, self._counted
        self._counted = now
        return _since(now, before) if before else now

    async def close(self) -> None:
        """Closes the embedders."""
        for embedding in [*self._retired, self._embedding]:
            if embedding is not None:
                await embedding.close()
        self.forget()

    def forget(self) -> None:
        """Drops the embedders so that they are created again; a forked child lacks their threads."""
        self._embedding, self._retired = None, []

    async def _first(self, database: Database) -> models.Model:
        """Gives a model to a database that has none, and returns it; another process may be faster with its own."""
        from ltst.indexing.switch import adopt
        from ltst.providers.embedding import Embedding
        from ltst.providers.named import lasting

        chosen = self._chosen()
        source = None if self._given else lasting(self._default)
        dimensions = await Embedding(chosen).dimensions()
        await adopt(database, models.Model(chosen.name, dimensions, source))
        active = await models.get(database.keeper())
        assert active is not None, "one of those who named a model was the first"
        return active

    def _chosen(self) -> Embedder:
        """Returns the embedder for a database that has no model yet."""
        from ltst.providers.named import embedder_named

        return self._given or embedder_named(self._default, self._api_key, self._threads)

    def _made(self, model: models.Model) -> Embedder:
        from ltst.providers.named import embedder_named

        if model.name in self._brought:
            return self._brought[model.name]
        if model.source is not None:
            try:
                return _same(embedder_named(model.source, self._api_key, self._threads), model)
            except Invalid as problem:  # a folder's contents may change; searches by words still work
                raise ModelUnavailable(str(problem)) from problem
        raise ModelUnavailable(
            f"the vectors of this database are of the model {model.name!r}, which this program does not bring: "
            "give it as `embedder`, or change the database's model with `ltst embedder switch`"
        )


def _same(embedder: Embedder, model: models.Model) -> Embedder:
    if embedder.name != model.name:
        raise ModelUnavailable(
            f"{model.source} gives the vectors of {embedder.name!r} now, and those of this database are of "
            f"{model.name!r}: bring that back, or change the database's model with `ltst embedder switch`"
        )
    return embedder


def _name(embedder: Embedder) -> str:
    return validate.identifier(embedder.name, "the name of the embedder")


def _since(now: Usage, before: Usage) -> Usage:
    counted = ("calls", "failures", "input_tokens", "output_tokens", "seconds")
    spent = {name: getattr(now, name) - getattr(before, name) for name in counted}
    return replace(now, **spent, cost=None if now.cost is None else now.cost - (before.cost or 0.0))
