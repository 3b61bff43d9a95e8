"""Preferences: `ltst preferences …`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ltst.arguments import PREFERENCE_TYPES
from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, found, informed, named, one_of, remembered, typed
from ltst.records import UserPreference

app = typer.Typer(no_args_is_help=True, help="How a user wants things.\n\nExample: ltst preferences set units metric")

Key = Annotated[str, typer.Argument(help="What the preference is about.")]

Type = Annotated[str, one_of("--type", "TYPE", PREFERENCE_TYPES)]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show sensitive values in clear.")]

SOURCES = ("explicit", "learned", "inferred")
HIDDEN = "••••••"
COLUMNS: show.Columns = {
    "Key": "key",
    "Value": lambda preference: preference.note or preference.value,
    "Type": "preference_type",
    "Source": "source",
    "Confidence": "confidence_score",
    "Updated": "updated_at",
}


def shown(preference: UserPreference) -> str:
    """The value, unless it is sensitive: screens are looked at by others too."""
    return HIDDEN if preference.sensitive else preference.value


def _without_value(preference: UserPreference) -> dict[str, Any]:
    return {**asdict(preference), **({"preference_value": None} if preference.sensitive else {})}


@command(app, "list", user=True)
def list_preferences(
    options: Options,
    type: Annotated[str | None, one_of("--type", "TYPE", PREFERENCE_TYPES)] = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="Also those that nobody set.")] = False,
    reveal: Reveal = False,
) -> None:
    """List preferences.

    Sensitive values stay hidden unless asked for.

    Example: ltst preferences list --defaults
    """
    with informed(options) as user:
        known = user.preferences.list(type, defaults=defaults)
    if options.json:
        show.document(known if reveal else [_without_value(each) for each in known])
        return
    columns = COLUMNS if reveal else {**COLUMNS, "Value": shown}
    show.records(False, known, columns, title="Preferences", empty="No preferences are set yet.")


@command(app, "get", user=True)
def get(options: Options, key: Key) -> None:
    """Show one preference, in clear.

    The default, if the user has set none.

    Example: ltst preferences get units
    """
    with informed(options) as user:
        preference = found(user.preferences.get(key), f"preference {key!r}")
    show.record(options.json, preference, {**COLUMNS, "Sensitive": "sensitive"})


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


@command(app, "forget", user=True)
def forget(options: Options, key: Key) -> None:
    """Remove a preference.

    Example: ltst preferences forget units
    """
    with remembered(options) as user:
        found(user.preferences.forget(key), f"preference {key!r}")
    show.done(options.json, {"forgotten": key}, f"{key} is forgotten.")
