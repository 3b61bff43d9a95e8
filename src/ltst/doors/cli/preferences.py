"""Preferences: `ltst preferences …`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ltst.arguments import PREFERENCE_TYPES
from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, named, one_of, remembered, typed
from ltst.doors.cli.verbs import Given, Noun, forgotten, lined
from ltst.records import UserPreference

app = Noun("preferences", "How a user wants things.", "set units metric", missing="preference {key!r}", learns=True)

Reveal = Annotated[bool, typer.Option("--reveal", help="Show sensitive values in clear.")]

SOURCES = ("explicit", "learned", "inferred")
HIDDEN = "••••••"
COLUMNS = show.columns(
    "Key: key, Value, Type: preference_type, Source: source, Confidence: confidence_score, Updated: updated_at",
    {"Value": lambda preference: preference.note or preference.value},
)


def masked(preference: UserPreference) -> str:
    """Return the value, or dots if it is sensitive: others may see the screen."""
    return HIDDEN if preference.sensitive else preference.value


def _without_value(preference: UserPreference) -> dict[str, Any]:
    return {**asdict(preference), **({"preference_value": None} if preference.sensitive else {})}


def _show_preferences(as_json: bool, known: Sequence[UserPreference], given: Given) -> None:
    columns = COLUMNS if given["reveal"] else {**COLUMNS, "Value": masked}
    document = known if given["reveal"] else [_without_value(each) for each in known]
    show.records(as_json, known, columns, title="Preferences", empty="No preferences are set yet.", instead=document)


LIST = "List preferences.\n\nSensitive values stay hidden unless asked for."
GET = "Show one preference, in clear.\n\nThe default, if the user has set none."
app.verb("list", LIST, "--defaults", _show_preferences, own={"reveal": (Reveal, False)})
app.verb("get", GET, "units", lined({**COLUMNS, "Sensitive": "sensitive"}))
app.verb("forget", "Remove a preference.", "units", forgotten("key"))


@command(app, "set", user=True)
def set_preference(
    options: Options,
    key: Annotated[str, typer.Argument(help="What the preference is about.")],
    value: Annotated[str | None, typer.Argument(help="Left out or -: asked for, or read from standard input.")] = None,
    type: Annotated[str, one_of("--type", "TYPE", PREFERENCE_TYPES)] = "general",
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
    sentence = f"{key} is kept, encrypted." if sensitive else f"{key} is {stored.value}."
    show.done(options.json, _without_value(stored), sentence)
