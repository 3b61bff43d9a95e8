"""Verbs that a door has as the catalog says: called by the names and arguments of the handles, read back as records."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Awaitable, Callable, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import TypeAdapter

import ltst
from ltst.records import Item
from ltst.support import lossless
from ltst.verbs.catalog import VERBS
from ltst.verbs.verb import Verb

PLAIN = {each.does.__qualname__: each for verbs in VERBS.values() for each in verbs if " /api/" not in each.http}
Call = Callable[[Verb, dict[str, Any]], Awaitable[Any]]
Record = Callable[[Any, Any], Any]


NOUNS = (
    *("sessions", "facts", "statements", "preferences", "instructions"),
    *("entries", "documents", "items", "retention", "learning", "events"),
)


class PlainUser:
    """A user with the handles of a door, which are called by its prefix and the noun."""

    def __init__(self, line: Any, known: Mapping[str, Any], prefix: str) -> None:
        self._line, self.user_id = line, line.user_id
        self._chat = known[f"{prefix}Chat"]
        for noun in NOUNS:
            setattr(self, noun, known[f"{prefix}{noun.capitalize()}"](line))

    def chat(self, session_id: str | None = None, *, agent: str | None = None, name: str | None = None) -> Any:
        return self._chat(self._line, session_id or uuid.uuid4().hex, agent, name)


def told_item(kind: Any, value: Any) -> Any:
    """An item, a namespace, or whether there was one, from its JSON."""
    if isinstance(value, bool | None):
        return value
    if kind is not Item:
        return tuple(value["namespace"] if isinstance(value, Mapping) else value)
    return TypeAdapter(Item).validate_python({**value, "value": lossless.received(value["value"])})


def told_result(value: Any) -> Any:
    """What came of an operation of a batch, from its JSON."""
    if isinstance(value, list):
        return [told_result(tuple(each) if isinstance(each, list) else each) for each in value]
    return told_item(Item if isinstance(value, Mapping) and "item_id" in value else tuple, value)


def sent_operations(operations: Any) -> list[Any]:
    """The operations of a batch, as JSON has them."""
    return [{**each, "value": lossless.sent(each["value"])} if "value" in each else dict(each) for each in operations]


class Plain:
    """A handle whose verbs are those of one of ltst's own; what a class that is derived from it defines goes before."""

    def __init__(self, owner: type, call: Call, record: Record) -> None:
        self._owner, self._call, self._record = owner, call, record

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        verb = PLAIN.get(f"{self._owner.__name__}.{name}")
        if name.startswith("_") or verb is None:
            raise AttributeError(name)

        async def asked(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(verb.does).bind(self, *args, **kwargs)
            given = {key: value for key, value in bound.arguments.items() if key not in ("self", "filters")}
            return await self._answered(verb, {**given, **bound.arguments.get("filters", {})})

        return asked

    async def _answered(self, verb: Verb, given: dict[str, Any]) -> Any:
        returned = verb.returns
        optional = get_origin(returned) in (Union, UnionType)
        if optional:
            returned = next(each for each in get_args(returned) if each is not type(None))
        try:
            answer = await self._call(verb, given)
        except ltst.NotFound:
            if optional:
                return None
            raise
        if verb.counts:
            return answer[verb.counts]
        if get_origin(returned) is list:
            return [self._record(get_args(returned)[0], each) for each in answer["items"]]
        if returned is type(None):
            return None
        return answer if get_origin(returned) is dict else self._record(returned, answer)
