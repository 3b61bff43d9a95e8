"""The help of `ltst` itself: all commands on one screen, grouped by purpose."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperGroup

from ltst.doors.cli import show
from ltst.doors.cli.pages import HEADINGS, Commands

if TYPE_CHECKING:
    from rich.table import Table

# The exit status of wrong usage, and its exception, which has no public name in Typer.
WRONG_USAGE = 2
WrongUsage = cast(type[Exception], typer.BadParameter.__base__)
HEADING = max(len(heading) for heading in HEADINGS)

Row = tuple[str, str, str]


class ReportingGroup(TyperGroup):
    """A group whose commands report wrong usage as they report every other error."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **given: Any) -> Any:  # type: ignore[override]
        """Shows wrong usage as text; with --json it is an object, like every other error."""
        words = sys.argv[1:] if args is None else [*args]
        if not standalone_mode or "--json" not in takewhile(lambda word: word != "--", words):
            return super().main(words, standalone_mode=standalone_mode, **given)
        try:
            status = super().main(words, standalone_mode=False, **given)
        except WrongUsage as problem:
            show.fault("Usage", cast(typer.BadParameter, problem).format_message())
            status = WRONG_USAGE
        except typer.Abort:
            show.fault("Aborted", "aborted")
            status = 1
        sys.exit(status)


class RootGroup(ReportingGroup):
    """The group of all commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Commands()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the help if no command is given. Typer would do so only for help that it draws itself."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit(WRONG_USAGE)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help as a compact grid, because Typer's panels would take two screens."""
        from rich.console import Console

        screen = Console(highlight=False)
        about, _, example = (self.help or "").partition("\n\n")
        with screen.capture() as drawn:
            screen.print(show.plain(self.get_usage(ctx), "bold"))
            screen.print(show.plain(about))
            screen.print(show.plain(example.strip()))
            for rows in ([*self._commands()], [*self._options(ctx)]):
                screen.print(_grid(rows, screen.width))
        formatter.write(drawn.get())

    def _commands(self) -> Iterator[Row]:
        for heading, names in HEADINGS.items():
            for name in names:
                yield heading, name, self.commands[name].get_short_help_str(limit=100)
                heading = ""

    def _options(self, ctx: Any) -> Iterator[Row]:
        records = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        for number, record in enumerate(each for each in records if each is not None):
            yield "" if number else "Options", record[0], record[1]


def _grid(rows: Sequence[Row], width: int) -> Table:
    """Returns a table of heading, name and meaning, with a blank line before each heading."""
    from rich.table import Table

    names = max(len(name) for _, name, _ in rows)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", width=HEADING)
    grid.add_column(style="cyan", width=names)
    grid.add_column(overflow="ellipsis", no_wrap=True, width=max(20, width - HEADING - names - 4))
    for number, (heading, name, meaning) in enumerate(rows):
        if heading and number:
            grid.add_row()
        grid.add_row(heading, name, show.plain(meaning))
    return grid
