"""What is learnt about a user: `ltst learning show`, `set` and `restart`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, command, named, remembered, words
from ltst.settings import FEATURES

app = typer.Typer(
    no_args_is_help=True,
    help="What is learnt about a user, and whether.\n\nExample: ltst learning set episodes off",
)

Feature = Annotated[
    str, typer.Argument(metavar="FEATURE", help=f"One of {', '.join(FEATURES)}.", autocompletion=words(*FEATURES))
]
State = Annotated[str, typer.Argument(metavar="STATE", help="on or off.", autocompletion=words("on", "off"))]
STATES = {"on": True, "off": False}


@command(app, "show", user=True)
def show_features(options: Options) -> None:
    """Show which features are on.

    Example: ltst learning show
    """
    with remembered(options) as user:
        _present(options, user.learning.get())


@command(app, "set", user=True)
def set_feature(options: Options, feature: Feature, state: State) -> None:
    """Switch a feature on or off for one user.

    Example: ltst learning set episodes off
    """
    if feature not in FEATURES or state not in STATES:
        raise typer.BadParameter(f"write one of {', '.join(FEATURES)}, and on or off; not {feature} {state}")
    with remembered(options) as user:
        _present(options, user.learning.set(**{feature: STATES[state]}))


@command(app, "catch-up", user=True)
def catch_up(
    options: Options,
    chat: Annotated[str | None, named("--chat", "ID", "In this conversation only.")] = None,
) -> None:
    """Learn now what was said since, by the local rules.

    Example: ltst learning catch-up
    """
    with remembered(options) as user, show.working("Learning"):
        conversations = user.learning.catch_up(chat)
    read = show.counted({"conversations": conversations}) or "nothing: all was read before"
    show.done(options.json, {"sessions": conversations}, f"Read {read}.")


@command(app, "restart", user=True)
def restart(options: Options, yes: Yes = False) -> None:
    """Learn everything anew from the messages.

    What was set by hand stays, and what was rejected stays rejected.

    Example: ltst learning restart --yes
    """
    if not yes:
        typer.confirm("Forget what was learnt and learn it anew?", abort=True, err=True)
    with remembered(options) as user:
        conversations = user.learning.restart()
    if options.json:
        show.document({"sessions": conversations})
    else:
        show.say(f"{conversations} conversations are read anew by the background, or by: ltst worker --once")


def _present(options: Options, features: dict[str, bool]) -> None:
    if options.json:
        show.document(features)
        return
    rows = [(name, "on" if state else "off") for name, state in features.items()]
    columns = {"Feature": lambda row: row[0], "State": lambda row: row[1]}
    show.records(False, rows, columns, title="Learning", empty="")
