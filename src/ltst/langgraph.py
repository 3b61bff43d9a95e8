"""LangGraph: a store that keeps its items as a user's items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ltst import adapters
from ltst.adapters import Ask, awaited, called, finished
from ltst.handles.items import MOST_OPERATIONS
from ltst.memory import AsyncUser
from ltst.records import Item
from ltst.sync import User

with adapters.needed("langgraph-checkpoint", "langgraph"):
    from langgraph.store import base
    from langgraph.store.base.batch import AsyncBatchedBaseStore

__all__ = ["AsyncLtstStore", "LtstStore"]

SECONDS = 60.0  # per minute, the unit of LangGraph's ttl
WHOLE = "$"
KINDS = ("prefix", "suffix")
# A label that cannot exist, because LangGraph allows no period.
NO_LABEL = "."


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of the caller's model for queries and for texts to store, by position of the operation."""

    queries: Mapping[int, Sequence[float]]
    texts: Mapping[int, Sequence[Sequence[float]]]


class _Items:
    """Shared by both stores: translates LangGraph's operations into those of items."""

    supports_ttl = True
    ttl_config: Any
    index_config: Any
    embeddings: Any

    def __init__(
        self, user: AsyncUser | User, *, index: Mapping[str, Any] | None = None, ttl: Mapping[str, Any] | None = None
    ) -> None:
        """Stores the data of a graph for this user.

        Queries use ltst's own index unless `index` names an embedding model, as for LangGraph's stores.
        """
        super().__init__()
        adapters.check_user(user)
        self._items: Any = user.items
        self.ttl_config = None if ttl is None else {**ttl}
        self.index_config = None if index is None else {**index}
        self.embeddings = None if index is None else base.ensure_embeddings(index.get("embed"))
        fields = (index or {}).get("fields") or [WHOLE]
        self._paths = [_path(each) for each in fields]

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Runs several operations at once."""
        return await self._performed(awaited, ops)

    async def _performed(self, ask: Ask, given: Iterable[Any]) -> list[Any]:
        """Runs the operations and returns their results: reads first, then puts, all of them or none."""
        ops = [*given]
        for op in ops:
            base.validate_op_namespace(op)
        results: list[Any] = [None] * len(ops)
        vectors = await self._embedded(ask, ops)
        order = sorted(range(len(ops)), key=lambda place: isinstance(ops[place], base.PutOp))
        kept = [place for place in order if not self._asks_ltst(ops[place])]
        for place in order:
            if self._asks_ltst(ops[place]):
                results[place] = await ask(self._items.search, **_question(ops[place]))
        for start in range(0, len(kept), MOST_OPERATIONS):
            places = kept[start : start + MOST_OPERATIONS]
            done = await ask(self._items.batch, [self._operation(ops[place], place, vectors) for place in places])
            for place, result in zip(places, done, strict=True):
                results[place] = result
        return [_in_langgraph(op, result) for op, result in zip(ops, results, strict=True)]

    def _asks_ltst(self, op: Any) -> bool:
        """Returns whether an operation is a query for ltst's own index."""
        return isinstance(op, base.SearchOp) and bool(op.query) and self.embeddings is None

    def _operation(self, op: Any, place: int, vectors: Embedded) -> dict[str, Any]:
        if isinstance(op, base.GetOp):
            return {"do": "get", **_name(op), "refresh": op.refresh_ttl}
        if isinstance(op, base.SearchOp):
            return {"do": "search", **_filtered(op), **self._nearest(vectors.queries.get(place))}
        if isinstance(op, base.ListNamespacesOp):
            return {"do": "list_namespaces", **_labels(op), "limit": op.limit, "offset": op.offset}
        if op.value is None:
            return {"do": "delete", **_name(op)}
        ttl = None if op.ttl is None else op.ttl * SECONDS
        return {"do": "put", **_name(op), "value": op.value, "ttl": ttl, **self._indexed(op, vectors.texts.get(place))}

    def _indexed(self, op: Any, vectors: Sequence[Any] | None) -> dict[str, Any]:
        """Returns what an item is found by: vectors of the caller's model, or fields in ltst's own index."""
        if self.embeddings is not None:
            return {"fields": [], "vectors": vectors or None}
        return {"fields": [] if op.index is False else op.index}

    def _nearest(self, vector: Sequence[float] | None) -> dict[str, Any]:
        if vector is None:
            return {}
        return {"vector": vector, "distance": self.index_config.get("distance_type", "cosine")}

    async def _embedded(self, ask: Ask, ops: Sequence[Any]) -> Embedded:
        if self.embeddings is None:
            return Embedded({}, {})
        model, awaits = self.embeddings, ask is awaited
        asked = {place: op.query for place, op in enumerate(ops) if isinstance(op, base.SearchOp) and op.query}
        queries = {
            place: await model.aembed_query(query) if awaits else model.embed_query(query)
            for place, query in asked.items()
        }
        texts = {place: [*self._texts(op)] for place, op in enumerate(ops) if isinstance(op, base.PutOp)}
        flat = [each for some in texts.values() for each in some]
        made = iter(await model.aembed_documents(flat) if awaits else model.embed_documents(flat)) if flat else iter(())
        return Embedded(queries, {place: [next(made) for _ in some] for place, some in texts.items()})

    def _texts(self, op: Any) -> Iterator[str]:
        """Yields the texts of a value that each get a vector."""
        if op.value is not None and op.index is not False:
            for path in self._paths if op.index is None else map(_path, op.index):
                yield from base.get_text_at_path(op.value, path)


class LtstStore(_Items, base.BaseStore):
    """A user's items as a LangGraph store; pass it to `compile` as `store`.

    With `Memory` it works with and without await; with `AsyncMemory`, only with await.
    """

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Runs several operations at once."""
        return finished(self._performed(called, ops))


class AsyncLtstStore(_Items, AsyncBatchedBaseStore):
    """The same store for one event loop: concurrent operations become one transaction.

    Create it while the loop is running. Other threads may call it without await.
    """


def _path(field: str) -> Any:
    """Returns a field as LangGraph's path; the whole value has no steps."""
    return field if field == WHOLE else base.tokenize_path(field)


def _name(op: Any) -> dict[str, Any]:
    return {"namespace": op.namespace, "key": op.key}


def _filtered(op: Any) -> dict[str, Any]:
    page = {"limit": op.limit, "offset": op.offset, "refresh": op.refresh_ttl}
    return {"namespace": op.namespace_prefix, "filter": op.filter or None, **page}


def _question(op: Any) -> dict[str, Any]:
    return {**_filtered(op), "query": op.query, "floor": 0.0}


def _labels(op: Any) -> dict[str, Any]:
    given = {kind: [each.path for each in op.match_conditions or () if each.match_type == kind] for kind in KINDS}
    suffix = [*reversed(_joined([[*reversed(path)] for path in given["suffix"]]))]
    return {"prefix": _joined(given["prefix"]), "suffix": suffix, "max_depth": op.max_depth}


def _joined(paths: Sequence[Sequence[str]]) -> list[str]:
    """Returns the labels that all of these paths require, position by position."""
    told = [{*labels} - {"*", None} for labels in zip_longest(*paths)]
    # A position cannot have two labels.
    return ["*" if not each else each.pop() if len(each) == 1 else NO_LABEL for each in told]


def _in_langgraph(op: Any, result: Any) -> Any:
    """Returns the result of an operation in LangGraph's form."""
    if isinstance(op, base.SearchOp):
        return [base.SearchItem(**_fields(item), score=item.score) for item in result]
    if isinstance(op, base.GetOp):
        return None if result is None else base.Item(**_fields(result))
    return result if isinstance(op, base.ListNamespacesOp) else None


def _fields(item: Item) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("namespace", "key", "value", "created_at", "updated_at")}
