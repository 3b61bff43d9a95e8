"""The `ltst` command in tests: as a program, and its commands as they are registered."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import typer
from typer.testing import Result

from ltst.doors.cli.main import app

MODULE = [sys.executable, "-m", "ltst.doors.cli.main"]
SCRIPT = [str(Path(sys.executable).with_name("ltst"))]
COMMAND = typer.main.get_command(app)
# What every command takes, before its name or after it.
SHARED = {"--user", "--database-url", "--home", "--json", "--help"}


class Run(Protocol):
    """Runs a command in this process."""

    def __call__(self, *arguments: str, input: str | bytes | None = None, status: int = 0) -> Result: ...


def commands(group: Any = COMMAND, *path: str) -> Iterator[tuple[str, ...]]:
    """The words of every command and every group."""
    yield path
    for name, inner in getattr(group, "commands", {}).items():
        yield from commands(inner, *path, name)


def found(path: tuple[str, ...]) -> Any:
    """The command that has this name."""
    command: Any = COMMAND
    for name in path:
        command = command.commands[name]
    return command


LEAVES = [path for path in sorted(commands()) if not hasattr(found(path), "commands")]


def options(path: tuple[str, ...]) -> set[str]:
    """The options of a command's own, by their long names."""
    named = {max(each.opts, key=len) for each in found(path).params if each.param_type_name == "option"}
    return named - SHARED


def parsed(line: str) -> tuple[tuple[str, ...], list[str]]:
    """The command that a line of a shell names, and its arguments; a usage error if it would not take them."""
    words = shlex.split(line, comments=True)
    assert words.pop(0) == "ltst", line
    path: tuple[str, ...] = ()
    while hasattr(found(path), "commands"):
        assert words, f"{line!r} names no command"
        if words[0] in SHARED - {"--help", "--json"}:
            del words[:2]
        else:
            path = (*path, words.pop(0))
    found(path).make_context(" ".join(path), [*words])
    return path, words


def interruptible() -> None:
    """Before a program begins: let Ctrl-C reach it, which it would not where the tests run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
