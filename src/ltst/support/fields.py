"""Fields of a JSON value: the texts at chosen paths, and conditions on the values there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ltst.errors import Invalid, shown

NAME, PLACE = r"[^.\[\]]+", r"\[(?:\*|-?[0-9]{1,9})\]"
PATTERN = rf"^(?:{NAME}|{PLACE})(?:\.{NAME}|{PLACE})*$"
PATH = re.compile(PATTERN)
STEP = re.compile(r"\.?([^.\[\]]+)|\[(\*|-?[0-9]{1,9})\]")
LONGEST = 1000
WHOLE = "$"
COMPARISONS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")

Path = tuple[str | int | None, ...]  # field names, list indexes, None for every item of a list
Condition = tuple[list[str], str, Any]


def parsed(path: object) -> Path:
    """Returns the steps of a path such as `profile.name`, `turns[0].text`, `turns[*].text`, or `$` for the whole."""
    if path == WHOLE:
        return ()
    if not isinstance(path, str) or len(path) > LONGEST or not PATH.fullmatch(path):
        raise Invalid(f"a field is a path such as title, author.name, turns[0] or turns[*].text, not {shown(path)}")
    steps = STEP.finditer(path)
    return tuple(each[1] or (None if each[2] == "*" else int(each[2])) for each in steps)


def text(value: Any, paths: Iterable[Path] | None) -> str | None:
    """Returns the texts at these paths, a line each; of the whole value, each after its name. None if there is none."""
    chosen = [(found, "") for path in paths for found in _at(value, path)] if paths is not None else [(value, "")]
    lines = [line for found, name in chosen for line in _lines(found, name)]
    return "\n".join(lines).replace("\x00", " ").strip() or None


def conditions(wanted: object, path: Sequence[str] = ()) -> Iterator[Condition]:
    """Yields the conditions of a filter: {"color": "red"}, {"price": {"$gte": 5}} or {"author": {"name": "Ana"}}."""
    if not isinstance(wanted, Mapping) or not all(isinstance(key, str) for key in wanted):
        raise Invalid('filter must be an object such as {"color": "red"} or {"price": {"$gte": 5}}')
    for key, value in wanted.items():
        if key.startswith("$"):
            yield [*path], _comparison(key, path), value
        elif isinstance(value, Mapping) and value:
            yield from conditions(value, (*path, key))
        else:
            yield [*path, key], "$eq", value


def _comparison(written: str, path: Sequence[str]) -> str:
    if written not in COMPARISONS or not path:
        raise Invalid(f"filter compares a field by {', '.join(COMPARISONS)}, not {shown(written)}")
    return written


def _at(value: Any, path: Path) -> Iterator[Any]:
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if step is None:
        for each in value if isinstance(value, list | tuple) else ():
            yield from _at(each, rest)
    elif isinstance(step, int):
        if isinstance(value, list | tuple) and -len(value) <= step < len(value):
            yield from _at(value[step], rest)
    elif isinstance(value, Mapping) and step in value:
        yield from _at(value[step], rest)


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _lines(each, str(key))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _lines(each, name)
    elif isinstance(value, str | int | float) and str(value).strip():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield f"{name}: {text}" if name else text
