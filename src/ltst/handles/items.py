"""Items of a user: JSON values under a namespace and a key."""

from __future__ import annotations

import builtins
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from ltst.arguments import (
    DISTANCES,
    Bounds,
    Content,
    Distance,
    Filters,
    Index,
    ItemKey,
    Letters,
    Limit,
    Namespace,
    Offset,
    Prefix,
    Revision,
    Score,
    Span,
    VectorOfAny,
)
from ltst.db.pool import Transaction
from ltst.errors import Invalid, shown
from ltst.handles import recall
from ltst.handles.desk import Desk, Handle
from ltst.records import Item
from ltst.rooms import events, items
from ltst.support import fields, lossless, validate

MOST_LABELS = 32
LONGEST_KEY = 1024
MOST_FIELDS = 100
MOST_VECTORS = 100
MOST_OPERATIONS = 10_000
LARGEST_FILTER = 100_000
LARGEST_REVISION = 2**53

Fields = Annotated[
    Iterable[Annotated[str, Letters(fields.LONGEST, pattern=fields.PATTERN)]] | None,
    Bounds(0, MOST_FIELDS),
    "Which fields of the value searches read: title, author.name, turns[*].text; all, if left out; none, if empty.",
]
Filter = Annotated[
    Mapping[str, Any] | None,
    'Conditions on fields: {"color": "red"} or {"price": {"$gte": 5}}; $eq $ne $gt $gte $lt $lte.',
]
Operations = Annotated[
    Iterable[Mapping[str, Any]],
    Bounds(1, MOST_OPERATIONS),
    'Each {"do": "put", …}, get, delete, list, search or list_namespaces, with the arguments of that verb.',
]
Refresh = Annotated[bool, "Whether what is read lives for its ttl again, from now on."]
Expected = Annotated[Revision | None, "Only if it has this revision; 0: only if there is none."]


class AsyncItems(Handle):
    """JSON values of a user under a namespace and a key, such as a program keeps them."""

    async def put(
        self,
        namespace: Namespace,
        key: ItemKey,
        value: Annotated[Any, "Any JSON value."],
        *,
        ttl: Annotated[Span | None, "How many seconds it lives; for good, if left out."] = None,
        fields: Fields = None,
        vectors: Annotated[
            Iterable[VectorOfAny] | None, Bounds(0, MOST_VECTORS), "Vectors of a model of yours."
        ] = None,
        revision: Expected = None,
    ) -> Item:
        """Keep a value under its namespace and key, in place of the one before; returns it with its revision."""
        given = items.Put(
            **_checked_name(namespace, key, revision),
            value=lossless.stored(value, "value", self._desk.settings.max_content_bytes),
            content=_searched(value, fields),
            vectors=None if vectors is None else _vectors(vectors),
            ttl=validate.duration(ttl, "ttl"),
        )
        return await self._done("items.put", given)  # type: ignore[no-any-return]

    async def get(self, namespace: Namespace, key: ItemKey, *, refresh: Refresh = False) -> Item | None:
        """Return an item, or None if there is none or it has expired."""
        wanted = items.Get(**_checked_name(namespace, key, None), refresh=validate.flag(refresh, "refresh"))
        return await self._done("items.get", wanted)  # type: ignore[no-any-return]

    async def delete(self, namespace: Namespace, key: ItemKey, *, revision: Expected = None) -> bool:
        """Remove an item; return whether there was one."""
        return await self._done("items.delete", items.Delete(**_checked_name(namespace, key, revision))) is not None

    async def list(self, namespace: Prefix = (), *, limit: Limit = 100, offset: Offset = 0) -> builtins.list[Item]:
        """Return the items in a namespace and below it, by namespace and key."""
        below = _labels(namespace, "namespace", least=0)
        wanted = items.ListItems(below=below, limit=validate.limit(limit), offset=validate.offset(offset))
        return await self._done("items.list", wanted)  # type: ignore[no-any-return]

    async def list_namespaces(
        self,
        prefix: Annotated[Prefix, "Only those that begin with these labels; * stands for any one."] = (),
        *,
        suffix: Annotated[Prefix, "Only those that end with these labels; * stands for any one."] = (),
        max_depth: Annotated[
            Index | None, "How many labels are told of each; those that are alike then are one."
        ] = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> builtins.list[tuple[str, ...]]:
        """Return the namespaces that hold items, in order."""
        wanted = items.ListNamespaces(
            prefix=_labels(prefix, "prefix", least=0),
            suffix=_labels(suffix, "suffix", least=0),
            max_depth=None if max_depth is None else validate.limit(max_depth, "max_depth", validate.LARGEST_INTEGER),
            limit=validate.limit(limit),
            offset=validate.offset(offset),
        )
        return await self._done("items.list_namespaces", wanted)  # type: ignore[no-any-return]

    async def search(
        self,
        namespace: Prefix = (),
        query: Annotated[Content | None, "What to look for by meaning and words; the newest, if left out."] = None,
        *,
        filter: Filter = None,
        vector: Annotated[
            VectorOfAny | None, "A vector of your model to compare theirs with, instead of a query."
        ] = None,
        distance: Distance = "cosine",
        floor: Annotated[Score | None, "The least relevance, from 0 to 1, of the best that a query finds."] = None,
        refresh: Refresh = False,
        limit: Limit = 10,
        offset: Offset = 0,
    ) -> builtins.list[Item]:
        """Return items in a namespace and below it that meet a filter, the best first, with scores if compared."""
        wanted = items.SearchItems(
            below=_labels(namespace, "namespace", least=0),
            conditions=_conditions(filter),
            vector=None if vector is None else _vector(vector),
            distance=validate.choice(distance, "distance", DISTANCES),
            refresh=validate.flag(refresh, "refresh"),
            limit=validate.limit(limit),
            offset=validate.offset(offset),
        )
        if query is None:
            return await self._done("items.search", wanted)  # type: ignore[no-any-return]
        if vector is not None:
            raise Invalid("give query or vector, not both")
        least = None if floor is None else validate.score(floor, "floor")
        return await self._recalled(self._desk.content(query, "query"), wanted, least)

    async def batch(self, operations: Operations) -> builtins.list[Any]:
        """Do several things one after another, all or none; returns what each comes to, in order.

        A search in it has no query: what was put right before cannot be found by its meaning yet.
        """
        gathering = _Gathering(self._desk)
        for place, each in enumerate(_as_list(operations, "operations"), start=1):
            await gathering.add(place, each)
        checked = gathering.operations
        if not 1 <= len(checked) <= MOST_OPERATIONS:
            raise Invalid(f"operations must be 1 to {MOST_OPERATIONS:,}, not {len(checked):,}")
        done = await self._performed("items.batch", checked)
        return [
            result is not None if isinstance(each, items.Delete) else result
            for each, result in zip(checked, done, strict=True)
        ]

    async def _done(self, name: str, operation: items.Operation) -> Any:
        (done,) = await self._performed(name, [operation])
        return done

    async def _performed(self, name: str, operations: builtins.list[items.Operation]) -> builtins.list[Any]:
        if len(operations) == 1 and not items.writes(operations[0]):
            async with self._desk.reading(name) as calls:
                return await items.perform(calls, operations)
        async with self._desk.writing(name) as tx:
            done = await items.perform(tx, operations)
            await self._tell(tx, operations, done)
        return done

    async def _tell(
        self, tx: Transaction, operations: builtins.list[items.Operation], done: builtins.list[Any]
    ) -> None:
        """Records in the ledger what was put and deleted."""
        told = [
            events.NewEvent("put", "item", result.item_id, {"revision": result.revision})
            if isinstance(each, items.Put)
            else events.NewEvent("delete", "item", result, {})
            for each, result in zip(operations, done, strict=True)
            if isinstance(each, items.Put | items.Delete) and result is not None
        ]
        await events.add_many(tx, self._desk.settings.actor, told)

    async def _recalled(self, query: str, wanted: items.SearchItems, floor: float | None) -> builtins.list[Item]:
        """Returns the items that a search of the index finds, with their scores."""
        chosen = json.dumps({"namespace": wanted.below, "conditions": json.loads(wanted.conditions)})
        filters = Filters(kinds=("item",), items=chosen)
        asked = recall.Search(query, None, filters, wanted.limit, floor, wanted.offset)
        scores = {hit.id: hit.score for hit in await recall.find(self._desk, asked)}
        if not scores:
            return []
        way = self._desk.writing if wanted.refresh else self._desk.reading
        async with way("items.search") as calls:
            found = await items.read(calls, [*scores], refresh=wanted.refresh)
        return [replace(found[id], score=score) for id, score in scores.items() if id in found]


class _Gathering(AsyncItems):
    """Validates the operations of a batch with the checks of the single methods, and collects them."""

    VERBS = ("put", "get", "delete", "list", "search", "list_namespaces")

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.operations: builtins.list[items.Operation] = []

    async def add(self, place: int, given: object) -> None:
        """Collects an operation; raises Invalid with its position."""
        if not isinstance(given, Mapping) or given.get("do") not in self.VERBS:
            raise Invalid(f'operation {place} must be an object with "do": {", ".join(self.VERBS)}')
        verb = getattr(self, given["do"])
        asked = {name: value for name, value in given.items() if name != "do"}
        try:
            inspect.signature(verb).bind(**asked)
        except TypeError as problem:
            raise Invalid(f"operation {place}: {given['do']}: {problem}") from None
        try:
            await verb(**asked)
        except Invalid as problem:
            raise Invalid(f"operation {place}: {problem}") from None

    async def _done(self, name: str, operation: items.Operation) -> Any:
        self.operations.append(operation)

    async def _recalled(self, query: str, wanted: items.SearchItems, floor: float | None) -> builtins.list[Item]:
        raise Invalid("a search in a batch has no query")


def _checked_name(namespace: object, key: object, revision: object) -> dict[str, Any]:
    """Returns the validated name of an item and the revision it should have."""
    if revision is not None and (
        not isinstance(revision, int) or isinstance(revision, bool) or not 0 <= revision <= LARGEST_REVISION
    ):
        raise Invalid(f"revision must be a whole number from 0, which means that there is none, not {shown(revision)}")
    return {
        "namespace": _labels(namespace, "namespace", least=1),
        "key": validate.identifier(key, "key", LONGEST_KEY),
        "expected": revision,
    }


def _labels(given: object, what: str, *, least: int) -> items.Namespace:
    """Returns the validated labels of a namespace."""
    listed = _as_list(given, what)
    if not least <= len(listed) <= MOST_LABELS:
        raise Invalid(f"{what} must have {least} to {MOST_LABELS} labels, not {len(listed)}")
    return tuple(validate.identifier(each, f"each label of {what}") for each in listed)


def _as_list(given: object, what: str) -> builtins.list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise Invalid(f"{what} must be a list, not {shown(given)}")
    return [*given]


def _searched(value: object, chosen: object) -> str | None:
    """Returns the text that searches find a value by."""
    if chosen is None:
        return fields.text(value, None)
    listed = _as_list(chosen, "fields")
    if len(listed) > MOST_FIELDS:
        raise Invalid(f"fields may name up to {MOST_FIELDS} fields, not {len(listed)}")
    return fields.text(value, [fields.parsed(each) for each in listed])


def _conditions(wanted: object) -> str:
    """Returns a filter's conditions as JSON for the database."""
    return lossless.stored([] if wanted is None else [*fields.conditions(wanted)], "filter", LARGEST_FILTER)


def _vectors(given: object) -> builtins.list[str]:
    listed = _as_list(given, "vectors")
    if len(listed) > MOST_VECTORS:
        raise Invalid(f"vectors may be up to {MOST_VECTORS}, not {len(listed)}")
    return [_vector(each) for each in listed]


def _vector(given: object) -> str:
    """Returns a vector as text for the database."""
    return json.dumps(validate.vector(given, "a vector"))
