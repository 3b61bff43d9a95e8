"""The `ltst` command, and the options that apply to all of its commands."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from ltst.doors.cli.help import RootGroup
from ltst.doors.cli.options import DatabaseUrl, Home, Options, UserId

app = typer.Typer(
    name="ltst",
    cls=RootGroup,
    pretty_exceptions_enable=False,  # a pretty traceback would print the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # late: slow to import, and --help should be fast

        typer.echo(f"ltst {version('ltst')}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    user: UserId = None,
    database_url: DatabaseUrl = None,
    home: Home = None,
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term and short-term memory for AI agents, in one Postgres.

    Example: ltst demo
    """
    context.obj = Options(database_url, user, home)


def run() -> None:
    """Runs the command; a character that the terminal cannot show is printed as a question mark."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    run()
