"""The models of a memory: the embedder that it was given, or the one whose vectors the database holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ltst.db.pool import Database
from ltst.errors import Invalid, ModelUnavailable
from ltst.protocols import Embedder, Reranker
from ltst.records import Usage
from ltst.rooms import search
from ltst.support import validate
from ltst.support.logs import LOGGER

if TYPE_CHECKING:
    from ltst.providers.embedding import Embedding
    from ltst.providers.language import CountedModel


class Models:
    """Keeps the embedder at work, and changes it when the database's model has changed."""

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
        """Nothing is loaded before it is needed; the key is for an embedder that is asked over the network.

        Without an embedder, a database that has no model yet takes the one that `default` names.

        Of a long text, so many `parts` get a vector when the model is changed. A model of this process computes with so
        many `threads`.
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
        self._known: search.Model | None = None
        self._length = 0
        self._retired: list[Embedding] = []

    @property
    def known(self) -> search.Model | None:
        """The model of the database when it was last asked for; None before that."""
        return self._known

    async def embedding(self, database: Database, active: search.Model | None) -> Embedding:
        """Return the embedder of the model whose vectors the database holds; ModelUnavailable if it is not at hand.

        The first model that comes becomes the database's own.
        """
        from ltst.providers.embedding import Embedding

        model = active or await self._first(database)
        if self._embedding is None or self._known != model:
            made = Embedding(self._made(model))
            length = await made.dimensions()
            # The one before may be asked by a search that has begun: it is closed at the end. All three change at
            # once, since others ask meanwhile.
            self._retired += [self._embedding] if self._embedding else []
            self._embedding, self._known, self._length = made, model, length
        if self._length != model.dimensions:
            raise ModelUnavailable(
                f"{model.name!r} gives vectors of another length than those of that name in this database, "
                f"which have {model.dimensions} dimensions: it is another model and needs another name"
            )
        return self._embedding

    async def warm(self, database: Database) -> None:
        """Load the model that the first search will need; one that is asked over the network is let be.

        A database without a model stays so. What fails is told by the log, and by whoever needs the model.
        """
        from ltst.providers.warming import warmed

        try:
            active = await search.model(database.keeper())
            await warmed(self._chosen() if active is None else self._made(active))
        except Exception as problem:  # noqa: BLE001 - nothing is lost: the first search tries again
            LOGGER.warning("the embedding model is not loaded", extra={"reason": str(problem)})

    async def switch(
        self, database: Database, embedder: Embedder | str, progress: Callable[[int, int], None] | None
    ) -> int:
        """Change the model of the database to another, by name or as an embedder of the caller's own."""
        from ltst.indexing.switch import switch
        from ltst.providers.embedding import Embedding
        from ltst.providers.named import embedder_named, lasting

        if not isinstance(embedder, str):
            validate.implements(embedder, "embedder (or its name)", Embedder)
        source = lasting(embedder) if isinstance(embedder, str) else None
        chosen = embedder_named(embedder, self._api_key, self._threads) if isinstance(embedder, str) else embedder
        # Known before it is in use: a search may be the first to see the change.
        self._brought[_name(chosen)] = chosen
        embedding = Embedding(chosen)
        try:
            return await switch(database, embedding, source, self._parts, progress or (lambda done, total: None))
        finally:
            await embedding.close()

    def asked(self) -> Usage | None:
        """Return what the language model was asked since this was called last; None if nothing."""
        if self.language is None or self.language.usage == self._counted:
            return None
        now, before = self.language.usage, self._counted
        self._counted = now
        return _since(now, before) if before else now

    async def close(self) -> None:
        """Let go of the embedders."""
        for embedding in [*self._retired, self._embedding]:
            if embedding is not None:
                await embedding.close()
        self.forget()

    def forget(self) -> None:
        """Make embedders anew when they are next needed; in a forked child the threads of those before are missing."""
        self._embedding, self._retired = None, []

    async def _first(self, database: Database) -> search.Model:
        """Name the model of a database that has none yet; another process may have been faster."""
        from ltst.indexing.switch import adopt
        from ltst.providers.embedding import Embedding
        from ltst.providers.named import lasting

        chosen = self._chosen()
        source = None if self._given else lasting(self._default)
        dimensions = await Embedding(chosen).dimensions()
        await adopt(database, search.Model(chosen.name, dimensions, source))
        active = await search.model(database.keeper())
        assert active is not None, "one of those who named a model was the first"
        return active

    def _chosen(self) -> Embedder:
        """Return the embedder of a database that has no model yet."""
        from ltst.providers.named import embedder_named

        return self._given or embedder_named(self._default, self._api_key, self._threads)

    def _made(self, model: search.Model) -> Embedder:
        from ltst.providers.named import embedder_named

        if model.name in self._brought:
            return self._brought[model.name]
        if model.source is not None:
            try:
                return _same(embedder_named(model.source, self._api_key, self._threads), model)
            except Invalid as problem:  # what a folder holds may change; words are found without it
                raise ModelUnavailable(str(problem)) from problem
        raise ModelUnavailable(
            f"the vectors of this database are of the model {model.name!r}, which this program does not bring: "
            "give it as `embedder`, or change the database's model with `ltst embedder switch`"
        )


def _same(embedder: Embedder, model: search.Model) -> Embedder:
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
