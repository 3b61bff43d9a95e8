"""Where each command lives: its page is imported once it is asked for, so that no command waits for all the others."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer

HEADINGS = {
    "Begin": ("demo", "chat", "serve", "mcp", "worker"),
    "Remember": ("add", "add-many", "messages", "window", "context", "search"),
    "Look": (
        "profile",
        "sessions",
        "facts",
        "statements",
        "preferences",
        "instructions",
        "entries",
        "documents",
        "working",
        "contexts",
        "learning",
        "events",
        "retention",
    ),
    "Keep": ("export", "import", "erase"),
    "Run": ("health", "stats", "maintain", "users", "keys", "db", "embedder", "master-key", "bench"),
}
# The pages of those commands that do not stand on one of their own name. What a further page has joins the first one.
PAGES = {
    "add": ("messages",),
    "add-many": ("messages",),
    "messages": ("corrections",),
    "window": ("messages",),
    "export": ("archive",),
    "erase": ("archive",),
    "import": ("importing",),
    "health": ("condition",),
    "stats": ("condition",),
    "maintain": ("condition",),
    "keys": ("access",),
    "master-key": ("keys",),
    "db": ("database", "adopting", "predecessor"),
}


class Commands(MutableMapping[str, Any]):
    """Every command by its name."""

    def __init__(self) -> None:
        """All names are known, no page is open yet."""
        self._found: dict[str, Any] = {name: None for names in HEADINGS.values() for name in names}

    def __getitem__(self, name: str) -> Any:
        """The command, from its page."""
        if self._found[name] is None:
            self._found[name] = _opened(name)
        return self._found[name]

    def __setitem__(self, name: str, command: Any) -> None:
        """A command that has no page."""
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        """No such command any more."""
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        """The names, without opening a page."""
        return iter(self._found)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a command, without opening its page."""
        return name in self._found


def _opened(name: str) -> Any:
    """A page has the command itself, or is the group of that name."""
    group, *more = (
        typer.main.get_group(import_module(f"ltst.doors.cli.{page}").app) for page in PAGES.get(name, (name,))
    )
    for further in more:
        group.commands.update(further.commands)
    if name in group.commands:
        return group.commands[name]
    group.name = name
    return group
