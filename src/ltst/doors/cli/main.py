"""The `ltst` command: its groups, and the options that hold for all of them."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from ltst.doors.cli import (
    access,
    adopting,
    archive,
    bench,
    chat,
    condition,
    context,
    contexts,
    database,
    demo,
    documents,
    embedder,
    entries,
    events,
    facts,
    importing,
    instructions,
    keys,
    learning,
    mcp,
    messages,
    preferences,
    profile,
    retention,
    search,
    serve,
    sessions,
    worker,
    working,
)
from ltst.doors.cli.evaluation import commands as evaluation
from ltst.doors.cli.help import Root
from ltst.doors.cli.options import DatabaseUrl, Home, Options, UserId

app = typer.Typer(
    name="ltst",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a pretty one would print the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # late, as all that takes longer to import than --help may

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
for page in (demo, chat, serve, mcp, messages, context, search, profile, archive, importing, condition, worker, bench):
    app.add_typer(page.app)
for name, noun in {
    "sessions": sessions,
    "facts": facts,
    "preferences": preferences,
    "instructions": instructions,
    "entries": entries,
    "documents": documents,
    "working": working,
    "contexts": contexts,
    "events": events,
    "retention": retention,
    "learning": learning,
    "keys": access,
    "db": database,
    "master-key": keys,
    "embedder": embedder,
    "eval": evaluation,
}.items():
    app.add_typer(noun.app, name=name)


def run() -> None:
    """Run the command; a character that the terminal has no code for is shown as a question mark."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    run()
