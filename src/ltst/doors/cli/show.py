"""Prints records as tables for people or as JSON for programs; hints and errors go to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from shutil import get_terminal_size
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

# Rich is imported only where something is drawn: --json and --version do not need it.
if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

Column = str | Callable[[Any], Any]
Columns = Mapping[str, Column]

PIPED_WIDTH = 160
ROLE_STYLES = {"human": "cyan", "ai": "green", "system": "magenta", "tool": "yellow"}
STATE_STYLES = {
    "ok": "green",
    "applied": "green",
    "active": "green",
    "warning": "yellow",
    "pending": "yellow",
    "archived": "yellow",
    "error": "red",
    "changed": "red",
    "unknown": "red",
}
# All control characters except line feed and tab: stored text must not move the cursor, colour the reader's terminal
# or reverse the text beside it, as direction overrides do.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
INTERRUPTED = "Interrupted. What was written is kept, and the same command goes on from there."


def out() -> Console:
    """Return a console on standard output, wide if it is not a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else get_terminal_size((PIPED_WIDTH, 0)).columns  # COLUMNS, if set
    return Console(highlight=False, width=width)


def err() -> Console:
    """Return a console on standard error, which keeps standard output clean."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str, style: str = "") -> None:
    """Print one sentence."""
    out().print(plain(text, style), soft_wrap=True)


def hint(text: str) -> None:
    """Print a sentence on standard error, beside the data."""
    err().print(plain(text, "dim"), soft_wrap=True)


def notes(lines: Iterable[str]) -> None:
    """Print what was left out, one line each, on standard error."""
    for each in lines:
        hint(f"Note: {each}")


def problem(error: Exception, as_json: bool = False) -> None:
    """Print an error: in red for people, as an object that names its type for programs."""
    if as_json:
        fault(type(error).__name__, str(error))
    else:
        err().print(plain(f"error: {error}", "red"), soft_wrap=True)


def fault(kind: str, message: str) -> None:
    """Print an error as a JSON object."""
    error = {"error": {"type": kind, "message": message}}
    sys.stderr.write(json.dumps(error, ensure_ascii=False) + "\n")


def mute() -> None:
    """Discard all further output, including what is still buffered: nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show a spinner and a clock during work that cannot be counted, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # late: only for terminals

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        bar.add_task(plain(f"{text}…").markup)
        yield


@contextmanager
def progress(text: str) -> Iterator[Callable[[int, int], None]]:
    """Shows a progress bar, if standard error is a terminal, and yields the function to report progress to.

    Work with progress is written piece by piece; whoever interrupts it is told that it can be continued.
    """
    try:
        with _bar(text) as report:
            yield report
    except KeyboardInterrupt:
        hint(INTERRUPTED)
        raise


@contextmanager
def _bar(text: str) -> Iterator[Callable[[int, int], None]]:
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(plain(text).markup, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def document(value: Any) -> None:
    """Print a value as JSON."""
    sys.stdout.write(written(value, escaped=_narrow()) + "\n")


def line(value: Any) -> None:
    """Print a value as one line of JSON, for a stream of objects."""
    sys.stdout.write(json.dumps(value, ensure_ascii=_narrow(), default=_jsonable) + "\n")
    sys.stdout.flush()


def written(value: Any, *, escaped: bool = False) -> str:
    """Return a value as JSON, with records as objects and times in ISO form."""
    return json.dumps(value, indent=2, ensure_ascii=escaped, default=_jsonable)


def _narrow() -> bool:
    """Return whether standard output cannot show every character, so that JSON must escape some."""
    return (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"


def records(
    as_json: bool, found: Sequence[Any], columns: Columns, *, title: str, empty: str = "", instead: Any = None
) -> None:
    """Print records as a JSON list, as a table, or as a sentence if there are none; `instead` is for JSON alone."""
    if as_json:
        document(found if instead is None else instead)
    elif found:
        out().print(table(found, columns, title=title))
    else:
        say(empty, "dim")


def record(as_json: bool, found: Any, lines: Columns) -> None:
    """Print one record as a JSON object, or one line per field."""
    if as_json:
        document(found)
        return
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, column in lines.items():
        grid.add_row(name, cell(_value(found, column)))
    out().print(grid)


def columns(written: str, made: Mapping[str, Column] = MappingProxyType({})) -> Columns:
    """Return columns that are written as "Title: field, Title: field"; those without a field are `made`."""
    named = (each.partition(": ") for each in written.split(", "))
    return {title: field or made[title] for title, _, field in named}


def pairs(first: str, second: str) -> Columns:
    """Return the two columns of a table of pairs."""
    return {first: lambda pair: pair[0], second: lambda pair: pair[1]}


def done(as_json: bool, result: Any, sentence: str) -> None:
    """Print the result of a change as JSON, or as one sentence."""
    if as_json:
        document(result)
    else:
        say(sentence, "green")


def table(found: Sequence[Any], columns: Columns, *, title: str = "") -> Table:
    """Return a table with one row per record."""
    from rich.table import Table

    drawn = Table(
        title=plain(title, "bold") if title else None, title_justify="left", header_style="bold", border_style="dim"
    )
    numeric = {name for name, column in columns.items() if _is_number(_value(found[0], column))}
    for name in columns:
        drawn.add_column(name, justify="right" if name in numeric else "left", overflow="fold")
    for each in found:
        drawn.add_row(*(cell(_value(each, column)) for column in columns.values()))
    return drawn


def cell(value: Any) -> RenderableType:
    """Return a value as it appears in a table."""
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if value is None:
        return Text("–", "dim")
    if isinstance(value, datetime):
        return Text(when(value))
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, float):
        return Text(f"{value:,.2f}")
    if isinstance(value, int):
        return Text(f"{value:,}")
    return plain(str(value), STATE_STYLES.get(str(value), ""))


def plain(text: str, style: str = "") -> Text:
    """Return text to print literally: no markup applies, and no control character reaches the terminal."""
    from rich.text import Text

    return Text(CONTROL.sub("�", text), style)


def when(value: datetime) -> str:
    """Return a time in the local zone."""
    return f"{value.astimezone():%Y-%m-%d %H:%M}"


def size(count: int) -> str:
    """Return a number of bytes in a readable unit."""
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} TiB"


def counted(counts: Mapping[str, int]) -> str:
    """Return counts as a phrase, such as "2 conversations, 1 memory", without the zeros."""
    return ", ".join(f"{count:,} {noun if count > 1 else _one(noun)}" for noun, count in counts.items() if count)


def _one(nouns: str) -> str:
    """Return the singular: "row of other users" for "rows of other users"."""
    words = nouns.split(" ")
    place = next((place for place, word in enumerate(words) if word.endswith("s")), 0)
    words[place] = re.sub(r"ies$", "ys", words[place]).removesuffix("s")
    return " ".join(words)


def role(name: str) -> Text:
    """Return a role in its colour."""
    from rich.text import Text

    return Text(name, ROLE_STYLES.get(name, ""))


def messages(found: Sequence[Any]) -> Table:
    """Return a conversation as a grid: number, time, role and content."""
    return grid((str(each.message_index), when(each.timestamp), role(each.role), each.content) for each in found)


def grid(rows: Iterable[tuple[str, str, str | Text, str]]) -> Table:
    """Return rows of a number, a time, who or what, and words."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2))
    drawn.add_column(style="dim", justify="right", no_wrap=True)
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for number, time, who, words in rows:
        drawn.add_row(number, time, cell(who), plain(words))
    return drawn


def _value(record: Any, column: Column) -> Any:
    if isinstance(column, str):
        return record[column] if isinstance(record, Mapping) else getattr(record, column)
    return column(record)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _jsonable(value: object) -> object:
    """Return what JSON can hold: records become objects, without their vectors."""
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value) if each.name != "embedding"}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else str(value)
