"""Where each command lives: its page is imported once it is asked for, so that no command waits for all the others."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any

import typer

HEADINGS = {
    "Begin": ("demo", "chat", "web", "serve", "mcp", "worker"),
    "Remember": ("add", "add-many", "messages", "window", "context", "search"),
    "Look": (
        *("profile", "sessions", "facts", "statements", "preferences", "instructions", "entries", "documents"),
        *("items", "working", "contexts", "learning", "events", "retention"),
    ),
    "Keep": ("export", "import", "erase"),
    "Run": ("health", "stats", "maintain", "users", "keys", "db", "embedder", "master-key", "bench"),
}
# The pages of those commands that do not stand on one of their own name, or not in its `app`. What a further page has
# joins the first one.
PAGES = {
    **dict.fromkeys(("web", "mcp"), ("serve",)),
    **dict.fromkeys(("add", "add-many", "window"), ("messages",)),
    **dict.fromkeys(("search", "context", "profile"), ("recall",)),
    **dict.fromkeys(("export", "erase"), ("archive",)),
    **dict.fromkeys(("health", "stats", "maintain", "worker", "bench"), ("upkeep",)),
    "messages": ("messages.group",),
    "working": ("contexts.working",),
    "import": ("importing",),
    "users": ("upkeep.users",),
    "keys": ("access",),
    "master-key": ("access.master",),
    "db": ("database", "adopting"),
}


class Commands(UserDict[str, Any]):
    """Every command by its name; its page is opened when the command is asked for."""

    def __init__(self) -> None:
        super().__init__({name: None for names in HEADINGS.values() for name in names})

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _opened(name)
        return self.data[name]


def _opened(name: str) -> Any:
    """Return the command from its page, or the page as the group of that name."""
    group, *more = map(_group, PAGES.get(name, (name,)))
    for further in more:
        group.commands.update(further.commands)
    if name in group.commands:
        return group.commands[name]
    group.name = name
    return group


def _group(page: str) -> Any:
    module, _, app = page.partition(".")
    return typer.main.get_group(getattr(import_module(f"ltst.doors.cli.{module}"), app or "app"))
