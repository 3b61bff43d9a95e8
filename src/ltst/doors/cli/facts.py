"""Facts: `ltst facts …`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, found, informed, moment, remembered, typed
from ltst.records import Fact

app = typer.Typer(
    no_args_is_help=True, help="What is known about a user, and since when.\n\nExample: ltst facts set city Lisbon"
)

Key = Annotated[str, typer.Argument(help="What the fact is about.")]
AsOf = Annotated[datetime | None, typer.Option("--as-of", parser=moment, metavar="DATE", help="What held on a day.")]

COLUMNS = {"Key": "key", "Value": "value", "Confidence": "confidence", "Since": "valid_from"}


def state(fact: Fact) -> str:
    """Whether a value holds, held, or was struck out."""
    if fact.rejected_at is not None:
        return "rejected"
    return "holds" if fact.valid_to is None else "closed"


HISTORY: show.Columns = {
    "Value": "value",
    "State": state,
    "From": "valid_from",
    "Until": "valid_to",
    "Confidence": "confidence",
}


@command(app, "list", user=True)
def list_facts(options: Options, as_of: AsOf = None) -> None:
    """List what holds now, or held on a day.

    Example: ltst facts list --as-of 2026-03-01
    """
    with informed(options) as user:
        known = user.facts.list(as_of=as_of)
    show.records(options.json, known, COLUMNS, title="Facts", empty="Nothing is known yet.")


@command(app, "get", user=True)
def get(options: Options, key: Key, as_of: AsOf = None) -> None:
    """Show the value that holds now, or held on a day.

    Example: ltst facts get city
    """
    with informed(options) as user:
        fact = found(user.facts.get(key, as_of=as_of), f"fact {key!r}")
    show.record(options.json, fact, {**COLUMNS, "Source message": "source_message_id"})


@command(app, "set", user=True)
def set_fact(
    options: Options,
    key: Key,
    value: Annotated[str, typer.Argument(help="What holds; - reads it from standard input.")],
    confidence: Annotated[float, typer.Option("--confidence", help="From 0 to 1.")] = 1.0,
    valid_from: Annotated[
        datetime | None, typer.Option("--from", parser=moment, metavar="DATE", help="Since when, if not now.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="ID", help="The message that says so.")] = None,
) -> None:
    """Set a value; the one before is closed, not deleted.

    Example: ltst facts set city Lisbon --from 2026-03-01
    """
    wanted = typed(value, ask="Value")
    with remembered(options) as user:
        fact = user.facts.set(key, wanted, confidence=confidence, valid_from=valid_from, source_message_id=source)
    show.done(options.json, fact, f"{fact.key} is {fact.value} since {show.when(fact.valid_from)}.")


@command(app, "history", user=True)
def history(options: Options, key: Key) -> None:
    """Show every value there ever was, oldest first.

    Example: ltst facts history city
    """
    with informed(options) as user:
        known = found(user.facts.history(key), f"fact {key!r}")
    show.records(options.json, known, HISTORY, title=f"History of {key}", empty="")


@command(app, "reject", user=True)
def reject(options: Options, key: Key, value: Annotated[str, typer.Argument(help="The value that is wrong.")]) -> None:
    """Strike a value out for good: it is never learnt again.

    Example: ltst facts reject city Paris
    """
    with remembered(options) as user:
        struck = user.facts.reject(key, value)
    show.done(options.json, struck, f"{key} is never {value} again.")


@command(app, "forget", user=True)
def forget(options: Options, key: Key) -> None:
    """Remove a fact with its history and its rejections.

    Example: ltst facts forget city
    """
    with remembered(options) as user:
        found(user.facts.forget(key), f"fact {key!r}")
    show.done(options.json, {"forgotten": key}, f"{key} is forgotten.")
