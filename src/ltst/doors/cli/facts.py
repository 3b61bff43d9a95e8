"""Facts: `ltst facts …`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.verbs import Given, Noun, said
from ltst.records import ME, Fact
from ltst.support.text import shortened

if TYPE_CHECKING:
    from ltst.sync import User

ABOUT = "What is known about a user and others, and since when."
app = Noun("facts", ABOUT, "set city Lisbon", missing="fact {key!r}", learns=True)

WithSource = Annotated[bool, typer.Option("--source", help="Also show the words that say so.")]

LONGEST_QUOTE = 200

COLUMNS: show.Columns = {"Key": "key", "Value": "value", "Confidence": "confidence", "Since": "valid_from"}


def columns(known: Iterable[Fact]) -> show.Columns:
    """Return the columns to show, with a column for the person unless every fact is about the user."""
    return COLUMNS if all(fact.about == ME for fact in known) else {"About": "about", **COLUMNS}


def state(fact: Fact) -> str:
    """Return whether a value holds, held before, will hold or was rejected."""
    now = datetime.now(UTC)
    if fact.rejected_at is not None:
        return "rejected"
    if fact.valid_from is not None and fact.valid_from > now:
        return "planned"
    return "holds" if fact.valid_to is None or fact.valid_to > now else "closed"


HISTORY = show.columns(
    "Value: value, State, From: valid_from, Until: valid_to, Confidence: confidence", {"State": state}
)


def _show_facts(as_json: bool, known: Sequence[Fact], given: Given) -> None:
    shown = {**columns(known), **(given["beside"] if given["source"] else {})}
    show.records(as_json, known, shown, title="Facts", empty="Nothing is known yet.")


def _lined(as_json: bool, fact: Fact, given: Given) -> None:
    show.record(as_json, fact, {**columns([fact]), **given["beside"], "Source message": "source_message_id"})


def _history(as_json: bool, known: Sequence[Fact], given: Given) -> None:
    show.records(as_json, known, {**HISTORY, **given["beside"]}, title=f"History of {known[0].label}")


def _words(user: User, found: Any, given: Given) -> show.Columns:
    """Returns a column with the message behind each fact, empty if that conversation was deleted."""
    known = found if isinstance(found, list) else [found]
    ids = {fact.source_message_id for fact in known} - {None} if given.get("source", True) else ()
    said = {message_id: message.content for message_id in ids if (message := user.message(message_id)) is not None}
    quotes = {message_id: shortened(" ".join(words.split()), LONGEST_QUOTE) for message_id, words in said.items()}
    return {"Said": lambda fact: quotes.get(fact.source_message_id)}


def _label(given: Given) -> str:
    return str(given["key"] if given["about"] == ME else f"{given['about']}: {given['key']}")


SOURCE = {"source": (WithSource, False)}
app.verb("list", "List what holds now, or held on a day.", "--as-of 2026-03-01", _show_facts, own=SOURCE, beside=_words)
app.verb("get", "Show the value that holds now, or held on a day.", "city", _lined, beside=_words)
app.verb(
    "set",
    "Set a value; the one before is closed, not deleted.",
    "city Lisbon --from 2026-03-01",
    said(lambda fact, _: f"{fact.label} is {fact.value} since {show.when(fact.valid_from)}."),
    flags={"valid_from": "--from", "source_message_id": "--source", "single_valued": "--also"},
    help={"single_valued": "Let it hold beside the other values of the key."},
)
EVER = "Show every value there ever was, oldest first, and who said so."
app.verb("history", EVER, "city", _history, never_empty=True, beside=_words)
app.verb(
    "end",
    "Say that something is over, and nothing took its place.",
    "employer --at 2026-06-30",
    said(lambda ended, _: f"{', '.join(f'{fact.label} {fact.value}' for fact in ended)} is over."),
    missing="fact {key!r} that holds",
    never_empty=True,
)
_struck = said(lambda _, given: f"{_label(given)} is never {given['value']} again.")
_gone = said(lambda _, given: f"{_label(given)} is forgotten.", forgotten="key")
app.verb("reject", "Strike a value out for good: it is never learned again.", "city Paris", _struck)
app.verb("forget", "Remove a fact with its history and its rejections.", "city", _gone)
