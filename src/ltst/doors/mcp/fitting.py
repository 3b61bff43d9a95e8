"""Fits answers into the size that clients accept: cuts long texts, and says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from ltst.errors import Invalid
from ltst.support.text import shortened

R = TypeVar("R")

# The official client reads events of at most one mebibyte; the rest is for the protocol's own data around an answer.
LARGEST = 1024 * 1024 - 16 * 1024
# Maximum lengths of texts, in characters, tried in turn until the answer fits; no id is longer than the last.
CUTS = (64 * 1024, 16 * 1024, 4 * 1024, 1024, 256)
CUT = "Texts longer than {longest:,} characters are cut here: the answer would be larger than clients take."
FEWER = "These are the first {shown:,} of {all:,}: with the others the answer would be larger than clients take."
TOO_MANY = "the answer is larger than clients take, which is one mebibyte: ask for fewer with limit"
TOO_LARGE = "this is larger than clients take, which is one mebibyte: write it into a file with `ltst export`"


def fitting(
    done: Any, made: Callable[[Any, str | None], R], size: Callable[[R], int], *, cut: bool = True, drop: bool = False
) -> R:
    """Returns an answer that fits, with a note on what was cut or dropped; raises Invalid if that is not enough."""
    for smaller, note in _attempts(done, cut, drop):
        answer = made(smaller, note)
        if size(answer) <= LARGEST:
            return answer
    raise Invalid(TOO_MANY if cut else TOO_LARGE)


def _attempts(done: Any, cut: bool, drop: bool) -> Iterator[tuple[Any, str | None]]:
    yield done, None
    for longest in CUTS if cut else ():
        yield with_short_texts(done, longest), CUT.format(longest=longest)
    if drop and isinstance(done, Mapping) and "items" in done:
        shown = len(done["items"])
        while (shown := shown // 2) > 0:
            fewer = {**done, "items": done["items"][:shown]}
            yield with_short_texts(fewer, CUTS[-1]), FEWER.format(shown=shown, all=len(done["items"]))


def with_short_texts(value: Any, longest: int) -> Any:
    """Return the value with all its texts cut, at any depth."""
    if isinstance(value, str):
        return shortened(value, longest)
    if isinstance(value, Mapping):
        return {name: with_short_texts(each, longest) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([with_short_texts(each, longest) for each in value])
    if isinstance(value, BaseModel):
        held = {name: getattr(value, name) for name in type(value).model_fields}
        return value.model_copy(update={name: with_short_texts(each, longest) for name, each in held.items()})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        return dataclasses.replace(value, **{name: with_short_texts(each, longest) for name, each in held.items()})
    return value
