"""Preferences: `ltst preferences …`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ltst.arguments import PREFERENCE_TYPES
from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, named, one_of, remembered, typed
from ltst.doors.cli.verbs import Given, Noun, lined, said
from ltst.records import UserPreference

app = Noun("preferences", "How a user wants things.", "set units metric", missing="preference {key!r}", learns=True)

Key = Annotated[str, typer.Argument(help="What the preference is about.")]

Type = Annotated[str, one_of("--type", "TYPE", PREFERENCE_TYPES)]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show sensitive values in clear.")]

SOURCES = ("explicit", "learned", "inferred")
HIDDEN = "••••••"
COLUMNS = show.columns(
    "Key: key, Value, Type: preference_type, Source: source, Confidence: confidence_score, Updated: updated_at",
    {"Value": lambda preference: preference.note or preference.value},
)


def shown(preference: UserPreference) -> str:
    """Return the value, or dots if it is sensitive: others may see the screen."""
    return HIDDEN if preference.sensitive else preference.value


def _without_value(preference: UserPreference) -> dict[str, Any]:
    return {**asdict(preference), **({"preference_value": None} if preference.sensitive else {})}


def _listed(as_json: bool, known: Sequence[UserPreference], given: Given) -> None:
    if as_json:
        show.document(known if given["reveal"] else [_without_value(each) for each in known])
        return
    columns = COLUMNS if given["reveal"] else {**COLUMNS, "Value": shown}
    show.records(False, known, columns, title="Preferences", empty="No preferences are set yet.")


app.verb(
    "list",
    "List preferences.\n\nSensitive values stay hidden unless asked for.",
    "--defaults",
    _listed,
    flags={"type": "--type"},
    own={"reveal": (Reveal, False)},
)
app.verb(
    "get",
    "Show one preference, in clear.\n\nThe default, if the user has set none.",
    "units",
    lined({**COLUMNS, "Sensitive": "sensitive"}),
)
app.verb("forget", "Remove a preference.", "units", said("{key} is forgotten.", forgotten="key"))


@command(app, "set", user=True)
def set_preference(
    options: Options,
    key: Key,
    value: Annotated[str | None, typer.Argument(help="Left out or -: asked for, or read from standard input.")] = None,
    type: Type = "general",
    sensitive: Annotated[bool, typer.Option("--sensitive", help="Encrypt it; the value is asked for.")] = False,
    source: Annotated[str, one_of("--source", "SOURCE", SOURCES, "{}, or a word of yours.")] = "explicit",
    confidence: Annotated[float, named("--confidence", "N", "From 0 to 1.")] = 1.0,
) -> None:
    """Set a preference.

    A sensitive value is asked for, so that it stays out of the shell's history.

    Example: ltst preferences set passport --sensitive
    """
    if sensitive and value not in (None, "-"):
        raise typer.BadParameter("leave the value of a sensitive preference out: it is asked for, or piped in")
    wanted = typed(value, ask=f"Value of {key}", secret=sensitive)
    with remembered(options) as user:
        stored = user.preferences.set(key, wanted, type=type, sensitive=sensitive, source=source, confidence=confidence)
    told = f"{key} is kept, encrypted." if sensitive else f"{key} is {stored.value}."
    show.done(options.json, _without_value(stored), told)
