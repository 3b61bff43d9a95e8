"""Maps commands to the modules that define them; each is imported on first use, so that no command waits for others."""

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
# Modules of commands that are not in a module of their own name, or not in its `app`. Commands of a second module are
# added to the first.
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
    """All commands by name; the module of a command is imported when the command is first used."""

    def __init__(self) -> None:
        super().__init__({name: None for names in HEADINGS.values() for name in names})

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _load(name)
        return self.data[name]


def _load(name: str) -> Any:
    """Returns the command from its module, or the module's group of that name."""
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
