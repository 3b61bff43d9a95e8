"""Items: JSON values under a namespace and a key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from ltst.db.pool import Executor
from ltst.errors import Conflict
from ltst.records import Item
from ltst.support import lossless

Namespace = tuple[str, ...]
MOST_AT_ONCE = 500  # items written by one statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemName:
    """Names an item. `expected` is the revision it must have; 0 means that it must not exist yet."""

    namespace: Namespace
    key: str
    expected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put(ItemName):
    """Stores an item, replacing an existing one. `value` is JSON; `content` is the text that search finds it by."""

    value: str
    content: str | None
    vectors: Sequence[str] | None
    ttl: timedelta | None

    @property
    def row(self) -> dict[str, Any]:
        """Returns the row as the query takes it."""
        return {
            "namespace": self.namespace,
            "key": self.key,
            "value": json.loads(self.value),
            "content": self.content,
            "vectors": self.vectors,
            "seconds": None if self.ttl is None else self.ttl.total_seconds(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Get(ItemName):
    """Reads an item; `refresh` restarts its time to live."""

    refresh: bool


class Delete(ItemName):
    """Removes an item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItems:
    """Lists the items below a namespace, ordered by namespace and key."""

    below: Namespace
    limit: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchItems(ListItems):
    """Lists the items below a namespace that meet conditions, the newest or the nearest first."""

    conditions: str
    vector: str | None
    distance: str
    refresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNamespaces:
    """Lists the namespaces that start with `prefix` and end with `suffix`."""

    prefix: Namespace
    suffix: Namespace
    max_depth: int | None
    limit: int
    offset: int


Operation = ItemName | ListItems | ListNamespaces


async def perform(tx: Executor, operations: Sequence[Operation]) -> list[Any]:
    """Performs the operations in order and returns one result for each."""
    if any(writes(each) for each in operations):
        await tx.value("items.lock")
    done: list[Any] = []
    for together in _grouped(operations):
        done += await _put(tx, together) if isinstance(together[0], Put) else [await _done(tx, together[0])]
    return done


async def read(tx: Executor, ids: Sequence[str], *, refresh: bool) -> dict[str, Item]:
    """Returns the unexpired items among these ids; `refresh` restarts their time to live."""
    found = {each.item_id: each for each in _items(await tx.dicts("items.read", ids=[*ids]))}
    return await _refreshed(tx, found) if refresh else found


def writes(operation: Operation) -> bool:
    """Returns whether an operation changes anything."""
    return isinstance(operation, Put | Delete) or getattr(operation, "refresh", False)


def _grouped(operations: Sequence[Operation]) -> Iterator[list[Any]]:
    """Groups operations: consecutive puts of different items without an expected revision share one statement."""
    group: list[Any] = []
    names: set[tuple[Namespace, str]] = set()
    for each in operations:
        plain = isinstance(each, Put) and each.expected is None
        name = (each.namespace, each.key) if isinstance(each, Put) else None
        if group and (not plain or name in names or len(group) == MOST_AT_ONCE):
            yield group
            group, names = [], set()
        if isinstance(each, Put) and plain:
            group.append(each)
            names.add((each.namespace, each.key))
        else:
            yield [each]
    if group:
        yield group


async def _put(tx: Executor, given: Sequence[Put]) -> list[Item]:
    await _expect(tx, given[0])
    rows = _items(await tx.dicts("items.put", rows=json.dumps([each.row for each in given], ensure_ascii=False)))
    kept = {(each.namespace, each.key): each for each in rows}
    return [kept[each.namespace, each.key] for each in given]


async def _done(tx: Executor, operation: Operation) -> Any:
    if isinstance(operation, Get):
        return await _get(tx, operation)
    if isinstance(operation, Delete):
        await _expect(tx, operation)
        return await tx.value("items.delete", namespace=[*operation.namespace], key=operation.key)
    asked = {name: [*value] if isinstance(value, tuple) else value for name, value in asdict(operation).items()}
    if isinstance(operation, ListNamespaces):
        return [tuple(each) for each in await tx.values("items.list_namespaces", **asked)]
    refresh = asked.pop("refresh", False)
    found = _items(await tx.dicts("items.search" if isinstance(operation, SearchItems) else "items.list", **asked))
    if not refresh:
        return found
    return [*(await _refreshed(tx, {each.item_id: each for each in found})).values()]


async def _get(tx: Executor, wanted: Get) -> Item | None:
    found = _items(await tx.dicts("items.get", namespace=[*wanted.namespace], key=wanted.key))
    known = {each.item_id: each for each in found}
    return next(iter((await _refreshed(tx, known) if wanted.refresh else known).values()), None)


async def _refreshed(tx: Executor, found: dict[str, Item]) -> dict[str, Item]:
    """Restarts the time to live of those items that have one."""
    rows = _items(await tx.dicts("items.refresh", ids=[*found])) if found else []
    again = {each.item_id: each.expires_at for each in rows}
    return {id: replace(each, expires_at=again.get(id, each.expires_at)) for id, each in found.items()}


async def _expect(tx: Executor, named: ItemName) -> None:
    """Raises Conflict if the item does not have the expected revision."""
    if named.expected is None:
        return
    held = await tx.value("items.revision", namespace=[*named.namespace], key=named.key) or 0
    if held != named.expected:
        has = f"has revision {held}" if held else "is not there"
        wanted = f"revision {named.expected}" if named.expected else "no such item"
        raise Conflict(f"the item {named.key!r} in {'/'.join(named.namespace)} {has}; {wanted} was expected")


def _items(rows: Iterable[dict[str, Any]]) -> list[Item]:
    return [Item(**{**row, "namespace": tuple(row["namespace"]), "value": lossless.read(row["value"])}) for row in rows]
