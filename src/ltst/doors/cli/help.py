"""The help of `ltst` itself: every command on one screen, under the heading of what it is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from ltst.doors.cli import show

HEADINGS = {
    "Begin": ("demo", "chat", "serve", "mcp", "worker"),
    "Remember": ("add", "add-many", "window", "context", "search"),
    "Look": (
        "profile",
        "sessions",
        "facts",
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
    "Run": ("health", "stats", "maintain", "keys", "db", "embedder", "master-key", "eval", "bench"),
}
OTHERS = "More"
HEADING = max(len(heading) for heading in HEADINGS)

Row = tuple[str, str, str]


class Root(TyperGroup):
    """The group of all commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Panels would take two screens for what fits on one."""
        screen = Console(highlight=False)
        told, _, example = (self.help or "").partition("\n\n")
        with screen.capture() as drawn:
            screen.print(show.plain(self.get_usage(ctx), "bold"))
            screen.print(show.plain(told))
            screen.print(show.plain(example.strip()))
            for rows in ([*self._commands()], [*self._options(ctx)]):
                screen.print(_grid(rows, screen.width))
        formatter.write(drawn.get())

    def _commands(self) -> Iterator[Row]:
        listed = {name for names in HEADINGS.values() for name in names}
        others = tuple(name for name in self.commands if name not in listed)
        for heading, names in {**HEADINGS, OTHERS: others}.items():
            for name in (each for each in names if each in self.commands):
                yield heading, name, self.commands[name].get_short_help_str(limit=100)
                heading = ""

    def _options(self, ctx: Any) -> Iterator[Row]:
        records = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        for number, record in enumerate(each for each in records if each is not None):
            yield "" if number else "Options", record[0], record[1]


def _grid(rows: Sequence[Row], width: int) -> Table:
    """Heading, name and meaning, with a line of air before each heading."""
    names = max(len(name) for _, name, _ in rows)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", width=HEADING)
    grid.add_column(style="cyan", width=names)
    grid.add_column(overflow="ellipsis", no_wrap=True, width=max(20, width - HEADING - names - 4))
    for heading, name, meaning in rows:
        if heading:
            grid.add_row()
        grid.add_row(heading, name, show.plain(meaning))
    return grid
