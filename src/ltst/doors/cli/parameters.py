"""Converts a verb's arguments to arguments and options of a command, and parses values as people write them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import typer

if TYPE_CHECKING:
    from ltst.arguments import Argument

SPAN = re.compile(r"([0-9.]+) *([smhdw])")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
CONDITION = re.compile(r"(.+?)(>=|<=|=|>|<)(.*)", re.DOTALL)
RANGES = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt"}
WHERE = "where"
# The help of a JSON value that may expire.
VALUE_HELP = {
    "value": "JSON, or else a text; - reads it from standard input.",
    "ttl": "For how long: 90s, 15m, 12h, 30d.",
}
FLAGS = {"session_id": "--chat", "expires_at": "--expires"}  # options whose name differs from their argument's


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter of a function that Typer reads."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class ShellForm(NamedTuple):
    """How a value is written in a shell: its type for Typer, its name in the help, and its parser."""

    kind: Any
    metavar: str | None = None
    parser: Callable[[str], Any] | None = None
    words: Sequence[str] = ()  # completions that a shell offers


def taken(given: Argument, flag: str = "", about: str = "") -> inspect.Parameter:
    """Returns the parameter for a verb's argument: positional ones become arguments unless they have a flag."""
    kind, metavar, parser, words = _form(given)
    help = about or f"{given.about} {', '.join(words) + '.' if words else ''}".rstrip()
    completion = completing(*words) if words else None
    if given.positional and not flag:
        if reads_text(given) and not about:
            help = f"{help.removesuffix('.')}; - reads it from standard input."
        info = typer.Argument(metavar=metavar, help=help, parser=parser, autocompletion=completion)
    else:
        flag = flag or FLAGS.get(given.name) or f"--{given.name.replace('_', '-')}"
        info = typer.Option(flag, metavar=metavar, help=help, parser=parser, autocompletion=completion)
    if kind is bool:
        return parameter(given.name, Annotated[bool, info], False)
    default = inspect.Parameter.empty if given.needed else given.default
    return parameter(given.name, Annotated[kind | None if given.optional else kind, info], default)


def reads_text(given: Argument) -> bool:
    """Returns whether an argument is a text of any length, which may come from standard input."""
    from ltst.arguments import argument

    known = [given.letters, *(argument(given.name, each).letters for each in get_args(given.kind))]
    return given.positional and any(each is not None and each.most is None for each in known)


def _form(given: Argument) -> ShellForm:
    kind, origin, members = given.kind, get_origin(given.kind), get_args(given.kind)
    named = given.name.rpartition("_")[2].upper()
    if kind is datetime:
        return ShellForm(datetime, "TIME", moment)
    if timedelta in members:
        return ShellForm(timedelta, "TIME", span)
    if given.name == WHERE:
        return ShellForm(list[str], "CONDITION")
    if origin is Mapping:
        return ShellForm(dict[str, Any], "JSON", json_object)
    if origin is Iterable:
        from ltst.arguments import argument

        if argument(given.name, members[0]).kind is not str:
            return ShellForm(dict[str, Any], "JSON", json_list)
        choices = argument(given.name, members[0]).choices
        return ShellForm(list[str], named.removesuffix("S"), words=choices.words if choices else ())
    if kind in (int, float, bool):
        return ShellForm(kind, None if kind is bool else "N")
    long = given.letters is not None and given.letters.most is None and not given.positional
    parser = whole_or_text if {int, str} <= {*members} else None
    return ShellForm(str, "TEXT" if long else named, parser, given.choices.words if given.choices else ())


def completing(*known: str) -> Callable[[str], list[str]]:
    """Return what a shell offers where one of a few words is expected."""

    def complete(incomplete: str) -> list[str]:
        return [each for each in known if each.startswith(incomplete)]

    return complete


def moment(written: str) -> datetime:
    """Read a date or a time as people write it in ISO form; without a zone it is local."""
    try:
        return datetime.fromisoformat(written).astimezone()
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{written!r} is no date: write 2026-03-01 or 2026-03-01T09:30") from None


def span(written: str) -> timedelta:
    """Read a stretch of time as people write it: 90s, 15m, 12h, 30d, 2w; a bare number counts seconds."""
    found = SPAN.fullmatch(written.strip())
    try:
        return timedelta(seconds=float(found[1]) * UNITS[found[2]]) if found else timedelta(seconds=float(written))
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{written!r} is no stretch of time: write 90s, 15m, 12h, 30d or 2w") from None


def json_object(written: str) -> dict[str, Any]:
    """Read a JSON object, such as metadata."""
    found = json_or_text(written)
    if not isinstance(found, dict):
        raise typer.BadParameter('this is no JSON object: write {"topic": "food"}, in quotes for your shell')
    return found


def json_list(written: str) -> list[Any]:
    """Read a JSON list, such as a vector."""
    found = json_or_text(written)
    if not isinstance(found, list):
        raise typer.BadParameter("this is no JSON list: write [0.1, 0.2], in quotes for your shell")
    return found


def json_or_text(written: str) -> Any:
    """Return the value of what is JSON; everything else is text."""
    try:
        return json.loads(written, parse_constant=_refused)
    except (ValueError, RecursionError):
        return written


def whole_or_text(written: str | int) -> int | str:
    """Return a whole number if it is one."""
    return int(written) if str(written).isascii() and str(written).isdigit() else written


def _refused(constant: str) -> None:
    """Raises ValueError for NaN and Infinity, which Python's parser accepts but JSON does not have."""
    raise ValueError(constant)


def conditions(written: Sequence[str]) -> dict[str, Any]:
    """Return what `where` of a search takes: values that must be equal, and ranges."""
    wanted: dict[str, Any] = {}
    for each in written:
        found = CONDITION.fullmatch(each)
        if found is None:
            raise typer.BadParameter(f"{each!r} is no condition: write topic=food or 'price>=5'", param_hint="--where")
        key, sign, value = found[1].strip(), found[2], json_or_text(found[3])
        if sign == "=":
            wanted[key] = value
        elif isinstance(wanted.setdefault(key, {}), dict):
            wanted[key][RANGES[sign]] = value
        else:
            raise typer.BadParameter(f"{key} cannot be equal and in a range at once", param_hint="--where")
    return wanted
