"""Facts: `ltst facts …`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, found, informed, named, remembered, timed, typed
from ltst.records import ME, Fact

if TYPE_CHECKING:
    from ltst.sync import User

app = typer.Typer(
    no_args_is_help=True,
    help="What is known about a user and others, and since when.\n\nExample: ltst facts set city Lisbon",
)

Key = Annotated[str, typer.Argument(help="What the fact tells, such as city.")]
About = Annotated[str, named("--about", "WHOM", "me, or a name or relation as said.")]
AsOf = Annotated[datetime | None, timed("--as-of", "What held on a day.", "DATE")]
WithSource = Annotated[bool, typer.Option("--source", help="Also show the words that say so.")]

LONGEST_QUOTE = 200

COLUMNS: show.Columns = {"Key": "key", "Value": "value", "Confidence": "confidence", "Since": "valid_from"}


def columns(known: Iterable[Fact]) -> show.Columns:
    """Whom each is about stands first, unless all are about the user."""
    return COLUMNS if all(fact.about == ME for fact in known) else {"About": "about", **COLUMNS}


def state(fact: Fact) -> str:
    """Whether a value holds now, held before, will hold, or was struck out."""
    now = datetime.now(UTC)
    if fact.rejected_at is not None:
        return "rejected"
    if fact.valid_from is not None and fact.valid_from > now:
        return "planned"
    return "holds" if fact.valid_to is None or fact.valid_to > now else "closed"


HISTORY: show.Columns = {
    "Value": "value",
    "State": state,
    "From": "valid_from",
    "Until": "valid_to",
    "Confidence": "confidence",
}


@command(app, "list", user=True)
def list_facts(
    options: Options,
    as_of: AsOf = None,
    source: WithSource = False,
    about: Annotated[str | None, named("--about", "WHOM", "Only about me, or a name or relation as said.")] = None,
) -> None:
    """List what holds now, or held on a day.

    Example: ltst facts list --as-of 2026-03-01
    """
    with informed(options) as user:
        known = user.facts.list(as_of=as_of, about=about)
        said = _source(user, known) if source and not options.json else {}
    show.records(options.json, known, {**columns(known), **said}, title="Facts", empty="Nothing is known yet.")


@command(app, "get", user=True)
def get(options: Options, key: Key, as_of: AsOf = None, about: About = ME) -> None:
    """Show the value that holds now, or held on a day.

    Example: ltst facts get city
    """
    with informed(options) as user:
        fact = found(user.facts.get(key, as_of=as_of, about=about), f"fact {key!r}")
        said = _source(user, [fact])
    show.record(options.json, fact, {**columns([fact]), **said, "Source message": "source_message_id"})


@command(app, "set", user=True)
def set_fact(
    options: Options,
    key: Key,
    value: Annotated[str, typer.Argument(help="What holds; - reads it from standard input.")],
    confidence: Annotated[float, typer.Option("--confidence", help="From 0 to 1.")] = 1.0,
    valid_from: Annotated[datetime | None, timed("--from", "Since when, if not now.", "DATE")] = None,
    source: Annotated[str | None, named("--source", "ID", "The message that says so.")] = None,
    also: Annotated[bool, typer.Option("--also", help="Let it hold beside the other values of the key.")] = False,
    about: About = ME,
) -> None:
    """Set a value; the one before is closed, not deleted.

    Example: ltst facts set city Lisbon --from 2026-03-01
    """
    wanted = typed(value, ask="Value")
    with remembered(options) as user:
        fact = user.facts.set(
            key,
            wanted,
            confidence=confidence,
            valid_from=valid_from,
            source_message_id=source,
            single_valued=not also,
            about=about,
        )
    show.done(options.json, fact, f"{fact.label} is {fact.value} since {show.when(fact.valid_from)}.")


@command(app, "history", user=True)
def history(options: Options, key: Key, about: About = ME) -> None:
    """Show every value there ever was, oldest first, and who said so.

    Example: ltst facts history city
    """
    with informed(options) as user:
        known = found(user.facts.history(key, about=about), f"fact {key!r}")
        said = _source(user, known)
    show.records(options.json, known, {**HISTORY, **said}, title=f"History of {known[0].label}", empty="")


@command(app, "end", user=True)
def end(
    options: Options,
    key: Key,
    value: Annotated[str | None, typer.Argument(help="Which value; whatever holds, if left out.")] = None,
    at: Annotated[datetime | None, timed("--at", "Since when, if not now.", "DATE")] = None,
    about: About = ME,
) -> None:
    """Say that something is over, and nothing took its place.

    Example: ltst facts end employer --at 2026-06-30
    """
    over = None if value is None else typed(value, ask="Value")
    with informed(options) as user:
        ended = found(user.facts.end(key, over, at=at, about=about), f"fact {key!r} that holds")
    show.done(options.json, ended, f"{', '.join(f'{fact.label} {fact.value}' for fact in ended)} is over.")


@command(app, "reject", user=True)
def reject(
    options: Options,
    key: Key,
    value: Annotated[str, typer.Argument(help="The value that is wrong; - reads it.")],
    about: About = ME,
) -> None:
    """Strike a value out for good: it is never learnt again.

    Example: ltst facts reject city Paris
    """
    wrong = typed(value, ask="Value")
    with remembered(options) as user:
        struck = user.facts.reject(key, wrong, about=about)
    show.done(options.json, struck, f"{_label(key, about)} is never {wrong} again.")


@command(app, "forget", user=True)
def forget(options: Options, key: Key, about: About = ME) -> None:
    """Remove a fact with its history and its rejections.

    Example: ltst facts forget city
    """
    with remembered(options) as user:
        found(user.facts.forget(key, about=about), f"fact {key!r}")
    show.done(options.json, {"forgotten": key}, f"{_label(key, about)} is forgotten.")


def _label(key: str, about: str) -> str:
    return key if about == ME else f"{about}: {key}"


def _source(user: User, known: Sequence[Fact]) -> show.Columns:
    """A column with the words that each fact rests on; those of a conversation that was deleted are gone."""
    ids = {fact.source_message_id for fact in known if fact.source_message_id is not None}
    words = {message_id: said.content for message_id in ids if (said := user.message(message_id)) is not None}
    return {"Said": lambda fact: _short(words[fact.source_message_id]) if fact.source_message_id in words else None}


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 1]}…"
