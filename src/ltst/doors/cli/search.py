"""Search: `ltst search`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, remembered
from ltst.records import Hit

app = typer.Typer()

FOUND: show.Columns = {
    "Score": lambda hit: f"{hit.score:.2f}",
    "When": lambda hit: show.when(hit.occurred_at) if hit.occurred_at else "",
    "What": lambda hit: hit.speaker or hit.kind,
    "Content": "content",
    "Scores": lambda hit: _arms(hit),
}


@command(app, "search", user=True)
def search(
    options: Options,
    query: Annotated[str, typer.Argument(help="What to look for, in any words.")],
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="message, fact, entry or document; may be given several times.")
    ] = None,
    chat: Annotated[str | None, typer.Option("--chat", help="Only this conversation and those related to it.")] = None,
    limit: Limit = 10,
) -> None:
    """Find what is remembered about something.

    The best first, or nothing when nothing is relevant.

    Example: ltst search "where do I live?"
    """
    with remembered(options) as user:
        found = user.search(query, kinds=kind, session_id=chat, limit=limit)
    show.records(options.json, found, FOUND, title="Found", empty="Nothing like that is remembered.")


def _arms(hit: Hit) -> str:
    """The part of each arm that has one."""
    return ", ".join(f"{arm} {score:.2f}" for arm, score in hit.scores.items() if score)
