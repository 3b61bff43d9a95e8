"""The embedding model: `ltst embedder show`, `switch` and `cancel`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, opened
from ltst.doors.cli.verbs import Noun

app = Noun("embedder", "The embedding model of the database.", "switch openai:text-embedding-3-small")

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="joined, local, multilingual, local:FOLDER for a model that lies there as ONNX, openai:MODEL, or "
        "openai:MODEL@BASE_URL for any endpoint that speaks like OpenAI's.",
    ),
]


@command(app, "show")
def show_model(options: Options) -> None:
    """Show the model whose vectors the database holds, and the one to which a change has begun.

    Example: ltst embedder show
    """
    with opened(options) as memory:
        model, following = memory.embedder_model(), memory.next_embedder_model()
    sentence = model or "None yet: the first search or the background brings one."
    if following:
        sentence += f"\nA change to {following} has begun: finish it with switch, or give it up with cancel."
    show.done(options.json, {"model": model, "next": following}, sentence)


@command(app, "switch")
def switch(options: Options, name: Name) -> None:
    """Change the model in place.

    Reads and writes go on. A switch that was stopped goes on when it is asked for again. The key for an endpoint is
    read from LTST_EMBEDDER_API_KEY.

    Example: ltst embedder switch local
    """
    with opened(options) as memory, show.progress("vectors") as made:
        done = memory.switch_embedder(name, progress=made)
        model = memory.embedder_model()
    sentence = f"The model is {model} now; {done} rows got a vector." if done else f"The model is {model}."
    show.done(options.json, {"model": model, "rows": done}, sentence)


@command(app, "cancel")
def cancel(options: Options) -> None:
    """Give up a switch that was begun.

    Example: ltst embedder cancel
    """
    with opened(options) as memory:
        begun = memory.cancel_switch()
    sentence = "The switch is given up; the model stays." if begun else "No switch was begun."
    show.done(options.json, {"cancelled": begun}, sentence)
