"""The `ltst` command: its groups, and the options that hold for all of them."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from ltst.doors.cli import (
    access,
    adopting,
    archive,
    condition,
    database,
    demo,
    documents,
    embedder,
    facts,
    instructions,
    keys,
    learning,
    messages,
    preferences,
    search,
    serve,
    sessions,
    worker,
)
from ltst.doors.cli.evaluation import commands as evaluation
from ltst.doors.cli.options import DatabaseUrl, Home, Options, UserId

app = typer.Typer(
    name="ltst",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a pretty one would print the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
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


database.app.add_typer(adopting.app)
for page in (demo, serve, messages, search, archive, condition, worker):
    app.add_typer(page.app)
for name, noun in {
    "sessions": sessions,
    "facts": facts,
    "preferences": preferences,
    "instructions": instructions,
    "documents": documents,
    "learning": learning,
    "keys": access,
    "db": database,
    "master-key": keys,
    "embedder": embedder,
    "eval": evaluation,
}.items():
    app.add_typer(noun.app, name=name)


def run() -> None:
    """Run the command; what `ltst` in a shell calls."""
    app()


if __name__ == "__main__":
    run()
