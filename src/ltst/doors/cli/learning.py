"""What is learned about a user: `ltst learning show`, `set` and `restart`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, agreed, command, named, remembered
from ltst.doors.cli.parameters import completing
from ltst.doors.cli.verbs import Given, Noun
from ltst.settings import FEATURES

app = Noun("learning", "What is learned about a user, and whether.", "set episodes off")

Feature = Annotated[
    str, typer.Argument(metavar="FEATURE", help=f"One of {', '.join(FEATURES)}.", autocompletion=completing(*FEATURES))
]
State = Annotated[str, typer.Argument(metavar="STATE", help="on or off.", autocompletion=completing("on", "off"))]
STATES = {"on": True, "off": False}


def _shown(as_json: bool, features: Mapping[str, bool], _: Given) -> None:
    rows = [(name, "on" if state else "off") for name, state in features.items()]
    show.records(as_json, rows, show.pairs("Feature", "State"), title="Learning", instead=features)


app.verb("show", "Show which features are on.", "", _shown, does="learning.get")


@command(app, "set", user=True)
def set_feature(options: Options, feature: Feature, state: State) -> None:
    """Switch a feature on or off for one user.

    Example: ltst learning set episodes off
    """
    if feature not in FEATURES or state not in STATES:
        raise typer.BadParameter(f"write one of {', '.join(FEATURES)}, and on or off; not {feature} {state}")
    with remembered(options) as user:
        _shown(options.json, user.learning.set(**{feature: STATES[state]}), {})


@command(app, "catch-up", user=True)
def catch_up(
    options: Options, chat: Annotated[str | None, named("--chat", "ID", "In this conversation only.")] = None
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
    agreed("Forget what was learned and learn it anew?", yes)
    with remembered(options) as user:
        conversations = user.learning.restart()
    sentence = f"{conversations} conversations are read anew by the background, or by: ltst worker --once"
    show.done(options.json, {"sessions": conversations}, sentence)
